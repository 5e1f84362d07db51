/* The merges of a model as a table of pairs, and what a piece is before merging.
 *
 * While a piece is merged it is made of symbols: those below 256 are the bytes, the others are
 * what the merges make, in order of rank. So a rank is a symbol less 256. Where a model begins
 * with characters, those of several bytes come first, as if merges made them that have no pair;
 * and where it marks places in a piece, all that is marked. */
#ifndef TOKCY_MERGES_H
#define TOKCY_MERGES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_cuts.h"
#include "_platform.h"

enum {
    TK_FIRST_MERGED = 256,
    TK_SYMBOL_BITS = 21,
    TK_FILTER_BITS = 21,
    TK_BUCKET = 8,          /* slots: a cache line */
    TK_BYTE_NAME = 2,
    TK_CONTINUES = 1,       /* forms of a first symbol: it does not begin the piece, */
    TK_ENDS = 2,            /* and it ends it */
    TK_FORMS = 4
};
#define TK_NO_RANK 0xFFFFFFFFu      /* above any rank: the pair has no merge */
#define TK_FREE_SLOT UINT64_C(0xFFFFFFFFFFFFFFFF)

/* A rank, as the table and all that follows has it, is twice the place in the list of merges, plus
 * one if what it makes goes by another symbol (see tk_merges.same). */
typedef struct {
    uint64_t *slots;            /* left << 43 | right << 22 | rank, or TK_FREE_SLOT */
    uint64_t n_buckets;
    uint64_t *pair_filter;      /* hashed bit table of the pairs in `slots` */
    uint32_t *byte_pairs;       /* [65536] rank of the pair of bytes left << 8 | right */
    uint32_t *ids;              /* the id of each symbol */
    uint32_t *same;             /* the symbol by which each goes; NULL where that is itself */
    uint32_t *atoms[TK_FORMS];  /* of each form characters that are symbols at once, or of any but
                                 * the first bytes; 0 for others */
    size_t n_atoms[TK_FORMS];
    const uint32_t *halves;     /* edges of characters where tokens join a part of one (_cuts.h) */
    uint8_t has_byte[256];      /* the vocabulary does; TK_BYTE_NAME: only as a byte's name */
    int has_all_bytes;          /* in each form */
    unsigned marks;             /* the forms that the vocabulary tells apart */
    int lacks_characters;       /* a model of characters or of marks may; then what follows counts */
    int is_byte_level;
    uint32_t unknown;           /* the symbol of such a character; TK_NO_RANK: it is dropped */
    int fuses_unknown;          /* several in a row are one symbol */
    uint32_t space_width;       /* bytes of what a space stands for */
} tk_merges;

static inline uint64_t tk_pair(uint32_t left, uint32_t right) {
    return (uint64_t)left << TK_SYMBOL_BITS | right;
}

#define TK_PAIR_FACTOR UINT64_C(0x9E3779B97F4A7C15)
static inline uint64_t tk_pair_hash(uint64_t pair) { return pair * TK_PAIR_FACTOR; }

/* Where a pair is looked for: the first slot of a bucket, and of those behind it while they are
 * full. */
static inline uint64_t *tk_bucket(const tk_merges *merges, uint64_t hash) {
    return merges->slots + ((hash >> 32) * merges->n_buckets >> 32) * TK_BUCKET;
}

static inline uint64_t *tk_next_bucket(const tk_merges *merges, const uint64_t *bucket) {
    size_t next = (size_t)(bucket - merges->slots) + TK_BUCKET;
    return merges->slots + (next < merges->n_buckets * TK_BUCKET ? next : 0);
}

static inline uint32_t tk_rank_of_slot(uint64_t slot) {
    return (uint32_t)slot & ((2u << TK_SYMBOL_BITS) - 1);
}

/* The slot of a pair, or the free one where it would be put. */
static inline uint64_t *tk_find_slot(const tk_merges *merges, uint64_t pair) {
    uint64_t *bucket = tk_bucket(merges, tk_pair_hash(pair));
    for (;;) {
        for (int i = 0; i < TK_BUCKET; i++)
            if (bucket[i] >> (TK_SYMBOL_BITS + 1) == pair || bucket[i] == TK_FREE_SLOT)
                return bucket + i;
        bucket = tk_next_bucket(merges, bucket);
    }
}

/* Most pairs asked for have no merge. The filter, 256 KB that stay in L2, answers for 87% of those
 * without touching the table: 7-10% on unseen text. */
static inline int tk_may_merge(const tk_merges *merges, uint64_t hash) {
    uint64_t bit = hash >> (64 - TK_FILTER_BITS);
    return (int)(merges->pair_filter[bit >> 6] >> (bit & 63) & 1);
}

/* The rank of a pair of symbols, or TK_NO_RANK. */
static inline uint32_t tk_find_rank(const tk_merges *merges, uint32_t left, uint32_t right) {
    uint64_t pair = tk_pair(left, right), slot;
    if (!tk_may_merge(merges, tk_pair_hash(pair))) return TK_NO_RANK;
    slot = *tk_find_slot(merges, pair);
    return slot == TK_FREE_SLOT ? TK_NO_RANK : tk_rank_of_slot(slot);
}

/* As tk_find_rank, with a table for bytes, which most first symbols are. */
static inline uint32_t tk_first_rank(const tk_merges *merges, uint32_t left, uint32_t right) {
    if ((left | right) < 256) return merges->byte_pairs[left << 8 | right];
    return tk_find_rank(merges, left, right);
}

/* What the merge of that rank makes. */
static inline uint32_t tk_symbol_of_rank(const tk_merges *merges, uint32_t rank) {
    uint32_t symbol = TK_FIRST_MERGED + (rank >> 1);
    return tk_unlikely(rank & 1) ? merges->same[symbol] : symbol;
}

/* ---------------------------------------------------------------- the first symbols */

/* Bytes of the character of two to four that begins here; 0 if there is none. Of the ways to
 * write a code point only the shortest is a character, so that no two have one code point. */
static inline size_t tk_character_width(const uint8_t *text, size_t size) {
    if (size < 2 || text[0] < 0xC2 || text[0] >= 0xF5 || (text[1] & 0xC0) != 0x80) return 0;
    if (text[0] < 0xE0) return 2;
    if (text[0] == 0xE0 && text[1] < 0xA0) return 0;
    if (size < 3 || (text[2] & 0xC0) != 0x80) return 0;
    if (text[0] < 0xF0) return 3;
    if (text[0] == 0xF0 && text[1] < 0x90) return 0;
    return size >= 4 && (text[3] & 0xC0) == 0x80 ? 4 : 0;
}

static inline uint32_t tk_code_point(const uint8_t *text, size_t width) {
    uint32_t low = text[width - 1] & 0x3F;
    if (width == 2) return (uint32_t)(text[0] & 0x1F) << 6 | low;
    if (width == 3) return (uint32_t)(text[0] & 0x0F) << 12 | (uint32_t)(text[1] & 0x3F) << 6 | low;
    return (uint32_t)(text[0] & 0x07) << 18 | (uint32_t)(text[1] & 0x3F) << 12 |
           (uint32_t)(text[2] & 0x3F) << 6 | low;
}

/* Whether a token may join a part of a character to what is beyond its edge at `at`. */
static inline int tk_is_joined(const tk_merges *merges, const uint8_t *piece, size_t size,
                               size_t at) {
    if (at == 0 || at == size) return 0;
    /* Of valid UTF-8 there is a second byte, if there is need of one. */
    return (int)tk_bit(merges->halves,
                       tk_edge(piece[at - 1], piece[at], at + 1 < size ? piece[at + 1] : 0));
}

/* The form of what is at a place in a piece. */
static inline unsigned tk_form(const tk_merges *merges, size_t at, int is_last) {
    return merges->marks & ((at ? TK_CONTINUES : 0u) | (is_last ? TK_ENDS : 0u));
}

/* The symbol that begins at a byte, an atom or the byte; the result is how many bytes it takes.
 * TK_NO_RANK stands for a byte that the vocabulary lacks: it is gone before merging (M5(c)). */
static inline size_t tk_first_symbol(const tk_merges *merges, const uint8_t *piece, size_t size,
                                     size_t at, uint32_t *symbol) {
    unsigned form = tk_form(merges, at, at + 1 == size);
    if (form) {
        *symbol = merges->atoms[form][piece[at]];
        return 1;
    }
    if (piece[at] >= 0xC2) {
        size_t width = tk_character_width(piece + at, size - at);
        uint32_t code = width ? tk_code_point(piece + at, width) : 0;
        if (width && code < merges->n_atoms[0]) {
            *symbol = merges->atoms[0][code];
            if (*symbol && !tk_is_joined(merges, piece, size, at) &&
                !tk_is_joined(merges, piece, size, at + width))
                return width;
        }
    }
    *symbol = merges->has_byte[piece[at]] ? piece[at] : TK_NO_RANK;
    return 1;
}

/* Whether all these bytes have names, so that a character may become them. */
static inline int tk_has_names(const tk_merges *merges, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (merges->has_byte[bytes[i]] != TK_BYTE_NAME) return 0;
    return 1;
}

/* The symbol of a byte, or of a character of `wide` bytes, in a form; TK_NO_RANK if it is lacking. */
static inline uint32_t tk_known_symbol(const tk_merges *merges, unsigned form, uint32_t code,
                                       size_t wide) {
    if (!wide && !form) return merges->has_byte[code] == 1 ? code : TK_NO_RANK;
    if (code >= merges->n_atoms[form] || !merges->atoms[form][code]) return TK_NO_RANK;
    return merges->atoms[form][code];
}

/* How many bytes of text a byte, or a character of several, has for Hugging Face. */
static inline uint32_t tk_length(const tk_merges *merges, uint32_t code, size_t width) {
    if (merges->is_byte_level) return code > 32 && code < 127 ? 1 : 2;
    return code == ' ' ? merges->space_width : (uint32_t)width;
}

/* The first symbols of a piece, for a model that lacks characters (M5); how many, at most one for
 * each byte. An unknown one waits for the next that is known: names of bytes overtake it.
 * `lengths`, if not NULL, receives how many bytes of text each symbol has for Hugging Face. */
static size_t tk_first_characters(const tk_merges *merges, const uint8_t *piece, size_t size,
                                  uint32_t *symbols, uint32_t *lengths) {
    size_t n = 0, width;
    uint32_t waiting = 0;       /* bytes of unknown characters */
    for (size_t at = 0; at < size; at += width) {
        size_t wide = merges->is_byte_level ? 0 : tk_character_width(piece + at, size - at);
        uint32_t code = wide ? tk_code_point(piece + at, wide) : piece[at];
        width = wide ? wide : 1;
        uint32_t symbol =
            tk_known_symbol(merges, tk_form(merges, at, at + width == size), code, wide);
        if (symbol == TK_NO_RANK && tk_has_names(merges, piece + at, width)) {
            for (size_t i = 0; i < width; i++) {
                if (lengths) lengths[n] = 1;
                symbols[n++] = piece[at + i];
            }
            continue;
        }
        if (waiting && !(symbol == TK_NO_RANK && merges->fuses_unknown)) {
            if (lengths) lengths[n] = waiting;
            symbols[n++] = merges->unknown;
            waiting = 0;
        }
        if (symbol != TK_NO_RANK) {
            if (lengths) lengths[n] = tk_length(merges, code, width);
            symbols[n++] = symbol;
        } else if (merges->unknown != TK_NO_RANK) {
            waiting += tk_length(merges, code, width);
        }
    }
    if (waiting) {
        if (lengths) lengths[n] = waiting;
        symbols[n++] = merges->unknown;
    }
    return n;
}

/* The first symbols of a piece; how many. */
static inline size_t tk_first_symbols(const tk_merges *merges, const uint8_t *piece, size_t size,
                                      uint32_t *symbols) {
    size_t n = 0;
    if (tk_unlikely(merges->lacks_characters))
        return tk_first_characters(merges, piece, size, symbols, NULL);
    for (size_t at = 0; at < size;) {
        at += tk_first_symbol(merges, piece, size, at, symbols + n);
        n += symbols[n] != TK_NO_RANK;
    }
    return n;
}

/* How many symbols a piece begins with, or `most` + 1 if more. */
static inline size_t tk_count_symbols(const tk_merges *merges, const uint8_t *piece, size_t size,
                                      size_t most) {
    uint32_t symbol;
    size_t n = 0;
    for (size_t at = 0; at < size && n <= most; n++)
        at += tk_first_symbol(merges, piece, size, at, &symbol);
    return n;
}

#endif /* TOKCY_MERGES_H */
