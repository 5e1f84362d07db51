"""The shared merge cache: piece → ids, read without locks by every thread."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from tokcy._platform cimport tk_load64, tk_load_acquire64

cdef extern from "_lines.h" nogil:
    enum:
        SHORT_BYTES "TK_SHORT_BYTES"    # the longest piece that a short entry holds
        SHORT_IDS "TK_SHORT_IDS"
        COUNT_SHIFT "TK_COUNT_SHIFT"
    const uint32_t ID_MASK "TK_ID_MASK"
    ctypedef struct ShortLine "tk_line":
        uint64_t keys[2][2]
        uint32_t ids[2][4]
    ctypedef struct Key "tk_key":
        uint64_t words[2]
        const ShortLine* line
    ctypedef struct tk_line_ops:
        void (*request)(const uint8_t* text, const size_t* position, size_t n,
                        const ShortLine* lines, unsigned shift, Key* keys) noexcept nogil
        size_t (*answer)(const Key* keys, size_t i, size_t n, uint32_t** out) noexcept nogil
    const tk_line_ops* tk_find_line_ops(const char* simd)
    uint64_t hash_short "tk_hash_key"(uint64_t head, uint64_t tail)
    const uint32_t* find_in_line "tk_find_in_line"(const ShortLine* line, const uint64_t* key)

cdef enum:
    LONG_BYTES = 255        # the longest piece that is held at all
    MAX_LINES = 8           # that a short entry may be in, so that no text can make a look-up slow
    MAX_SLOTS = 32          # that a long entry may be in; likewise
    ID_BITS = 28            # ids are below 2**28
    SEED_BIT = 1 << 28      # of a short entry's first id: made at load
    # The count of ids in a short entry, beside 1 … SHORT_IDS:
    COUNT_WHOLE = 6         # one id, which only a whole piece has (see Bpe)
    COUNT_LONG = 7          # too many ids, see the LongEntry


# The key is in the arena: the ids, then the bytes of the piece. Zero marks a free slot here too.
cdef struct LongEntry:
    uint64_t hash               # of the bytes, and of whether it is a part; published last
    uint32_t at                 # offset in the arena, in words of four bytes
    uint16_t size
    uint16_t n_ids


cdef struct Cache:
    ShortLine* lines
    LongEntry* longs
    uint32_t* arena
    uint64_t line_shift         # hash >> line_shift is the line where an entry begins to look
    uint64_t line_mask
    uint64_t long_mask
    uint64_t arena_size         # in words of four bytes, as are the others
    uint64_t arena_of_seeds
    uint64_t users              # calls that read this generation; changed under the GIL
    # What is counted with new entries is apart from what each look-up reads, as the core that
    # counts takes the line away from all others.
    uint64_t[8] apart
    uint64_t short_used
    uint64_t long_used
    uint64_t arena_used
    uint64_t[8] behind


cdef Cache* cache_new(uint64_t n_lines, uint64_t long_slots,
                      uint64_t arena_size) noexcept nogil
cdef void cache_end_of_seeds(Cache* cache) noexcept nogil
cdef Cache* cache_of_seeds(const Cache* old) noexcept nogil
cdef void cache_free(Cache* cache) noexcept nogil
cdef size_t cache_bytes(const Cache* cache) noexcept nogil
cdef size_t cache_max_entries(const Cache* cache) noexcept nogil
cdef bint cache_is_full(const Cache* cache) noexcept nogil
cdef bint cache_seed_many(Cache* cache, const uint8_t* arena, const uint32_t* offsets,
                          const uint32_t* ids, const uint8_t* wanted, size_t n,
                          int threads) noexcept nogil
cdef bint cache_add(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                    size_t n_ids, bint part, bint seed, uint64_t* n_added) noexcept nogil
cdef void cache_count(Cache* cache, uint64_t n_added) noexcept nogil
cdef void cache_request(const Cache* cache, const uint8_t* piece, size_t size, size_t n_ids,
                        bint part) noexcept nogil
cdef bint cache_seed_whole(Cache* cache, const uint8_t* piece, size_t size,
                           uint32_t token, uint64_t* n_added) noexcept nogil


cdef inline uint64_t mix(uint64_t hash, const uint8_t* bytes) noexcept nogil:
    """Stir sixteen bytes into a hash."""
    cdef uint64_t one = (hash ^ tk_load64(bytes)) * 0x9E3779B97F4A7C15ULL
    cdef uint64_t other = (hash + tk_load64(bytes + 8)) * 0xC2B2AE3D27D4EB4FULL
    return one ^ (other << 32 | other >> 32)


cdef inline uint64_t hash_long(const uint8_t* piece, size_t size, bint part) noexcept nogil:
    """Never 0, a free slot, nor all ones, a busy one."""
    cdef uint64_t hash = size
    cdef uint8_t[16] copy
    cdef size_t i = 0
    if size < 16:
        memset(copy, 0, 16)
        memcpy(copy, piece, size)
        hash = mix(hash, copy)
    else:
        while i + 16 < size:
            hash = mix(hash, piece + i)
            i += 16
        hash = mix(hash, piece + size - 16)
    hash = (hash ^ hash >> 29) * 0xD6E8FEB86659FD93ULL
    return hash & 0xFFFFFFFFFFFFFFF8ULL | 1 | <uint64_t>part << 1


cdef inline bint has_room(const ShortLine* line) noexcept nogil:
    return not (tk_load_acquire64(&line.keys[0][1]) and tk_load_acquire64(&line.keys[1][1]))


cdef inline const uint32_t* find_further(const Cache* cache, const ShortLine* line,
                                         const uint64_t* key) noexcept nogil:
    """The ids of the entry with this key, which the first line for it does not have, or NULL."""
    cdef const uint32_t* ids
    cdef uint64_t at = line - cache.lines
    cdef int tries = MAX_LINES
    while not has_room(line):
        tries -= 1
        if tries == 0:
            break
        at = (at + 1) & cache.line_mask
        line = cache.lines + at
        ids = find_in_line(line, key)
        if ids != NULL:
            return ids
    return NULL


cdef inline uint64_t long_slot(const Cache* cache, uint64_t hash) noexcept nogil:
    """Where to look first for a long entry."""
    return hash >> 8 & cache.long_mask


cdef inline const LongEntry* find_long(const Cache* cache, const uint8_t* piece, size_t size,
                                       uint64_t hash) noexcept nogil:
    """The entry of a piece with this hash, or NULL."""
    cdef uint64_t slot = long_slot(cache, hash), found
    cdef const LongEntry* entry
    cdef int tries = MAX_SLOTS
    while tries:
        entry = cache.longs + slot
        found = tk_load_acquire64(&entry.hash)
        if (found == hash and entry.size == size
                and memcmp(cache.arena + entry.at + entry.n_ids, piece, size) == 0):
            return entry
        if found == 0:
            return NULL
        slot = (slot + 1) & cache.long_mask
        tries -= 1
    return NULL
