"""Typed segments as one text in UTF-8, and its parts."""

from libc.stdint cimport uint8_t

from tokcy._added cimport Part, Stretch


cdef struct Segments:
    uint8_t* bytes          # all texts in a row
    size_t size
    Part* parts             # each segment, or with `joined` the one text of all
    size_t n_parts
    Stretch* trusted        # what the parts point into


cdef int segments_open(object segments, bint joined, Segments* out) except -1
cdef void segments_close(Segments* segments) noexcept nogil
