"""The shared merge cache: piece → ids, read without locks by every thread."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokcy._platform cimport tk_load_acquire64

cdef enum:
    SHORT_BYTES = 15        # the longest piece that a ShortEntry holds
    SHORT_IDS = 4
    LONG_BYTES = 31         # the longest piece that a LongEntry holds
    LONG_IDS = 7
    ID_BITS = 28            # ids are below 2**28; the bits above hold the count of ids
    COUNT_SHIFT = 28
    COUNT_MASK = 7
    ID_MASK = 0x0FFFFFFF
    SEED_BIT = 0x80000000   # set in entries made at load

cdef extern from *:
    """
    #define TK_PART_BIT 0x8000000000000000ULL
    """
    const uint64_t PART_BIT "TK_PART_BIT"


# A key is the piece's bytes, zero-padded, with the length in the last byte, and PART_BIT for a
# part of a piece (see Bpe). Its last word is never zero, so zero marks a free slot; it is
# published last.
cdef struct ShortEntry:
    uint64_t tail
    uint64_t head
    uint32_t[SHORT_IDS] ids     # ids[0] also carries the count and SEED_BIT


cdef struct LongEntry:
    uint64_t tail
    uint64_t[3] head
    uint32_t[8] ids             # ids[7] is the count, with SEED_BIT


cdef struct Cache:
    ShortEntry* shorts
    LongEntry* longs
    uint64_t short_mask
    uint64_t long_mask
    uint64_t short_used
    uint64_t long_used
    uint64_t short_limit
    uint64_t long_limit
    uint64_t users              # calls that read this generation; changed under the GIL


cdef Cache* cache_new(uint64_t short_slots, uint64_t long_slots) noexcept nogil
cdef Cache* cache_of_seeds(const Cache* old) noexcept nogil
cdef void cache_free(Cache* cache) noexcept nogil
cdef size_t cache_bytes(const Cache* cache) noexcept nogil
cdef bint cache_is_full(const Cache* cache) noexcept nogil
cdef void cache_add(Cache* cache, const uint8_t* piece, size_t size, const uint32_t* ids,
                    size_t n_ids, uint64_t part, bint seed) noexcept nogil
cdef void pack_long(const uint8_t* piece, size_t size, uint64_t part, uint64_t* head,
                    uint64_t* tail) noexcept nogil


cdef inline uint64_t hash_short(uint64_t head, uint64_t tail) noexcept nogil:
    # Two odd multipliers and a fold: 128,000 vocabulary entries met 1.2 slots a look-up on average.
    cdef uint64_t mixed = head * 0x9E3779B97F4A7C15ULL ^ tail * 0xC2B2AE3D27D4EB4FULL
    mixed ^= mixed >> 32
    return mixed * 0xD6E8FEB86659FD93ULL >> 20


cdef inline uint64_t hash_long(const uint64_t* head, uint64_t tail) noexcept nogil:
    return hash_short(hash_short(head[0], head[1]) ^ head[2], tail)


cdef inline const ShortEntry* find_short(const Cache* cache, uint64_t head, uint64_t tail,
                                         uint64_t slot) noexcept nogil:
    """The entry with this key, or NULL; `slot` is its masked hash."""
    cdef const ShortEntry* entry
    cdef uint64_t found
    while True:
        entry = cache.shorts + slot
        found = tk_load_acquire64(&entry.tail)
        if found == tail and entry.head == head:
            return entry
        if found == 0:
            return NULL
        slot = (slot + 1) & cache.short_mask


cdef inline const LongEntry* find_long(const Cache* cache, const uint64_t* head, uint64_t tail,
                                       uint64_t slot) noexcept nogil:
    cdef const LongEntry* entry
    cdef uint64_t found
    while True:
        entry = cache.longs + slot
        found = tk_load_acquire64(&entry.tail)
        if (found == tail and entry.head[0] == head[0] and entry.head[1] == head[1]
                and entry.head[2] == head[2]):
            return entry
        if found == 0:
            return NULL
        slot = (slot + 1) & cache.long_mask
