"""A growing text that knows which bytes of the raw text each of its bytes came from.

Every byte of a character has the range of the whole source character (rule N5). A text that
nobody asks for offsets of is not aligned: `begins` and `ends` stay NULL.
"""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from tokcy._platform cimport tk_alloc_large
from tokcy._utf8 cimport utf8_width


cdef struct AlignedText:
    uint8_t* bytes
    size_t size
    size_t capacity
    bint aligned
    size_t* begins          # of each byte: where its source begins and ends in the raw text
    size_t* ends


cdef inline void aligned_init(AlignedText* text, bint aligned) noexcept nogil:
    memset(text, 0, sizeof(AlignedText))
    text.aligned = aligned


cdef inline void aligned_free(AlignedText* text) noexcept nogil:
    free(text.bytes)
    free(text.begins)
    free(text.ends)
    aligned_init(text, text.aligned)


cdef inline int aligned_reserve(AlignedText* text, size_t more) noexcept nogil:
    """Make room for `more` bytes; 0, or -1 without memory, when the text is as it was."""
    cdef size_t capacity = text.capacity
    cdef void* moved
    if text.size + more <= capacity and text.bytes != NULL:
        return 0
    capacity = max(text.size + more, capacity + capacity // 2 + 64)
    if text.bytes == NULL:
        moved = tk_alloc_large(capacity, capacity)
    else:
        moved = realloc(text.bytes, capacity)
    if moved == NULL:
        return -1
    text.bytes = <uint8_t*>moved
    if text.aligned:
        moved = realloc(text.begins, capacity * sizeof(size_t))
        if moved == NULL:
            return -1
        text.begins = <size_t*>moved
        moved = realloc(text.ends, capacity * sizeof(size_t))
        if moved == NULL:
            return -1
        text.ends = <size_t*>moved
    text.capacity = capacity
    return 0


cdef inline void aligned_put(AlignedText* text, const uint8_t* bytes, size_t size,
                             size_t begin, size_t end) noexcept nogil:
    """Append bytes that all come from raw[begin:end]; the room is there."""
    cdef size_t i
    memcpy(text.bytes + text.size, bytes, size)
    if text.aligned:
        for i in range(text.size, text.size + size):
            text.begins[i] = begin
            text.ends[i] = end
    text.size += size


cdef inline int aligned_append_raw(AlignedText* text, const uint8_t* raw, size_t begin,
                                   size_t end) noexcept nogil:
    """Append raw[begin:end] as it is; 0, or -1 without memory."""
    cdef size_t at = begin, width
    if aligned_reserve(text, end - begin) < 0:
        return -1
    if not text.aligned:
        aligned_put(text, raw + begin, end - begin, 0, 0)
        return 0
    while at < end:
        width = utf8_width(raw[at])
        aligned_put(text, raw + at, width, at, at + width)
        at += width
    return 0


cdef inline int aligned_append(AlignedText* text, const AlignedText* source, size_t begin,
                               size_t end) noexcept nogil:
    """Append source[begin:end] with its ranges; 0, or -1 without memory."""
    cdef size_t size = end - begin
    if aligned_reserve(text, size) < 0:
        return -1
    memcpy(text.bytes + text.size, source.bytes + begin, size)
    if text.aligned:
        memcpy(text.begins + text.size, source.begins + begin, size * sizeof(size_t))
        memcpy(text.ends + text.size, source.ends + begin, size * sizeof(size_t))
    text.size += size
    return 0
