# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How tokens are written in a model file, and what they stand for."""

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, uint8_t, uint16_t
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

cdef extern from "Python.h":
    object PyUnicode_FromKindAndData(int kind, const void* buffer, Py_ssize_t size)

cdef enum:
    ALPHABET_END = 324      # the byte-level characters are U+0021 … U+0143

cdef const uint8_t* MARK = b"\xE2\x96\x81"     # ▁, U+2581
cdef const char* DIGITS = b"0123456789ABCDEF"

# Character → byte, -1 outside the alphabet; [1] without what ends or escapes in a JSON string.
cdef int16_t[2][ALPHABET_END] BYTE_OF
cdef uint16_t[256] CHARACTER_OF


cdef void _fill_alphabet() noexcept:
    """GPT-2's byte alphabet: printable Latin-1 stands for itself, the rest for U+0100 on."""
    cdef int byte, code, spare = 256
    memset(BYTE_OF, 0xFF, sizeof(BYTE_OF))
    for byte in range(256):
        code = byte
        if not (33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte):
            code = spare
            spare += 1
        BYTE_OF[0][code] = BYTE_OF[1][code] = byte
        CHARACTER_OF[byte] = code
    BYTE_OF[1][b'"'] = BYTE_OF[1][b"\\"] = -1


_fill_alphabet()


def bytes_to_token_text(bytes data not None):
    """Bytes as byte-level model files write them, such as ``Ġthe``."""
    return byte_level_text(<const uint8_t*><const char*>data, len(data), BYTES)


def token_text_to_bytes(str token not None):
    """The bytes that a token, as written in a byte-level model file, stands for (D3)."""
    cdef bytes text = token.encode("utf-8")
    cdef bytearray room = bytearray(len(text))
    cdef uint8_t* begin = room
    cdef uint8_t* at = begin
    cdef const uint8_t* end = <const uint8_t*><const char*>text + len(text)
    if translate(<const uint8_t*><const char*>text, end, &at, False) < end:
        return text
    return bytes(room[:at - begin])


cdef const uint8_t* translate(const uint8_t* text, const uint8_t* end, uint8_t** out,
                              bint in_json) noexcept nogil:
    """Write the bytes that the characters of a UTF-8 text stand for.

    Returns where it stopped: at the first character outside the alphabet or, within JSON, at a
    quote or backslash; else at the end. `out` moves on; it may be where the text is.
    """
    cdef const int16_t* byte_of = BYTE_OF[in_json]
    cdef uint8_t* to = out[0]
    cdef int code, byte
    cdef size_t width
    while text < end:
        code = text[0]
        width = 1
        if code >= 0x80:
            # The alphabet ends with U+0143, which begins with the byte C5.
            if code < 0xC2 or code > 0xC5 or text + 1 == end or text[1] & 0xC0 != 0x80:
                break
            code = (code & 0x1F) << 6 | (text[1] & 0x3F)
            width = 2
            if code >= ALPHABET_END:
                break
        byte = byte_of[code]
        if byte < 0:
            break
        to[0] = <uint8_t>byte
        to += 1
        text += width
    out[0] = to
    return text


cdef uint8_t read_byte_level(uint8_t* text, size_t* size) noexcept nogil:
    """Turn the text of a byte-level token into what it stands for, in place; the kind."""
    cdef uint8_t* to = text
    cdef size_t i = 0
    cdef int code
    while i < size[0]:
        code = text[i]
        if code >= 0x80 and i + 1 < size[0]:
            code = (code & 0x1F) << 6 | (text[i + 1] & 0x3F) if code < 0xE0 else ALPHABET_END
            i += 1
        i += 1
        if code >= ALPHABET_END or BYTE_OF[0][code] < 0:
            return TEXT
    translate(text, text + size[0], &to, False)
    size[0] = to - text
    return BYTES


cdef uint8_t read_token(const Spelling* spelling, uint8_t* text, size_t* size) noexcept nogil:
    """The same of a token of any model. What a prefix or a suffix stands at is never empty."""
    cdef size_t before = 0, behind = 0, stem
    cdef uint8_t kind = BYTES, read
    if (spelling.prefix_size and size[0] > spelling.prefix_size
            and memcmp(text, spelling.prefix, spelling.prefix_size) == 0):
        before = spelling.prefix_size
        kind |= CONTINUES << 1
    if (spelling.suffix_size and size[0] > before + spelling.suffix_size
            and memcmp(text + size[0] - spelling.suffix_size, spelling.suffix,
                       spelling.suffix_size) == 0):
        behind = spelling.suffix_size
        kind |= ENDS << 1
    stem = size[0] - before - behind
    if spelling.byte_level:
        read = read_byte_level(text + before, &stem)
    elif kind == BYTES:
        return read_text(text, size, spelling.folded, spelling.byte_fallback)
    else:
        read = read_text(text + before, &stem, spelling.folded, False)
    if read == TEXT:
        return TEXT
    if before:
        memmove(text, text + before, stem)
    size[0] = stem
    return kind


cdef uint8_t read_text(uint8_t* text, size_t* size, bint folded,
                       bint byte_fallback) noexcept nogil:
    """The same of a token of characters without prefix and suffix."""
    cdef const char* high
    cdef const char* low
    cdef size_t i = 0, n = 0
    if byte_fallback and size[0] == 6 and memcmp(text, b"<0x", 3) == 0 and text[5] == b">":
        high = <const char*>memchr(DIGITS, text[3], 16)
        low = <const char*>memchr(DIGITS, text[4], 16)
        if high != NULL and low != NULL:
            text[0] = <uint8_t>((high - DIGITS) << 4 | (low - DIGITS))
            size[0] = 1
            return BYTE_NAME
    if not folded:
        return BYTES
    if memchr(text, b" ", size[0]) != NULL:     # in no text that has "▁" for every space
        return TEXT
    while i < size[0]:
        if size[0] - i >= 3 and memcmp(text + i, MARK, 3) == 0:
            text[n] = b" "
            i += 3
        else:
            text[n] = text[i]
            i += 1
        n += 1
    size[0] = n
    return BYTES


cdef str byte_level_text(const uint8_t* token, size_t size, uint8_t kind):
    """A token as the model file writes it."""
    cdef uint16_t* characters
    cdef size_t i
    if kind == TEXT:
        return PyUnicode_DecodeUTF8(<const char*>token, size, NULL)
    characters = <uint16_t*>PyMem_RawMalloc(2 * size + 2)
    if characters == NULL:
        raise MemoryError
    try:
        for i in range(size):
            characters[i] = CHARACTER_OF[token[i]]
        return PyUnicode_FromKindAndData(2, characters, size)
    finally:
        PyMem_RawFree(characters)


cdef size_t spell_token(const Spelling* spelling, const uint8_t* token, size_t size, uint8_t kind,
                        uint8_t* out) noexcept nogil:
    """A token of any model as the model file writes it, in UTF-8; how many bytes.

    They are at most 6 · size, and those of prefix and suffix.
    """
    cdef size_t n = 0
    if kind & BYTES and kind >> 1 & CONTINUES:
        memcpy(out, spelling.prefix, spelling.prefix_size)
        n = spelling.prefix_size
    if spelling.byte_level:
        n += spell_byte_level(token, size, kind, out + n)
    else:
        n += spell_text(token, size, kind, spelling.folded, out + n)
    if kind & BYTES and kind >> 1 & ENDS:
        memcpy(out + n, spelling.suffix, spelling.suffix_size)
        n += spelling.suffix_size
    return n


cdef size_t spell_byte_level(const uint8_t* token, size_t size, uint8_t kind,
                             uint8_t* out) noexcept nogil:
    """A byte-level token without prefix and suffix as the model file writes it."""
    cdef size_t i, n = 0
    cdef int code
    if kind == TEXT:
        memcpy(out, token, size)
        return size
    for i in range(size):
        code = CHARACTER_OF[token[i]]
        if code >= 0x80:
            out[n] = <uint8_t>(0xC0 | code >> 6)
            n += 1
            code = 0x80 | (code & 0x3F)
        out[n] = <uint8_t>code
        n += 1
    return n


cdef size_t spell_text(const uint8_t* token, size_t size, uint8_t kind, bint folded,
                       uint8_t* out) noexcept nogil:
    """The same of a token of characters."""
    cdef size_t i, n = 0
    if kind == BYTE_NAME:
        memcpy(out, b"<0x00>", 6)
        out[3] = DIGITS[token[0] >> 4]
        out[4] = DIGITS[token[0] & 15]
        return 6
    for i in range(size):
        if token[i] == b" " and folded and kind != TEXT:
            memcpy(out + n, MARK, 3)
            n += 3
        else:
            out[n] = token[i]
            n += 1
    return n
