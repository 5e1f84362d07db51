# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where a piece may be cut before merging, because no token reaches across.

If no token of the vocabulary holds the end of one character followed by the beginning of the
next, no merge can ever join the two, and merging the piece gives what merging its two parts
gives. Chinese and Japanese pieces, often a whole clause without a space, fall into words of one
to three characters, which the merge cache knows; English ones stay whole.

A token touches a border in one of two ways. It holds both characters whole: then the pair is in
`pairs`. Or it holds only some bytes of one of them, at its own edge: then the two bytes at the
border are in `halves` (at most 166 pairs of bytes in the vocabularies measured). Both tables may
say "joined" of what is not, by collision; that only loses a cut.

Bytes that the vocabulary lacks are dropped before merging, which makes others adjacent (rule
M5(c)); a vocabulary that lacks a byte of valid UTF-8 is therefore left uncut.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from tokcy._bitmap cimport is_set, set_bit
from tokcy._platform cimport tk_ctz64, tk_load64
from tokcy._vocab cimport Vocabulary

cdef enum:
    PAIR_BITS = 20          # 128 KB; at most 55,000 pairs in the vocabularies measured


@cython.final
cdef class CutFilter:
    """The borders that some token of a vocabulary reaches across; immutable."""

    def __cinit__(self, Vocabulary vocabulary):
        cdef size_t entry
        cdef int byte
        self.enabled = True
        for byte in range(0xF5):
            if vocabulary.byte_id[byte] < 0 and byte not in (0xC0, 0xC1):
                self.enabled = False
        self.pairs = <uint64_t*>calloc(1 << (PAIR_BITS - 6), sizeof(uint64_t))
        self.halves = <uint64_t*>calloc(1024, sizeof(uint64_t))
        if self.pairs == NULL or self.halves == NULL:
            raise MemoryError
        for entry in range(vocabulary.n_entries):
            if vocabulary.is_bytes[entry]:
                _note_borders(self.pairs, self.halves,
                              vocabulary.arena + vocabulary.offsets[entry],
                              vocabulary.offsets[entry + 1] - vocabulary.offsets[entry])

    def __dealloc__(self):
        free(self.pairs)
        free(self.halves)

    cdef uint64_t cuts_in_word(self, const uint8_t* text, size_t size, size_t word,
                               uint64_t starts) noexcept nogil:
        """Bits of the 64 bytes at `word` where a piece may be cut; `starts` are not among them.

        Only borders beside a character beyond ASCII are looked at.
        """
        cdef size_t base = word << 6, end = base + 64 if base + 64 < size else size, at
        cdef uint64_t borders, cuts = 0, bit
        cdef uint32_t left = 0, right
        cdef size_t left_end = size + 1     # where the character `left` ends
        cdef size_t right_end
        if _is_ascii(text, base, end):
            return 0
        borders = _borders(text, base, end) & ~starts
        while borders:
            bit = borders & (~borders + 1)
            borders ^= bit
            at = base + tk_ctz64(bit)
            if left_end != at:
                left = _pack(text, _begin(text, at), at)
            right_end = _end(text, size, at)
            right = _pack(text, at, right_end)
            if not (is_set(self.halves, text[at - 1] << 8 | text[at])
                    or is_set(self.pairs, _hash_pair(left, right))):
                cuts |= bit
            left = right
            left_end = right_end
        return cuts


cdef void _note_borders(uint64_t* pairs, uint64_t* halves, const uint8_t* token,
                        size_t size) noexcept nogil:
    """Mark every border between characters, or parts of them, within a token."""
    cdef size_t at, end, before = 0     # where what stands before the border begins
    for at in range(1, size):
        if _continues(token[at]):
            continue
        if (token[at] | token[at - 1]) & 0x80:      # others are never asked for
            end = _end(token, size, at)
            if _is_character(token, before, at) and _is_character(token, at, end):
                set_bit(pairs, _hash_pair(_pack(token, before, at), _pack(token, at, end)))
            else:
                set_bit(halves, token[at - 1] << 8 | token[at])
        before = at


cdef inline bint _is_ascii(const uint8_t* text, size_t base, size_t end) noexcept nogil:
    """Whether the bytes at [base - 1, end) are; the one before has a border with the first."""
    cdef uint64_t seen = text[base - 1] if base else 0
    cdef size_t at = base
    while at + 8 <= end:
        seen |= tk_load64(text + at)
        at += 8
    for at in range(at, end):
        seen |= text[at]
    return not seen & 0x8080808080808080ULL


cdef uint64_t _borders(const uint8_t* text, size_t base, size_t end) noexcept nogil:
    """Bits of characters' first bytes that have a byte beyond ASCII before them or are one."""
    cdef uint64_t found = 0
    cdef size_t at
    for at in range(base if base else 1, end):
        if (text[at] | text[at - 1]) & 0x80 and not _continues(text[at]):
            found |= <uint64_t>1 << (at - base)
    return found


cdef inline bint _continues(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef inline size_t _length(uint8_t first) noexcept nogil:
    """Bytes of the character that begins with this byte."""
    return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


cdef inline size_t _begin(const uint8_t* text, size_t end) noexcept nogil:
    """Where the character that ends at `end` begins."""
    cdef size_t begin = end - 1
    while begin and _continues(text[begin]):
        begin -= 1
    return begin


cdef inline size_t _end(const uint8_t* text, size_t size, size_t at) noexcept nogil:
    """Where the character that begins at `at` ends, or the text before that."""
    cdef size_t end = at + _length(text[at])
    return end if end < size else size


cdef inline bint _is_character(const uint8_t* text, size_t begin, size_t end) noexcept nogil:
    """Whether these bytes are one whole character, as far as their kinds tell."""
    cdef size_t i
    if _continues(text[begin]) or begin + _length(text[begin]) != end:
        return False
    for i in range(begin + 1, end):
        if not _continues(text[i]):
            return False
    return True


cdef inline uint32_t _pack(const uint8_t* text, size_t begin, size_t end) noexcept nogil:
    cdef uint32_t packed = 0
    cdef size_t i
    for i in range(begin, end):
        packed = packed << 8 | text[i]
    return packed


cdef inline size_t _hash_pair(uint32_t left, uint32_t right) noexcept nogil:
    cdef uint64_t mixed = (<uint64_t>left << 32 | right) * 0x9E3779B97F4A7C15ULL
    return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9ULL >> (64 - PAIR_BITS)
