/* The wide steps of the scanner, 64 bytes at a time, in the variants that processors offer:
 * bytes to classes, table entries to bitmaps of events, continuation bytes to a bitmap.
 * The scalar variant is always there; the others are chosen once, at import. */
#ifndef TOKCY_CLASSIFY_H
#define TOKCY_CLASSIFY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_platform.h"

typedef struct {
    const char *name;
    /* out[i] = table[text[i]]; the bits of the result are the bytes from 0xC0 up that get what
     * 0x80 gets. `beyond` gains the bits of all bytes from 0x80 up. */
    uint64_t (*classify)(const uint8_t *text, const uint8_t *table, uint8_t *out,
                         uint64_t *beyond);
    /* out[i] = classes[2 * i] + plain * classes[2 * i + 1], i < 32, modulo 1 << 16. */
    void (*columns)(const uint8_t *classes, uint8_t plain, uint16_t *out);
    /* here[w] and back[w] get bits 0 and 1 of the codes of 64 characters from 32 entries, for
     * n_words <= 64 words; the bits of the result are the words with codes of more bits. */
    uint64_t (*events)(const uint32_t *entries, size_t n_words, uint64_t *here, uint64_t *back);
    /* masks[k] gets bit k of the codes of 64 characters from 32 entries, k < 8. */
    void (*spread)(const uint32_t *entries, uint64_t *masks);
    /* The bytes 0x80 to 0xBF. */
    uint64_t (*continuations)(const uint8_t *text);
    /* The bytes from 0x80 up. */
    uint64_t (*beyond_ascii)(const uint8_t *text);
    /* base + i for every bit i, in order; how many. `out` has room for 64, whatever the bits. */
    size_t (*positions)(uint64_t bits, size_t base, size_t *out);
    /* The same of starts[word], …, as long as word < last, there are at most `most` positions, and
     * neither the 64 bytes of text of a word nor the one before them are beyond ASCII. `word`
     * becomes the first that was not taken. `out` has room for 64 more than `most`. */
    size_t (*collect)(const uint8_t *text, const uint64_t *starts, size_t *word, size_t last,
                      size_t *out, size_t most);
} tk_simd_ops;

/* One bit per byte from 64 bytes that are 0 or 1. */
static inline uint64_t tk_gather_64(const uint8_t *bytes) {
    uint64_t mask = 0;
    for (int i = 0; i < 8; i++) {
        uint64_t eight = 0;
        for (int j = 0; j < 8; j++) eight |= (uint64_t)bytes[8 * i + j] << (8 * j);
        mask |= (eight * UINT64_C(0x0102040810204080)) >> 56 << (8 * i);
    }
    return mask;
}

static uint64_t tk_beyond_ascii_scalar(const uint8_t *text) {
    uint64_t mask = 0;
    for (int i = 0; i < 64; i += 8) {
        uint64_t high = tk_load64(text + i) >> 7 & UINT64_C(0x0101010101010101);
        mask |= (high * UINT64_C(0x0102040810204080)) >> 56 << i;
    }
    return mask;
}

static uint64_t tk_classify_scalar(const uint8_t *text, const uint8_t *table, uint8_t *out,
                                   uint64_t *beyond) {
    uint64_t high = tk_beyond_ascii_scalar(text);
    uint8_t leads[64];
    for (int i = 0; i < 64; i++) out[i] = table[text[i]];
    if (!high) return 0;
    *beyond |= high;
    for (int i = 0; i < 64; i++) leads[i] = (text[i] >= 0xC0) & (out[i] == table[0x80]);
    return tk_gather_64(leads);
}

static void tk_columns_scalar(const uint8_t *classes, uint8_t plain, uint16_t *out) {
    for (int i = 0; i < 32; i++) out[i] = (uint16_t)(classes[2 * i] + plain * classes[2 * i + 1]);
}

/* Bit k of the codes of 64 characters. */
static uint64_t tk_bit_scalar(const uint32_t *entries, int k) {
    uint8_t bits[64];
    for (int i = 0; i < 32; i++) {
        bits[2 * i] = entries[i] >> (16 + k) & 1;
        bits[2 * i + 1] = entries[i] >> (24 + k) & 1;
    }
    return tk_gather_64(bits);
}

static uint64_t tk_events_scalar(const uint32_t *entries, size_t n_words, uint64_t *here,
                                 uint64_t *back) {
    uint64_t more = 0;
    for (size_t w = 0; w < n_words; w++, entries += 32) {
        uint32_t any = 0;
        for (int i = 0; i < 32; i++) any |= entries[i];
        here[w] = any & 0x01010000 ? tk_bit_scalar(entries, 0) : 0;
        back[w] = any & 0x02020000 ? tk_bit_scalar(entries, 1) : 0;
        more |= (uint64_t)((any & 0xFCFC0000) != 0) << w;
    }
    return more;
}

static void tk_spread_scalar(const uint32_t *entries, uint64_t *masks) {
    for (int k = 0; k < 8; k++) masks[k] = tk_bit_scalar(entries, k);
}

static uint64_t tk_continuations_scalar(const uint8_t *text) {
    uint8_t inside[64];
    for (int i = 0; i < 64; i++) inside[i] = (text[i] & 0xC0) == 0x80;
    return tk_gather_64(inside);
}

static size_t tk_positions_scalar(uint64_t bits, size_t base, size_t *out) {
    size_t n = 0;
    for (; bits; bits &= bits - 1) out[n++] = base + (size_t)tk_ctz64(bits);
    return n;
}

/* `collect` by the two steps of a variant, which become a part of it. */
TK_ALWAYS_INLINE size_t tk_collect_by(uint64_t (*beyond_ascii)(const uint8_t *),
                                      size_t (*positions)(uint64_t, size_t, size_t *),
                                      const uint8_t *text, const uint64_t *starts, size_t *word,
                                      size_t last, size_t *out, size_t most) {
    size_t n = 0, w = *word;
    for (; w < last && n <= most; w++) {
        const uint8_t *at = text + 64 * w;
        if (beyond_ascii(at) | (w ? at[-1] >> 7 : 0)) break;
        n += positions(starts[w], 64 * w, out + n);
    }
    *word = w;
    return n;
}

static size_t tk_collect_scalar(const uint8_t *text, const uint64_t *starts, size_t *word,
                                size_t last, size_t *out, size_t most) {
    return tk_collect_by(tk_beyond_ascii_scalar, tk_positions_scalar, text, starts, word, last, out,
                         most);
}

static const tk_simd_ops tk_scalar_ops = {
    "scalar", tk_classify_scalar, tk_columns_scalar, tk_events_scalar, tk_spread_scalar,
    tk_continuations_scalar, tk_beyond_ascii_scalar, tk_positions_scalar, tk_collect_scalar};

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TK_X86 1
#include <immintrin.h>

#define TK_AVX2 __attribute__((target("avx2")))

/* A 128-entry table by eight shuffles: saturation sends all but one sixteenth out of range. */
TK_AVX2 static inline __m256i tk_look_up_half(__m256i bytes, const uint8_t *table) {
    __m256i found = _mm256_setzero_si256();
    for (int k = 0; k < 8; k++) {
        __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(table + 16 * k));
        __m256i index = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)(16 * k)));
        index = _mm256_adds_epu8(index, _mm256_set1_epi8(0x70));
        found = _mm256_or_si256(
            found, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(part), index));
    }
    return found;
}

TK_AVX2 static uint64_t tk_classify_avx2(const uint8_t *text, const uint8_t *table, uint8_t *out,
                                         uint64_t *beyond) {
    uint64_t leads = 0;
    for (int i = 0; i < 64; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(text + i));
        __m256i found = tk_look_up_half(bytes, table);
        uint32_t high = (uint32_t)_mm256_movemask_epi8(bytes);
        if (high) {
            __m256i flipped = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)0x80));
            found = _mm256_or_si256(found, tk_look_up_half(flipped, table + 128));
            __m256i lead = _mm256_cmpgt_epi8(bytes, _mm256_set1_epi8((char)0xBF));
            lead = _mm256_and_si256(
                lead, _mm256_cmpeq_epi8(found, _mm256_set1_epi8((char)table[0x80])));
            leads |= (uint64_t)((uint32_t)_mm256_movemask_epi8(lead) & high) << i;
            *beyond |= (uint64_t)high << i;
        }
        _mm256_storeu_si256((__m256i *)(void *)(out + i), found);
    }
    return leads;
}

TK_AVX2 static void tk_columns_avx2(const uint8_t *classes, uint8_t plain, uint16_t *out) {
    __m256i weights = _mm256_set1_epi16((short)(1 | plain << 8));
    for (int i = 0; i < 64; i += 32) {
        __m256i some = _mm256_loadu_si256((const __m256i *)(const void *)(classes + i));
        _mm256_storeu_si256((__m256i *)(void *)(out + i / 2), _mm256_maddubs_epi16(some, weights));
    }
}

/* The upper halves of 16 entries, in order. */
TK_AVX2 static inline __m256i tk_codes_avx2(const uint32_t *entries) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)entries);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(entries + 8));
    low = _mm256_packus_epi32(_mm256_srli_epi32(low, 16), _mm256_srli_epi32(high, 16));
    return _mm256_permute4x64_epi64(low, 0xD8);
}

TK_AVX2 static inline uint64_t tk_bit_avx2(__m256i low, __m256i high, int k) {
    low = _mm256_slli_epi16(low, 7 - k);
    high = _mm256_slli_epi16(high, 7 - k);
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

TK_AVX2 static uint64_t tk_events_avx2(const uint32_t *entries, size_t n_words, uint64_t *here,
                                       uint64_t *back) {
    __m256i others = _mm256_set1_epi8((char)0xFC);
    uint64_t more = 0;
    for (size_t w = 0; w < n_words; w++, entries += 32) {
        __m256i low = tk_codes_avx2(entries), high = tk_codes_avx2(entries + 16);
        here[w] = tk_bit_avx2(low, high, 0);
        back[w] = tk_bit_avx2(low, high, 1);
        more |= (uint64_t)!_mm256_testz_si256(_mm256_or_si256(low, high), others) << w;
    }
    return more;
}

TK_AVX2 static void tk_spread_avx2(const uint32_t *entries, uint64_t *masks) {
    __m256i low = tk_codes_avx2(entries), high = tk_codes_avx2(entries + 16);
    for (int k = 0; k < 8; k++) masks[k] = tk_bit_avx2(low, high, k);
}

TK_AVX2 static uint64_t tk_continuations_avx2(const uint8_t *text) {
    uint64_t mask = 0;
    for (int i = 0; i < 64; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(text + i));
        __m256i inside = _mm256_cmpgt_epi8(_mm256_set1_epi8((char)0xC0), bytes);
        mask |= (uint64_t)(uint32_t)_mm256_movemask_epi8(inside) << i;
    }
    return mask;
}

TK_AVX2 static uint64_t tk_beyond_ascii_avx2(const uint8_t *text) {
    __m256i low = _mm256_loadu_si256((const __m256i *)(const void *)text);
    __m256i high = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32));
    return (uint32_t)_mm256_movemask_epi8(low) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

TK_AVX2 static size_t tk_collect_avx2(const uint8_t *text, const uint64_t *starts, size_t *word,
                                      size_t last, size_t *out, size_t most) {
    return tk_collect_by(tk_beyond_ascii_avx2, tk_positions_scalar, text, starts, word, last, out,
                         most);
}

static const tk_simd_ops tk_avx2_ops = {
    "avx2", tk_classify_avx2, tk_columns_avx2, tk_events_avx2, tk_spread_avx2,
    tk_continuations_avx2, tk_beyond_ascii_avx2, tk_positions_scalar, tk_collect_avx2};

#define TK_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")))

TK_AVX512 static uint64_t tk_classify_avx512(const uint8_t *text, const uint8_t *table,
                                             uint8_t *out, uint64_t *beyond) {
    __m512i bytes = _mm512_loadu_si512(text);
    __m512i found = _mm512_permutex2var_epi8(_mm512_loadu_si512(table), bytes,
                                             _mm512_loadu_si512(table + 64));
    __mmask64 high = _mm512_movepi8_mask(bytes), leads = 0;
    if (high) {
        __m512i upper = _mm512_permutex2var_epi8(_mm512_loadu_si512(table + 128), bytes,
                                                 _mm512_loadu_si512(table + 192));
        found = _mm512_mask_mov_epi8(found, high, upper);
        leads = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xC0)) &
                _mm512_cmpeq_epi8_mask(found, _mm512_set1_epi8((char)table[0x80]));
        *beyond |= high;
    }
    _mm512_storeu_si512(out, found);
    return leads;
}

TK_AVX512 static void tk_columns_avx512(const uint8_t *classes, uint8_t plain, uint16_t *out) {
    __m512i weights = _mm512_set1_epi16((short)(1 | plain << 8));
    _mm512_storeu_si512(out, _mm512_maddubs_epi16(_mm512_loadu_si512(classes), weights));
}

/* The upper halves of 32 entries. */
TK_AVX512 static inline __m512i tk_codes_avx512(const uint32_t *entries) {
    __m512i odd = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33,
                                   31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    return _mm512_permutex2var_epi16(_mm512_loadu_si512(entries), odd,
                                     _mm512_loadu_si512(entries + 16));
}

TK_AVX512 static uint64_t tk_events_avx512(const uint32_t *entries, size_t n_words, uint64_t *here,
                                           uint64_t *back) {
    __m512i one = _mm512_set1_epi8(1), two = _mm512_set1_epi8(2);
    uint64_t more = 0;
    for (size_t w = 0; w < n_words; w++) {
        __m512i codes = tk_codes_avx512(entries + 32 * w);
        here[w] = _mm512_test_epi8_mask(codes, one);
        back[w] = _mm512_test_epi8_mask(codes, two);
        more |= (uint64_t)(_mm512_cmpgt_epu8_mask(codes, _mm512_set1_epi8(3)) != 0) << w;
    }
    return more;
}

TK_AVX512 static void tk_spread_avx512(const uint32_t *entries, uint64_t *masks) {
    __m512i codes = tk_codes_avx512(entries);
    for (int k = 0; k < 8; k++)
        masks[k] = _mm512_test_epi8_mask(codes, _mm512_set1_epi8((char)(1 << k)));
}

TK_AVX512 static uint64_t tk_continuations_avx512(const uint8_t *text) {
    return _mm512_cmplt_epi8_mask(_mm512_loadu_si512(text), _mm512_set1_epi8((char)0xC0));
}

TK_AVX512 static uint64_t tk_beyond_ascii_avx512(const uint8_t *text) {
    return _mm512_movepi8_mask(_mm512_loadu_si512(text));
}

TK_AVX512 static size_t tk_positions_avx512(uint64_t bits, size_t base, size_t *out) {
    uint8_t places[64];
    for (int i = 0; i < 64; i++) places[i] = (uint8_t)i;
    _mm512_storeu_si512(places, _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(places)));
    size_t n = (size_t)_mm_popcnt_u64(bits);
    __m512i bases = _mm512_set1_epi64((long long)base);
    for (size_t i = 0; i < n; i += 8) {
        __m128i eight = _mm_loadl_epi64((const __m128i *)(const void *)(places + i));
        _mm512_storeu_si512(out + i, _mm512_add_epi64(_mm512_cvtepu8_epi64(eight), bases));
    }
    return n;
}

TK_AVX512 static size_t tk_collect_avx512(const uint8_t *text, const uint64_t *starts,
                                          size_t *word, size_t last, size_t *out, size_t most) {
    return tk_collect_by(tk_beyond_ascii_avx512, tk_positions_avx512, text, starts, word, last,
                         out, most);
}

static const tk_simd_ops tk_avx512_ops = {
    "avx512", tk_classify_avx512, tk_columns_avx512, tk_events_avx512, tk_spread_avx512,
    tk_continuations_avx512, tk_beyond_ascii_avx512, tk_positions_avx512, tk_collect_avx512};
#endif /* x86-64 with GNU intrinsics */

/* The variant of that name if this processor has it, else NULL; "" asks for the best. */
static const tk_simd_ops *tk_find_simd(const char *name) {
#ifdef TK_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2") && (!*name || !strcmp(name, "avx512")))
        return &tk_avx512_ops;
    if (__builtin_cpu_supports("avx2") && (!*name || !strcmp(name, "avx2"))) return &tk_avx2_ops;
#endif
    return (!*name || !strcmp(name, "scalar")) ? &tk_scalar_ops : NULL;
}

#endif /* TOKCY_CLASSIFY_H */
