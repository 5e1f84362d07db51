"""Merging one piece."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from tokcy._merges cimport Merges


cdef int64_t merge_piece(const Merges* merges, const uint8_t* piece, size_t size,
                         uint32_t* out) noexcept nogil
