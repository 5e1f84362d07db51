"""Bitmaps over the bytes of a text: bit i of word i >> 6 stands for byte i."""

from libc.stdint cimport uint64_t

from tokcy._platform cimport tk_clz64, tk_ctz64


cdef inline bint is_set(const uint64_t* bitmap, size_t i) noexcept nogil:
    return bitmap[i >> 6] >> (i & 63) & 1


cdef inline void set_bit(uint64_t* bitmap, size_t i) noexcept nogil:
    bitmap[i >> 6] |= <uint64_t>1 << (i & 63)


cdef inline size_t next_set(const uint64_t* bitmap, size_t begin, size_t limit) noexcept nogil:
    """The first bit that is set in [begin, limit), or limit."""
    cdef size_t word = begin >> 6, found
    cdef uint64_t bits
    if begin >= limit:
        return limit
    bits = bitmap[word] >> (begin & 63) << (begin & 63)
    while bits == 0:
        word += 1
        if word << 6 >= limit:
            return limit
        bits = bitmap[word]
    found = (word << 6) + <size_t>tk_ctz64(bits)
    return found if found < limit else limit


cdef inline size_t bitmap_words(size_t size) noexcept nogil:
    """Words for a text of ``size`` bytes, with at least one bit to spare behind it."""
    return (size + 63) // 64 + 1


cdef inline void clear_bit(uint64_t* bitmap, size_t i) noexcept nogil:
    bitmap[i >> 6] &= ~(<uint64_t>1 << (i & 63))


cdef inline uint64_t bits_from(size_t i) noexcept nogil:
    """The bits of one word at and above bit i & 63."""
    return ~<uint64_t>0 << (i & 63)


cdef inline uint64_t bits_below(size_t n) noexcept nogil:
    """The n lowest bits of a word; all of them from 64 up."""
    return ~<uint64_t>0 if n >= 64 else (<uint64_t>1 << n) - 1


cdef inline size_t last_set(const uint64_t* bitmap, size_t end) noexcept nogil:
    """The last bit that is set in [0, end). There must be one."""
    cdef size_t word = end >> 6
    cdef uint64_t bits = bitmap[word] & ~bits_from(end)
    while bits == 0:
        word -= 1
        bits = bitmap[word]
    return (word << 6) + 63 - <size_t>tk_clz64(bits)
