# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The shared merge cache: piece → ids, read without locks by every thread.

Two open-addressing tables. Pieces of up to 15 bytes that become up to four ids, over 98% of
ordinary text, have entries of 32 bytes with all of it inline. Two of them are a cache line, and
are looked at together (`_lines.h`); an entry that has no room in its line goes to the next. The
others, up to 255 bytes, have a slot with their hash, and key and ids in an arena. What is longer
is merged anew each time.

Entries are only ever added. A writer claims a free slot by compare-and-swap of its key word to
BUSY, fills the rest, then stores the real word with release order; a reader loads that word with
acquire order and compares the whole key, so it sees a complete entry or none. Two threads may add
the same piece twice, which costs a slot and nothing else.

The size is fixed when the cache is made. Once it holds as much as it may, the caller replaces it
between calls by a new generation that starts from the seeds (`cache_of_seeds`), so memory is
bounded and a server whose texts change keeps learning.
"""

from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tokcy._platform cimport (
    tk_alloc_table,
    tk_cas64,
    tk_fetch_add64,
    tk_free_table,
    tk_load_acquire64,
    tk_popcount64,
    tk_populate,
    tk_prefetch,
    tk_store_release64,
)

cdef enum:
    SEEDS_AHEAD = 16

cdef enum Putting:
    NO_ROOM
    WAS_THERE
    PUT

cdef uint64_t BUSY = 0xFFFFFFFFFFFFFFFFULL      # the key of no piece

cdef Cache* cache_new(uint64_t n_lines, uint64_t long_slots,
                      uint64_t arena_size) noexcept nogil:
    """An empty cache, NULL without memory; the first two numbers are powers of two."""
    cdef Cache* cache = <Cache*>calloc(1, sizeof(Cache))
    if cache == NULL:
        return NULL
    cache.arena_size = arena_size
    cache.lines = <ShortLine*>tk_alloc_table(n_lines * sizeof(ShortLine))
    cache.longs = <LongEntry*>tk_alloc_table(long_slots * sizeof(LongEntry))
    cache.arena = <uint32_t*>malloc(cache.arena_size * sizeof(uint32_t))
    if cache.lines == NULL or cache.longs == NULL or cache.arena == NULL:
        cache_free(cache)
        return NULL
    cache.line_mask = n_lines - 1
    cache.line_shift = 64 - tk_popcount64(cache.line_mask)
    cache.long_mask = long_slots - 1
    return cache


cdef void cache_end_of_seeds(Cache* cache) noexcept nogil:
    """Say that what the cache holds now is what a new generation starts from."""
    cache.arena_of_seeds = cache.arena_used


cdef Cache* cache_of_seeds(const Cache* old) noexcept nogil:
    """A new cache with the seeds of `old` alone.

    Seeds were added before anything else, so each is reached through seeds only and can stay
    in its slot, and its place in the arena.
    """
    cdef Cache* cache = cache_new(old.line_mask + 1, old.long_mask + 1, old.arena_size)
    cdef uint64_t slot
    cdef size_t i
    if cache == NULL:
        return NULL
    for slot in range(old.line_mask + 1):
        for i in range(2):
            if old.lines[slot].ids[i][0] & SEED_BIT:
                memcpy(cache.lines[slot].keys[i], old.lines[slot].keys[i], 16)
                memcpy(cache.lines[slot].ids[i], old.lines[slot].ids[i], 16)
                cache.short_used += 1
    for slot in range(old.long_mask + 1):
        if old.longs[slot].hash and old.longs[slot].at < old.arena_of_seeds:
            cache.longs[slot] = old.longs[slot]
            cache.long_used += 1
    memcpy(cache.arena, old.arena, old.arena_of_seeds * sizeof(uint32_t))
    cache.arena_used = cache.arena_of_seeds = old.arena_of_seeds
    return cache


cdef void cache_free(Cache* cache) noexcept nogil:
    if cache != NULL:
        tk_free_table(cache.lines)
        tk_free_table(cache.longs)
        free(cache.arena)
        free(cache)


cdef size_t cache_bytes(const Cache* cache) noexcept nogil:
    return ((cache.line_mask + 1) * sizeof(ShortLine) + (cache.long_mask + 1) * sizeof(LongEntry)
            + cache.arena_size * sizeof(uint32_t))


cdef inline uint64_t _short_slots(const Cache* cache) noexcept nogil:
    return 2 * (cache.line_mask + 1)


cdef inline uint64_t _limit(uint64_t slots) noexcept nogil:
    return slots // 4 * 3           # linear probing needs free slots to stop at


cdef size_t cache_max_entries(const Cache* cache) noexcept nogil:
    return _limit(_short_slots(cache)) + _limit(cache.long_mask + 1)


cdef bint cache_is_full(const Cache* cache) noexcept nogil:
    return (cache.short_used >= _limit(_short_slots(cache))
            or cache.long_used >= _limit(cache.long_mask + 1)
            or cache.arena_used >= cache.arena_size)


cdef inline void _make_key(const uint8_t* piece, size_t size, uint64_t* key) noexcept nogil:
    """The key of a short piece."""
    memset(key, 0, 16)
    memcpy(key, piece, size)
    key[1] |= <uint64_t>size << 56


cdef bint cache_add(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                    size_t n_ids, bint part, bint seed, uint64_t* n_added) noexcept nogil:
    """Add a piece of up to LONG_BYTES; whether there was room.

    Args:
        part: these ids are those of parts of pieces alone.
        n_added: grows by each short entry that is added; `cache_count` is to be told of all.
    """
    cdef uint32_t mark = SEED_BIT if seed else 0
    if size > SHORT_BYTES or part:
        return _add_long(cache, piece, size, ids, n_ids, part)
    if n_ids <= SHORT_IDS:
        return _add_short(cache, piece, size, ids, n_ids, <uint32_t>n_ids << COUNT_SHIFT | mark,
                          n_added)
    # The short entry tells of the long one: what has none need not be looked for elsewhere.
    return (_add_long(cache, piece, size, ids, n_ids, part)
            and _add_short(cache, piece, size, ids, 0, <uint32_t>COUNT_LONG << COUNT_SHIFT | mark,
                           n_added))


cdef void cache_count(Cache* cache, uint64_t n_added) noexcept nogil:
    """Count short entries that were added.

    Many at a time: with each that is counted by itself, the core takes the line of the counter
    from all others. So two threads may find room for what only one of them has.
    """
    tk_fetch_add64(&cache.short_used, n_added)


cdef void cache_request(const Cache* cache, const uint8_t* piece, size_t size, size_t n_ids,
                        bint part) noexcept nogil:
    """Ask for the memory that cache_add will need, but the line, which was asked for before."""
    if size > SHORT_BYTES or part or n_ids > SHORT_IDS:
        tk_prefetch(cache.longs + long_slot(cache, hash_long(piece, size, part)))


cdef bint cache_seed_many(Cache* cache, const uint8_t* arena, const uint32_t* offsets,
                          const uint32_t* ids, const uint8_t* wanted, size_t n,
                          int threads) noexcept nogil:
    """Add those of n distinct pieces that are wanted, one id for each; whether all had room."""
    cdef Py_ssize_t part, n_parts = threads
    cdef size_t n_left_out = 0
    for part in prange(n_parts, num_threads=threads, schedule="static", chunksize=1):
        _have_pages(cache, part, n_parts)
    for part in prange(n_parts, num_threads=threads, schedule="static", chunksize=1):
        n_left_out += _seed_part(cache, arena, offsets, ids, wanted, part * n // n_parts,
                                 (part + 1) * n // n_parts)
    return n_left_out == 0 and cache.short_used < _limit(_short_slots(cache))


cdef void _have_pages(Cache* cache, size_t part, size_t n_parts) noexcept nogil:
    """Have the system clear the pages of a part of the lines, which takes as long as filling them.

    Two threads that come to a page at the same time would both clear one for it.
    """
    cdef size_t n_lines = cache.line_mask + 1
    tk_populate(cache.lines + part * n_lines // n_parts,
                cache.lines + (part + 1) * n_lines // n_parts)


cdef size_t _seed_part(Cache* cache, const uint8_t* arena, const uint32_t* offsets,
                       const uint32_t* ids, const uint8_t* wanted, size_t begin,
                       size_t end) noexcept nogil:
    """Add the pieces of a range; how many had no room.

    Lines are asked for some pieces ahead: each wait for memory by itself made 20 ms for 128,000
    pieces.
    """
    cdef uint64_t[SEEDS_AHEAD][2] keys
    cdef uint64_t[SEEDS_AHEAD] lines
    cdef uint32_t[SEEDS_AHEAD] tokens
    cdef uint32_t[SHORT_IDS] marked
    cdef uint64_t n_added = 0
    cdef Putting put
    cdef size_t i, j, size, n_keys = 0, n_left_out = 0
    memset(marked, 0, sizeof(marked))
    for i in range(begin, end + 1):
        if n_keys == SEEDS_AHEAD or i == end:
            for j in range(n_keys):
                marked[0] = tokens[j] | <uint32_t>1 << COUNT_SHIFT | SEED_BIT
                put = _put_short(cache, keys[j], lines[j], marked)
                n_added += put == PUT
                n_left_out += put == NO_ROOM
            n_keys = 0
        if i == end or not wanted[i]:
            continue
        size = offsets[i + 1] - offsets[i]
        if size > SHORT_BYTES:
            n_left_out += not _add_long(cache, arena + offsets[i], size, ids + i, 1, False)
            continue
        _make_key(arena + offsets[i], size, keys[n_keys])
        lines[n_keys] = hash_short(keys[n_keys][0], keys[n_keys][1]) >> cache.line_shift
        tk_prefetch(cache.lines + lines[n_keys])
        tokens[n_keys] = ids[i]
        n_keys += 1
    cache_count(cache, n_added)
    return n_left_out


cdef bint cache_seed_whole(Cache* cache, const uint8_t* piece, size_t size,
                           uint32_t token, uint64_t* n_added) noexcept nogil:
    """Add a short piece that has this id as a whole, and others as a part of a piece."""
    return _add_short(cache, piece, size, &token, 1,
                      <uint32_t>COUNT_WHOLE << COUNT_SHIFT | SEED_BIT, n_added)


cdef bint _add_short(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                     size_t n_ids, uint32_t mark, uint64_t* n_added) noexcept nogil:
    """Add an entry, if it is not there; whether one of the lines for it had room."""
    cdef uint64_t[2] key
    cdef uint32_t[SHORT_IDS] marked
    cdef Putting put
    _make_key(piece, size, key)
    memset(marked, 0, 16)
    memcpy(marked, ids, 4 * n_ids)
    marked[0] |= mark
    if tk_load_acquire64(&cache.short_used) + n_added[0] >= _limit(_short_slots(cache)):
        return False
    put = _put_short(cache, key, hash_short(key[0], key[1]) >> cache.line_shift, marked)
    n_added[0] += put == PUT
    return put != NO_ROOM


cdef Putting _put_short(Cache* cache, const uint64_t* key, uint64_t at,
                        const uint32_t* marked) noexcept nogil:
    """Put an entry into the line at `at` or one that follows, if it is not there.

    The caller counts those that are put.
    """
    cdef ShortLine* line
    cdef int tries = MAX_LINES, place
    while tries:
        line = cache.lines + at
        for place in range(2):
            if line.keys[place][1] == key[1] and line.keys[place][0] == key[0]:
                return WAS_THERE
            if tk_cas64(&line.keys[place][1], 0, BUSY):
                memcpy(line.ids[place], marked, 16)
                line.keys[place][0] = key[0]
                tk_store_release64(&line.keys[place][1], key[1])
                return PUT
        at = (at + 1) & cache.line_mask
        tries -= 1
    return NO_ROOM


cdef bint _add_long(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                    size_t n_ids, bint part) noexcept nogil:
    """Add an entry; whether the arena and one of the slots that it may be in had room."""
    cdef uint64_t hash = hash_long(piece, size, part), slot = long_slot(cache, hash), at
    cdef uint64_t words = n_ids + (size + 3) // 4
    cdef LongEntry* entry
    cdef int tries = MAX_SLOTS
    if tk_load_acquire64(&cache.long_used) >= _limit(cache.long_mask + 1):
        return False
    at = tk_fetch_add64(&cache.arena_used, words)
    if at + words > cache.arena_size:
        return False
    memcpy(cache.arena + at, ids, 4 * n_ids)
    memcpy(cache.arena + at + n_ids, piece, size)
    while not tk_cas64(&cache.longs[slot].hash, 0, BUSY):
        slot = (slot + 1) & cache.long_mask
        tries -= 1
        if tries == 0:
            return False
    tk_fetch_add64(&cache.long_used, 1)
    entry = cache.longs + slot
    entry.at = <uint32_t>at
    entry.size = <uint16_t>size
    entry.n_ids = <uint16_t>n_ids
    tk_store_release64(&entry.hash, hash)
    return True
