# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A Python string as UTF-8.

CPython's own conversion keeps the GIL (1 ms per MB, which stalls other threads) and, in the form
that costs no second copy, leaves the UTF-8 with the string for as long as that lives, which
doubles the memory of a server's texts. This one releases the GIL and leaves nothing behind.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc

from tokcy.errors import EncodeTypeError

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)

ctypedef fused CodeUnit:
    uint8_t
    uint16_t
    uint32_t

cdef enum:
    SHORT_TEXT = 4096       # characters; releasing the GIL would cost more than it gives
    STEP = 16               # characters that are tested and copied together while they are ASCII


cdef int source_open(object text, Source* source) except -1:
    """Make the UTF-8 of a string available until `source_close`; the string must stay alive.

    Raises:
        EncodeTypeError: not a str, or one with a lone surrogate.
    """
    cdef size_t length
    cdef int kind
    cdef void* data
    cdef Py_ssize_t size
    if not isinstance(text, str):
        raise EncodeTypeError(f"text must be str, not {type(text).__name__}")
    length = PyUnicode_GET_LENGTH(text)
    kind = PyUnicode_KIND(text)
    data = PyUnicode_DATA(text)
    source.owned = NULL
    if PyUnicode_IS_ASCII(text):
        source.bytes = <const uint8_t*>data
        source.size = length
        return 0
    # Of the pages of such a block only those that are written to take memory.
    source.owned = <uint8_t*>malloc((kind if kind > 1 else 2) * length + (kind == 2) * length)
    if source.owned == NULL:
        raise MemoryError
    if length < SHORT_TEXT:
        size = _convert(kind, data, length, source.owned)
    else:
        with nogil:
            size = _convert(kind, data, length, source.owned)
    if size < 0:
        source_close(source)
        raise EncodeTypeError(
            f"text holds the lone surrogate {text[-1 - size]!r} at index {-1 - size}, "
            "which UTF-8 cannot express"
        )
    source.bytes = source.owned
    source.size = size
    return 0


cdef void source_close(Source* source) noexcept nogil:
    free(source.owned)
    source.owned = NULL


cdef Py_ssize_t _convert(int kind, const void* data, size_t length, uint8_t* out) noexcept nogil:
    if kind == 1:
        return _to_utf8(<const uint8_t*>data, length, out)
    if kind == 2:
        return _to_utf8(<const uint16_t*>data, length, out)
    return _to_utf8(<const uint32_t*>data, length, out)


cdef Py_ssize_t _to_utf8(const CodeUnit* text, size_t length, uint8_t* out) noexcept nogil:
    """The number of bytes written, or -1 - i where character i is a surrogate."""
    cdef size_t i = 0, j
    cdef uint8_t* to = out
    cdef uint32_t c, seen
    while i < length:
        while i + STEP <= length:
            seen = 0
            for j in range(<size_t>STEP):
                seen |= text[i + j]
            if seen >= 0x80:
                break
            for j in range(<size_t>STEP):
                to[j] = <uint8_t>text[i + j]
            to += STEP
            i += STEP
        j = i + STEP
        if j > length:
            j = length
        while i < j:
            c = text[i]
            if c < 0x80:
                to[0] = <uint8_t>c
                to += 1
            elif c < 0x800:
                to[0] = <uint8_t>(0xC0 | c >> 6)
                to[1] = <uint8_t>(0x80 | (c & 0x3F))
                to += 2
            elif c < 0x10000:
                if 0xD800 <= c < 0xE000:
                    return -1 - <Py_ssize_t>i
                to[0] = <uint8_t>(0xE0 | c >> 12)
                to[1] = <uint8_t>(0x80 | (c >> 6 & 0x3F))
                to[2] = <uint8_t>(0x80 | (c & 0x3F))
                to += 3
            else:
                to[0] = <uint8_t>(0xF0 | c >> 18)
                to[1] = <uint8_t>(0x80 | (c >> 12 & 0x3F))
                to[2] = <uint8_t>(0x80 | (c >> 6 & 0x3F))
                to[3] = <uint8_t>(0x80 | (c & 0x3F))
                to += 4
            i += 1
    return to - out
