"""A Python string as UTF-8."""

from libc.stdint cimport uint8_t


cdef struct Source:
    const uint8_t* bytes    # the string's own where that is ASCII, and alive as long as it is
    size_t size
    uint8_t* owned          # or NULL


cdef int source_open(object text, Source* source) except -1
cdef void source_close(Source* source) noexcept nogil
