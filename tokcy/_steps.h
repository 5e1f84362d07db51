/* The steps of a transducer over the characters of a block, two at a time, eight cursors in one
 * loop: a step waits for memory, and not for those of the other cursors.
 * tokcy/pattern/transducer.py says what the table holds. */
#ifndef TOKCY_STEPS_H
#define TOKCY_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "_platform.h"

#define TK_CURSORS 8

typedef struct {
    const uint32_t *pairs;   /* the table */
    const uint32_t *singles; /* the same, from its first column for one character on */
    const uint16_t *columns; /* of each pair of characters */
    const uint8_t *classes;  /* of each character */
    uint32_t *entries;       /* that each pair of characters leads to */
} tk_walk;

TK_ALWAYS_INLINE uint32_t tk_entry(const uint32_t *table, size_t row, size_t column) {
    return table[2 * row + column];
}

TK_ALWAYS_INLINE size_t tk_row_of(uint32_t entry) { return entry & 0xFFFF; }

/* The entry for pair i by two steps, which alone can read where a segment begins. */
TK_ALWAYS_INLINE uint32_t tk_two_steps(const tk_walk *walk, size_t i, size_t row) {
    uint32_t first = tk_entry(walk->singles, row, walk->classes[2 * i]);
    uint32_t second = tk_entry(walk->singles, tk_row_of(first), walk->classes[2 * i + 1]);
    return (first & 0x00FF0000) | (second & 0xFF00FFFF);
}

TK_ALWAYS_INLINE uint32_t tk_step(const tk_walk *walk, size_t i, size_t row, int paired) {
    return paired ? tk_entry(walk->pairs, row, walk->columns[i]) : tk_two_steps(walk, i, row);
}

/* Replace the entries from pair i on, until one leads to the same row as before. */
TK_ALWAYS_INLINE void tk_put_right(const tk_walk *walk, size_t i, size_t end, size_t row,
                                   int paired) {
    for (; i < end; i++) {
        uint32_t entry = tk_step(walk, i, row, paired), before = walk->entries[i];
        walk->entries[i] = entry;
        row = tk_row_of(entry);
        if (row == tk_row_of(before)) return;
    }
}

/* A column for two characters of which a segment begins at one, right but for what it tells: it
 * leads where it should if the segment is skipped, or if one that is skipped ends there. */
TK_ALWAYS_INLINE uint16_t tk_column_at_segment(const uint8_t *classes, size_t n_classes,
                                               size_t n_pairs) {
    size_t upper = n_classes + 2, first = classes[0], second = classes[1];
    if (first >= upper) first -= upper;
    if (second >= upper) second -= upper;
    if (first > n_classes || second > n_classes) return (uint16_t)(n_pairs + 2 * n_classes + 3);
    return (uint16_t)(first + (n_classes + 1) * second);
}

#define TK_STEP_OF(k)                                                   \
    entry = tk_step(walk, at + i + k * stride, row##k, paired);         \
    walk->entries[at + i + k * stride] = entry;                         \
    row##k = tk_row_of(entry)

/* Stretches of ``stride`` pairs side by side, all but the first from a guess; then put right. */
TK_ALWAYS_INLINE size_t tk_run_cursors(const tk_walk *from, size_t at, size_t stride, size_t row0,
                                       size_t guess, int paired) {
    const tk_walk copy = *from, *walk = &copy; /* no store can change it */
    size_t row1 = guess, row2 = guess, row3 = guess, row4 = guess;
    size_t row5 = guess, row6 = guess, row7 = guess;
    for (size_t i = 0; i < stride; i++) {
        uint32_t entry;
        TK_STEP_OF(0);
        TK_STEP_OF(1);
        TK_STEP_OF(2);
        TK_STEP_OF(3);
        TK_STEP_OF(4);
        TK_STEP_OF(5);
        TK_STEP_OF(6);
        TK_STEP_OF(7);
    }
    for (size_t k = 1; k < TK_CURSORS; k++) {
        size_t begin = at + k * stride;
        tk_put_right(walk, begin, begin + stride, tk_row_of(walk->entries[begin - 1]), paired);
    }
    return tk_row_of(walk->entries[at + TK_CURSORS * stride - 1]);
}

TK_ALWAYS_INLINE size_t tk_run(const tk_walk *walk, size_t n, size_t row, size_t guess,
                               int paired) {
    size_t at = 0;
    for (; n - at >= TK_CURSORS * 256; at += TK_CURSORS * 256)
        row = tk_run_cursors(walk, at, 256, row, guess, paired);
    for (; n - at >= TK_CURSORS * 64; at += TK_CURSORS * 64)
        row = tk_run_cursors(walk, at, 64, row, guess, paired);
    for (; n - at >= TK_CURSORS * 16; at += TK_CURSORS * 16)
        row = tk_run_cursors(walk, at, 16, row, guess, paired);
    for (; n - at >= TK_CURSORS * 4; at += TK_CURSORS * 4)
        row = tk_run_cursors(walk, at, 4, row, guess, paired);
    for (; at < n; at++) {
        walk->entries[at] = tk_step(walk, at, row, paired);
        row = tk_row_of(walk->entries[at]);
    }
    return row;
}

/* The entries of the n pairs read from ``row`` on; the row that they lead to. */
static size_t tk_run_pairs(const tk_walk *walk, size_t n, size_t row, size_t guess) {
    return tk_run(walk, n, row, guess, 1);
}

static size_t tk_run_singles(const tk_walk *walk, size_t n, size_t row, size_t guess) {
    return tk_run(walk, n, row, guess, 0);
}

/* Replace the entries for n pairs read from ``row`` on where segments begin, which are bits over
 * the characters, and those behind them as far as is needed. */
static void tk_put_segments_right(const tk_walk *walk, const uint64_t *segments, size_t n,
                                  size_t row) {
    for (size_t word = 0; 32 * word < n; word++) {
        for (uint64_t bits = segments[word]; bits; bits &= bits - 1) {
            size_t i = 32 * word + ((size_t)tk_ctz64(bits) >> 1);
            tk_put_right(walk, i, n, i ? tk_row_of(walk->entries[i - 1]) : row, 0);
        }
    }
}

#endif /* TOKCY_STEPS_H */
