"""Places in a text by the three bytes that stand there (see _sieve.h)."""

from libc.stdint cimport uint8_t, uint64_t

from tokcy._platform cimport tk_ctz64


cdef extern from "_sieve.h" nogil:
    ctypedef struct tk_byte_sets:
        uint8_t of[256]

    ctypedef struct tk_places:
        uint64_t bits
        size_t begin
        size_t end

    ctypedef struct tk_sieve_ops:
        void (*find)(const uint8_t* text, size_t at, size_t end, const tk_byte_sets* first,
                     const tk_byte_sets* second, const tk_byte_sets* third,
                     tk_places* found) noexcept nogil

    void tk_byte_sets_finish(tk_byte_sets* sets)
    const tk_sieve_ops* tk_find_sieve(const char* name)


cdef struct Sieve:
    # Finds the places where first.of[a byte], second.of[the one behind it] and third.of[the one
    # behind that] share a bit.
    tk_byte_sets first
    tk_byte_sets second
    tk_byte_sets third
    const tk_sieve_ops* simd


cdef int sieve_characters(Sieve* sieve, codes, str simd) except -1
cdef int sieve_contents(Sieve* sieve, contents, str simd) except -1


cdef inline size_t next_place(const Sieve* sieve, const uint8_t* text, size_t at, size_t end,
                              tk_places* known) noexcept nogil:
    """The first such place in text[at:end], or `end`; zeros stand behind the last byte.

    `known` is what was found before, further to the left; at first its end is 0.
    """
    cdef uint64_t bits
    while at < end:
        if at < known.end:
            bits = known.bits >> (at - known.begin)
            if bits:
                return at + <size_t>tk_ctz64(bits)
            at = known.end
        else:
            sieve.simd.find(text, at, end, &sieve.first, &sieve.second, &sieve.third, known)
            at = known.begin
    return end
