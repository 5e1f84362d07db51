"""The BPE model: pieces → ids. What the engine calls."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokcy._cache cimport Cache, Key, tk_line_ops
from tokcy._cuts cimport CutFilter
from tokcy._merges cimport LANE, MANY, MergeTable, tk_merge_many
from tokcy._pretok cimport tk_simd_ops
from tokcy._seeds cimport Seeds
from tokcy._vocab cimport Vocabulary

cdef extern from "_holes.h" nogil:
    ctypedef struct tk_holes:
        size_t n
        const size_t* places
        const uint8_t* entries
        const uint32_t* rows
        size_t room
        const uint8_t* counts
    ctypedef size_t tk_fill_holes(uint32_t* out, size_t n, const tk_holes* holes) noexcept nogil
    tk_fill_holes* tk_find_fill_holes(const char* simd)


cdef enum:
    BATCH = 128             # pieces, at least, whose cache lines are requested together
    BATCH_ROOM = BATCH + 64


cdef struct Batch:          # pieces, or parts of them
    size_t n
    size_t[BATCH_ROOM + 1] position     # where they begin, and where the last one ends


cdef struct Walk:           # over the pieces of a range of text
    size_t begin
    size_t end
    size_t word             # the next word of the bitmaps


cdef enum:
    UNKNOWN_ROOM = MANY
    HOLES_ROOM = 128


cdef struct Unknown:        # pieces of few symbols that wait to be merged together
    size_t n
    const uint8_t* pieces[UNKNOWN_ROOM]
    uint8_t[UNKNOWN_ROOM] sizes
    uint8_t[UNKNOWN_ROOM] parts             # whether each has these ids only as a part
    uint8_t[256] by_hash                    # 1 + the last of them with that hash; 0: none
    size_t n_holes                          # where their ids are to be put in
    size_t[HOLES_ROOM] place                # how many ids stand before
    uint8_t[HOLES_ROOM] piece


cdef struct Tally:          # of one call, added to the model's counters at its end
    uint64_t pieces
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
    cdef Seeds seeds
    cdef MergeTable merge_table
    cdef tk_merge_many* merge_many      # NULL: one after another
    cdef tk_fill_holes* fill_holes
    cdef const tk_simd_ops* simd
    cdef const tk_line_ops* line_ops
    cdef Cache* cache
    cdef uint64_t hits
    cdef uint64_t misses
    cdef uint64_t generation

    cdef Cache* acquire_cache(self) except NULL
    cdef void release_cache(self, Cache* cache, const Tally* tally) noexcept
    cdef int encode_pieces(self, Cache* cache, const Text* text, size_t begin, size_t end,
                           size_t limit, uint32_t* out, size_t* n, Unknown* unknown,
                           Tally* tally) noexcept nogil
    cdef void _collect(self, const Text* text, Walk* walk, Batch* batch) noexcept nogil
    cdef uint64_t _marks(self, const Text* text, const Walk* walk) noexcept nogil
    cdef int _encode_batch(self, Cache* cache, const Text* text, const Batch* batch,
                           uint32_t* out, size_t* n, Unknown* unknown,
                           Tally* tally) noexcept nogil
    cdef bint _waits(self, const uint8_t* piece, size_t size, const Key* key, bint part,
                     size_t place, Unknown* unknown) noexcept nogil
    cdef size_t merge_unknown(self, Cache* cache, Unknown* unknown, uint32_t* out,
                              size_t n, Tally* tally) noexcept nogil
    cdef void _request(self, const Cache* cache, const Text* text, const Batch* batch,
                       Key* keys) noexcept nogil
    cdef void _request_longs(self, const Cache* cache, const Text* text, const Batch* batch,
                             size_t first, size_t last, Key* keys) noexcept nogil
    cdef bint _is_part(self, const Text* text, size_t begin, size_t end) noexcept nogil
    cdef int64_t _encode_other(self, Cache* cache, const Text* text, size_t begin, size_t end,
                               const Key* key, uint32_t* out, size_t place, Unknown* unknown,
                               Tally* tally) noexcept nogil
    cdef int64_t _find_long(self, const Cache* cache, const uint8_t* piece, size_t size,
                            uint64_t hash, bint part, uint32_t* out) noexcept nogil
