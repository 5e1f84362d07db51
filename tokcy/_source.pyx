# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A Python string as UTF-8.

CPython's own conversion keeps the GIL (1 ms per MB, which stalls other threads) and, in the form
that costs no second copy, leaves the UTF-8 with the string for as long as that lives, which
doubles the memory of a server's texts. This one releases the GIL and leaves nothing behind.
"""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free

from tokcy._platform cimport tk_alloc_large
from tokcy._transcode cimport (
    TK_TRANSCODE_SLACK,
    tk_find_transcode,
    tk_transcode_ops,
    transcode_by,
)

from tokcy._pretok import SIMD as _simd
from tokcy.errors import EncodeTypeError

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)

cdef enum:
    SHORT_TEXT = 4096       # characters; releasing the GIL would cost more than it gives

cdef const tk_transcode_ops* best = tk_find_transcode(_simd.encode())


cdef int source_open(object text, Source* source) except -1:
    """Make the UTF-8 of a string available until `source_close`; the string must stay alive.

    Raises:
        EncodeTypeError: not a str, or one with a lone surrogate.
    """
    return open_by(best, text, source)


cdef int open_by(const tk_transcode_ops* simd, object text, Source* source) except -1:
    cdef size_t length, done
    cdef int width
    cdef void* data
    if not isinstance(text, str):
        raise EncodeTypeError(f"text must be str, not {type(text).__name__}")
    length = PyUnicode_GET_LENGTH(text)
    width = PyUnicode_KIND(text)        # bytes per character
    data = PyUnicode_DATA(text)
    source.owned = NULL
    if PyUnicode_IS_ASCII(text):
        source.bytes = <const uint8_t*>data
        source.size = length
        return 0
    # Of the pages of such a block only those that are written to take memory.
    source.owned = <uint8_t*>tk_alloc_large((width + (width < 4)) * length + TK_TRANSCODE_SLACK,
                                            length)
    if source.owned == NULL:
        raise MemoryError
    source.bytes = source.owned
    if length < SHORT_TEXT:
        done = simd.encode(width, data, length, source.owned, &source.size)
    else:
        with nogil:
            done = simd.encode(width, data, length, source.owned, &source.size)
    if done < length:
        source_close(source)
        raise EncodeTypeError(
            f"text holds the lone surrogate {text[done]!r} at index {done}, "
            "which UTF-8 cannot express"
        )
    return 0


cdef void source_close(Source* source) noexcept nogil:
    free(source.owned)
    source.owned = NULL


def utf8(text, str simd=None) -> bytes:
    """The UTF-8 of a string, made by the SIMD variant of that name, or by the one in use.

    Raises:
        EncodeTypeError: as `source_open`.
        ValueError: the processor lacks the variant.
    """
    cdef const tk_transcode_ops* found = transcode_by(best, simd)
    cdef Source source
    open_by(found, text, &source)
    try:
        return source.bytes[:source.size]
    finally:
        source_close(&source)
