"""Unicode's normalization forms: the C interface that _normalize calls."""

from libc.stdint cimport uint8_t, uint32_t

from tokcy._aligned cimport AlignedText
from tokcy._sieve cimport Sieve


cdef struct Kind:           # characters that a form treats alike
    uint8_t ccc             # canonical combining class
    uint8_t trail           # class of the last character of its decomposition
    uint8_t flags


cdef struct Form:
    bint composes
    uint8_t block_of[0x1100]
    const uint8_t* kind_blocks
    Kind kinds[256]
    uint8_t passing_kinds   # kinds below are boundaries that stay as they are
    Sieve not_passing       # by the first three bytes of a character; some do pass
    const uint32_t* decomposing
    const uint32_t* decomposition_ends
    const uint32_t* decomposed
    size_t n_decomposing


cdef const Form* form_load(str name) except NULL
cdef size_t form_settled(const Form* form, const uint8_t* text, size_t begin,
                         size_t end) noexcept nogil
cdef int form_append(const Form* form, const uint8_t* text, size_t begin, size_t end,
                     AlignedText* out) noexcept nogil
