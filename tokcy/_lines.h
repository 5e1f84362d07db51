/* The lines of the merge cache, and the two inner loops over them: asking for the lines of many
 * pieces, and writing the ids that they tell.
 *
 * A line is two entries that are looked at together, as they are one cache line. A key is the
 * piece's bytes, zero-padded to 15, with the length in the last byte, so never zero; it is
 * published by storing its second word last, when all else of the entry stands. */
#ifndef TOKCY_LINES_H
#define TOKCY_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_platform.h"

enum {
    TK_SHORT_BYTES = 15,    /* the longest piece that an entry holds */
    TK_SHORT_IDS = 4,
    TK_COUNT_SHIFT = 29     /* the first of the ids has the count of them from this bit on */
};
#define TK_ID_MASK 0x0FFFFFFFu

typedef struct {
    uint64_t keys[2][2];
    uint32_t ids[2][4];
} tk_line;

typedef struct {
    uint64_t words[2];
    const tk_line *line;    /* where to look first */
} tk_key;

/* Only the high bits are used. Of the entries of Llama-3 and Kimi-K3 3.2% and 5.1% had no room in
 * their first line, at 24% and 31% load, which is what chance gives. */
static inline uint64_t tk_hash_key(uint64_t head, uint64_t tail) {
    return head * UINT64_C(0x9E3779B97F4A7C15) + tail * UINT64_C(0xC2B2AE3D27D4EB4F);
}

/* The ids of the entry that has this key, or NULL. */
static inline const uint32_t *tk_find_in_line(const tk_line *line, const uint64_t *key) {
    int first = (tk_load_acquire64(&line->keys[0][1]) == key[1]) & (line->keys[0][0] == key[0]);
    int second = (tk_load_acquire64(&line->keys[1][1]) == key[1]) & (line->keys[1][0] == key[0]);
    return first | second ? line->ids[second] : NULL;
}

typedef struct {
    const char *name;
    /* Make the keys of n pieces, text[position[i]:position[i + 1]], and ask for their lines.
     * Sixteen bytes can be read wherever a piece begins. A longer one gets a key of no entry. */
    void (*request)(const uint8_t *text, const size_t *position, size_t n, const tk_line *lines,
                    unsigned shift, tk_key *keys);
    /* Write what the lines tell of the pieces from i on; *out is moved behind the last id, and
     * up to four may be written there. The result is the first piece that its line does not
     * tell, or n. */
    size_t (*answer)(const tk_key *keys, size_t i, size_t n, uint32_t **out);
} tk_line_ops;

/* ------------------------------------------------------------------ portable */

/* Which of sixteen bytes belong to a piece of so many bytes, and its length in the last. */
typedef struct {
    uint8_t keep[TK_SHORT_BYTES + 2][16];
    uint8_t length[TK_SHORT_BYTES + 2][16];
} tk_key_masks;

static tk_key_masks tk_masks;

static void tk_fill_masks(void) {
    for (int n = 0; n <= TK_SHORT_BYTES; n++) memset(tk_masks.keep[n], 0xFF, (size_t)n);
    for (int n = 0; n <= TK_SHORT_BYTES + 1; n++) tk_masks.length[n][15] = (uint8_t)n;
}

static inline size_t tk_key_size(size_t begin, size_t end) {
    return end - begin > TK_SHORT_BYTES ? TK_SHORT_BYTES + 1 : end - begin;
}

static void tk_request_scalar(const uint8_t *text, const size_t *position, size_t n,
                              const tk_line *lines, unsigned shift, tk_key *keys) {
    size_t begin = position[0];
    for (size_t i = 0; i < n; i++) {
        size_t end = position[i + 1], size = tk_key_size(begin, end);
        uint64_t head = tk_load64(text + begin) & tk_load64(tk_masks.keep[size]);
        uint64_t tail = (tk_load64(text + begin + 8) & tk_load64(tk_masks.keep[size] + 8)) |
                        tk_load64(tk_masks.length[size] + 8);
        keys[i].words[0] = head;
        keys[i].words[1] = tail;
        keys[i].line = lines + (tk_hash_key(head, tail) >> shift);
        tk_prefetch(keys[i].line);
        begin = end;
    }
}

static size_t tk_answer_scalar(const tk_key *keys, size_t i, size_t n, uint32_t **out) {
    uint32_t *to = *out;
    for (; i < n; i++) {
        const uint32_t *ids = tk_find_in_line(keys[i].line, keys[i].words);
        if (tk_unlikely(ids == NULL)) break;
        size_t count = ids[0] >> TK_COUNT_SHIFT;
        if (tk_unlikely(count > TK_SHORT_IDS)) break;
        /* Four ids are stored whatever the count: cheaper than a branch on it. */
        memcpy(to, ids, 16);
        to[0] &= TK_ID_MASK;
        to += count;
    }
    *out = to;
    return i;
}

static const tk_line_ops tk_scalar_lines = {"scalar", tk_request_scalar, tk_answer_scalar};

/* ---------------------------------------------------------------------- AVX2 */

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TK_X86_LINES 1
#include <immintrin.h>

#define TK_AVX2_LINES __attribute__((target("avx2,bmi2")))

static inline __m128i tk_load128(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

TK_AVX2_LINES static void tk_request_avx2(const uint8_t *text, const size_t *position, size_t n,
                                          const tk_line *lines, unsigned shift, tk_key *keys) {
    size_t begin = position[0];
    for (size_t i = 0; i < n; i++) {
        size_t end = position[i + 1], size = tk_key_size(begin, end);
        __m128i key = _mm_and_si128(tk_load128(text + begin), tk_load128(tk_masks.keep[size]));
        key = _mm_or_si128(key, tk_load128(tk_masks.length[size]));
        _mm_storeu_si128((__m128i *)(void *)keys[i].words, key);
        keys[i].line = lines + (tk_hash_key((uint64_t)_mm_cvtsi128_si64(key),
                                            (uint64_t)_mm_extract_epi64(key, 1)) >> shift);
        tk_prefetch(keys[i].line);
        begin = end;
    }
}

/* Both keys of a line are compared at once and without a branch, which nobody could predict. A
 * load of sixteen aligned bytes is one access, and loads are not reordered on x86. */
TK_AVX2_LINES static size_t tk_answer_avx2(const tk_key *keys, size_t i, size_t n,
                                           uint32_t **out) {
    uint32_t *to = *out;
    const __m128i mask = _mm_set_epi32(-1, -1, -1, (int)TK_ID_MASK);
    for (; i < n; i++) {
        const tk_line *line = keys[i].line;
        __m256i wanted = _mm256_broadcastsi128_si256(tk_load128(keys[i].words));
        __m256i there = _mm256_loadu_si256((const __m256i *)(const void *)line->keys);
        int equal = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(wanted, there)));
        int found = equal & equal >> 1;         /* bit 0: the first entry, bit 2: the second */
        tk_compiler_barrier();
        if (tk_unlikely(!(found & 5))) break;
        const uint32_t *ids = line->ids[0] + (found & 4);
        size_t count = ids[0] >> TK_COUNT_SHIFT;
        if (tk_unlikely(count > TK_SHORT_IDS)) break;
        _mm_storeu_si128((__m128i *)(void *)to, _mm_and_si128(tk_load128(ids), mask));
        to += count;
    }
    *out = to;
    return i;
}

static const tk_line_ops tk_avx2_lines = {"avx2", tk_request_avx2, tk_answer_avx2};
#endif

/* The loops to use with a variant of _classify.h; fills what they read, so call it first. */
static const tk_line_ops *tk_find_line_ops(const char *simd) {
    tk_fill_masks();
#ifdef TK_X86_LINES
    __builtin_cpu_init();
    if (strcmp(simd, "scalar") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return &tk_avx2_lines;
#endif
    (void)simd;
    return &tk_scalar_lines;
}

#endif /* TOKCY_LINES_H */
