/* Merging many short pieces side by side.
 *
 * A merge waits for memory more than it computes, as each look-up depends on the one before, and
 * what it computes is full of branches that nobody can foresee. So sixteen pieces are merged in
 * step, each in a lane of the vectors of AVX-512: row r of a group has symbol r of every piece, and
 * a step merges one pair of each. What that makes is looked up together with what the other groups
 * make. A piece of Chinese that is not known takes some 200 ns so, and 340 when sixteen took turns
 * (DeepSeek-V3). */
#ifndef TOKCY_MERGE_MANY_H
#define TOKCY_MERGE_MANY_H

#include "_cuts.h"
#include "_merges.h"

enum {
    TK_LANE = 48,           /* symbols of a short piece, at most */
    TK_LANES = 16,
    TK_GROUPS = 4,
    TK_MANY = TK_LANES * TK_GROUPS,
    TK_ASKED = 512,         /* pairs whose ranks are looked up together, at most */
    TK_AHEAD = 16,
    TK_SLOT_BITS = 8,       /* bytes of a piece, at most */
    TK_SLOT = 1 << TK_SLOT_BITS
};

/* Merge up to TK_MANY pieces of up to TK_LANE symbols, of a vocabulary that has all bytes. Piece i
 * becomes counts[i] ids, at ids + TK_LANE * i. */
typedef void tk_merge_many(const tk_merges *merges, const uint8_t *const *pieces,
                           const uint8_t *sizes, size_t n, uint32_t *ids, uint8_t *counts);

#if TK_X86_CUTS
#define TK_AVX512_LANES \
    __attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vbmi,avx512vbmi2," \
                          "bmi,bmi2,popcnt,lzcnt")))

/* Beside the first and the last symbol of a piece; no pair of the table has it. */
#define TK_NO_SYMBOL ((1u << TK_SYMBOL_BITS) - 1)
#define TK_NONE _mm512_set1_epi32((int)TK_NO_SYMBOL)
#define TK_LANE_NUMBERS _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)

typedef struct {
    uint32_t symbols[TK_LANE + 1][TK_LANES];    /* TK_NO_SYMBOL behind the last of each piece */
    uint32_t left[TK_LANES];                    /* how many symbols each piece has now */
    uint32_t n_rows;                            /* of those pieces that may have a pair to merge */
    int is_merged;
} tk_group;

typedef struct {
    tk_group groups[TK_GROUPS];
    uint32_t ranks[TK_GROUPS][TK_LANE + 1][TK_LANES];   /* of the pair that begins at a symbol */
    size_t n_asked;                             /* pairs that pass the filter, in four arrays */
    uint32_t lefts[TK_ASKED];
    uint32_t rights[TK_ASKED];
    uint32_t buckets[TK_ASKED];
    uint32_t places[TK_ASKED];                  /* in `ranks`, counted from its beginning */
} tk_many;

/* ---------------------------------------------------------------- look-ups */

/* The rank of a pair from its bucket, without a branch that depends on whether it is there. */
TK_AVX512_LANES static inline uint32_t tk_rank_in_bucket(const tk_merges *merges,
                                                         const uint64_t *bucket, uint64_t pair) {
    __m512i slots = _mm512_loadu_si512(bucket);
    __mmask8 found = _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(slots, TK_SYMBOL_BITS + 1),
                                             _mm512_set1_epi64((long long)pair));
    __m512i first = _mm512_maskz_compress_epi64(found, slots);
    uint32_t rank = tk_rank_of_slot((uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(first)));
    uint32_t missing = (uint32_t)-(int)(found == 0);
    tk_opaque(missing);
    if (tk_unlikely((found == 0) & (bucket[TK_BUCKET - 1] != TK_FREE_SLOT))) {
        uint64_t slot = *tk_find_slot(merges, pair);
        return slot == TK_FREE_SLOT ? TK_NO_RANK : tk_rank_of_slot(slot);
    }
    return rank | missing;
}

/* Read the ranks that were asked for. */
TK_AVX512_LANES static void tk_answer_ranks(const tk_merges *merges, tk_many *many) {
    uint32_t *ranks = &many->ranks[0][0][0];
    size_t n = many->n_asked;
    for (size_t i = 0; i < n && i < TK_AHEAD; i++)
        tk_prefetch(merges->slots + (size_t)many->buckets[i] * TK_BUCKET);
    for (size_t i = 0; i < n; i++) {
        const uint64_t *bucket = merges->slots + (size_t)many->buckets[i] * TK_BUCKET;
        if (i + TK_AHEAD < n)
            tk_prefetch(merges->slots + (size_t)many->buckets[i + TK_AHEAD] * TK_BUCKET);
        ranks[many->places[i]] =
            tk_rank_in_bucket(merges, bucket, tk_pair(many->lefts[i], many->rights[i]));
    }
    many->n_asked = 0;
}

TK_AVX512_LANES static inline __m512i tk_pair_hashes(__m256i left, __m256i right) {
    __m512i pairs = _mm512_or_si512(
        _mm512_slli_epi64(_mm512_cvtepu32_epi64(left), TK_SYMBOL_BITS),
        _mm512_cvtepu32_epi64(right));
    return _mm512_mullo_epi64(pairs, _mm512_set1_epi64((long long)TK_PAIR_FACTOR));
}

/* The upper halves of sixteen numbers. */
TK_AVX512_LANES static inline __m512i tk_upper_halves(__m512i low, __m512i high) {
    return _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm512_cvtepi64_epi32(_mm512_srli_epi64(low, 32))),
        _mm512_cvtepi64_epi32(_mm512_srli_epi64(high, 32)), 1);
}

/* Ask for the ranks of those pairs of symbols that are wanted and pass the filter. No branch waits
 * for the filter, so that what follows can begin. */
TK_AVX512_LANES static inline void tk_ask_ranks(const tk_merges *merges, __m512i left,
                                                __m512i right, __mmask16 wanted, __m512i places,
                                                tk_many *many) {
    const __m512i n_buckets = _mm512_set1_epi64((long long)merges->n_buckets);
    __m512i low = tk_pair_hashes(_mm512_castsi512_si256(left), _mm512_castsi512_si256(right));
    __m512i high = tk_pair_hashes(_mm512_extracti64x4_epi64(left, 1),
                                  _mm512_extracti64x4_epi64(right, 1));
    __m512i bits = _mm512_srli_epi32(tk_upper_halves(low, high), 32 - TK_FILTER_BITS);
    __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), wanted,
                                                _mm512_srli_epi32(bits, 5),
                                                (const void *)merges->pair_filter, 4);
    __mmask16 found = _mm512_test_epi32_mask(
        _mm512_srlv_epi32(words, _mm512_and_si512(bits, _mm512_set1_epi32(31))),
        _mm512_set1_epi32(1));
    __m512i buckets = tk_upper_halves(_mm512_mul_epu32(_mm512_srli_epi64(low, 32), n_buckets),
                                      _mm512_mul_epu32(_mm512_srli_epi64(high, 32), n_buckets));
    size_t n = many->n_asked;
    _mm512_storeu_si512(many->lefts + n, _mm512_maskz_compress_epi32(found, left));
    _mm512_storeu_si512(many->rights + n, _mm512_maskz_compress_epi32(found, right));
    _mm512_storeu_si512(many->buckets + n, _mm512_maskz_compress_epi32(found, buckets));
    _mm512_storeu_si512(many->places + n, _mm512_maskz_compress_epi32(found, places));
    many->n_asked = n + (size_t)_mm_popcnt_u32(found);
}

/* ---------------------------------------------------------------- the first symbols */

/* Something of the bytes of a character, of its width, by the upper half of the first byte. */
#define TK_BY_LEAD(one, two, three)                                                              \
    _mm512_set_epi32(one, three, two, two, one, one, one, one, one, one, one, one, one, one, one, \
                     one)

/* Copy the pieces of a group into slots, where more can be read than each has. */
TK_AVX512_LANES static void tk_group_copy(const uint8_t *const *pieces, const uint8_t *sizes,
                                          const uint8_t *order, size_t n, uint8_t *bytes) {
    for (size_t k = 0; k < n; k++) {
        size_t size = sizes[order[k]];
        for (size_t i = 0; i < size; i += 64) {
            uint32_t some = size - i < 64 ? (uint32_t)(size - i) : 64;
            __m512i from = _mm512_maskz_loadu_epi8(_bzhi_u64(~UINT64_C(0), some),
                                                   pieces[order[k]] + i);
            _mm512_storeu_si512(bytes + k * TK_SLOT + i, from);
        }
    }
}

/* The code points of characters of up to three bytes, of four bytes that begin with each. Where
 * there is none, its lane is added to `unsure`. `lasts` and `widths` receive the last byte of each
 * and how many it has. */
TK_AVX512_LANES static inline __m512i tk_code_points(__m512i words, __m512i *lasts,
                                                     __m512i *widths, unsigned *unsure) {
    const __m512i reversed = _mm512_set4_epi32(0x0F0C0D0E, 0x0B08090A, 0x07040506, 0x03000102);
    __m512i lead = _mm512_and_si512(_mm512_srli_epi32(words, 4), _mm512_set1_epi32(0xF));
    /* Of three bytes, the first on top, those of the character alone. */
    __m512i bytes = _mm512_srlv_epi32(
        _mm512_maskz_shuffle_epi8(UINT64_C(0x7777777777777777), words, reversed),
        _mm512_permutexvar_epi32(lead, TK_BY_LEAD(16, 8, 0)));
    __m512i marks = _mm512_and_si512(
        bytes, _mm512_permutexvar_epi32(lead, TK_BY_LEAD(0x80, 0xC0, 0xC0C0)));
    __m512i codes = _mm512_and_si512(
        bytes, _mm512_permutexvar_epi32(lead, TK_BY_LEAD(0x7F, 0x1F3F, 0x0F3F3F)));
    codes = _mm512_madd_epi16(_mm512_maddubs_epi16(codes, _mm512_set1_epi32(0x40014001)),
                              _mm512_set1_epi32(0x10000001));
    *unsure |= _mm512_cmpneq_epi32_mask(
        marks, _mm512_permutexvar_epi32(lead, TK_BY_LEAD(0, 0x80, 0x8080)));
    *unsure |= _mm512_cmplt_epu32_mask(
        codes, _mm512_permutexvar_epi32(lead, TK_BY_LEAD(0, 0x80, 0x800)));
    *lasts = _mm512_and_si512(bytes, _mm512_set1_epi32(0xFF));
    *widths = _mm512_permutexvar_epi32(lead, TK_BY_LEAD(1, 2, 3));
    return codes;
}

/* Read the pieces of a group: a row has the code point of a character of each. Returns the lanes
 * that have what may not be one symbol: wider than three bytes, or with a joined edge. */
TK_AVX512_LANES static unsigned tk_group_read(const tk_merges *merges, const uint8_t *bytes,
                                              __m512i ends, tk_group *group) {
    const __m512i one = _mm512_set1_epi32(1);
    __m512i at = _mm512_slli_epi32(TK_LANE_NUMBERS, TK_SLOT_BITS);
    __m512i n_symbols = _mm512_setzero_si512(), lasts = n_symbols;
    __mmask16 active;
    unsigned unsure = 0;
    uint32_t row = 0;
    while ((active = _mm512_cmplt_epu32_mask(at, ends)) && row < TK_LANE) {
        __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), active, at,
                                                    (const void *)bytes, 1);
        __m512i codes = _mm512_and_si512(words, _mm512_set1_epi32(0xFF)), widths = one;
        __m512i before = lasts;
        lasts = codes;
        if (_mm512_test_epi32_mask(_mm512_or_si512(codes, before), _mm512_set1_epi32(0x80))) {
            __m512i joined = tk_bits_avx512(merges->halves, tk_edges_avx512(before, words));
            if (row) unsure |= _mm512_mask_test_epi32_mask(active, joined, one);
            codes = tk_code_points(words, &lasts, &widths, &unsure);
        }
        _mm512_storeu_si512(group->symbols[row++], _mm512_mask_mov_epi32(TK_NONE, active, codes));
        n_symbols = _mm512_mask_add_epi32(n_symbols, active, n_symbols, one);
        at = _mm512_mask_add_epi32(at, active, at, widths);
    }
    _mm512_storeu_si512(group->symbols[row], TK_NONE);
    _mm512_storeu_si512(group->left, n_symbols);
    group->n_rows = row;
    return unsure | active;
}

/* Put atoms in the place of the characters of a group; the lanes that have another character. */
TK_AVX512_LANES static unsigned tk_group_find_atoms(const tk_merges *merges, tk_group *group) {
    const __m512i n_atoms = _mm512_set1_epi32((int)merges->n_atoms[0]);
    unsigned unsure = 0;
    for (uint32_t row = 0; row < group->n_rows; row++) {
        __m512i codes = _mm512_loadu_si512(group->symbols[row]), atoms;
        __mmask16 is_there = _mm512_cmpneq_epu32_mask(codes, TK_NONE);
        __mmask16 wide = _mm512_mask_cmpgt_epu32_mask(is_there, codes, _mm512_set1_epi32(0x7F));
        if (!wide) continue;
        is_there = _mm512_mask_cmplt_epu32_mask(wide, codes, n_atoms);
        atoms = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), is_there, codes,
                                            (const void *)merges->atoms[0], 4);
        is_there = _mm512_test_epi32_mask(atoms, atoms);
        _mm512_storeu_si512(group->symbols[row], _mm512_mask_mov_epi32(codes, is_there, atoms));
        unsure |= wide & ~(unsigned)is_there;
    }
    return unsure;
}

/* Put the symbols of one piece into its lane. */
static void tk_group_start_one(const tk_merges *merges, const uint8_t *piece, size_t size, size_t k,
                               tk_group *group) {
    uint32_t symbols[TK_LANE];
    uint32_t n = 0;
    for (size_t at = 0; at < size; n++)
        at += tk_first_symbol(merges, piece, size, at, symbols + n);
    group->left[k] = n;
    while (group->n_rows < n) {
        group->n_rows++;
        for (size_t i = 0; i < TK_LANES; i++) group->symbols[group->n_rows][i] = TK_NO_SYMBOL;
    }
    for (uint32_t row = 0; row <= group->n_rows; row++)
        group->symbols[row][k] = row < n ? symbols[row] : TK_NO_SYMBOL;
}

/* Put the first symbols of up to TK_LANES pieces into a group. */
TK_AVX512_LANES static void tk_group_start(const tk_merges *merges, const uint8_t *const *pieces,
                                           const uint8_t *sizes, const uint8_t *order, size_t n,
                                           tk_group *group) {
    uint8_t bytes[TK_LANES * TK_SLOT + 4];
    uint32_t ends[TK_LANES];
    unsigned unsure;
    for (size_t k = 0; k < TK_LANES; k++)
        ends[k] = (uint32_t)(k * TK_SLOT) + (k < n ? sizes[order[k]] : 0);
    tk_group_copy(pieces, sizes, order, n, bytes);
    unsure = tk_group_read(merges, bytes, _mm512_loadu_si512(ends), group);
    unsure |= tk_group_find_atoms(merges, group);
    if (merges->marks) unsure = (1u << n) - 1;  /* a symbol also depends on its place */
    for (; unsure; unsure &= unsure - 1) {
        size_t k = (size_t)tk_ctz64(unsure);
        tk_group_start_one(merges, pieces[order[k]], sizes[order[k]], k, group);
    }
    group->is_merged = 0;
}

/* ---------------------------------------------------------------- merging */

/* Ask for the pairs that the pieces of group g begin with; those of bytes have a table. */
TK_AVX512_LANES static void tk_group_ask(const tk_merges *merges, size_t g, tk_many *many) {
    const tk_group *group = many->groups + g;
    __m512i left = _mm512_loadu_si512(group->symbols[0]);
    __m512i places = _mm512_add_epi32(
        TK_LANE_NUMBERS, _mm512_set1_epi32((int)(g * (TK_LANE + 1) * TK_LANES)));
    for (uint32_t row = 0; row <= group->n_rows; row++) {
        __m512i right = TK_NONE, ranks = _mm512_set1_epi32(-1);
        if (row < group->n_rows) right = _mm512_loadu_si512(group->symbols[row + 1]);
        __mmask16 is_pair = _mm512_cmpneq_epi32_mask(right, TK_NONE);
        __mmask16 bytes = _mm512_mask_cmplt_epu32_mask(is_pair, _mm512_or_si512(left, right),
                                                       _mm512_set1_epi32(256));
        if (bytes)
            ranks = _mm512_mask_i32gather_epi32(
                ranks, bytes, _mm512_or_si512(_mm512_slli_epi32(left, 8), right),
                (const void *)merges->byte_pairs, 4);
        _mm512_storeu_si512(many->ranks[g][row], ranks);
        if (is_pair != bytes) {
            if (many->n_asked > TK_ASKED - TK_LANES) tk_answer_ranks(merges, many);
            tk_ask_ranks(merges, left, right, is_pair ^ bytes, places, many);
        }
        left = right;
        places = _mm512_add_epi32(places, _mm512_set1_epi32(TK_LANES));
    }
}

/* The lowest rank of each piece, and the row where it is first; all ones where there is none. */
TK_AVX512_LANES static inline __m512i tk_group_lowest(const uint32_t (*ranks)[TK_LANES],
                                                      uint32_t n_rows, __m512i *at) {
    __m512i lowest = _mm512_set1_epi32(-1), row = _mm512_setzero_si512();
    *at = lowest;
    for (uint32_t r = 0; r + 1 < n_rows; r++) {
        __m512i some = _mm512_loadu_si512(ranks[r]);
        __mmask16 lower = _mm512_cmplt_epu32_mask(some, lowest);
        lowest = _mm512_mask_mov_epi32(lowest, lower, some);
        *at = _mm512_mask_mov_epi32(*at, lower, row);
        row = _mm512_add_epi32(row, _mm512_set1_epi32(1));
    }
    return lowest;
}

/* Put symbols in the place of the pairs at given rows, and let what is behind close up; the ranks
 * of the two pairs that each is in now are no longer known. `before` and `behind` receive its
 * neighbours, which begin as TK_NONE. */
TK_AVX512_LANES static inline void tk_group_close_up(tk_group *group,
                                                     uint32_t (*all_ranks)[TK_LANES], __m512i at,
                                                     __m512i made, __m512i *before,
                                                     __m512i *behind) {
    const __m512i one = _mm512_set1_epi32(1), unknown = _mm512_set1_epi32(-1);
    __m512i row = _mm512_setzero_si512();
    __m512i symbols = _mm512_loadu_si512(group->symbols[0]);
    __m512i ranks = _mm512_loadu_si512(all_ranks[0]);
    __mmask16 is_here = _mm512_cmpeq_epi32_mask(at, row), was_here = 0, is_behind = 0;
    for (uint32_t r = 0; r < group->n_rows; r++) {
        __m512i next_symbols = _mm512_loadu_si512(group->symbols[r + 1]);
        __m512i next_ranks = _mm512_loadu_si512(all_ranks[r + 1]);
        __mmask16 is_next;
        row = _mm512_add_epi32(row, one);
        is_next = _mm512_cmpeq_epi32_mask(at, row);
        *before = _mm512_mask_mov_epi32(*before, is_next, symbols);
        symbols = _mm512_mask_mov_epi32(symbols, is_here, made);
        symbols = _mm512_mask_mov_epi32(symbols, is_behind, next_symbols);
        *behind = _mm512_mask_mov_epi32(*behind, was_here, symbols);
        ranks = _mm512_mask_mov_epi32(ranks, is_behind, next_ranks);
        ranks = _mm512_mask_mov_epi32(ranks, (__mmask16)(is_here | is_next), unknown);
        _mm512_storeu_si512(group->symbols[r], symbols);
        _mm512_storeu_si512(all_ranks[r], ranks);
        symbols = next_symbols;
        ranks = next_ranks;
        was_here = is_here;
        is_behind |= is_here;
        is_here = is_next;
    }
}

/* Merge the pair of lowest rank in each piece of group g, and ask for those that this makes; 0
 * when no piece has a pair. */
TK_AVX512_LANES static int tk_group_step(const tk_merges *merges, size_t g, tk_many *many) {
    const __m512i one = _mm512_set1_epi32(1);
    tk_group *group = many->groups + g;
    __m512i before = TK_NONE, behind = TK_NONE, at, made, left, places;
    __m512i lowest = tk_group_lowest(many->ranks[g], group->n_rows, &at);
    __mmask16 merging = _mm512_cmpneq_epi32_mask(lowest, _mm512_set1_epi32(-1)), odd;
    if (!merging) return 0;
    made = _mm512_add_epi32(_mm512_srli_epi32(lowest, 1), _mm512_set1_epi32(TK_FIRST_MERGED));
    odd = _mm512_mask_test_epi32_mask(merging, lowest, one);
    if (tk_unlikely(odd))
        made = _mm512_mask_i32gather_epi32(made, odd, made, (const void *)merges->same, 4);
    tk_group_close_up(group, many->ranks[g], at, made, &before, &behind);
    left = _mm512_loadu_si512(group->left);
    left = _mm512_mask_sub_epi32(left, merging, left, one);
    _mm512_storeu_si512(group->left, left);
    group->n_rows = _mm512_mask_reduce_max_epu32(merging, left);
    places = _mm512_add_epi32(
        _mm512_add_epi32(_mm512_slli_epi32(at, 4), TK_LANE_NUMBERS),
        _mm512_set1_epi32((int)(g * (TK_LANE + 1) * TK_LANES)));
    tk_ask_ranks(merges, before, made, _mm512_mask_cmpneq_epi32_mask(merging, before, TK_NONE),
                 _mm512_sub_epi32(places, _mm512_set1_epi32(TK_LANES)), many);
    tk_ask_ranks(merges, made, behind, _mm512_mask_cmpneq_epi32_mask(merging, behind, TK_NONE),
                 places, many);
    return 1;
}

/* In place of the symbols of a group, their ids. */
TK_AVX512_LANES static void tk_group_name(const tk_merges *merges, tk_group *group) {
    __m512i left = _mm512_loadu_si512(group->left);
    uint32_t n_rows = _mm512_reduce_max_epu32(left);
    for (uint32_t row = 0; row < n_rows; row++) {
        __mmask16 used = _mm512_cmpgt_epu32_mask(left, _mm512_set1_epi32((int)row));
        __m512i symbols = _mm512_loadu_si512(group->symbols[row]);
        _mm512_storeu_si512(group->symbols[row],
                            _mm512_mask_i32gather_epi32(symbols, used, symbols,
                                                        (const void *)merges->ids, 4));
    }
}

/* Pieces by size, so that those of a group need about as many steps. */
static void tk_order_by_size(const uint8_t *sizes, size_t n, uint8_t *order) {
    uint8_t ends[256];
    uint8_t total = 0;
    memset(ends, 0, sizeof(ends));
    for (size_t i = 0; i < n; i++) ends[sizes[i]]++;
    for (size_t size = 0; size < 256; size++) ends[size] = total = (uint8_t)(total + ends[size]);
    for (size_t i = n; i-- > 0;) order[--ends[sizes[i]]] = (uint8_t)i;
}

TK_AVX512_LANES static void tk_merge_many_avx512(const tk_merges *merges,
                                                 const uint8_t *const *pieces,
                                                 const uint8_t *sizes, size_t n, uint32_t *ids,
                                                 uint8_t *counts) {
    tk_many many;
    uint8_t order[TK_MANY];
    size_t n_groups = (n + TK_LANES - 1) / TK_LANES, n_left = n_groups;
    tk_order_by_size(sizes, n, order);
    for (size_t g = 0; g < n_groups; g++) {
        size_t first = g * TK_LANES;
        tk_group_start(merges, pieces, sizes, order + first,
                       n - first < TK_LANES ? n - first : TK_LANES, many.groups + g);
    }
    many.n_asked = 0;
    for (size_t g = 0; g < n_groups; g++) tk_group_ask(merges, g, &many);
    while (n_left) {
        tk_answer_ranks(merges, &many);
        for (size_t g = 0; g < n_groups; g++) {
            if (many.groups[g].is_merged) continue;
            many.groups[g].is_merged = !tk_group_step(merges, g, &many);
            n_left -= (size_t)many.groups[g].is_merged;
        }
    }
    for (size_t g = 0; g < n_groups; g++) tk_group_name(merges, many.groups + g);
    for (size_t j = 0; j < n; j++) {
        const tk_group *group = many.groups + j / TK_LANES;
        size_t k = j % TK_LANES, i = order[j];
        counts[i] = (uint8_t)group->left[k];
        for (size_t row = 0; row < counts[i]; row++)
            ids[TK_LANE * i + row] = group->symbols[row][k];
    }
}
#endif

/* The way to merge many short pieces with a variant of _classify.h; NULL: one after another. */
static tk_merge_many *tk_find_merge_many(const char *simd) {
#if TK_X86_CUTS
    if (!strcmp(simd, "avx512")) return tk_merge_many_avx512;
#endif
    (void)simd;
    return NULL;
}

#endif /* TOKCY_MERGE_MANY_H */
