"""Text → piece boundaries: the C interface that the engine calls."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from tokcy._team cimport Team
from tokcy._utf8 cimport utf8_decode

cdef enum:
    SUPER_BLOCK = 4194304   # bytes between two looks at pending signals


cdef extern from "_classify.h" nogil:
    ctypedef struct tk_simd_ops:
        const char* name
        uint64_t (*classify)(const uint8_t* text, const uint8_t* table, uint8_t* out,
                             uint64_t* beyond) noexcept nogil
        void (*columns)(const uint8_t* classes, uint8_t plain, uint16_t* out) noexcept nogil
        uint64_t (*events)(const uint32_t* entries, size_t n_words, uint64_t* here,
                           uint64_t* back) noexcept nogil
        void (*spread)(const uint32_t* entries, uint64_t* masks) noexcept nogil
        uint64_t (*continuations)(const uint8_t* text) noexcept nogil
        uint64_t (*beyond_ascii)(const uint8_t* text) noexcept nogil
        size_t (*positions)(uint64_t bits, size_t base, size_t* out) noexcept nogil
        size_t (*collect)(const uint8_t* text, const uint64_t* starts, size_t* word, size_t last,
                          size_t* out, size_t most) noexcept nogil
    const tk_simd_ops* tk_find_simd(const char* name)


cdef inline const tk_simd_ops* simd_ops(str simd) except NULL:
    """The SIMD variant of that name; ValueError if the processor lacks it."""
    cdef bytes name = simd.encode()
    cdef const tk_simd_ops* found = tk_find_simd(name)
    if found == NULL:
        raise ValueError(f"no SIMD variant {simd!r} on this processor")
    return found


cdef struct Stage:
    # One split as the kernels read it. The arrays belong to the SplitTables.
    const tk_simd_ops* simd
    const uint8_t* byte_class
    const uint16_t* page_index
    const uint8_t* pages
    const uint16_t* next        # DFA, n_columns wide; the last column is the end of text
    const uint8_t* accept
    size_t n_columns
    const uint32_t* steps       # the transducer's (tokcy.pattern.transducer.Steps), or NULL
    size_t n_pairs
    size_t row_width
    const uint8_t* others
    const uint8_t* settled
    uint8_t n_classes
    bint byte_level
    bint has_gaps
    int behavior
    bint invert


cdef struct Scan:
    # One stage over one text.
    const Stage* stage
    const uint8_t* text
    size_t size
    uint64_t* starts
    uint64_t* skips
    uint64_t* gaps              # pieces that the pattern does not match
    uint64_t* cuts              # starts of segments that an earlier split of a cascade makes
    const uint64_t* segments    # `starts` as they were before this stage
    bint any_skips
    size_t floor                # where a guess begins; before it nothing is its to take back


cdef inline uint8_t wide_class(const Stage* stage, const uint8_t* p, size_t length) noexcept nogil:
    """The class of the character of two to four bytes at p."""
    cdef uint32_t c = utf8_decode(p, length)
    return stage.pages[<size_t>stage.page_index[c >> 7] << 7 | (c & 127)]


cdef int run_stages(const Stage* stages, size_t n_stages, const uint8_t* text, size_t size,
                    uint64_t* starts, uint64_t* skips, Team* team, size_t unit) noexcept nogil


cdef class PreTokenizer:
    cdef tuple _tables
    cdef list _passes           # the SplitTables that the stages point into
    cdef list _steps            # and the Steps
    cdef Stage* _stages
    cdef size_t _n_stages

    cdef int find_pieces(self, const uint8_t* text, size_t size, uint64_t* starts,
                         uint64_t* skips, Team* team, size_t unit) noexcept nogil
    cdef int _find_pieces_on(self, int num_threads, const uint8_t* text, size_t size,
                             uint64_t* starts, uint64_t* skips, size_t unit) noexcept nogil
