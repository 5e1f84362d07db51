# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A Python string as UTF-8.

CPython's own conversion keeps the GIL (1 ms per MB, which stalls other threads) and, in the form
that costs no second copy, leaves the UTF-8 with the string for as long as that lives, which
doubles the memory of a server's texts. This one releases the GIL and leaves nothing behind.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from tokcy._platform cimport tk_load_acquire64, tk_populate, tk_store_release64
from tokcy._scratch cimport scratch_give, scratch_init, scratch_take
from tokcy._status cimport NOT_UTF8, OUT_OF_MEMORY, raise_status
from tokcy._team cimport team_pause
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

cdef const tk_transcode_ops* best = tk_find_transcode(_simd.encode())


cdef int source_look(object text, Source* source) except -1:
    """Get ready to convert a string, which must stay alive; one that is ASCII is as it should be.

    Raises:
        EncodeTypeError: not a str.
    """
    if not isinstance(text, str):
        raise EncodeTypeError(f"text must be str, not {type(text).__name__}")
    source.data = source.bytes = <const uint8_t*>PyUnicode_DATA(text)
    source.length = source.size = PyUnicode_GET_LENGTH(text)
    source.width = PyUnicode_KIND(text)
    scratch_init(&source.memory)
    source.done = 0
    if PyUnicode_IS_ASCII(text):
        source.data = NULL
    else:
        source.bytes = NULL
    return 0


cdef size_t source_most(const Source* source) noexcept nogil:
    """How many bytes its UTF-8 can be, and what else is written behind it meanwhile."""
    if source.data == NULL:
        return source.size
    return (source.width + (source.width < 4)) * source.length + TK_TRANSCODE_SLACK


cdef int source_reserve(Source* source) noexcept nogil:
    """Have memory for the UTF-8, until `source_close`; a status."""
    if source.data == NULL or source.memory.data != NULL:
        return 0
    # Of the pages of such a block only those that are written to take memory.
    return scratch_take(&source.memory, source_most(source), source.length)


cdef int source_convert(Source* source) noexcept nogil:
    """Have the UTF-8, until `source_close`; a status, NOT_UTF8 where `source_refuse` tells why."""
    cdef int status
    if source.bytes != NULL:
        return 0
    status = source_reserve(source)
    if status == 0:
        _have_pages(source, 0, source.length)
        status = source_write(source, <uint8_t*>source.memory.data)
        source.bytes = <const uint8_t*>source.memory.data
    return status


cdef inline void _have_pages(const Source* source, size_t begin, size_t size) noexcept nogil:
    """Have the pages where so many bytes will be written."""
    cdef uint8_t* at = <uint8_t*>source.memory.data + begin
    if source.memory.is_new and not source.memory.is_large:
        tk_populate(at, at + size)


cdef int source_write(Source* source, uint8_t* out) noexcept nogil:
    """Write the UTF-8 of a string, for which there is room; a status as of `source_convert`."""
    if source.data == NULL:
        memcpy(out, source.bytes, source.size)
        return 0
    source.done = best.encode(source.width, source.data, source.length, out, &source.size)
    return 0 if source.done == source.length else NOT_UTF8


# ------------------------------------------------------------- by several threads

cdef int conversion_open(Source* source, Conversion* conversion) noexcept nogil:
    """Get ready for `convert_part`, until `conversion_close`; the memory is there. A status."""
    conversion.source = source
    conversion.n_parts = (source.length + PART_CHARACTERS - 1) // PART_CHARACTERS
    conversion.begins = <uint64_t*>calloc(2 * conversion.n_parts + 1, sizeof(uint64_t))
    if conversion.begins == NULL:
        return OUT_OF_MEMORY
    conversion.done = <size_t*>(conversion.begins + conversion.n_parts + 1)
    conversion.begins[0] = 1
    return 0


cdef void convert_part(void* conversion, size_t i) noexcept nogil:
    """Convert a part, as the body of a loop whose shares are taken in order.

    Where it begins is known as soon as those before it are measured, which whoever has one does
    first; that also brings the characters near, so that it costs little.
    """
    cdef Conversion* of = <Conversion*>conversion
    cdef const Source* source = of.source
    cdef const uint8_t* data = source.data + i * PART_CHARACTERS * source.width
    cdef size_t n = min(<size_t>PART_CHARACTERS, source.length - i * PART_CHARACTERS)
    cdef size_t size = best.measure(source.width, data, n), waited = 0
    cdef uint64_t begin = tk_load_acquire64(of.begins + i)
    while begin == 0:
        team_pause(&waited)
        begin = tk_load_acquire64(of.begins + i)
    tk_store_release64(of.begins + i + 1, begin + size)
    _have_pages(source, begin - 1, size)
    of.done[i] = _write_apart(source, data, n, <uint8_t*>source.memory.data + (begin - 1))


cdef size_t _write_apart(const Source* source, const uint8_t* data, size_t n,
                         uint8_t* out) noexcept nogil:
    """Write the UTF-8 of n characters, and nothing behind; how many could be converted."""
    cdef uint8_t[5 * TK_TRANSCODE_SLACK] last
    cdef size_t n_last = min(n, <size_t>TK_TRANSCODE_SLACK), n_first = n - n_last, size = 0, done
    done = best.encode(source.width, data, n_first, out, &size)
    if done == n_first:
        out += size
        done += best.encode(source.width, data + n_first * source.width, n_last, last, &size)
        memcpy(out, last, size)
    return done


cdef int conversion_close(Conversion* conversion) noexcept nogil:
    """Say what came of all parts; a status as of `source_convert`."""
    cdef Source* source = conversion.source
    cdef size_t i = 0
    source.done = 0
    while i < conversion.n_parts and source.done == i * PART_CHARACTERS:
        source.done += conversion.done[i]
        i += 1
    source.size = conversion.begins[conversion.n_parts] - 1
    source.bytes = <const uint8_t*>source.memory.data
    free(conversion.begins)
    return 0 if source.done == source.length else NOT_UTF8


cdef int source_refuse(object text, const Source* source, size_t first=0) except -1:
    """Raise the EncodeTypeError of a string that is no UTF-8, converted from `first` on."""
    cdef size_t at = first + source.done
    raise EncodeTypeError(
        f"text holds the lone surrogate {text[at]!r} at index {at}, which UTF-8 cannot express"
    )


cdef int source_open(object text, Source* source) except -1:
    """Make the UTF-8 of a string available until `source_close`; the string must stay alive.

    Raises:
        EncodeTypeError: not a str, or one with a lone surrogate.
    """
    return source_open_from(text, 0, 0, source)


cdef int source_open_from(object text, size_t first, size_t begin, Source* source) except -1:
    """The same of what follows the first characters; what stands before is not to be touched.

    Args:
        first: characters that are left out, all of them without a lone surrogate.
        begin: their bytes.
    """
    cdef int status
    source_look(text, source)
    if source.data == NULL:
        return 0
    source.data += first * source.width
    source.length -= first
    if source.length < SHORT_TEXT:
        status = source_convert(source)
    else:
        with nogil:
            status = source_convert(source)
    source.bytes -= begin
    source.size += begin
    if status == 0:
        return 0
    source_close(source)
    return raise_status(status) or source_refuse(text, source, first)


cdef void source_close(Source* source) noexcept nogil:
    scratch_give(&source.memory, source.size)


# ------------------------------------------------------------- compared in place

cdef const uint8_t* ascii_bytes(object text, size_t* size):
    """The bytes of a string that is ASCII; of another NULL, and none."""
    if not PyUnicode_IS_ASCII(text):
        size[0] = 0
        return NULL
    size[0] = PyUnicode_GET_LENGTH(text)
    return <const uint8_t*>PyUnicode_DATA(text)


cdef size_t utf8_size(object text):
    """How many bytes the UTF-8 of a string is."""
    if PyUnicode_IS_ASCII(text):
        return PyUnicode_GET_LENGTH(text)
    return best.measure(PyUnicode_KIND(text), PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))


cdef bint is_wide(object text, size_t length):
    """Whether it is a string that is not ASCII, of at least so many characters."""
    return (isinstance(text, str) and not PyUnicode_IS_ASCII(text)
            and <size_t>PyUnicode_GET_LENGTH(text) >= length)


cdef void wide_open(object text, Wide* wide):
    """Get ready to compare such a string, which must stay alive."""
    wide.data = PyUnicode_DATA(text)
    wide.width = PyUnicode_KIND(text)
    wide.length = PyUnicode_GET_LENGTH(text)
    wide.n = wide.at = 0


cdef size_t wide_unit(const Wide* wide, size_t i, uint8_t* unit) noexcept nogil:
    """Write the UTF-8 of one character, and how many bytes; 0 for a surrogate, and at the end."""
    cdef uint8_t bytes[4 + TK_TRANSCODE_SLACK]
    cdef size_t n = 0
    if i < wide.length:
        best.encode(wide.width, <const uint8_t*>wide.data + i * wide.width, 1, bytes, &n)
        memcpy(unit, bytes, n)
    return n


cdef int wide_byte(const Wide* wide, size_t at) noexcept nogil:
    """The byte at a place up to which all agreed, or -1 at the end."""
    cdef uint8_t unit[4]
    cdef size_t n = wide_unit(wide, wide.n, unit)
    return unit[at - wide.at] if at - wide.at < n else -1


cdef size_t wide_shared(Wide* wide, size_t at, const uint8_t* bytes, size_t size) noexcept nogil:
    """How many of these bytes follow at a place up to which all agreed."""
    cdef uint8_t unit[4]
    cdef size_t within = at - wide.at, done = 0, n
    if within == 0:
        wide.n += best.agree(wide.width, <const uint8_t*>wide.data + wide.n * wide.width,
                             wide.length - wide.n, bytes, size, &done)
        wide.at += done
    n = wide_unit(wide, wide.n, unit)
    while within < n and done < size and unit[within] == bytes[done]:
        within += 1
        done += 1
    if within == 0 or within < n:
        return done
    wide.n += 1
    wide.at += n
    return done + wide_shared(wide, wide.at, bytes + done, size - done)


def utf8(text, str simd=None) -> bytes:
    """The UTF-8 of a string, made by the SIMD variant of that name, or by the one in use.

    Raises:
        EncodeTypeError: as `source_open`.
        ValueError: the processor lacks the variant.
    """
    cdef const tk_transcode_ops* found = transcode_by(best, simd)
    cdef Source source
    cdef uint8_t* out
    source_look(text, &source)
    if source.data == NULL:
        return source.bytes[:source.size]
    out = <uint8_t*>malloc(source_most(&source))
    if out == NULL:
        raise MemoryError
    try:
        source.done = found.encode(source.width, source.data, source.length, out, &source.size)
        if source.done < source.length:
            source_refuse(text, &source)
        return out[:source.size]
    finally:
        free(out)


def measured(text, str simd=None) -> int:
    """How many bytes the UTF-8 of a string is; a surrogate counts as three.

    Args, Raises: as of `utf8`, but for the surrogates.
    """
    cdef const tk_transcode_ops* found = transcode_by(best, simd)
    return found.measure(PyUnicode_KIND(text), PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text))


def agreement(text, data, str simd=None) -> tuple[int, int]:
    """How many characters of a string stand at the beginning of bytes, and how many bytes they are.

    Args:
        data: any bytes.
        simd: as in `utf8`.

    Raises:
        ValueError: the processor lacks the variant.
    """
    cdef const tk_transcode_ops* found = transcode_by(best, simd)
    cdef const uint8_t[::1] view = data
    cdef Wide wide
    cdef size_t n, agreed = 0
    wide_open(text, &wide)
    n = found.agree(wide.width, wide.data, wide.length, &view[0] if len(view) else NULL, len(view),
                    &agreed)
    return n, agreed
