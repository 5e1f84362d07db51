"""The merges of a model, and merging by them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tokcy._vocab cimport Vocabulary

cdef struct MergeSlot:
    uint64_t pair           # left << 32 | right; NO_PAIR where free
    uint32_t rank
    uint32_t merged


cdef struct Making:         # of a token, by the one merge that ever makes it
    int32_t rank            # or A_BYTE, NEVER, UNSURE
    uint32_t left
    uint32_t right
    bint seen               # a merge that makes it


cdef struct Symbol:         # of a long piece, in a linked list
    uint32_t id
    uint32_t before
    uint32_t after          # index of the next symbol; END behind the last


cdef class MergeTable:
    cdef Vocabulary vocabulary
    cdef readonly size_t n_merges
    cdef MergeSlot* slots
    cdef uint64_t slot_mask
    cdef uint64_t* pair_filter      # hashed bit table of the pairs that have a merge
    cdef uint64_t* byte_pairs       # [65536] rank << 32 | merged; NO_PAIR where none

    cdef int64_t merge(self, const uint8_t* piece, size_t size, uint32_t* out) noexcept nogil

    cdef int _index(self) except -1
    cdef int _clear(self, size_t n) except -1
    cdef bint _add(self, size_t rank) noexcept nogil
    cdef int _add_all_merges(self) except -1
    cdef bint _add_merges_that_happen(self) except -1
    cdef bint _add_merges_of_token(self, size_t begin, size_t end, Making* made,
                                   int64_t* room) noexcept nogil
    cdef int32_t _may_meet(self, uint32_t left, uint32_t right,
                           const Making* made) noexcept nogil
    cdef uint64_t _slot_of(self, uint64_t pair) noexcept nogil
    cdef uint64_t _rank(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int64_t _merge_by_scan(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil
    cdef int64_t _merge_by_heap(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil
    cdef size_t _link_symbols(self, const uint8_t* piece, size_t size,
                              Symbol* symbols) noexcept nogil
    cdef size_t _fill_heap(self, const Symbol* symbols, size_t n, uint64_t* heap) noexcept nogil
    cdef int _drain_heap(self, Symbol* symbols, uint64_t* heap, size_t n_heap) noexcept nogil
