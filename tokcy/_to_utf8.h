/* Characters of a Python string to UTF-8, and compared with it. Part of _transcode.h. */
#ifndef TOKCY_TO_UTF8_H
#define TOKCY_TO_UTF8_H

TK_ALWAYS_INLINE uint32_t tk_character(int width, const void *text, size_t i) {
    if (width == 1) return ((const uint8_t *)text)[i];
    if (width == 2) return ((const uint16_t *)text)[i];
    return ((const uint32_t *)text)[i];
}

/* The width is a constant at each call, so that compilers make three functions of each of the
 * inline ones below. */
#define TK_BY_WIDTH(function, width, ...)                    \
    ((width) == 1   ? function(1, __VA_ARGS__)               \
     : (width) == 2 ? function(2, __VA_ARGS__)               \
                    : function(4, __VA_ARGS__))

TK_ALWAYS_INLINE size_t tk_encode_units(int width, const void *text, size_t length, uint8_t *out,
                                        size_t *size) {
    size_t i = 0;
    uint8_t *to = out;
    while (i < length) {
        size_t stop = length - i < 16 ? length : i + 16;
        if (length - i >= 16) { /* vector code, whatever the processor */
            uint32_t seen = 0;
            for (int j = 0; j < 16; j++) seen |= tk_character(width, text, i + j);
            if (seen < 0x80) {
                for (int j = 0; j < 16; j++) to[j] = (uint8_t)tk_character(width, text, i + j);
                to += 16;
                i += 16;
                continue;
            }
        }
        for (; i < stop; i++) {
            uint32_t c = tk_character(width, text, i);
            if (c < 0x80) {
                *to++ = (uint8_t)c;
            } else if (c < 0x800) {
                to[0] = (uint8_t)(0xC0 | c >> 6);
                to[1] = (uint8_t)(0x80 | (c & 0x3F));
                to += 2;
            } else if (c < 0x10000) {
                if ((c & 0xF800) == 0xD800) {
                    *size = (size_t)(to - out);
                    return i;
                }
                to[0] = (uint8_t)(0xE0 | c >> 12);
                to[1] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
                to[2] = (uint8_t)(0x80 | (c & 0x3F));
                to += 3;
            } else {
                to[0] = (uint8_t)(0xF0 | c >> 18);
                to[1] = (uint8_t)(0x80 | (c >> 12 & 0x3F));
                to[2] = (uint8_t)(0x80 | (c >> 6 & 0x3F));
                to[3] = (uint8_t)(0x80 | (c & 0x3F));
                to += 4;
            }
        }
    }
    *size = (size_t)(to - out);
    return i;
}

static size_t tk_encode_scalar(int width, const void *text, size_t length, uint8_t *out,
                               size_t *size) {
    return TK_BY_WIDTH(tk_encode_units, width, text, length, out, size);
}

/* How many bytes beyond one some characters need, at most 64 of them: as many as fit the type. */
#define TK_MORE_BYTES(type, text, n, more)                                                 \
    do {                                                                                   \
        const type *characters = (const type *)(text);                                     \
        type sum = 0;                                                                      \
        for (size_t k = 0; k < (n); k++) {                                                 \
            uint32_t c = characters[k];                                                    \
            sum = (type)(sum + (type)(c >= 0x80) + (type)(c >= 0x800) + (type)(c >= 0x10000)); \
        }                                                                                  \
        (more) += sum;                                                                     \
    } while (0)

/* Loops that compilers make vector code of, for the processor that the caller is for. */
TK_ALWAYS_INLINE size_t tk_measure_units(int width, const void *text, size_t length) {
    size_t size = length;
    for (size_t i = 0; i < length; i += 64) {
        const char *from = (const char *)text + (size_t)width * i;
        size_t n = length - i < 64 ? length - i : 64;
        if (width == 1) TK_MORE_BYTES(uint8_t, from, n, size);
        if (width == 2) TK_MORE_BYTES(uint16_t, from, n, size);
        if (width == 4) TK_MORE_BYTES(uint32_t, from, n, size);
    }
    return size;
}

static size_t tk_measure_scalar(int width, const void *text, size_t length) {
    return TK_BY_WIDTH(tk_measure_units, width, text, length);
}

TK_ALWAYS_INLINE size_t tk_agree_units(int width, const void *text, size_t length,
                                       const uint8_t *bytes, size_t size, size_t *agreed) {
    uint8_t units[4 * 16];
    size_t i = 0, at = 0, n, step;
    while (i < length) {
        for (step = length - i < 16 ? 1 : 16;; step = 1) {
            const char *from = (const char *)text + (size_t)width * i;
            if (tk_encode_units(width, from, step, units, &n) == step && n <= size - at &&
                !memcmp(units, bytes + at, n))
                break;
            if (step == 1) goto end;
        }
        i += step;
        at += n;
    }
end:
    *agreed = at;
    return i;
}

static size_t tk_agree_scalar(int width, const void *text, size_t length, const uint8_t *bytes,
                              size_t size, size_t *agreed) {
    return TK_BY_WIDTH(tk_agree_units, width, text, length, bytes, size, agreed);
}

#ifdef TK_TRANSCODE_X86

/* ---- AVX2: eight characters become eight words, which are stored one over the end of another */

TK_AVX2_INLINE __m256i tk_load_8(int width, const void *text, size_t i) {
    const char *from = (const char *)text + (size_t)width * i;
    if (width == 4) return _mm256_loadu_si256((const __m256i *)(const void *)from);
    if (width == 2)
        return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
}

/* Make bytes of 32 characters if all of them are ASCII. */
TK_AVX2_INLINE int tk_pack_ascii_32(int width, const void *text, size_t i, __m256i *out) {
    const __m256i *from = (const __m256i *)(const void *)((const char *)text + (size_t)width * i);
    __m256i seen = _mm256_loadu_si256(from), bytes = seen;
    __m256i high = _mm256_set1_epi32(
        (int)(width == 1 ? 0x80808080 : width == 2 ? 0xFF80FF80 : 0xFFFFFF80));
    if (width == 2) {
        __m256i second = _mm256_loadu_si256(from + 1);
        seen = _mm256_or_si256(seen, second);
        bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(bytes, second), 0xD8);
    } else if (width == 4) {
        __m256i b = _mm256_loadu_si256(from + 1), c = _mm256_loadu_si256(from + 2);
        __m256i d = _mm256_loadu_si256(from + 3);
        seen = _mm256_or_si256(_mm256_or_si256(seen, b), _mm256_or_si256(c, d));
        bytes = _mm256_packus_epi16(_mm256_packus_epi32(bytes, b), _mm256_packus_epi32(c, d));
        bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    }
    *out = bytes;
    return _mm256_testz_si256(seen, high);
}

/* Write eight characters; where they end, or NULL if there is a surrogate among them. */
TK_AVX2_INLINE uint8_t *tk_encode_8(__m256i c, uint8_t *to) {
    uint32_t words[8], sizes[8];
    __m256i two = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7F));
    __m256i three = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0x7FF));
    __m256i four = _mm256_cmpgt_epi32(c, _mm256_set1_epi32(0xFFFF));
    __m256i surrogate = _mm256_cmpeq_epi32(_mm256_and_si256(c, _mm256_set1_epi32(~0x7FF)),
                                           _mm256_set1_epi32(0xD800));
    /* The last byte of a character on top, the marks of its length in front. */
    __m256i top = _mm256_slli_epi32(c, 24);
    __m256i word = _mm256_and_si256(top, _mm256_set1_epi32(0x3F000000));
    __m256i marks = _mm256_xor_si256(
        _mm256_and_si256(two, _mm256_set1_epi32((int)0x80C00000)),
        _mm256_xor_si256(_mm256_and_si256(three, _mm256_set1_epi32(0x0040E000)),
                         _mm256_and_si256(four, _mm256_set1_epi32(0x000060F0))));
    __m256i count = _mm256_add_epi32(_mm256_add_epi32(two, three), four); /* 0, -1, -2, -3 */
    if (!_mm256_testz_si256(surrogate, surrogate)) return NULL;
    word = _mm256_or_si256(word, _mm256_and_si256(_mm256_slli_epi32(c, 10),
                                                  _mm256_set1_epi32(0x3F0000)));
    word = _mm256_or_si256(word, _mm256_and_si256(_mm256_srli_epi32(c, 4),
                                                  _mm256_set1_epi32(0x3F00)));
    word = _mm256_or_si256(word, _mm256_srli_epi32(c, 18));
    word = _mm256_blendv_epi8(top, _mm256_or_si256(word, marks), two);
    word = _mm256_srlv_epi32(word, _mm256_add_epi32(_mm256_slli_epi32(count, 3),
                                                    _mm256_set1_epi32(24)));
    _mm256_storeu_si256((__m256i *)(void *)words, word);
    _mm256_storeu_si256((__m256i *)(void *)sizes, _mm256_sub_epi32(_mm256_set1_epi32(1), count));
    for (int j = 0; j < 8; j++) {
        memcpy(to, words + j, 4);
        to += sizes[j];
    }
    return to;
}

TK_AVX2_INLINE size_t tk_encode_wide_avx2(int width, const void *text, size_t length,
                                          uint8_t *out, size_t *size) {
    size_t i = 0;
    uint8_t *to = out;
    __m256i ascii;
    while (length - i >= 32) {
        if (tk_pack_ascii_32(width, text, i, &ascii)) {
            _mm256_storeu_si256((__m256i *)(void *)to, ascii);
            to += 32;
            i += 32;
            continue;
        }
        for (int k = 0; k < 4; k++, i += 8) {
            uint8_t *end = tk_encode_8(tk_load_8(width, text, i), to);
            if (!end) goto rest;
            to = end;
        }
    }
rest:
    i += tk_encode_scalar(width, (const char *)text + (size_t)width * i, length - i, to, size);
    *size += (size_t)(to - out);
    return i;
}

TK_AVX2 static size_t tk_encode_avx2(int width, const void *text, size_t length, uint8_t *out,
                                     size_t *size) {
    return TK_BY_WIDTH(tk_encode_wide_avx2, width, text, length, out, size);
}

TK_AVX2 static size_t tk_measure_avx2(int width, const void *text, size_t length) {
    return TK_BY_WIDTH(tk_measure_units, width, text, length);
}

TK_AVX2_INLINE size_t tk_agree_wide_avx2(int width, const void *text, size_t length,
                                         const uint8_t *bytes, size_t size, size_t *agreed) {
    uint8_t units[4 * 32 + TK_TRANSCODE_SLACK];
    size_t i = 0, at = 0, n;
    __m256i ascii;
    while (length - i >= 32 && size - at >= 32) {
        const char *from = (const char *)text + (size_t)width * i;
        if (tk_pack_ascii_32(width, text, i, &ascii)) {
            __m256i stored = _mm256_loadu_si256((const __m256i *)(const void *)(bytes + at));
            if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(ascii, stored)) != -1) break;
            n = 32;
        } else if (tk_encode_wide_avx2(width, from, 32, units, &n) < 32 || n > size - at ||
                   memcmp(units, bytes + at, n)) {
            break;
        }
        i += 32;
        at += n;
    }
    i += tk_agree_scalar(width, (const char *)text + (size_t)width * i, length - i, bytes + at,
                         size - at, &n);
    *agreed = at + n;
    return i;
}

TK_AVX2 static size_t tk_agree_avx2(int width, const void *text, size_t length,
                                    const uint8_t *bytes, size_t size, size_t *agreed) {
    return TK_BY_WIDTH(tk_agree_wide_avx2, width, text, length, bytes, size, agreed);
}

/* ---- AVX-512: sixteen characters become four bytes each, and one instruction drops the empty */

TK_AVX512_INLINE __m512i tk_load_16(int width, const void *text, size_t i, __mmask16 lanes) {
    const char *from = (const char *)text + (size_t)width * i;
    if (width == 1) return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(lanes, from));
    if (width == 2) return _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, from));
    return _mm512_maskz_loadu_epi32(lanes, from);
}

/* Make bytes of 64 characters if all of them are ASCII. */
TK_AVX512_INLINE int tk_pack_ascii_64(int width, const void *text, size_t i, __m512i *out) {
    const char *from = (const char *)text + (size_t)width * i;
    __m512i a = _mm512_loadu_si512(from), b, c, d, seen;
    if (width == 1) {
        *out = a;
        return !_mm512_movepi8_mask(a);
    }
    b = _mm512_loadu_si512(from + 64);
    if (width == 2) {
        *out = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                        _mm512_packus_epi16(a, b));
        return !_mm512_test_epi16_mask(_mm512_or_si512(a, b), _mm512_set1_epi16(~0x7F));
    }
    c = _mm512_loadu_si512(from + 128);
    d = _mm512_loadu_si512(from + 192);
    seen = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    a = _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d));
    *out = _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), a);
    return !_mm512_test_epi32_mask(seen, _mm512_set1_epi32(~0x7F));
}

/* The bytes of the first n ≤ 16 of these characters, up to a surrogate; how many they are. */
TK_AVX512_INLINE size_t tk_units_16(__m512i c, size_t n, __m512i *units, size_t *size) {
    /* Bits 18, 12, 6 and 0 and the seven above of both characters of a 64-bit word. */
    const __m512i shifts = _mm512_set1_epi64(0x20262C3200060C12);
    __mmask16 two = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x80));
    __mmask16 three = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x800));
    __mmask16 four = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x10000));
    __mmask16 surrogates = _mm512_cmpeq_epi32_mask(
        _mm512_and_si512(c, _mm512_set1_epi32(~0x7FF)), _mm512_set1_epi32(0xD800));
    __m512i marks = _mm512_maskz_set1_epi32(two, (int)0x80C00000);
    __m512i bytes = _mm512_and_si512(_mm512_multishift_epi64_epi8(shifts, c),
                                     _mm512_set1_epi8(0x3F));
    __mmask64 keep;
    if (surrogates && (size_t)__builtin_ctz(surrogates) < n) n = (size_t)__builtin_ctz(surrogates);
    marks = _mm512_mask_set1_epi32(marks, three, (int)0x8080E000);
    marks = _mm512_mask_set1_epi32(marks, four, (int)0x808080F0);
    bytes = _mm512_or_si512(bytes, marks);
    bytes = _mm512_mask_slli_epi32(bytes, (__mmask16)~two, c, 24);
    keep = _mm512_test_epi8_mask(bytes, bytes) | UINT64_C(0x8888888888888888);
    if (n < 16) keep &= (UINT64_C(1) << 4 * n) - 1;
    *units = _mm512_maskz_compress_epi8(keep, bytes);
    *size = (size_t)__builtin_popcountll(keep);
    return n;
}

TK_AVX512_INLINE size_t tk_encode_wide_avx512(int width, const void *text, size_t length,
                                              uint8_t *out, size_t *size) {
    size_t i = 0, stop;
    uint8_t *to = out;
    __m512i ascii, units;
    while (i < length) {
        stop = length - i < 64 ? length : i + 64;
        if (length - i >= 64 && tk_pack_ascii_64(width, text, i, &ascii)) {
            _mm512_storeu_si512(to, ascii);
            to += 64;
            i += 64;
            continue;
        }
        while (i < stop) {
            size_t n = stop - i < 16 ? stop - i : 16, n_bytes;
            __mmask16 lanes = (__mmask16)((1 << n) - 1);
            size_t written = tk_units_16(tk_load_16(width, text, i, lanes), n, &units, &n_bytes);
            _mm512_storeu_si512(to, units);
            to += n_bytes;
            i += written;
            if (written < n) goto end;
        }
    }
end:
    *size = (size_t)(to - out);
    return i;
}

TK_AVX512 static size_t tk_encode_avx512(int width, const void *text, size_t length,
                                         uint8_t *out, size_t *size) {
    return TK_BY_WIDTH(tk_encode_wide_avx512, width, text, length, out, size);
}

/* Two to five times as fast as what gcc makes of tk_measure_units. */
TK_AVX512_INLINE size_t tk_measure_wide_avx512(int width, const void *text, size_t length) {
    const size_t step = 64 / (size_t)width;
    size_t size = length, i = 0;
    for (; length - i >= step; i += step) {
        __m512i c = _mm512_loadu_si512((const char *)text + (size_t)width * i);
        if (width == 1) {
            size += (size_t)_mm_popcnt_u64(_mm512_movepi8_mask(c));
        } else if (width == 2) {
            __mmask32 two = _mm512_cmpge_epu16_mask(c, _mm512_set1_epi16(0x80));
            __mmask32 three = _mm512_cmpge_epu16_mask(c, _mm512_set1_epi16(0x800));
            size += (size_t)_mm_popcnt_u64((uint64_t)two << 32 | three);
        } else {
            uint64_t two = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x80));
            uint64_t three = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x800));
            uint64_t four = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x10000));
            size += (size_t)_mm_popcnt_u64(two << 32 | three << 16 | four);
        }
    }
    size += tk_measure_units(width, (const char *)text + (size_t)width * i, length - i);
    return size - (length - i);
}

TK_AVX512 static size_t tk_measure_avx512(int width, const void *text, size_t length) {
    return TK_BY_WIDTH(tk_measure_wide_avx512, width, text, length);
}

TK_AVX512_INLINE size_t tk_agree_wide_avx512(int width, const void *text, size_t length,
                                             const uint8_t *bytes, size_t size, size_t *agreed) {
    size_t i = 0, at = 0, n;
    __m512i units;
    while (length - i >= 64 && size - at >= 64) {
        if (tk_pack_ascii_64(width, text, i, &units)) {
            if (_mm512_cmpneq_epi8_mask(units, _mm512_loadu_si512(bytes + at))) break;
            i += 64;
            at += 64;
        } else if (tk_units_16(tk_load_16(width, text, i, 0xFFFF), 16, &units, &n) < 16 ||
                   _mm512_mask_cmpneq_epi8_mask(UINT64_MAX >> (64 - n), units,
                                                _mm512_loadu_si512(bytes + at))) {
            break;
        } else {
            i += 16;
            at += n;
        }
    }
    i += tk_agree_scalar(width, (const char *)text + (size_t)width * i, length - i, bytes + at,
                         size - at, &n);
    *agreed = at + n;
    return i;
}

TK_AVX512 static size_t tk_agree_avx512(int width, const void *text, size_t length,
                                        const uint8_t *bytes, size_t size, size_t *agreed) {
    return TK_BY_WIDTH(tk_agree_wide_avx512, width, text, length, bytes, size, agreed);
}

#endif /* TK_TRANSCODE_X86 */
#endif /* TOKCY_TO_UTF8_H */
