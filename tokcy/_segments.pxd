"""Typed segments as one text in UTF-8, and its parts."""

from libc.stdint cimport uint8_t

from tokcy._added cimport Part, Stretch
from tokcy._scratch cimport Scratch
from tokcy._source cimport Source


cdef enum:
    MAY_BE_CUT = 25_000     # a text of no more characters never is


cdef struct Segments:
    uint8_t* bytes          # all texts in a row; there once they are placed, as are the parts
    Scratch memory          # of these
    size_t size
    size_t length           # characters of all texts
    size_t most             # bytes that they can be
    bint joined             # as in `segments_look`
    bint chunked
    Part* parts             # each segment, or with `joined` the one text of all
    size_t n_parts
    Stretch* trusted        # what the parts point into
    Source* sources         # of each segment
    bint* flags             # of each segment: whether it is trusted
    size_t n_segments
    size_t first            # how many stand before them
    size_t n_placed         # of which so many are in the row


cdef list listed(object segments)
cdef int segments_look(list items, size_t first, bint joined, bint chunked,
                       Segments* out) except -1
cdef int segments_reserve(Segments* segments) noexcept nogil
cdef int segments_place(Segments* segments) noexcept nogil
cdef int segments_refuse(list items, const Segments* segments) except -1
cdef int segments_open(list items, size_t first, bint joined, bint chunked,
                       Segments* out) except -1
cdef void segments_close(Segments* segments) noexcept nogil
