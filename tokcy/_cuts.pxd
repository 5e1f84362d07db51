"""Where a piece may be cut before merging, because no token reaches across."""

from libc.stdint cimport uint8_t, uint64_t

from tokcy._pretok cimport tk_simd_ops


cdef class CutFilter:
    cdef readonly bint enabled
    cdef const tk_simd_ops* simd
    cdef uint64_t* pairs            # hashed bit table of adjacent characters within a token
    cdef uint64_t* halves           # [1024] bit (last byte << 8 | first byte) of partial ones

    cdef uint64_t cuts_in_word(self, const uint8_t* text, size_t size, size_t word,
                               uint64_t starts) noexcept nogil
    cdef uint64_t _cuts_at(self, const uint8_t* text, uint64_t borders) noexcept nogil
