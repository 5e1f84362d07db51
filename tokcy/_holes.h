/* Putting ids in between others that are there already. The scalar variant is the definition. */
#ifndef TOKCY_HOLES_H
#define TOKCY_HOLES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where ids are to be put in: how many of `out` stand before each hole, and which ids these are;
 * entry i of `rows`, `room` ids apart, has counts[i]. */
typedef struct {
    size_t n;
    const size_t *places;
    const uint8_t *entries;
    const uint32_t *rows;
    size_t room;
    const uint8_t *counts;
} tk_holes;

/* Fill the holes among the n ids of `out`; how many there are then. */
typedef size_t tk_fill_holes(uint32_t *out, size_t n, const tk_holes *holes);

static size_t tk_count_filled(size_t n, const tk_holes *holes) {
    for (size_t i = 0; i < holes->n; i++) n += holes->counts[holes->entries[i]];
    return n;
}

/* Moves ids to higher places, which may be among them. */
typedef void tk_move_ids(uint32_t *to, const uint32_t *from, size_t n);

static inline size_t tk_fill_by(tk_move_ids *move, uint32_t *out, size_t n,
                                const tk_holes *holes) {
    const size_t filled = tk_count_filled(n, holes);
    size_t end = n, to = filled;
    for (size_t i = holes->n; i-- > 0;) {
        size_t entry = holes->entries[i], behind = end - holes->places[i];
        end = holes->places[i];
        to -= behind;
        move(out + to, out + end, behind);
        to -= holes->counts[entry];
        move(out + to, holes->rows + holes->room * entry, holes->counts[entry]);
    }
    return filled;
}

static inline void tk_move_scalar(uint32_t *to, const uint32_t *from, size_t n) {
    memmove(to, from, 4 * n);
}

static size_t tk_fill_holes_scalar(uint32_t *out, size_t n, const tk_holes *holes) {
    return tk_fill_by(tk_move_scalar, out, n, holes);
}

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define TK_AVX512_HOLES __attribute__((target("avx512f,bmi2")))

/* The last ones first. */
TK_AVX512_HOLES static inline void tk_move_avx512(uint32_t *to, const uint32_t *from, size_t n) {
    __mmask16 rest;
    while (n > 16) {
        n -= 16;
        _mm512_storeu_si512(to + n, _mm512_loadu_si512(from + n));
    }
    rest = (__mmask16)_bzhi_u32(0xFFFF, (uint32_t)n);
    _mm512_mask_storeu_epi32(to, rest, _mm512_maskz_loadu_epi32(rest, from));
}

/* Between two holes are some eleven ids of Chinese, and `memmove` took 5% of the time. */
TK_AVX512_HOLES static size_t tk_fill_holes_avx512(uint32_t *out, size_t n,
                                                   const tk_holes *holes) {
    return tk_fill_by(tk_move_avx512, out, n, holes);
}
#endif

/* The variant of _classify.h with this name. */
static tk_fill_holes *tk_find_fill_holes(const char *simd) {
#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
    if (!strcmp(simd, "avx512")) return tk_fill_holes_avx512;
#endif
    (void)simd;
    return tk_fill_holes_scalar;
}

#endif /* TOKCY_HOLES_H */
