"""Buffers of ids that texts share: the C interface."""

cimport numpy as cnp
from libc.stdint cimport uint32_t, uint64_t


cdef enum:
    HEAP_BYTES = 16         # that an allocation takes beside its own


cdef struct IdBuffer:
    uint64_t refs           # nodes, arrays and calls
    uint64_t n_ids          # that are taken; behind them there may be room
    size_t begin            # ids of the text that stand before the first of these
    size_t capacity
    size_t n_front          # ids of a post-processor before those of the text; 0 if begin is not
    size_t n_nodes          # that have it, in the tree; under the lock of the tree
    size_t memory
    uint32_t* ids           # the first of the text


cdef size_t buffer_memory(size_t n_ids) noexcept nogil
cdef IdBuffer* buffer_new(size_t begin, size_t capacity, const uint32_t* front,
                          size_t n_front) noexcept nogil
cdef IdBuffer* buffer_part(const IdBuffer* buffer, size_t begin, size_t end) noexcept nogil
cdef size_t buffer_end(IdBuffer* buffer) noexcept nogil
cdef bint buffer_take(IdBuffer* buffer, size_t begin, size_t n) noexcept nogil
cdef void buffer_hold(IdBuffer* buffer) noexcept nogil
cdef void buffer_release(IdBuffer* buffer) noexcept nogil
cdef cnp.ndarray view_of(IdBuffer* buffer, size_t n_front, size_t n)


cdef inline uint32_t* buffer_at(const IdBuffer* buffer, size_t at) noexcept nogil:
    """Where the id is that has `at` of the text before it."""
    return buffer.ids + (at - buffer.begin)
