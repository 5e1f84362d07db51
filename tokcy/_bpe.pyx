# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The BPE model: pieces → ids, through the shared merge cache.

`Bpe.encode_pieces` takes a range of a text whose pieces are marked in a bitmap and looks each
piece up in the cache; what is not there is merged and added. It works in batches: the keys of a
batch are computed and their cache lines requested first, so that the waits for memory overlap.

Where no token reaches across a border between characters, a piece is cut there first (`_cuts`),
which makes nothing different but many more pieces known. Only under ignore_merges a part is not
a piece: a piece that is an entry gets that entry's id, merges or no merges, and a part does not
(Llama-3 has 588 such entries). Parts then have keys of their own, told by PART_BIT.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from tokcy._bitmap cimport is_set, next_set
from tokcy._cache cimport (
    COUNT_LONG,
    COUNT_MASK,
    COUNT_SHIFT,
    ID_BITS,
    ID_MASK,
    LONG_BYTES,
    PART_BIT,
    SHORT_BYTES,
    Cache,
    LongEntry,
    ShortEntry,
    cache_add,
    cache_bytes,
    cache_end_of_seeds,
    cache_free,
    cache_is_full,
    cache_max_entries,
    cache_new,
    cache_of_seeds,
    find_long,
    find_short,
    hash_long,
    hash_short,
)
from tokcy._cuts cimport CutFilter
from tokcy._merges cimport MergeTable
from tokcy._platform cimport tk_ctz64, tk_load64, tk_prefetch, tk_unlikely
from tokcy._status cimport raise_status
from tokcy._vocab cimport Vocabulary

cdef struct Key:            # of a short piece in the cache
    uint64_t head
    uint64_t tail
    uint64_t slot

cdef enum:
    WORDS_PER_SLOT = 16     # of the cache's arena, for what it learns: 36 bytes of text and 7 ids

# Masks that keep the first n of 16 bytes, n ≤ 15, as two words.
cdef uint64_t[16] HEAD_MASK
cdef uint64_t[16] TAIL_MASK


cdef void _fill_masks() noexcept:
    cdef uint8_t[16] keep
    cdef int n
    for n in range(16):
        memset(keep, 0, 16)
        memset(keep, 0xFF, n)
        memcpy(&HEAD_MASK[n], keep, 8)
        memcpy(&TAIL_MASK[n], keep + 8, 8)


_fill_masks()


@cython.final
cdef class Bpe:
    """A byte-level BPE model; immutable but for its cache, shared by threads.

    Args:
        vocabulary: entries and merges. Every id is below 2**28.
        ignore_merges: a piece that is an entry becomes that entry's id without merging (M7).

    Raises:
        MemoryError: the tables do not fit.
    """

    def __cinit__(self, Vocabulary vocabulary, bint ignore_merges):
        if vocabulary.max_id >> ID_BITS:
            raise ValueError(f"token id {vocabulary.max_id} is not below 2**{ID_BITS}")
        self.vocabulary = vocabulary
        self.ignore_merges = ignore_merges
        self.cut_filter = CutFilter(vocabulary)
        self.merges = MergeTable(vocabulary)
        self._seed_cache()

    def __dealloc__(self):
        cache_free(self.cache)

    def cache_info(self):
        """The state of the merge cache as a dict of counts; see `Tokenizer.cache_info`."""
        cdef Cache* cache = self.cache
        return {
            "hits": self.hits,
            "misses": self.misses,
            "entries": cache.short_used + cache.long_used,
            "max_entries": cache_max_entries(cache),
            "bytes": cache_bytes(cache),
            "generation": self.generation,
        }

    def merge(self, bytes piece):
        """The ids of one piece by merging alone, without the cache: the slow twin."""
        cdef size_t size = len(piece)
        cdef uint32_t* out = <uint32_t*>malloc(4 * size + 4)
        cdef int64_t n
        try:
            n = -1
            if out != NULL:
                n = self.merges.merge(<const uint8_t*><const char*>piece, size, out)
            if n < 0:
                raise_status(<int>n)
            return [out[i] for i in range(n)]
        finally:
            free(out)

    def _seed_cache(self):
        """Put every entry that fits into the cache, so that no common word is a miss.

        Under ignore_merges that is more than speed: `_find_or_merge` relies on it.
        """
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint64_t short_slots = 1 << 16, long_slots = 1 << 17, shorts = 0, longs = 0
        cdef uint64_t words = 0         # of the arena, that the entries may need
        cdef size_t entry, size
        cdef int64_t n
        cdef uint32_t[LONG_BYTES] ids
        cdef const uint8_t* piece
        for entry in range(vocabulary.n_entries):
            size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
            shorts += size <= SHORT_BYTES
            if SHORT_BYTES < size <= LONG_BYTES:
                longs += 1
                words += size // 4 + 2
        while short_slots < 3 * shorts:
            short_slots *= 2
        while long_slots < 4 * longs:
            long_slots *= 2
        self.cache = cache_new(short_slots, long_slots, words + WORDS_PER_SLOT * long_slots)
        if self.cache == NULL:
            raise MemoryError
        for entry in range(vocabulary.n_entries):
            size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
            if vocabulary.is_bytes[entry] and 0 < size <= LONG_BYTES:
                piece = vocabulary.arena + vocabulary.offsets[entry]
                n = 1
                ids[0] = vocabulary.ids[entry]
                if not self.ignore_merges:
                    n = self.merges.merge(piece, size, ids)
                    if n < 0:
                        raise MemoryError
                cache_add(self.cache, piece, size, ids, n, 0, True)
        cache_end_of_seeds(self.cache)

    cdef Cache* acquire_cache(self) except NULL:
        """The current generation, held until `release_cache`. Needs the GIL.

        A full cache that nobody reads is replaced by one of seeds alone; while another call
        still reads it, it goes on serving without learning.
        """
        cdef Cache* fresh
        if cache_is_full(self.cache) and self.cache.users == 0:
            fresh = cache_of_seeds(self.cache)
            if fresh == NULL:
                raise MemoryError
            cache_free(self.cache)
            self.cache = fresh
            self.generation += 1
        self.cache.users += 1
        return self.cache

    cdef void release_cache(self, Cache* cache, const Tally* tally) noexcept:
        cache.users -= 1
        self.hits += tally.pieces - tally.misses
        self.misses += tally.misses

    # ------------------------------------------------------------------ pieces

    cdef int encode_pieces(self, Cache* cache, const Text* text, size_t begin, size_t end,
                           size_t limit, uint32_t* out, size_t* n_out,
                           Tally* tally) noexcept nogil:
        """Encode the pieces that start in [begin, end); the last may run on to `limit`.

        `out` has room for one id per byte of those pieces and four more; n_out receives how
        many were written. Returns 0, or a status below 0.
        """
        cdef Walk walk
        cdef Batch batch
        cdef size_t n = 0
        cdef int64_t written
        n_out[0] = 0
        walk.begin = next_set(text.starts, begin, limit)
        walk.end = next_set(text.starts, end, limit)
        if walk.begin >= walk.end:
            return 0
        walk.word = walk.begin >> 6
        self._load_word(text, &walk)
        while True:
            self._collect(text, &walk, &batch)
            if batch.n == 0:
                break
            written = self._encode_batch(cache, text, &batch, out + n, tally)
            if written < 0:
                return <int>written
            n += written
        n_out[0] = n
        return 0

    cdef void _collect(self, const Text* text, Walk* walk, Batch* batch) noexcept nogil:
        """The next pieces of a walk, or parts of them; none at its end."""
        cdef size_t n = 0, at
        while True:
            while walk.bits == 0:
                walk.word += 1
                if walk.word << 6 >= walk.end:
                    batch.position[n] = walk.end
                    batch.is_cut[n] = False
                    batch.n = n
                    return
                self._load_word(text, walk)
            at = (walk.word << 6) + <size_t>tk_ctz64(walk.bits)
            batch.position[n] = at
            batch.is_cut[n] = walk.cuts >> (at & 63) & 1
            if n == BATCH:      # where the last one ends; it starts the next batch
                batch.n = n
                return
            walk.bits &= walk.bits - 1
            n += 1

    cdef void _load_word(self, const Text* text, Walk* walk) noexcept nogil:
        """Marks of the 64 bytes at walk.word that lie in the walk, with the cuts among them."""
        cdef size_t base = walk.word << 6
        cdef uint64_t inside = 0xFFFFFFFFFFFFFFFFULL
        walk.bits = text.starts[walk.word]
        walk.cuts = 0
        # A part of a dropped piece would not be recognised as such.
        if self.cut_filter.enabled and text.skips == NULL:
            walk.cuts = self.cut_filter.cuts_in_word(text.bytes, text.size, walk.word, walk.bits)
        if base < walk.begin:
            inside = inside >> (walk.begin & 63) << (walk.begin & 63)
        if walk.end - base < 64:
            inside &= (<uint64_t>1 << (walk.end & 63)) - 1
        walk.cuts &= inside
        walk.bits = (walk.bits & inside) | walk.cuts

    cdef int64_t _encode_batch(self, Cache* cache, const Text* text, const Batch* batch,
                               uint32_t* out, Tally* tally) noexcept nogil:
        """Write the ids of a batch; how many, or a status below 0."""
        cdef Key[BATCH] keys
        cdef const ShortEntry* entry
        cdef size_t i, begin, size, misses = 0
        cdef int64_t n = 0, written
        cdef uint32_t count
        for i in range(batch.n):
            _request(cache, text, batch.position[i], batch.position[i + 1],
                     self._part(batch, i), &keys[i])
        for i in range(batch.n):
            begin = batch.position[i]
            size = batch.position[i + 1] - begin
            entry = NULL
            if text.skips != NULL and is_set(text.skips, begin):
                continue
            if size <= SHORT_BYTES:
                entry = find_short(cache, keys[i].head, keys[i].tail, keys[i].slot)
                count = entry.ids[0] >> COUNT_SHIFT & COUNT_MASK if entry != NULL else 0
                if entry != NULL and count != COUNT_LONG:
                    # Four ids are stored whatever the count: cheaper than a branch on it.
                    memcpy(out + n, entry.ids, 16)
                    out[n] &= ID_MASK
                    n += count
                    continue
            written = self._find_or_merge(cache, text.bytes + begin, size, self._part(batch, i),
                                          size > SHORT_BYTES or entry != NULL, out + n, &misses)
            if written < 0:
                return written
            n += written
        tally.pieces += batch.n
        tally.misses += misses
        return n

    cdef inline uint64_t _part(self, const Batch* batch, size_t i) noexcept nogil:
        """PART_BIT where that matters and piece i of the batch is a part of a piece, or 0."""
        if self.ignore_merges and (batch.is_cut[i] or batch.is_cut[i + 1]):
            return PART_BIT
        return 0

    cdef int64_t _find_or_merge(self, Cache* cache, const uint8_t* piece, size_t size,
                                uint64_t part, bint may_be_known, uint32_t* out,
                                size_t* misses) noexcept nogil:
        """The ids of a piece that a short entry does not tell; how many, or a status below 0."""
        cdef const LongEntry* entry
        cdef int64_t n
        if may_be_known and size <= LONG_BYTES:
            entry = find_long(cache, piece, size, hash_long(piece, size, part))
            if entry != NULL:
                memcpy(out, cache.arena + entry.at, 4 * entry.n_ids)
                return entry.n_ids
        if self.ignore_merges and not part and size > LONG_BYTES:
            # Shorter entries are all in the cache.
            n = self.vocabulary.find(piece, size, 1)
            if n >= 0:
                out[0] = self.vocabulary.ids[n]
                return 1
        misses[0] += 1
        n = self.merges.merge(piece, size, out)
        if n >= 0:
            cache_add(cache, piece, size, out, n, part, False)
        return n


# ------------------------------------------------------------------------ keys

cdef inline void _request(const Cache* cache, const Text* text, size_t begin, size_t end,
                          uint64_t part, Key* key) noexcept nogil:
    """Compute the key of a short piece and ask for its cache line."""
    cdef size_t size = end - begin
    cdef uint8_t[16] copy
    cdef const uint8_t* piece = text.bytes + begin
    if size > SHORT_BYTES:
        return
    if tk_unlikely(text.size - begin < 16):     # never read past the text
        memset(copy, 0, 16)
        memcpy(copy, piece, size)
        piece = copy
    key.head = tk_load64(piece) & HEAD_MASK[size]
    key.tail = (tk_load64(piece + 8) & TAIL_MASK[size]) | <uint64_t>size << 56 | part
    key.slot = hash_short(key.head, key.tail) & cache.short_mask
    tk_prefetch(cache.shorts + key.slot)
