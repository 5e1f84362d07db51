/* Where two bytes that stand side by side may matter, 64 places at a time, in the variants that
 * processors offer. The scalar variant is always there; the others are chosen once, at import. */
#ifndef TOKCY_SIEVE_H
#define TOKCY_SIEVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { /* a set of bits for each byte */
    uint8_t of[256];
    uint8_t rows[16]; /* k, where of[16 k], …, of[16 k + 15] are not all 0 */
    int n_rows;
} tk_byte_sets;

typedef struct { /* the places among [begin, end), at most 64 of them, whose bits are set */
    uint64_t bits;
    size_t begin;
    size_t end;
} tk_places;

typedef struct {
    const char *name;
    /* The next places in text[at:end], at < end, where first of a byte and second of the byte
     * behind it share a bit; 0 is behind the last. There are none before those that it finds. */
    void (*find)(const uint8_t *text, size_t at, size_t end, const tk_byte_sets *first,
                 const tk_byte_sets *second, tk_places *found);
} tk_sieve_ops;

static void tk_byte_sets_finish(tk_byte_sets *sets) {
    sets->n_rows = 0;
    for (int k = 0; k < 16; k++) {
        uint8_t any = 0;
        for (int i = 0; i < 16; i++) any |= sets->of[16 * k + i];
        if (any) sets->rows[sets->n_rows++] = (uint8_t)k;
    }
}

static void tk_sieve_scalar(const uint8_t *text, size_t at, size_t end, const tk_byte_sets *first,
                            const tk_byte_sets *second, tk_places *found) {
    uint8_t four[4];
    int n = 4;
    for (; end - at > 4; at += 4) {
        for (int i = 0; i < 4; i++)
            four[i] = first->of[text[at + i]] & second->of[text[at + i + 1]];
        if (four[0] | four[1] | four[2] | four[3]) break;
    }
    if (end - at <= 4) {
        n = (int)(end - at);
        for (int i = 0; i < n; i++)
            four[i] = first->of[text[at + i]] & second->of[i + 1 < n ? text[at + i + 1] : 0];
    }
    found->bits = 0;
    found->begin = at;
    found->end = at + (size_t)n;
    for (int i = 0; i < n; i++) found->bits |= (uint64_t)(four[i] != 0) << i;
}

static const tk_sieve_ops tk_sieve_scalar_ops = {"scalar", tk_sieve_scalar};

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TK_SIEVE_X86 1
#include <immintrin.h>

#define TK_SIEVE_AVX2 __attribute__((target("avx2")))

/* The sets of 32 bytes, by a shuffle for each row: saturation sends all others out of range. */
TK_SIEVE_AVX2 static inline __m256i tk_sets_32(__m256i bytes, const tk_byte_sets *sets) {
    __m256i result = _mm256_setzero_si256();
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

/* The places among 32, of whose text 33 bytes are there. */
TK_SIEVE_AVX2 static inline uint32_t tk_sieve_32(const uint8_t *text, const tk_byte_sets *first,
                                                 const tk_byte_sets *second) {
    __m256i a = tk_sets_32(_mm256_loadu_si256((const __m256i *)(const void *)text), first), b;
    if (_mm256_testz_si256(a, a)) return 0;
    b = tk_sets_32(_mm256_loadu_si256((const __m256i *)(const void *)(text + 1)), second);
    a = _mm256_cmpeq_epi8(_mm256_and_si256(a, b), _mm256_setzero_si256());
    return ~(uint32_t)_mm256_movemask_epi8(a);
}

TK_SIEVE_AVX2 static void tk_sieve_avx2(const uint8_t *text, size_t at, size_t end,
                                        const tk_byte_sets *first, const tk_byte_sets *second,
                                        tk_places *found) {
    uint8_t tail[33] = {0};
    uint32_t bits = 0;
    size_t n;
    if (first->n_rows + second->n_rows > 16) { /* that many shuffles take longer than bytes */
        tk_sieve_scalar(text, at, end, first, second, found);
        return;
    }
    for (; end - at > 32; at += 32) {
        bits = tk_sieve_32(text + at, first, second);
        if (bits) break;
    }
    n = end - at;
    if (n <= 32) {
        memcpy(tail, text + at, n);
        bits = tk_sieve_32(tail, first, second) & (uint32_t)(((uint64_t)1 << n) - 1);
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

TK_SIEVE_AVX512 static void tk_sieve_avx512(const uint8_t *text, size_t at, size_t end,
                                            const tk_byte_sets *first,
                                            const tk_byte_sets *second, tk_places *found) {
    uint64_t bits = 0;
    size_t n;
    for (; end - at > 64; at += 64) {
        bits = _mm512_test_epi8_mask(tk_sets_64(_mm512_loadu_si512(text + at), first->of),
                                     tk_sets_64(_mm512_loadu_si512(text + at + 1), second->of));
        if (bits) break;
    }
    n = end - at;
    if (n <= 64) {
        uint64_t lanes = ~(uint64_t)0 >> (64 - n);
        __m512i a = _mm512_maskz_loadu_epi8(lanes, text + at);
        __m512i b = _mm512_maskz_loadu_epi8(lanes >> 1, text + at + 1);
        bits = _mm512_test_epi8_mask(tk_sets_64(a, first->of), tk_sets_64(b, second->of)) & lanes;
    }
    found->bits = bits;
    found->begin = at;
    found->end = n < 64 ? end : at + 64;
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
