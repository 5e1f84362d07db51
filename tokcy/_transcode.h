/* Characters of a Python string to UTF-8 and back, in the variants that processors offer.
 * The scalar variant is always there; the others are chosen once, at import. */
#ifndef TOKCY_TRANSCODE_H
#define TOKCY_TRANSCODE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_platform.h"

/* Bytes beyond the last of a UTF-8 text that wide loads and stores may touch. */
#define TK_TRANSCODE_SLACK 68

typedef struct {
    const char *name;
    /* Write the UTF-8 of `length` characters of `width` bytes each (1, 2 or 4). Returns how many
     * characters were written, fewer than `length` where a surrogate follows; `*size` receives
     * the bytes. `out` has room for the most bytes that they can need, and the slack. */
    size_t (*encode)(int width, const void *text, size_t length, uint8_t *out, size_t *size);
    /* How many bytes the UTF-8 of these is; a surrogate counts as three. */
    size_t (*measure)(int width, const void *text, size_t length);
    /* How many of `length` characters have, one after the other, the UTF-8 that stands at `bytes`,
     * of which there are `size`; `*agreed` receives how many of these that are. */
    size_t (*agree)(int width, const void *text, size_t length, const uint8_t *bytes, size_t size,
                    size_t *agreed);
    /* Whether these bytes, behind which there is the slack, are UTF-8; if so, `*length` receives
     * how many characters they are, and `*greatest` a byte: the greatest of all. */
    int (*check)(const uint8_t *text, size_t size, size_t *length, uint8_t *greatest);
    /* Write the characters of a valid text, of `width` bytes each. This and `check` are NULL where
     * Python's own decoder is not slower. */
    void (*decode)(const uint8_t *text, size_t size, int width, void *out);
} tk_transcode_ops;

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define TK_TRANSCODE_X86 1
#include <immintrin.h>
#define TK_AVX2 __attribute__((target("avx2")))
#define TK_AVX2_INLINE TK_AVX2 TK_ALWAYS_INLINE
#define TK_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,popcnt")))
#define TK_AVX512_INLINE TK_AVX512 TK_ALWAYS_INLINE
#endif

#include "_to_utf8.h"
#include "_from_utf8.h"

static const tk_transcode_ops tk_transcode_scalar = {
    "scalar", tk_encode_scalar, tk_measure_scalar, tk_agree_scalar, NULL, NULL};
#ifdef TK_TRANSCODE_X86
static const tk_transcode_ops tk_transcode_avx2 = {
    "avx2", tk_encode_avx2, tk_measure_avx2, tk_agree_avx2, NULL, NULL};
static const tk_transcode_ops tk_transcode_avx512 = {
    "avx512",         tk_encode_avx512, tk_measure_avx512,
    tk_agree_avx512, tk_check_avx512,  tk_decode_avx512};
#endif

/* The variant of that name if this processor has it, else the next simpler one. */
static const tk_transcode_ops *tk_find_transcode(const char *name) {
#ifdef TK_TRANSCODE_X86
    __builtin_cpu_init();
    if (!strcmp(name, "avx512") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2"))
        return &tk_transcode_avx512;
    if (strcmp(name, "scalar") && __builtin_cpu_supports("avx2")) return &tk_transcode_avx2;
#else
    (void)name;
#endif
    return &tk_transcode_scalar;
}

#endif /* TOKCY_TRANSCODE_H */
