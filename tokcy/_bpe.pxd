"""The BPE model: pieces → ids. What the engine calls."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokcy._cache cimport Cache
from tokcy._cuts cimport CutFilter
from tokcy._vocab cimport Vocabulary


cdef struct MergeSlot:
    uint64_t pair           # left << 32 | right; NO_PAIR where free
    uint32_t rank
    uint32_t merged


cdef struct Symbol:         # of a long piece, in a linked list
    uint32_t id
    uint32_t before
    uint32_t after          # index of the next symbol; END behind the last


cdef enum:
    BATCH = 64              # pieces whose cache lines are requested together


cdef struct Batch:          # pieces, or parts of them; [n] is where the last one ends
    size_t n
    size_t[BATCH + 1] position
    bint[BATCH + 1] is_cut  # the position is inside a piece


cdef struct Walk:           # over the pieces of a range of text
    size_t begin
    size_t end
    size_t word             # the word of the bitmaps that `bits` is what is left of
    uint64_t bits
    uint64_t cuts


cdef struct Tally:          # of one call, added to the model's counters at its end
    uint64_t hits
    uint64_t misses


cdef struct Text:           # what the pre-tokenizer has found in one text
    const uint8_t* bytes
    size_t size
    const uint64_t* starts
    const uint64_t* skips   # NULL where no piece is dropped


cdef class Bpe:
    cdef readonly Vocabulary vocabulary
    cdef readonly bint ignore_merges
    cdef CutFilter cut_filter
    cdef MergeSlot* slots
    cdef uint64_t slot_mask
    cdef uint64_t* pair_filter      # hashed bit table of the pairs that have a merge
    cdef uint64_t* byte_pairs       # [65536] rank << 32 | merged; NO_PAIR where none
    cdef Cache* cache
    cdef uint64_t hits
    cdef uint64_t misses
    cdef uint64_t generation

    cdef Cache* acquire_cache(self) except NULL
    cdef void release_cache(self, Cache* cache, const Tally* tally) noexcept
    cdef int encode_pieces(self, Cache* cache, const Text* text, size_t begin, size_t end,
                           size_t limit, uint32_t* out, size_t* n_out,
                           Tally* tally) noexcept nogil
    cdef int64_t encode_piece(self, const uint8_t* piece, size_t size,
                              uint32_t* out) noexcept nogil

    cdef void _collect(self, const Text* text, Walk* walk, Batch* batch) noexcept nogil
    cdef void _load_word(self, const Text* text, Walk* walk) noexcept nogil
    cdef int64_t _encode_batch(self, Cache* cache, const Text* text, const Batch* batch,
                               uint32_t* out, Tally* tally) noexcept nogil
    cdef int64_t _find_or_merge(self, Cache* cache, const uint8_t* piece, size_t size,
                                uint64_t part, uint32_t* out, size_t* misses) noexcept nogil
    cdef MergeSlot* _slot_of(self, uint64_t pair) noexcept nogil
    cdef uint64_t _rank(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int64_t _merge(self, const uint8_t* piece, size_t size, uint32_t* out) noexcept nogil
    cdef int64_t _merge_by_scan(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil
    cdef int64_t _merge_by_heap(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil
    cdef size_t _link_symbols(self, const uint8_t* piece, size_t size,
                              Symbol* symbols) noexcept nogil
    cdef size_t _fill_heap(self, const Symbol* symbols, size_t n, uint64_t* heap) noexcept nogil
    cdef void _drain_heap(self, Symbol* symbols, uint64_t* heap, size_t n_heap) noexcept nogil
