"""Where a piece may be cut before merging, because no token reaches across."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokcy._pretok cimport tk_simd_ops

cdef extern from "_cuts.h" nogil:
    enum:
        TK_PAIR_BITS
        TK_EDGE_BITS
    ctypedef uint64_t tk_find_cuts(const uint8_t* text, uint64_t borders, const uint32_t* pairs,
                                   const uint32_t* halves) noexcept nogil
    tk_find_cuts* tk_choose_find_cuts(const char* simd)
    uint32_t tk_character_at(const uint8_t* text)
    uint32_t tk_hash_pair(uint32_t left, uint32_t right)
    uint32_t tk_edge(uint8_t before, uint8_t first, uint8_t second)


cdef class CutFilter:
    cdef readonly bint enabled
    cdef const tk_simd_ops* simd
    cdef tk_find_cuts* find_cuts
    cdef uint32_t* pairs            # hashed bit table of adjacent characters within a token
    cdef uint32_t* halves           # bit table of edges, where one of the two is partial

    cdef uint64_t cuts_in_word(self, const uint8_t* text, size_t size, size_t word,
                               uint64_t starts) noexcept nogil
