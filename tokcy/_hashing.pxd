"""Hashes of tokens, and whether two are equal: loops that are over before a call would be."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tokcy._platform cimport tk_load64


cdef inline uint64_t mix_words(uint64_t head, uint64_t tail) noexcept nogil:
    cdef uint64_t mixed = head * 0x9E3779B97F4A7C15ULL ^ tail * 0xC2B2AE3D27D4EB4FULL
    mixed ^= mixed >> 32
    return mixed * 0xD6E8FEB86659FD93ULL


cdef inline uint64_t hash_token(const uint8_t* key, size_t size, uint8_t kind) noexcept nogil:
    """A hash of a token: the upper half chooses its slot, the lower half is the slot's tag."""
    cdef uint64_t found = <uint64_t>size << 3 | kind, last = 0
    cdef uint32_t low = 0, high = 0
    while size > 8:
        found = mix_words(found, tk_load64(key))
        key += 8
        size -= 8
    if size >= 4:       # two loads that overlap, as a copy of varying size is a call
        memcpy(&low, key, 4)
        memcpy(&high, key + size - 4, 4)
        last = <uint64_t>high << 32 | low
    elif size:
        last = key[0] | <uint64_t>key[size >> 1] << 8 | <uint64_t>key[size - 1] << 16
    found = mix_words(found, last)
    return found ^ found >> 32


cdef inline bint is_equal(const uint8_t* one, const uint8_t* other, size_t size) noexcept nogil:
    """As `memcmp`, which is a call."""
    cdef uint32_t a = 0, b = 0
    while size >= 8:
        if tk_load64(one) != tk_load64(other):
            return False
        one += 8
        other += 8
        size -= 8
    if size >= 4:
        memcpy(&a, one, 4)
        memcpy(&b, other, 4)
        if a != b:
            return False
        one += 4
        other += 4
        size -= 4
    while size:
        if one[0] != other[0]:
            return False
        one += 1
        other += 1
        size -= 1
    return True
