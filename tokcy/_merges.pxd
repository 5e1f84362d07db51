"""The merges of a model, as a table of pairs (see _merges.h)."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokcy._cuts cimport CutFilter
from tokcy._vocab cimport Vocabulary

cdef extern from "_merges.h" nogil:
    enum:
        FIRST_MERGED "TK_FIRST_MERGED"
        SYMBOL_BITS "TK_SYMBOL_BITS"
        FILTER_BITS "TK_FILTER_BITS"
        BUCKET "TK_BUCKET"
        HAS_NAME "TK_BYTE_NAME"
    const uint32_t NO_RANK "TK_NO_RANK"
    const uint64_t FREE_SLOT "TK_FREE_SLOT"
    ctypedef struct Merges "tk_merges":
        uint64_t* slots
        uint64_t n_buckets
        uint64_t* pair_filter
        uint32_t* byte_pairs
        uint32_t* ids
        uint32_t* same
        uint32_t* atoms[4]
        size_t n_atoms[4]
        const uint32_t* halves
        uint8_t has_byte[256]
        bint has_all_bytes
        unsigned marks
        bint lacks_characters
        bint is_byte_level
        uint32_t unknown
        bint fuses_unknown
        uint32_t space_width
    uint64_t pair_of "tk_pair"(uint32_t left, uint32_t right)
    uint64_t pair_hash "tk_pair_hash"(uint64_t pair)
    uint64_t* find_slot "tk_find_slot"(const Merges* merges, uint64_t pair)
    uint32_t find_rank "tk_find_rank"(const Merges* merges, uint32_t left, uint32_t right)
    uint32_t first_rank "tk_first_rank"(const Merges* merges, uint32_t left, uint32_t right)
    uint32_t symbol_of_rank "tk_symbol_of_rank"(const Merges* merges, uint32_t rank)
    size_t character_width "tk_character_width"(const uint8_t* text, size_t size)
    uint32_t code_point "tk_code_point"(const uint8_t* text, size_t width)
    size_t first_characters "tk_first_characters"(
        const Merges* merges, const uint8_t* piece, size_t size, uint32_t* symbols,
        uint32_t* lengths)
    size_t first_symbols "tk_first_symbols"(const Merges* merges, const uint8_t* piece,
                                            size_t size, uint32_t* symbols)
    size_t count_symbols "tk_count_symbols"(const Merges* merges, const uint8_t* piece,
                                            size_t size, size_t most)

cdef extern from "_merge_many.h" nogil:
    enum:
        LANE "TK_LANE"
        MANY "TK_MANY"
    ctypedef void tk_merge_many(const Merges* merges, const uint8_t* const* pieces,
                                const uint8_t* sizes, size_t n, uint32_t* ids,
                                uint8_t* counts) noexcept nogil
    tk_merge_many* tk_find_merge_many(const char* simd)


cdef class MergeTable:
    cdef Vocabulary vocabulary
    cdef CutFilter cut_filter
    cdef Merges merges
    cdef object holder              # of the memory of the slots, where that is another's
    cdef bint slots_are_held
    cdef readonly size_t n_merges
    cdef size_t first_made          # symbol: those below are what merging begins with
    cdef size_t n_known             # symbols of these, but for the unknown one
    cdef size_t n_symbols
    cdef uint32_t* symbols          # by id: the symbol of the token + 1, or why it has none

    cdef bint makes(self, uint32_t token) noexcept nogil
    cdef int _begin(self, size_t n_symbols) except -1
    cdef bint _numbers_entries(self) noexcept
    cdef int64_t _numbered(self, size_t entry) noexcept
    cdef size_t _character_width(self, size_t entry) noexcept
    cdef int _begin_numbered(self) except -1
    cdef int _index(self) except -1
    cdef int _take(self, dict tables) except -1
    cdef int _take_slots(self, const uint8_t[::1] slots, const uint32_t* lengths) except -1
    cdef int _take_same(self, const uint8_t[::1] same, const uint32_t* lengths) except -1
    cdef int _take_atoms(self, const uint8_t[::1] atoms, const uint32_t* lengths) except -1
    cdef int _clear(self, size_t n) except -1
    cdef int _clear_slots(self, size_t n) except -1
    cdef int _open_buckets(self, size_t n) except -1
    cdef void _clear_filter(self, size_t n_buckets) noexcept
    cdef bint _add(self, uint32_t left, uint32_t right, uint32_t rank) noexcept nogil
    cdef int _add_merges(self) except -1
    cdef int _add_listed(self, const uint32_t* kept, size_t n) except -1
    cdef size_t _choose(self, uint32_t* kept, bint* unsure) except? 0
    cdef size_t _find_certain(self, size_t begin, size_t end, uint32_t made, uint32_t* lefts,
                              uint32_t* rights) noexcept nogil
    cdef int64_t _keep_unsure(self, size_t begin, size_t end, uint32_t* made,
                              const uint32_t* lefts, const uint32_t* rights,
                              uint32_t* kept) noexcept nogil
    cdef int64_t _find_pair_again(self, size_t begin, size_t end, const uint32_t* lefts,
                                  const uint32_t* rights) noexcept nogil
    cdef bint _meet(self, uint32_t left, uint32_t right, const uint32_t* lefts,
                    const uint32_t* rights) noexcept nogil
    cdef int _find_atoms(self) except -1


cdef uint32_t length_of(Vocabulary vocabulary, uint32_t token) noexcept nogil
