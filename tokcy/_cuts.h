/* Which borders between characters no token reaches across: the inner loop of CutFilter.
 * The scalar variant is always there; the other is chosen once, as in _classify.h. */
#ifndef TOKCY_CUTS_H
#define TOKCY_CUTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_platform.h"

enum { TK_PAIR_BITS = 20, TK_EDGE_BITS = 20 };

/* The bytes of a character where a load of four bytes has them: the others are masked off. */
static inline uint32_t tk_character_mask(uint8_t lead) {
    return lead < 0xC0 ? 0xFFu : lead < 0xE0 ? 0xFFFFu : lead < 0xF0 ? 0xFFFFFFu : 0xFFFFFFFFu;
}

static inline uint32_t tk_character_at(const uint8_t *text) {
    return tk_load32(text) & tk_character_mask(text[0]);
}

static inline uint32_t tk_character_before(const uint8_t *text) {
    size_t second = (text[-1] & 0xC0) == 0x80, third = second & ((text[-2] & 0xC0) == 0x80);
    return tk_character_at(text - 1 - second - third - (third & ((text[-3] & 0xC0) == 0x80)));
}

/* 32 bits, as vectors multiply no more. */
static inline uint32_t tk_hash_pair(uint32_t left, uint32_t right) {
    return (left * 0x9E3779B1u + right * 0x85EBCA77u) >> (32 - TK_PAIR_BITS);
}

/* What stands at a border between characters: the last byte before it, and behind it the one of
 * ASCII, or the first two. */
static inline uint32_t tk_edge(uint8_t before, uint8_t first, uint8_t second) {
    uint32_t behind = first < 0x80 ? first : (uint32_t)(first & 0x3F) << 6 | (second & 0x3F);
    return (uint32_t)before << 12 | behind;
}

static inline uint64_t tk_bit(const uint32_t *bitmap, size_t i) {
    return bitmap[i >> 5] >> (i & 31) & 1;
}

/* Those of some borders, bits of `text`, that are in neither table: of pairs of characters, and of
 * edges. Four bytes can be read before and behind the 64. */
typedef uint64_t tk_find_cuts(const uint8_t *text, uint64_t borders, const uint32_t *pairs,
                              const uint32_t *halves);

static uint64_t tk_find_cuts_scalar(const uint8_t *text, uint64_t borders, const uint32_t *pairs,
                                    const uint32_t *halves) {
    uint64_t cuts = 0;
    for (; borders; borders &= borders - 1) {
        int i = tk_ctz64(borders);
        const uint8_t *at = text + i;
        uint64_t joined = tk_bit(halves, tk_edge(at[-1], at[0], at[1])) |
                          tk_bit(pairs, tk_hash_pair(tk_character_before(at), tk_character_at(at)));
        cuts |= (joined ^ 1) << i;
    }
    return cuts;
}

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TK_X86_CUTS 1
#include <immintrin.h>

#define TK_AVX512_CUTS \
    __attribute__((target("avx512f,avx512bw,avx512cd,avx512vbmi,avx512vbmi2,bmi2,popcnt")))

/* The bits i of a bitmap, at the lowest place of each lane. */
TK_AVX512_CUTS static inline __m512i tk_bits_avx512(const uint32_t *bitmap, __m512i i) {
    __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(i, 5), (const void *)bitmap, 4);
    return _mm512_srlv_epi32(words, _mm512_and_si512(i, _mm512_set1_epi32(31)));
}

/* tk_edge of sixteen borders: of the bytes before, and of the four behind each. */
TK_AVX512_CUTS static inline __m512i tk_edges_avx512(__m512i before, __m512i behind) {
    __m512i edge = _mm512_or_si512(
        _mm512_slli_epi32(_mm512_and_si512(behind, _mm512_set1_epi32(0x3F)), 6),
        _mm512_and_si512(_mm512_srli_epi32(behind, 8), _mm512_set1_epi32(0x3F)));
    __mmask16 ascii = _mm512_testn_epi32_mask(behind, _mm512_set1_epi32(0x80));
    edge = _mm512_mask_and_epi32(edge, ascii, behind, _mm512_set1_epi32(0x7F));
    return _mm512_or_si512(edge, _mm512_slli_epi32(before, 12));
}

/* Sixteen borders at a time: 168 → 197 MB/s on Chinese that is known (Llama-3). */
TK_AVX512_CUTS static uint64_t tk_find_cuts_avx512(const uint8_t *text, uint64_t borders,
                                                   const uint32_t *pairs,
                                                   const uint32_t *halves) {
    const __m512i masks = _mm512_set_epi32(-1, 0xFFFFFF, 0xFFFF, 0xFFFF, 0xFF, 0xFF, 0xFF, 0xFF,
                                           0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF);
    const __m512i four_bytes = _mm512_set1_epi32(0x03020100);
    const __m512i low = _mm512_loadu_si512(text - 4);
    const __m512i high = _mm512_maskz_loadu_epi8(0xFF, text + 60);
    const int n = (int)_mm_popcnt_u64(borders);
    uint8_t places[64];
    uint32_t hashes[64], edges[64];
    uint64_t joined = 0;
    for (int i = 0; i < 64; i++) places[i] = (uint8_t)i;
    _mm512_storeu_si512(places, _mm512_maskz_compress_epi8(borders, _mm512_loadu_si512(places)));
    for (int i = 0; i < n; i += 16) {
        __m512i at = _mm512_cvtepu8_epi32(
            _mm_loadu_si128((const __m128i *)(const void *)(places + i)));
        at = _mm512_add_epi32(_mm512_mullo_epi32(at, _mm512_set1_epi32(0x01010101)), four_bytes);
        __m512i left = _mm512_permutex2var_epi8(low, at, high);
        __m512i right = _mm512_permutex2var_epi8(
            low, _mm512_add_epi8(at, _mm512_set1_epi8(4)), high);
        __m512i edge = tk_edges_avx512(_mm512_srli_epi32(left, 24), right);
        right = _mm512_and_si512(right, _mm512_permutexvar_epi32(
            _mm512_srli_epi32(_mm512_and_si512(right, _mm512_set1_epi32(0xF0)), 4), masks));
        /* The leading zeros are eight for each byte that only continues a character. */
        __m512i leads = _mm512_and_si512(
            _mm512_xor_si512(left, _mm512_set1_epi32((int)0x80808080u)),
            _mm512_set1_epi32((int)0xC0C0C0C0u));
        __m512i continued = _mm512_and_si512(_mm512_lzcnt_epi32(leads), _mm512_set1_epi32(24));
        left = _mm512_srlv_epi32(left, _mm512_sub_epi32(_mm512_set1_epi32(24), continued));
        __m512i hash = _mm512_srli_epi32(
            _mm512_add_epi32(_mm512_mullo_epi32(left, _mm512_set1_epi32((int)0x9E3779B1u)),
                             _mm512_mullo_epi32(right, _mm512_set1_epi32((int)0x85EBCA77u))),
            32 - TK_PAIR_BITS);
        _mm512_storeu_si512(hashes + i, hash);
        _mm512_storeu_si512(edges + i, edge);
    }
    /* One after another, where two gathers of 81 steps each took longer: 2 to 5% (DeepSeek-V3,
     * Chinese, repeated). */
    for (int i = 0; i < n; i++)
        joined = joined >> 1 | (tk_bit(pairs, hashes[i]) | tk_bit(halves, edges[i])) << 63;
    joined >>= 64 - n;
    return _pdep_u64(~joined, borders);
}
#else
#define TK_X86_CUTS 0
#endif

static tk_find_cuts *tk_choose_find_cuts(const char *simd) {
#if TK_X86_CUTS
    if (!strcmp(simd, "avx512")) return tk_find_cuts_avx512;
#endif
    (void)simd;
    return tk_find_cuts_scalar;
}

#endif /* TOKCY_CUTS_H */
