"""Bytes that somebody else holds, and a buffer that grows."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

from tokcy._transcode cimport TK_TRANSCODE_SLACK


cdef struct Span:
    const uint8_t* data
    size_t size

cdef struct Bytes:          # with slack behind it
    uint8_t* data
    size_t size
    size_t capacity


cdef inline int bytes_reserve(Bytes* buffer, size_t more) noexcept nogil:
    """Make room for `more` bytes and the slack; 0, or -1 without memory."""
    cdef size_t needed = buffer.size + more + TK_TRANSCODE_SLACK
    cdef void* moved
    if needed <= buffer.capacity:
        return 0
    needed = max(needed, buffer.capacity + buffer.capacity // 2)
    moved = realloc(buffer.data, needed)
    if moved == NULL:
        return -1
    buffer.data = <uint8_t*>moved
    buffer.capacity = needed
    return 0


cdef inline int bytes_append(Bytes* buffer, const uint8_t* data, size_t size) noexcept nogil:
    """Append bytes from elsewhere; 0, or -1 without memory."""
    if bytes_reserve(buffer, size) < 0:
        return -1
    if size:
        memcpy(buffer.data + buffer.size, data, size)
        buffer.size += size
    return 0
