/* The lines of the merge cache: two entries that are looked at together, as they are one cache
 * line. A key is published by storing its second word last; the ids stand before that. */
#ifndef TOKCY_LINES_H
#define TOKCY_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "_platform.h"

typedef struct {
    uint64_t keys[2][2];
    uint64_t ids[2][2];
} tk_line;

/* The ids of the entry that has this key, or NULL. Both keys are compared, without a branch. */
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
/* Loads are not reordered on x86, and one of 16 bytes is one access where it is aligned. */
static inline const uint64_t *tk_find_in_line(const tk_line *line, const uint64_t *key) {
    __m128i wanted = _mm_loadu_si128((const __m128i *)(const void *)key);
    __m128i first = _mm_loadu_si128((const __m128i *)(const void *)line->keys[0]);
    __m128i second = _mm_loadu_si128((const __m128i *)(const void *)line->keys[1]);
    unsigned equal = (unsigned)_mm_movemask_epi8(_mm_packs_epi32(
        _mm_cmpeq_epi32(wanted, first), _mm_cmpeq_epi32(wanted, second)));
    /* Carries, as compilers make of comparisons a branch that nobody can predict: 10% slower. */
    unsigned in_first = ((equal & 0xFFu) + 1) >> 8, in_second = (equal + 0x100u) >> 16;
    tk_compiler_barrier();
    return tk_likely(in_first | in_second) ? line->ids[in_second] : NULL;
}
#else
static inline const uint64_t *tk_find_in_line(const tk_line *line, const uint64_t *key) {
    int first = (tk_load_acquire64(&line->keys[0][1]) == key[1]) & (line->keys[0][0] == key[0]);
    int second = (tk_load_acquire64(&line->keys[1][1]) == key[1]) & (line->keys[1][0] == key[0]);
    return first | second ? line->ids[second] : NULL;
}
#endif

#endif /* TOKCY_LINES_H */
