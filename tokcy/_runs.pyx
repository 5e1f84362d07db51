# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts as runs of bytes, for a comparison with others.

A *stream* is what a text and all that its ids depend on come to as bytes: the key of a tokenizer
and how it is to be read, then the segments of the text. Before each stands a mark, a byte that
UTF-8 does not have, which tells whether the segment is trusted. So plain text, another split into
segments and another trust are different streams.

A long string that is not ASCII is compared in place, and converted only from there on where it
differs.
"""

from libc.stdint cimport uint8_t
from libc.string cimport memcmp, memcpy

from tokcy._source cimport Wide

cdef enum:
    COMPARED_AT_ONCE = 4096     # bytes; where they differ they are looked at again


cdef bint rewind(const Stream* stream) noexcept nogil:
    """Get ready to be compared from the beginning; whether that is necessary."""
    cdef Wide* wide = stream.runs[stream.n_runs - 1].wide
    if wide != NULL:
        wide.n = wide.at = 0
    return wide != NULL


cdef size_t first_difference(const uint8_t* one, const uint8_t* other,
                             size_t size) noexcept nogil:
    cdef size_t at = 0
    while at < size and memcmp(one + at, other + at, min(<size_t>COMPARED_AT_ONCE,
                                                         size - at)) == 0:
        at += COMPARED_AT_ONCE
    while at < size and one[at] == other[at]:
        at += 1
    return min(at, size)


cdef void copy_stream(const Stream* stream, size_t begin, size_t end,
                      uint8_t* out) noexcept nogil:
    """Copy the bytes between two places; of those that are read it takes what is there of all."""
    cdef size_t i, first, last
    cdef const Run* run
    for i in range(stream.n_runs):
        run = stream.runs + i
        if begin <= run.begin - 1 < end:
            out[run.begin - 1 - begin] = run.mark
        first = max(begin, run.begin)
        last = min(end, run.begin + run.size)
        if first < last:
            memcpy(out + (first - begin), run.bytes + (first - run.begin), last - first)
