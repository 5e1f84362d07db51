"""Texts as runs of bytes: the C interface."""

from libc.stdint cimport uint8_t

from tokcy._source cimport Wide


cdef struct Run:            # of a stream: bytes, and a mark before them
    const uint8_t* bytes
    size_t size
    size_t begin            # place in the stream of the first byte; the mark is before it
    uint8_t mark
    Wide* wide              # the string that it is, of which the bytes need not be there; or NULL


cdef struct Stream:
    Run* runs
    size_t n_runs
    size_t first            # what stands before this place is not here, but for the key
    size_t size


cdef bint rewind(const Stream* stream) noexcept nogil
cdef size_t first_difference(const uint8_t* one, const uint8_t* other, size_t size) noexcept nogil
cdef void copy_stream(const Stream* stream, size_t begin, size_t end, uint8_t* out) noexcept nogil
