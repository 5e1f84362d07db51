"""Unicode normalization form C: the C interface that _prepare calls."""

from libc.stdint cimport uint8_t

from tokcy._aligned cimport AlignedText


cdef void nfc_load() except *
cdef size_t nfc_settled(const uint8_t* text, size_t begin, size_t end) noexcept nogil
cdef int nfc_append(const uint8_t* text, size_t begin, size_t end,
                    AlignedText* out) noexcept nogil
