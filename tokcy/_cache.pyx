# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The shared merge cache: piece → ids, read without locks by every thread.

Two open-addressing tables: 32-byte entries for pieces of up to 15 bytes that become up to four
ids (two entries a cache line; over 98% of pieces of ordinary text), 64-byte entries for pieces
of up to 31 bytes or up to seven ids. Anything longer is merged anew each time.

Entries are only ever added. A writer claims a free slot by compare-and-swap of its last key
word to BUSY, fills the rest, then stores the real word with release order; a reader loads that
word with acquire order and compares the whole key, so it sees a complete entry or none. Two
threads may add the same piece twice, which costs a slot and nothing else.

The size is fixed when the cache is made. Once it holds as much as it may, the caller replaces
it between calls by a new generation that starts from the seeds (`cache_of_seeds`), so memory is
bounded and a server whose texts change keeps learning.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from tokcy._platform cimport tk_cas64, tk_fetch_add64, tk_load_acquire64, tk_store_release64

cdef uint64_t BUSY = 0xFF00000000000000ULL      # no piece has this length


cdef Cache* cache_new(uint64_t short_slots, uint64_t long_slots) noexcept nogil:
    """An empty cache with these numbers of slots (powers of two); NULL without memory."""
    cdef Cache* cache = <Cache*>calloc(1, sizeof(Cache))
    if cache == NULL:
        return NULL
    cache.shorts = <ShortEntry*>calloc(short_slots, sizeof(ShortEntry))
    cache.longs = <LongEntry*>calloc(long_slots, sizeof(LongEntry))
    if cache.shorts == NULL or cache.longs == NULL:
        cache_free(cache)
        return NULL
    cache.short_mask = short_slots - 1
    cache.long_mask = long_slots - 1
    # Linear probing needs free slots to stop at.
    cache.short_limit = short_slots // 4 * 3
    cache.long_limit = long_slots // 4 * 3
    return cache


cdef Cache* cache_of_seeds(const Cache* old) noexcept nogil:
    """A new cache with the seeds of `old` alone.

    Seeds were added before anything else, so each is reached through seeds only and can stay
    in its slot.
    """
    cdef Cache* cache = cache_new(old.short_mask + 1, old.long_mask + 1)
    cdef uint64_t slot
    if cache == NULL:
        return NULL
    for slot in range(old.short_mask + 1):
        if old.shorts[slot].ids[0] & SEED_BIT:
            cache.shorts[slot] = old.shorts[slot]
            cache.short_used += 1
    for slot in range(old.long_mask + 1):
        if old.longs[slot].ids[7] & SEED_BIT:
            cache.longs[slot] = old.longs[slot]
            cache.long_used += 1
    return cache


cdef void cache_free(Cache* cache) noexcept nogil:
    if cache != NULL:
        free(cache.shorts)
        free(cache.longs)
        free(cache)


cdef size_t cache_bytes(const Cache* cache) noexcept nogil:
    return ((cache.short_mask + 1) * sizeof(ShortEntry)
            + (cache.long_mask + 1) * sizeof(LongEntry))


cdef bint cache_is_full(const Cache* cache) noexcept nogil:
    return cache.short_used >= cache.short_limit or cache.long_used >= cache.long_limit


cdef void pack_long(const uint8_t* piece, size_t size, uint64_t part, uint64_t* head,
                    uint64_t* tail) noexcept nogil:
    """The key of a piece of at most LONG_BYTES bytes."""
    cdef uint64_t[4] words
    memset(words, 0, 32)
    memcpy(words, piece, size)
    head[0] = words[0]
    head[1] = words[1]
    head[2] = words[2]
    tail[0] = words[3] | <uint64_t>size << 56 | part


cdef void cache_add(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                    size_t n_ids, uint64_t part, bint seed) noexcept nogil:
    """Add a piece, if it fits an entry and the table is not full."""
    if size <= SHORT_BYTES and n_ids <= SHORT_IDS:
        _add_short(cache, piece, size, ids, n_ids, part, seed)
    elif size <= LONG_BYTES and n_ids <= LONG_IDS:
        _add_long(cache, piece, size, ids, n_ids, part, seed)


cdef void _add_short(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                     size_t n_ids, uint64_t part, bint seed) noexcept nogil:
    cdef uint64_t[2] words
    cdef ShortEntry* entry
    cdef uint64_t slot
    cdef size_t i
    if tk_load_acquire64(&cache.short_used) >= cache.short_limit:
        return
    tk_fetch_add64(&cache.short_used, 1)
    memset(words, 0, 16)
    memcpy(words, piece, size)
    words[1] |= <uint64_t>size << 56 | part
    slot = hash_short(words[0], words[1]) & cache.short_mask
    while not tk_cas64(&cache.shorts[slot].tail, 0, BUSY):
        slot = (slot + 1) & cache.short_mask
    entry = cache.shorts + slot
    entry.head = words[0]
    for i in range(n_ids):
        entry.ids[i] = ids[i]
    entry.ids[0] |= <uint32_t>n_ids << COUNT_SHIFT | (SEED_BIT if seed else 0)
    tk_store_release64(&entry.tail, words[1])


cdef void _add_long(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                    size_t n_ids, uint64_t part, bint seed) noexcept nogil:
    cdef uint64_t[3] head
    cdef uint64_t tail = 0, slot
    cdef LongEntry* entry
    if tk_load_acquire64(&cache.long_used) >= cache.long_limit:
        return
    tk_fetch_add64(&cache.long_used, 1)
    pack_long(piece, size, part, head, &tail)
    slot = hash_long(head, tail) & cache.long_mask
    while not tk_cas64(&cache.longs[slot].tail, 0, BUSY):
        slot = (slot + 1) & cache.long_mask
    entry = cache.longs + slot
    memcpy(entry.head, head, 24)
    memcpy(entry.ids, ids, 4 * n_ids)
    entry.ids[7] = <uint32_t>n_ids | (SEED_BIT if seed else 0)
    tk_store_release64(&entry.tail, tail)
