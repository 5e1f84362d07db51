/* Where three bytes that stand side by side may matter, many places at a time, in the variants that
 * processors offer. The scalar variant is always there; the others are chosen once, at import. */
#ifndef TOKCY_SIEVE_H
#define TOKCY_SIEVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { /* a set of bits for each byte */
    uint8_t of[256];
    uint8_t every;    /* the bits that all bytes have */
    uint8_t rows[16]; /* k, where of[16 k], …, of[16 k + 15] are not all that */
    int n_rows;
} tk_byte_sets;

typedef struct { /* the places among [begin, end), at most 64 of them, whose bits are set */
    uint64_t bits;
    size_t begin;
    size_t end;
} tk_places;

typedef struct {
    const char *name;
    /* The next places in text[at:end], at < end, where first of a byte, second of the byte behind
     * it and third of the one behind that share a bit; zeros are behind the last. There are none
     * before those that it finds. */
    void (*find)(const uint8_t *text, size_t at, size_t end, const tk_byte_sets *first,
                 const tk_byte_sets *second, const tk_byte_sets *third, tk_places *found);
} tk_sieve_ops;

static void tk_byte_sets_finish(tk_byte_sets *sets) {
    sets->every = 0xFF;
    for (int i = 0; i < 256; i++) sets->every &= sets->of[i];
    sets->n_rows = 0;
    for (int k = 0; k < 16; k++) {
        uint8_t more = 0;
        for (int i = 0; i < 16; i++) more |= sets->of[16 * k + i] ^ sets->every;
        if (more) sets->rows[sets->n_rows++] = (uint8_t)k;
    }
}

/* The places among four, of whose text six bytes are there. Few third bytes are looked at. */
static inline uint32_t tk_sieve_4(const uint8_t *text, const tk_byte_sets *first,
                                  const tk_byte_sets *second, const tk_byte_sets *third) {
    uint8_t four[4];
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) four[i] = first->of[text[i]] & second->of[text[i + 1]];
    if (!(four[0] | four[1] | four[2] | four[3])) return 0;
    for (int i = 0; i < 4; i++) bits |= (uint32_t)((four[i] & third->of[text[i + 2]]) != 0) << i;
    return bits;
}

static void tk_sieve_scalar(const uint8_t *text, size_t at, size_t end, const tk_byte_sets *first,
                            const tk_byte_sets *second, const tk_byte_sets *third,
                            tk_places *found) {
    uint8_t tail[6] = {0};
    uint32_t bits = 0;
    size_t n;
    for (; end - at > 5; at += 4) {
        bits = tk_sieve_4(text + at, first, second, third);
        if (bits) break;
    }
    n = end - at;
    if (n <= 5) {
        memcpy(tail, text + at, n);
        bits = tk_sieve_4(tail, first, second, third) & (((uint32_t)1 << n) - 1);
    }
    found->bits = bits;
    found->begin = at;
    found->end = n < 4 ? end : at + 4;
}

static const tk_sieve_ops tk_sieve_scalar_ops = {"scalar", tk_sieve_scalar};

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TK_SIEVE_X86 1
#include <immintrin.h>

/* Text is mostly read here first, and asked for a page ahead, as the processor's own fetching ends
 * with each: 1 MB that is in no near cache takes 110 µs on a Xeon, where it took 150 or 360. */
#define TK_SIEVE_AHEAD 4096

#define TK_SIEVE_AVX2 __attribute__((target("avx2")))

/* The sets of 32 bytes, by a shuffle for each row: saturation sends all others out of range. */
TK_SIEVE_AVX2 static inline __m256i tk_sets_32(__m256i bytes, const tk_byte_sets *sets) {
    __m256i result = _mm256_set1_epi8((char)sets->every);
    for (int k = 0; k < sets->n_rows; k++) {
        const uint8_t *row = sets->of + 16 * sets->rows[k];
        __m256i part = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(const void *)row));
        __m256i index = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)(16 * sets->rows[k])));
        index = _mm256_adds_epu8(index, _mm256_set1_epi8(0x70));
        result = _mm256_or_si256(result, _mm256_shuffle_epi8(part, index));
    }
    return result;
}

TK_SIEVE_AVX2 static inline __m256i tk_load_32(const uint8_t *text) {
    return _mm256_loadu_si256((const __m256i *)(const void *)text);
}

/* The places among 32, of whose text 34 bytes are there. */
TK_SIEVE_AVX2 static inline uint32_t tk_sieve_32(const uint8_t *text, const tk_byte_sets *first,
                                                 const tk_byte_sets *second,
                                                 const tk_byte_sets *third) {
    __m256i sets = tk_sets_32(tk_load_32(text), first);
    if (_mm256_testz_si256(sets, sets)) return 0;
    sets = _mm256_and_si256(sets, tk_sets_32(tk_load_32(text + 1), second));
    if (_mm256_testz_si256(sets, sets)) return 0;
    sets = _mm256_and_si256(sets, tk_sets_32(tk_load_32(text + 2), third));
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(sets, _mm256_setzero_si256()));
}

TK_SIEVE_AVX2 static void tk_sieve_avx2(const uint8_t *text, size_t at, size_t end,
                                        const tk_byte_sets *first, const tk_byte_sets *second,
                                        const tk_byte_sets *third, tk_places *found) {
    uint8_t tail[34] = {0};
    uint32_t bits = 0;
    size_t n;
    if (first->n_rows + second->n_rows > 16) { /* that many shuffles take longer than bytes */
        tk_sieve_scalar(text, at, end, first, second, third, found);
        return;
    }
    for (; end - at > 33; at += 32) {
        bits = tk_sieve_32(text + at, first, second, third);
        if (bits) break;
        __builtin_prefetch(text + at + TK_SIEVE_AHEAD);
    }
    n = end - at;
    if (n <= 33) {
        memcpy(tail, text + at, n);
        bits = tk_sieve_32(tail, first, second, third) & (uint32_t)(((uint64_t)1 << n) - 1);
    }
    found->bits = bits;
    found->begin = at;
    found->end = n < 32 ? end : at + 32;
}

static const tk_sieve_ops tk_sieve_avx2_ops = {"avx2", tk_sieve_avx2};

#define TK_SIEVE_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

TK_SIEVE_AVX512 static inline __m512i tk_sets_64(__m512i bytes, const uint8_t *of) {
    __m512i result = _mm512_permutex2var_epi8(_mm512_loadu_si512(of), bytes,
                                              _mm512_loadu_si512(of + 64));
    __mmask64 high = _mm512_movepi8_mask(bytes);
    if (high)
        result = _mm512_mask_mov_epi8(
            result, high, _mm512_permutex2var_epi8(_mm512_loadu_si512(of + 128), bytes,
                                                   _mm512_loadu_si512(of + 192)));
    return result;
}

/* The first n lanes, all 64 if n is more. */
static inline uint64_t tk_lanes(size_t n) {
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

/* The places among 64, of whose text n bytes are there, of 66 that matter. */
TK_SIEVE_AVX512 static inline uint64_t tk_sieve_64(const uint8_t *text, size_t n,
                                                   const tk_byte_sets *first,
                                                   const tk_byte_sets *second,
                                                   const tk_byte_sets *third) {
    __m512i a = tk_sets_64(_mm512_maskz_loadu_epi8(tk_lanes(n), text), first->of);
    __m512i b = tk_sets_64(_mm512_maskz_loadu_epi8(tk_lanes(n - 1), text + 1), second->of);
    uint64_t bits = _mm512_test_epi8_mask(a, b) & tk_lanes(n);
    if (bits) {
        __m512i c = _mm512_maskz_loadu_epi8(tk_lanes(n > 2 ? n - 2 : 0), text + 2);
        bits &= _mm512_test_epi8_mask(_mm512_and_si512(a, b), tk_sets_64(c, third->of));
    }
    return bits;
}

TK_SIEVE_AVX512 static void tk_sieve_avx512(const uint8_t *text, size_t at, size_t end,
                                            const tk_byte_sets *first,
                                            const tk_byte_sets *second,
                                            const tk_byte_sets *third, tk_places *found) {
    uint64_t bits = 0;
    for (; end - at > 65; at += 64) {
        bits = tk_sieve_64(text + at, 66, first, second, third);
        if (bits) break;
        __builtin_prefetch(text + at + TK_SIEVE_AHEAD);
    }
    if (end - at <= 65) bits = tk_sieve_64(text + at, end - at, first, second, third);
    found->bits = bits;
    found->begin = at;
    found->end = end - at < 64 ? end : at + 64;
}

static const tk_sieve_ops tk_sieve_avx512_ops = {"avx512", tk_sieve_avx512};
#endif /* x86-64 with GNU intrinsics */

/* The variant of that name if this processor has it, else NULL. */
static const tk_sieve_ops *tk_find_sieve(const char *name) {
#ifdef TK_SIEVE_X86
    __builtin_cpu_init();
    if (!strcmp(name, "avx512") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vbmi"))
        return &tk_sieve_avx512_ops;
    if (!strcmp(name, "avx2") && __builtin_cpu_supports("avx2")) return &tk_sieve_avx2_ops;
#endif
    return strcmp(name, "scalar") ? NULL : &tk_sieve_scalar_ops;
}

#endif /* TOKCY_SIEVE_H */
