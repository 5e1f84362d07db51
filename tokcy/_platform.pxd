"""The few C primitives that Cython cannot say (see _platform.h)."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "_platform.h" nogil:
    int tk_ctz64(uint64_t x)
    int tk_clz64(uint64_t x)
    int tk_popcount64(uint64_t x)
    void tk_prefetch(const void* p)
    bint tk_likely(bint x)
    bint tk_unlikely(bint x)
    uint64_t tk_load_acquire64(const uint64_t* p)
    void tk_store_release64(uint64_t* p, uint64_t v)
    bint tk_cas64(uint64_t* p, uint64_t expected, uint64_t desired)
    uint64_t tk_fetch_add64(uint64_t* p, uint64_t n)
    void tk_add_release64(uint64_t* p, uint64_t n)
    uint64_t tk_load64(const uint8_t* p)
    uint32_t tk_load32(const uint8_t* p)
    void* tk_alloc_table(size_t size)
    void tk_free_table(void* table)
    void* tk_alloc_large(size_t size, size_t used)
    void tk_populate(void* begin, void* end)
    bint tk_is_new(const void* p, size_t size)
