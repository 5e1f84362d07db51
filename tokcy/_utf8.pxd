"""UTF-8, one character at a time; valid, unless a function says otherwise."""

from libc.stdint cimport uint8_t, uint32_t


cdef inline size_t utf8_width(uint8_t lead) noexcept nogil:
    """Bytes of the character that begins with this byte."""
    if lead < 0x80:
        return 1
    if lead < 0xE0:
        return 2
    return 3 if lead < 0xF0 else 4


cdef inline uint32_t utf8_decode(const uint8_t* at, size_t width) noexcept nogil:
    """The code point of the character of `width` bytes at `at`."""
    if width == 1:
        return at[0]
    if width == 2:
        return <uint32_t>(at[0] & 0x1F) << 6 | (at[1] & 0x3F)
    if width == 3:
        return <uint32_t>(at[0] & 0x0F) << 12 | <uint32_t>(at[1] & 0x3F) << 6 | (at[2] & 0x3F)
    return (<uint32_t>(at[0] & 0x07) << 18 | <uint32_t>(at[1] & 0x3F) << 12
            | <uint32_t>(at[2] & 0x3F) << 6 | (at[3] & 0x3F))


cdef inline size_t utf8_before(const uint8_t* text, size_t at) noexcept nogil:
    """Where the character that ends at `at` > 0 begins."""
    at -= 1
    while text[at] & 0xC0 == 0x80:
        at -= 1
    return at


cdef inline size_t utf8_encode(uint32_t code, uint8_t* out) noexcept nogil:
    """Write a character, at most 4 bytes; how many it has."""
    if code < 0x80:
        out[0] = code
        return 1
    if code < 0x800:
        out[0] = 0xC0 | code >> 6
        out[1] = 0x80 | (code & 0x3F)
        return 2
    if code < 0x10000:
        out[0] = 0xE0 | code >> 12
        out[1] = 0x80 | (code >> 6 & 0x3F)
        out[2] = 0x80 | (code & 0x3F)
        return 3
    out[0] = 0xF0 | code >> 18
    out[1] = 0x80 | (code >> 12 & 0x3F)
    out[2] = 0x80 | (code >> 6 & 0x3F)
    out[3] = 0x80 | (code & 0x3F)
    return 4


cdef inline int utf8_check(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Whether any bytes, at least one, begin with a character: how many bytes it has, 0 if they do
    not, -1 if they are all the beginning of one."""
    cdef uint8_t lead = at[0], low = 0x80, high = 0xBF
    cdef int width, k
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4:
        return 0
    width = <int>utf8_width(lead)
    if lead == 0xE0:
        low = 0xA0
    elif lead == 0xED:
        high = 0x9F         # no surrogates
    elif lead == 0xF0:
        low = 0x90
    elif lead == 0xF4:
        high = 0x8F         # nothing beyond U+10FFFF
    for k in range(1, width):
        if at + k == end:
            return -1
        if at[k] < low or at[k] > high:
            return 0
        low = 0x80
        high = 0xBF
    return width


cdef inline size_t utf8_valid_size(const uint8_t* text, size_t size) noexcept nogil:
    """The number of bytes at the beginning of any bytes that are whole characters."""
    cdef const uint8_t* at = text
    cdef const uint8_t* end = text + size
    cdef int width
    while at < end:
        width = utf8_check(at, end)
        if width <= 0:
            break
        at += width
    return at - text
