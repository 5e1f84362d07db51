/* UTF-8 to the characters of a Python string, 64 bytes at a time. Part of _transcode.h. */
#ifndef TOKCY_FROM_UTF8_H
#define TOKCY_FROM_UTF8_H
#ifdef TK_TRANSCODE_X86

/* Among 64 bytes: those that break a rule of UTF-8 but for the count of continuation bytes. */
TK_AVX512_INLINE __mmask64 tk_bad_bytes(__m512i bytes, __m512i behind) {
    const __m512i a0 = _mm512_set1_epi8((char)0xA0), b90 = _mm512_set1_epi8((char)0x90);
    __mmask64 e0 = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)0xE0));
    __mmask64 ed = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)0xED));
    __mmask64 f0 = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)0xF0));
    __mmask64 f4 = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)0xF4));
    __mmask64 c0 = _mm512_cmpeq_epi8_mask(
        _mm512_and_si512(bytes, _mm512_set1_epi8((char)0xFE)), _mm512_set1_epi8((char)0xC0));
    __mmask64 beyond = _mm512_cmpgt_epu8_mask(bytes, _mm512_set1_epi8((char)0xF4));
    /* Forms that are longer than need be, surrogates, and what is beyond U+10FFFF. */
    return c0 | beyond | _mm512_mask_cmplt_epu8_mask(e0, behind, a0) |
           _mm512_mask_cmpge_epu8_mask(ed, behind, a0) |
           _mm512_mask_cmplt_epu8_mask(f0, behind, b90) |
           _mm512_mask_cmpge_epu8_mask(f4, behind, b90);
}

TK_AVX512 static int tk_check_avx512(const uint8_t *text, size_t size, size_t *length,
                                     uint8_t *greatest) {
    __m512i most = _mm512_setzero_si512();
    uint64_t expected = 0; /* continuation bytes of characters that began in the block before */
    size_t n = 0;
    uint8_t lanes[64], found = 0;
    for (size_t at = 0; at < size; at += 64) {
        __mmask64 inside = size - at < 64 ? ~UINT64_C(0) >> (64 - (size - at)) : ~UINT64_C(0);
        __m512i bytes = _mm512_maskz_loadu_epi8(inside, text + at);
        __mmask64 high = _mm512_movepi8_mask(bytes), two, three, four, continuations;
        most = _mm512_max_epu8(most, bytes);
        if (!(high | expected)) {
            n += (size_t)__builtin_popcountll(inside);
            continue;
        }
        continuations = _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8((char)0xC0));
        two = high & ~continuations;
        three = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xE0));
        four = _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8((char)0xF0));
        if ((expected | two << 1 | three << 2 | four << 3) != continuations) return 0;
        if (tk_bad_bytes(bytes, _mm512_loadu_si512(text + at + 1))) return 0;
        expected = two >> 63 | three >> 62 | four >> 61;
        n += (size_t)__builtin_popcountll(inside & ~continuations);
    }
    _mm512_storeu_si512(lanes, most);
    for (int i = 0; i < 64; i++) found = lanes[i] > found ? lanes[i] : found;
    *length = n;
    *greatest = found;
    return !expected;
}

/* The k-th 16 of 64 bytes as 32-bit numbers, the k-th 32 as 16-bit ones. */
#define TK_PART_32(bytes, k) _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, k))
#define TK_PART_16(bytes, k) _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(bytes, k))

/* Characters of at most three bytes, which are given one by one: modulo 2^16 it is enough to
 * subtract all the marks of their lengths at once. */
TK_AVX512_INLINE __m512i tk_characters_16(__m512i a, __m512i b, __m512i c) {
    __m512i two = _mm512_add_epi16(_mm512_slli_epi16(a, 6), b);
    __m512i three = _mm512_add_epi16(_mm512_slli_epi16(two, 6), c);
    __m512i result = _mm512_mask_sub_epi16(
        a, _mm512_cmpge_epu16_mask(a, _mm512_set1_epi16(0xC0)), two, _mm512_set1_epi16(0x3080));
    return _mm512_mask_sub_epi16(result, _mm512_cmpge_epu16_mask(a, _mm512_set1_epi16(0xE0)), three,
                                 _mm512_set1_epi16(0x2080));
}

TK_AVX512_INLINE __m512i tk_characters_32(__m512i a, __m512i b, __m512i c, __m512i d) {
    __m512i two = _mm512_add_epi32(_mm512_slli_epi32(a, 6), b);
    __m512i three = _mm512_add_epi32(_mm512_slli_epi32(two, 6), c);
    __m512i four = _mm512_add_epi32(_mm512_slli_epi32(three, 6), d);
    __m512i result = _mm512_mask_sub_epi32(
        a, _mm512_cmpge_epu32_mask(a, _mm512_set1_epi32(0xC0)), two, _mm512_set1_epi32(0x3080));
    result = _mm512_mask_sub_epi32(result, _mm512_cmpge_epu32_mask(a, _mm512_set1_epi32(0xE0)),
                                   three, _mm512_set1_epi32(0xE2080));
    return _mm512_mask_sub_epi32(result, _mm512_cmpge_epu32_mask(a, _mm512_set1_epi32(0xF0)), four,
                                 _mm512_set1_epi32(0x3C82080));
}

/* The n characters whose bytes are given, first ones, second ones and so on. */
TK_AVX512_INLINE void tk_store_characters(int width, const __m512i *byte, size_t n, void *out) {
    __mmask64 lanes = ~UINT64_C(0) >> (64 - n);
    if (width == 1) {
        __mmask64 two = _mm512_movepi8_mask(byte[0]);
        __mmask64 upper = _mm512_cmpeq_epi8_mask(byte[0], _mm512_set1_epi8((char)0xC3));
        __m512i c = _mm512_mask_mov_epi8(byte[0], two, byte[1]);
        c = _mm512_mask_add_epi8(c, upper, c, _mm512_set1_epi8(0x40));
        _mm512_mask_storeu_epi8(out, lanes, c);
    } else if (width == 2) {
        uint16_t *to = (uint16_t *)out;
        _mm512_mask_storeu_epi16(to, (__mmask32)lanes,
                                 tk_characters_16(TK_PART_16(byte[0], 0), TK_PART_16(byte[1], 0),
                                                  TK_PART_16(byte[2], 0)));
        if (n <= 32) return;
        _mm512_mask_storeu_epi16(to + 32, (__mmask32)(lanes >> 32),
                                 tk_characters_16(TK_PART_16(byte[0], 1), TK_PART_16(byte[1], 1),
                                                  TK_PART_16(byte[2], 1)));
    } else {
        uint32_t *to = (uint32_t *)out;
#define TK_STORE_PART(k)                                                                        \
    _mm512_mask_storeu_epi32(to + 16 * (k), (__mmask16)(lanes >> 16 * (k)),                     \
                             tk_characters_32(TK_PART_32(byte[0], k), TK_PART_32(byte[1], k),   \
                                              TK_PART_32(byte[2], k), TK_PART_32(byte[3], k)))
        TK_STORE_PART(0);
        if (n > 16) TK_STORE_PART(1);
        if (n > 32) TK_STORE_PART(2);
        if (n > 48) TK_STORE_PART(3);
    }
}

TK_AVX512_INLINE void tk_store_ascii(int width, __m512i bytes, void *out) {
    if (width == 1) {
        _mm512_storeu_si512(out, bytes);
    } else if (width == 2) {
        _mm512_storeu_si512(out, TK_PART_16(bytes, 0));
        _mm512_storeu_si512((uint16_t *)out + 32, TK_PART_16(bytes, 1));
    } else {
        _mm512_storeu_si512(out, TK_PART_32(bytes, 0));
        _mm512_storeu_si512((uint32_t *)out + 16, TK_PART_32(bytes, 1));
        _mm512_storeu_si512((uint32_t *)out + 32, TK_PART_32(bytes, 2));
        _mm512_storeu_si512((uint32_t *)out + 48, TK_PART_32(bytes, 3));
    }
}

TK_AVX512_INLINE void tk_decode_wide_avx512(int width, const uint8_t *text, size_t size,
                                            char *out) {
    for (size_t at = 0; at < size; at += 64) {
        __m512i byte[4] = {_mm512_loadu_si512(text + at)};
        __mmask64 leads;
        size_t n;
        if (size - at >= 64 && !_mm512_movepi8_mask(byte[0])) {
            tk_store_ascii(width, byte[0], out);
            out += (size_t)width * 64;
            continue;
        }
        leads = _mm512_cmpge_epi8_mask(byte[0], _mm512_set1_epi8((char)0xC0));
        if (size - at < 64) leads &= ~UINT64_C(0) >> (64 - (size - at));
        n = (size_t)__builtin_popcountll(leads);
        byte[0] = _mm512_maskz_compress_epi8(leads, byte[0]);
        for (int k = 1; k < (width == 1 ? 2 : width == 2 ? 3 : 4); k++)
            byte[k] = _mm512_maskz_compress_epi8(leads, _mm512_loadu_si512(text + at + k));
        if (n) tk_store_characters(width, byte, n, out);
        out += (size_t)width * n;
    }
}

TK_AVX512 static void tk_decode_avx512(const uint8_t *text, size_t size, int width, void *out) {
    if (width == 1)
        tk_decode_wide_avx512(1, text, size, (char *)out);
    else if (width == 2)
        tk_decode_wide_avx512(2, text, size, (char *)out);
    else
        tk_decode_wide_avx512(4, text, size, (char *)out);
}

#endif /* TK_TRANSCODE_X86 */
#endif /* TOKCY_FROM_UTF8_H */
