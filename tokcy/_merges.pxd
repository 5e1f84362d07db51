"""The merges of a model, as a table of pairs."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokcy._cuts cimport CutFilter
from tokcy._vocab cimport Vocabulary

cdef enum:
    # While a piece is merged it is made of symbols: those below FIRST_MERGED are the bytes, the
    # others are what the merges make, in order of rank. So a rank is a symbol less FIRST_MERGED.
    FIRST_MERGED = 256
    SYMBOL_BITS = 21
    # Most pairs asked for have no merge. A filter of 256 KB, which stays in L2, answers for 87%
    # of those without touching the table: 7-10% on unseen text.
    FILTER_BITS = 21

cdef extern from *:
    """
    #define TK_NO_RANK 0xFFFFFFFFu
    #define TK_FREE_SLOT UINT64_C(0xFFFFFFFFFFFFFFFF)
    """
    const uint32_t NO_RANK "TK_NO_RANK"         # above any rank: the pair has no merge
    const uint64_t FREE_SLOT "TK_FREE_SLOT"


cdef struct Merges:
    uint64_t* slots             # left << 42 | right << 21 | rank, or FREE_SLOT
    uint64_t slot_mask
    uint64_t* pair_filter       # hashed bit table of the pairs in `slots`
    uint32_t* byte_pairs        # [65536] rank of the pair of bytes left << 8 | right
    uint32_t* ids               # the id of each symbol
    uint32_t* same              # the symbol by which each goes; NULL where that is itself
    bint[256] has_byte          # the vocabulary does
    uint32_t* atoms             # [65536] see MergeTable; NULL where there can be none
    const uint32_t* halves      # as in CutFilter


cdef class MergeTable:
    cdef Vocabulary vocabulary
    cdef CutFilter cut_filter
    cdef Merges merges
    cdef readonly size_t n_merges
    cdef uint32_t* symbols          # by id: the symbol of the token + 1, or why it has none

    cdef bint makes(self, uint32_t token) noexcept nogil
    cdef int _index(self) except -1
    cdef int _clear(self, size_t n) except -1
    cdef int _clear_slots(self, size_t n) except -1
    cdef bint _add(self, uint32_t left, uint32_t right, uint32_t rank) noexcept nogil
    cdef int _add_merges(self) except -1
    cdef int _add_listed(self, const uint32_t* kept, size_t n) except -1
    cdef size_t _choose(self, uint32_t* kept, bint* unsure) except? 0
    cdef size_t _find_certain(self, size_t begin, size_t end, uint32_t made, uint32_t* lefts,
                              uint32_t* rights) noexcept nogil
    cdef int64_t _keep_unsure(self, size_t begin, size_t end, uint32_t* made,
                              const uint32_t* lefts, const uint32_t* rights,
                              uint32_t* kept) noexcept nogil
    cdef bint _meet(self, uint32_t left, uint32_t right, const uint32_t* lefts,
                    const uint32_t* rights) noexcept nogil
    cdef int _find_atoms(self) except -1


cdef inline uint64_t pair_hash(uint32_t left, uint32_t right) noexcept nogil:
    return (<uint64_t>left << SYMBOL_BITS | right) * 0x9E3779B97F4A7C15ULL


cdef inline uint32_t find_rank(const Merges* merges, uint32_t left, uint32_t right) noexcept nogil:
    """The rank of a pair of symbols, or NO_RANK."""
    cdef uint64_t hash = pair_hash(left, right), at, slot
    cdef uint64_t bit = hash >> (64 - FILTER_BITS)
    if not merges.pair_filter[bit >> 6] >> (bit & 63) & 1:
        return NO_RANK
    at = hash >> 24 & merges.slot_mask
    while True:
        slot = merges.slots[at]
        if slot >> SYMBOL_BITS == (<uint64_t>left << SYMBOL_BITS | right):
            return slot & ((1 << SYMBOL_BITS) - 1)
        if slot == FREE_SLOT:
            return NO_RANK
        at = (at + 1) & merges.slot_mask


cdef inline uint32_t symbol_of_rank(const Merges* merges, uint32_t rank) noexcept nogil:
    """What the merge of that rank makes."""
    cdef uint32_t symbol = FIRST_MERGED + rank
    return symbol if merges.same == NULL else merges.same[symbol]


cdef inline size_t character_width(const uint8_t* text, size_t size) noexcept nogil:
    """Bytes of the character of two or three that begins here; 0 if there is none."""
    if size >= 2 and 0xC2 <= text[0] < 0xE0 and text[1] & 0xC0 == 0x80:
        return 2
    if (size >= 3 and 0xE0 <= text[0] < 0xF0 and text[1] & 0xC0 == 0x80
            and text[2] & 0xC0 == 0x80):
        return 3
    return 0
