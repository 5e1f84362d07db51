/* What Cython cannot say and compilers spell differently: bit scans, prefetch,
 * branch hints, and the three atomic operations of the shared merge cache. */
#ifndef TOKCY_PLATFORM_H
#define TOKCY_PLATFORM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER) && !defined(__clang__)

#include <intrin.h>
static __inline int tk_ctz64(uint64_t x) {
    unsigned long i;
#if defined(_M_X64) || defined(_M_ARM64)
    _BitScanForward64(&i, x);
    return (int)i;
#else
    if (_BitScanForward(&i, (unsigned long)x)) return (int)i;
    _BitScanForward(&i, (unsigned long)(x >> 32));
    return (int)i + 32;
#endif
}
static __inline int tk_clz64(uint64_t x) {
    int n = 0;
    while (!(x >> 63)) { x <<= 1; n++; }
    return n;
}
static __inline int tk_popcount64(uint64_t x) {
    int n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}
#define tk_prefetch(p) ((void)(p))
#define tk_likely(x) (x)
#define tk_unlikely(x) (x)
static __inline uint64_t tk_load_acquire64(const uint64_t *p) {
    uint64_t v = *(const volatile uint64_t *)p;
    _ReadWriteBarrier();
#if defined(_M_ARM64)
    __dmb(_ARM64_BARRIER_ISH);
#endif
    return v;
}
static __inline void tk_store_release64(uint64_t *p, uint64_t v) {
#if defined(_M_ARM64)
    __dmb(_ARM64_BARRIER_ISH);
#endif
    _ReadWriteBarrier();
    *(volatile uint64_t *)p = v;
}
static __inline int tk_cas64(uint64_t *p, uint64_t expected, uint64_t desired) {
    return _InterlockedCompareExchange64((volatile __int64 *)p, (__int64)desired,
                                         (__int64)expected) == (__int64)expected;
}
static __inline uint64_t tk_fetch_add64(uint64_t *p, uint64_t n) {
    return (uint64_t)_InterlockedExchangeAdd64((volatile __int64 *)p, (__int64)n);
}
static __inline void tk_add_release64(uint64_t *p, uint64_t n) {
    _InterlockedExchangeAdd64((volatile __int64 *)p, (__int64)n);
}
#define tk_compiler_barrier() _ReadWriteBarrier()

#else

#define tk_ctz64(x) __builtin_ctzll(x)
#define tk_clz64(x) __builtin_clzll(x)
#define tk_popcount64(x) __builtin_popcountll(x)
#define tk_prefetch(p) __builtin_prefetch(p)
#define tk_likely(x) __builtin_expect(!!(x), 1)
#define tk_unlikely(x) __builtin_expect(!!(x), 0)
static inline uint64_t tk_load_acquire64(const uint64_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
static inline void tk_store_release64(uint64_t *p, uint64_t v) {
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
static inline int tk_cas64(uint64_t *p, uint64_t expected, uint64_t desired) {
    return __atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}
static inline uint64_t tk_fetch_add64(uint64_t *p, uint64_t n) {
    return __atomic_fetch_add(p, n, __ATOMIC_RELAXED);
}
static inline void tk_add_release64(uint64_t *p, uint64_t n) {
    __atomic_fetch_add(p, n, __ATOMIC_RELEASE);
}
#define tk_compiler_barrier() __atomic_signal_fence(__ATOMIC_ACQUIRE)
/* Keeps the compiler from making a branch of what is computed with x. */
#define tk_opaque(x) __asm__("" : "+r"(x))

#endif

/* memcpy is how C spells an unaligned load; compilers make one instruction of it. */
static inline uint64_t tk_load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static inline uint32_t tk_load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

#if defined(_MSC_VER) && !defined(__clang__)
#define TK_ALWAYS_INLINE static __forceinline
#else
#define TK_ALWAYS_INLINE __attribute__((always_inline)) static inline
#endif

/* From how many bytes on it pays to ask for their pages. */
#define TK_MANY_BYTES ((size_t)16 << 10)

/* Memory of megabytes: on Linux in pages of 2 MB where the system allows it. */
#include <stdlib.h>
#if defined(__linux__)
#include <sys/mman.h>
#define TK_HUGE ((size_t)2 << 20)
static inline void *tk_alloc_huge(size_t size) {
    void *p = NULL;
    size = (size + TK_HUGE - 1) / TK_HUGE * TK_HUGE;
    if (posix_memalign(&p, TK_HUGE, size)) return NULL;
    madvise(p, size, MADV_HUGEPAGE);
    return p;
}

/* Zeroed, for tables that are read at random: every look-up would else also miss the TLB. Pages of
 * their own are zeroes already, which nobody needs to write; before them is how many bytes those
 * are, 0 where the table is malloc's. */
#define TK_TABLE_HEAD 64
static inline void *tk_alloc_table(size_t size) {
    size_t mapped = 0, ahead;
    char *p;
    if (size < TK_HUGE) {
        p = (char *)calloc(1, TK_TABLE_HEAD + size);
        if (!p) return NULL;
    } else {
        mapped = (TK_TABLE_HEAD + size + 4095) / 4096 * 4096;
        p = (char *)mmap(NULL, mapped + TK_HUGE, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == (char *)MAP_FAILED) return NULL;
        ahead = (TK_HUGE - (uintptr_t)p % TK_HUGE) % TK_HUGE;
        if (ahead) munmap(p, ahead);
        if (ahead < TK_HUGE) munmap(p + ahead + mapped, TK_HUGE - ahead);
        p += ahead;
        madvise(p, mapped, MADV_HUGEPAGE);
    }
    *(size_t *)p = mapped;
    return p + TK_TABLE_HEAD;
}

static inline void tk_free_table(void *table) {
    char *p = (char *)table - TK_TABLE_HEAD;
    if (!table) return;
    if (*(size_t *)p)
        munmap(p, *(size_t *)p);
    else
        free(p);
}

/* For what one call needs, of `size` bytes of which some `used` will be touched. */
static inline void *tk_alloc_large(size_t size, size_t used) {
    return used < TK_HUGE ? malloc(size) : tk_alloc_huge(size);
}
/* Have the pages from one place to another, if there are many, before they are written to; where the
 * system cannot do that (Linux before 5.14), whoever writes gets them. On a Xeon that takes 0.1 ms for each MB, and
 * 0.3 where each page waits until it is written to. */
static inline void tk_populate(void *from, void *to) {
    uintptr_t begin = ((uintptr_t)from + 4095) / 4096 * 4096, end = (uintptr_t)to / 4096 * 4096;
    if (begin + TK_MANY_BYTES <= end)
        madvise((void *)begin, end - begin, 23 /* MADV_POPULATE_WRITE */);
}
/* Whether the system is yet to give the pages of some memory, so far as one of them tells. What
 * malloc had before has them, and to ask for them then made 1 MB of Chinese 3% slower. */
static inline int tk_is_new(const void *p, size_t size) {
    uintptr_t page = ((uintptr_t)p + size / 4) / 4096 * 4096;
    unsigned char there = 1;
    return size >= TK_MANY_BYTES && mincore((void *)page, 1, &there) == 0 && !(there & 1);
}
#else
static inline void tk_populate(void *from, void *to) { (void)from, (void)to; }
static inline int tk_is_new(const void *p, size_t size) { (void)p, (void)size; return 0; }
static inline void *tk_alloc_table(size_t size) { return calloc(1, size); }
static inline void tk_free_table(void *table) { free(table); }
static inline void *tk_alloc_large(size_t size, size_t used) { (void)used; return malloc(size); }
#endif

#endif /* TOKCY_PLATFORM_H */
