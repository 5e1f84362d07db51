"""Text → piece boundaries: the C interface that the engine calls."""

from libc.stdint cimport uint8_t, uint16_t, uint64_t


cdef extern from "_classify.h" nogil:
    ctypedef struct tk_simd_ops:
        const char* name
        uint64_t (*classify)(const uint8_t* text, const uint8_t* table, uint8_t* out) noexcept nogil
        void (*events)(const uint16_t* rows, const uint16_t* bounds, uint64_t* masks) noexcept nogil
        uint64_t (*continuations)(const uint8_t* text) noexcept nogil
        uint64_t (*beyond_ascii)(const uint8_t* text) noexcept nogil
        size_t (*positions)(uint64_t bits, size_t base, size_t* out) noexcept nogil
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
    const uint8_t* table        # transducer, or NULL
    size_t row_width
    uint16_t start
    const uint16_t* bounds
    const uint8_t* borders
    const uint8_t* gaps
    const uint8_t* undo
    const uint8_t* cut
    const uint8_t* settled
    uint8_t n_classes
    bint byte_level
    bint has_gaps
    int behavior
    bint invert


cdef int run_stages(const Stage* stages, size_t n_stages, const uint8_t* text, size_t size,
                    uint64_t* starts, uint64_t* skips, int num_threads,
                    size_t unit) noexcept nogil


cdef class PreTokenizer:
    cdef tuple _tables
    cdef list _passes           # the SplitTables that the stages point into
    cdef Stage* _stages
    cdef size_t _n_stages

    cdef int find_pieces(self, const uint8_t* text, size_t size, uint64_t* starts,
                         uint64_t* skips, int num_threads, size_t unit) noexcept nogil
