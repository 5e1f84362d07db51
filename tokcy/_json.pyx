# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is long in the JSON of a server: ids and texts, written and read without the GIL.

Python's own parser and writer hold the GIL from beginning to end, and nothing else runs meanwhile:
docs/serve.md has the times. Here that holds only for text beyond ASCII while a str is made of its
UTF-8.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tokcy._utf8 cimport utf8_encode

import numpy as np

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 most)
    void* PyUnicode_DATA(object text)

cdef enum:
    MOST_DIGITS = 10            # of an id of 32 bits
    MOST_ESCAPED = 6            # bytes of an escaped byte: \u001f
    UNSOUND = -1                # what is here is no JSON, or not what can be lifted

cdef const char* HEX = b"0123456789abcdef"


# ------------------------------------------------------------------- writing

def write_ids(const uint32_t[::1] ids not None):
    """A JSON list of ids, without spaces: ``b"[1,22,333]"``."""
    cdef Py_ssize_t n = ids.shape[0], size
    cdef const uint32_t* data = &ids[0] if n else NULL
    with nogil:
        size = ids_size(data, n)
    cdef bytes written = PyBytes_FromStringAndSize(NULL, size)
    cdef char* out = PyBytes_AS_STRING(written)
    with nogil:
        put_ids(out, data, n)
    return written


cdef inline int n_digits(uint32_t number) noexcept nogil:
    cdef int n = 1
    cdef uint64_t above = 10
    while number >= above:
        above *= 10
        n += 1
    return n


cdef Py_ssize_t ids_size(const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, size = 2 + (n - 1 if n else 0)
    for i in range(n):
        size += n_digits(ids[i])
    return size


cdef void put_ids(char* out, const uint32_t* ids, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, at = 1
    cdef int digit, digits
    cdef uint32_t rest
    out[0] = b"["
    for i in range(n):
        if i:
            out[at] = b","
            at += 1
        rest = ids[i]
        digits = n_digits(rest)
        for digit in range(digits - 1, -1, -1):
            out[at + digit] = <char>(48 + rest % 10)
            rest //= 10
        at += digits
    out[at] = b"]"


def write_text(str text not None):
    """A JSON string in UTF-8.

    Raises:
        UnicodeEncodeError: UTF-8 cannot express the text.
    """
    cdef Py_ssize_t n = 0, size
    cdef const uint8_t* source = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n)
    with nogil:
        size = escaped_size(source, n)
    cdef bytes written = PyBytes_FromStringAndSize(NULL, size)
    cdef char* out = PyBytes_AS_STRING(written)
    with nogil:
        put_text(out, source, n)
    return written


cdef Py_ssize_t escaped_size(const uint8_t* source, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, size = n + 2
    for i in range(n):
        if source[i] < 0x20:
            size += MOST_ESCAPED - 1
        elif source[i] == c'"' or source[i] == c"\\":
            size += 1
    return size


cdef void put_text(char* out, const uint8_t* source, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, at = 1
    cdef uint8_t byte
    out[0] = b'"'
    for i in range(n):
        byte = source[i]
        if byte < 0x20:
            memcpy(out + at, b"\\u00", 4)
            out[at + 4] = HEX[byte >> 4]
            out[at + 5] = HEX[byte & 15]
            at += MOST_ESCAPED
            continue
        if byte == c'"' or byte == c"\\":
            out[at] = b"\\"
            at += 1
        out[at] = <char>byte
        at += 1
    out[at] = b'"'


# ------------------------------------------------------------------- reading

def lift(bytes body not None, Py_ssize_t least):
    """Take the long texts and lists of ids out of a JSON text.

    Args:
        body: a JSON text, or anything.
        least: bytes that a string or list takes in the body at least, to be lifted.

    Returns:
        (rest, lifted, depth): the body with ``NaN`` for each lifted value; the values in their
        order, a str, or uint32[n] for a list of plain numbers below 2**32; how deep brackets are
        nested. Whatever is not sound stays in the rest, for a parser to refuse.

    Raises:
        ValueError: there is a bare word with ``N`` or ``I`` in it, so that ``NaN`` would be
            mistaken; or a long string is no UTF-8, or has half of a surrogate pair.
    """
    cdef const uint8_t* data = <const uint8_t*>PyBytes_AS_STRING(body)
    cdef Py_ssize_t n = len(body), i = 0, kept = 0, end, depth = 0, deepest = 0
    cdef list rest = [], lifted = []
    cdef object value
    while i < n:
        with nogil:
            i = next_of_note(data, n, i, &depth, &deepest)
        if i == n:
            break
        if data[i] == c"N" or data[i] == c"I":
            raise ValueError("a bare word")
        value = None
        with nogil:
            end = string_end(data, n, i) if data[i] == c'"' else list_end(data, n, i)
        if end - i >= least:
            value = taken_string(data, i, end) if data[i] == c'"' else taken_list(data, i, end)
            if value is not None and not (data[i] == c'"' and is_key(data, n, end)):
                rest.append(body[kept:i])
                rest.append(b"NaN")
                lifted.append(value)
                kept = end
        if end > i:
            i = end
        else:  # no list of ids, or a string without an end
            if data[i] == c'"':
                break
            depth += 1
            deepest = max(deepest, depth)
            i += 1
    rest.append(body[kept:])
    return b"".join(rest), lifted, deepest


cdef Py_ssize_t next_of_note(const uint8_t* data, Py_ssize_t n, Py_ssize_t i,
                             Py_ssize_t* depth, Py_ssize_t* deepest) noexcept nogil:
    """The next place of a string, a list or a bare word that looks like NaN; n if there is none."""
    cdef uint8_t byte
    while i < n:
        byte = data[i]
        if byte == c'"' or byte == c"[" or byte == c"N" or byte == c"I":
            return i
        if byte == c"{":
            depth[0] += 1
            if depth[0] > deepest[0]:
                deepest[0] = depth[0]
        elif byte == c"}" or byte == c"]":
            depth[0] -= 1
        i += 1
    return n


cdef Py_ssize_t string_end(const uint8_t* data, Py_ssize_t n, Py_ssize_t i) noexcept nogil:
    """Behind the string that begins at i; UNSOUND if it has no end."""
    i += 1
    while i < n:
        if data[i] == c'"':
            return i + 1
        i += 2 if data[i] == c"\\" else 1
    return UNSOUND


cdef Py_ssize_t list_end(const uint8_t* data, Py_ssize_t n, Py_ssize_t i) noexcept nogil:
    """Behind the list at i, if that holds only digits, commas and spaces; else UNSOUND."""
    i += 1
    while i < n:
        if data[i] == c"]":
            return i + 1
        if not (is_digit(data[i]) or data[i] == c"," or is_space(data[i])):
            return UNSOUND
        i += 1
    return UNSOUND


cdef bint is_key(const uint8_t* data, Py_ssize_t n, Py_ssize_t end) noexcept nogil:
    while end < n and is_space(data[end]):
        end += 1
    return end < n and data[end] == c":"


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return 48 <= byte <= 57


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    return byte == c" " or byte == c"\n" or byte == c"\r" or byte == c"\t"


cdef object taken_list(const uint8_t* data, Py_ssize_t begin, Py_ssize_t end):
    """uint32[n] of the list between begin and end; None if it is not sound, or a number too big."""
    cdef Py_ssize_t n
    cdef uint32_t[::1] view
    ids = np.empty((end - begin) // 2, dtype=np.uint32)  # an id has a digit and a comma
    view = ids
    with nogil:
        n = read_ids(data + begin, end - begin, &view[0])
    return None if n == UNSOUND else ids[:n]


cdef Py_ssize_t read_ids(const uint8_t* data, Py_ssize_t n, uint32_t* ids) noexcept nogil:
    """The ids of a list of digits, commas and spaces; UNSOUND if they stand as JSON has none."""
    cdef Py_ssize_t i = 1, n_ids = 0, begin
    cdef uint64_t number
    while True:
        while is_space(data[i]):
            i += 1
        begin = i
        number = 0
        while is_digit(data[i]):
            if i - begin == MOST_DIGITS:
                return UNSOUND
            number = number * 10 + (data[i] - 48)
            i += 1
        if i == begin or number > <uint64_t>0xFFFFFFFF or (data[begin] == 48 and i - begin > 1):
            return UNSOUND
        ids[n_ids] = <uint32_t>number
        n_ids += 1
        while is_space(data[i]):
            i += 1
        if data[i] == c"]":
            return n_ids
        if data[i] != c",":
            return UNSOUND
        i += 1


cdef object taken_string(const uint8_t* data, Py_ssize_t begin, Py_ssize_t end):
    """The str between two quotes; None where JSON does not allow what stands there."""
    cdef Py_ssize_t n
    cdef bint ascii_only = False
    cdef object text
    cdef void* place
    cdef uint8_t* buffer = <uint8_t*>malloc(end - begin)  # unescaped text is never longer
    if buffer == NULL:
        raise MemoryError
    try:
        with nogil:
            n = unescape(data + begin + 1, end - begin - 2, buffer)
            if n != UNSOUND:
                ascii_only = is_ascii(buffer, n)
        if n == UNSOUND:
            return None
        if not ascii_only or n == 0:
            return PyUnicode_DecodeUTF8(<char*>buffer, n, "strict")
        text = PyUnicode_New(n, 127)
        place = PyUnicode_DATA(text)
        with nogil:
            memcpy(place, buffer, n)
        return text
    finally:
        free(buffer)


cdef bint is_ascii(const uint8_t* data, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint8_t seen = 0
    for i in range(n):
        seen |= data[i]
    return seen < 0x80


cdef Py_ssize_t unescape(const uint8_t* data, Py_ssize_t n, uint8_t* out) noexcept nogil:
    """Write the bytes that a string stands for; their number, or UNSOUND.

    Half of a surrogate pair is written in three bytes, which strict UTF-8 does not have.
    """
    cdef Py_ssize_t i = 0, at = 0
    cdef uint8_t byte
    cdef int code, low
    while i < n:
        byte = data[i]
        if byte < 0x20:
            return UNSOUND
        if byte != c"\\":
            out[at] = byte
            at += 1
            i += 1
            continue
        byte = data[i + 1]  # there is one, as the end of the string was found
        i += 2
        if byte != c"u":
            out[at] = simple_escape(byte)
            if out[at] == 0:
                return UNSOUND
            at += 1
            continue
        code = four_digits(data + i, n - i)
        i += 4
        if 0xD800 <= code < 0xDC00 and n - i >= 6 and data[i] == c"\\" and data[i + 1] == c"u":
            low = four_digits(data + i + 2, n - i - 2)
            if 0xDC00 <= low < 0xE000:
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                i += 6
        if code < 0:
            return UNSOUND
        at += utf8_encode(<uint32_t>code, out + at)
    return at


cdef uint8_t simple_escape(uint8_t byte) noexcept nogil:
    """What a backslash and this byte stand for; 0 for nothing."""
    if byte == c'"' or byte == c"\\" or byte == c"/":
        return byte
    if byte == c"n":
        return 10
    if byte == c"t":
        return 9
    if byte == c"r":
        return 13
    if byte == c"b":
        return 8
    if byte == c"f":
        return 12
    return 0


cdef int four_digits(const uint8_t* data, Py_ssize_t n) noexcept nogil:
    """The number that four hexadecimal digits give, or UNSOUND."""
    cdef int i, number = 0
    cdef uint8_t byte
    if n < 4:
        return UNSOUND
    for i in range(4):
        byte = data[i]
        if is_digit(byte):
            number = number * 16 + byte - 48
        elif 97 <= (byte | 32) <= 102:
            number = number * 16 + (byte | 32) - 87
        else:
            return UNSOUND
    return number
