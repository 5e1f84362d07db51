# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The BPE model: pieces → ids, through the shared merge cache.

`Bpe.encode_pieces` takes a range of a text whose pieces are marked in a bitmap and looks each
piece up in the cache; what is not there is merged (`encode_piece`) and added. Looking up is
done in batches: the keys of a batch are computed and their cache lines requested first, so that
the waits for memory overlap.

Where no token reaches across a border between characters, a piece is cut there first (`_cuts`),
which makes nothing different but many more pieces known. Only under ignore_merges a part is not
a piece: a piece that is an entry gets that entry's id, merges or no merges, and a part does not
(Llama-3 has 588 such entries). Parts then have keys of their own, told by PART_BIT.

Merging is the definition of BPE and nothing else (rule M6): among all adjacent pairs that have
a merge, take the one of lowest rank, the leftmost of those; until there is none.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tokcy._bitmap cimport is_set, next_set, set_bit
from tokcy._cache cimport (
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
    cache_free,
    cache_is_full,
    cache_new,
    cache_of_seeds,
    find_long,
    find_short,
    hash_long,
    hash_short,
    pack_long,
)
from tokcy._cuts cimport CutFilter
from tokcy._platform cimport tk_ctz64, tk_load64, tk_prefetch, tk_unlikely
from tokcy._vocab cimport Vocabulary

cdef enum:
    SCAN_SYMBOLS = 48       # up to here a scan for the lowest rank beats a heap
    # Most pairs asked for have no merge. A filter of 256 KB, which stays in L2, answers for 87%
    # of those without touching the table of 16 MB (Llama-3): 7-10% on unseen text.
    FILTER_BITS = 21

cdef uint64_t NO_PAIR = 0xFFFFFFFFFFFFFFFFULL

cdef struct Key:            # of a piece in the cache
    uint64_t head
    uint64_t tail
    uint64_t slot
    uint64_t part           # PART_BIT, or 0

cdef uint32_t END = 0xFFFFFFFF

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
        self._index_merges()
        self._seed_cache()

    def __dealloc__(self):
        free(self.slots)
        free(self.pair_filter)
        free(self.byte_pairs)
        cache_free(self.cache)

    def cache_info(self):
        """The state of the merge cache as a dict of counts; see `Tokenizer.cache_info`."""
        cdef Cache* cache = self.cache
        return {
            "hits": self.hits,
            "misses": self.misses,
            "entries": cache.short_used + cache.long_used,
            "max_entries": cache.short_limit + cache.long_limit,
            "bytes": cache_bytes(cache),
            "generation": self.generation,
        }

    def merge(self, bytes piece):
        """The ids of one piece by merging alone, without the cache: the slow twin."""
        cdef size_t size = len(piece)
        cdef uint32_t* out = <uint32_t*>malloc(4 * size + 4)
        cdef int64_t n
        try:
            n = -1 if out == NULL else self._merge(<const uint8_t*><const char*>piece, size, out)
            if n < 0:
                raise MemoryError
            return [out[i] for i in range(n)]
        finally:
            free(out)

    def _index_merges(self):
        cdef Vocabulary vocabulary = self.vocabulary
        cdef size_t n = vocabulary.n_merges, rank
        cdef uint64_t n_slots = 64, pair
        cdef int left, right
        cdef MergeSlot* slot
        while n_slots < 2 * n:
            n_slots *= 2
        self.slot_mask = n_slots - 1
        self.slots = <MergeSlot*>malloc(n_slots * sizeof(MergeSlot))
        self.pair_filter = <uint64_t*>calloc(1 << (FILTER_BITS - 6), sizeof(uint64_t))
        self.byte_pairs = <uint64_t*>malloc(65536 * sizeof(uint64_t))
        if self.slots == NULL or self.pair_filter == NULL or self.byte_pairs == NULL:
            raise MemoryError
        for pair in range(n_slots):
            self.slots[pair].pair = NO_PAIR
        for rank in range(n):
            pair = <uint64_t>vocabulary.left[rank] << 32 | vocabulary.right[rank]
            slot = self._slot_of(pair)
            set_bit(self.pair_filter, _filter_bit(pair))
            slot.pair = pair
            slot.rank = <uint32_t>rank          # M2: of equal pairs the last counts
            slot.merged = vocabulary.merged[rank]
        for left in range(256):
            for right in range(256):
                pair = NO_PAIR
                if vocabulary.byte_id[left] >= 0 and vocabulary.byte_id[right] >= 0:
                    pair = self._rank(<uint32_t>vocabulary.byte_id[left],
                                      <uint32_t>vocabulary.byte_id[right])
                self.byte_pairs[left << 8 | right] = pair

    def _seed_cache(self):
        """Put every entry that fits into the cache, so that no common word is a miss."""
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint64_t short_slots = 1 << 16, long_slots = 1 << 15, shorts = 0, longs = 0
        cdef size_t entry, size
        cdef int64_t n
        cdef uint32_t[LONG_BYTES] ids
        cdef const uint8_t* piece
        for entry in range(vocabulary.n_entries):
            size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
            shorts += size <= SHORT_BYTES
            longs += SHORT_BYTES < size <= LONG_BYTES
        while short_slots < 3 * shorts:
            short_slots *= 2
        while long_slots < 4 * longs:
            long_slots *= 2
        self.cache = cache_new(short_slots, long_slots)
        if self.cache == NULL:
            raise MemoryError
        for entry in range(vocabulary.n_entries):
            size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
            if vocabulary.is_bytes[entry] and 0 < size <= LONG_BYTES:
                piece = vocabulary.arena + vocabulary.offsets[entry]
                n = 1
                ids[0] = vocabulary.ids[entry]
                if not self.ignore_merges:
                    n = self._merge(piece, size, ids)
                cache_add(self.cache, piece, size, ids, n, 0, True)

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
        self.hits += tally.hits
        self.misses += tally.misses

    # ------------------------------------------------------------------ pieces

    cdef int encode_pieces(self, Cache* cache, const Text* text, size_t begin, size_t end,
                           size_t limit, uint32_t* out, size_t* n_out,
                           Tally* tally) noexcept nogil:
        """Encode the pieces that start in [begin, end); the last may run on to `limit`.

        `out` has room for one id per byte of those pieces and four more; n_out receives how
        many were written. Returns 0, or -1 without memory.
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
                return -1
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
        cdef Key[BATCH] keys
        cdef const ShortEntry* entry
        cdef size_t i, begin, size, misses = 0
        cdef int64_t n = 0, written
        cdef uint32_t first
        cdef uint64_t part
        for i in range(batch.n):
            part = 0
            if self.ignore_merges and (batch.is_cut[i] or batch.is_cut[i + 1]):
                part = PART_BIT
            _request(cache, text, batch.position[i], batch.position[i + 1], part, &keys[i])
        for i in range(batch.n):
            begin = batch.position[i]
            size = batch.position[i + 1] - begin
            if text.skips != NULL and is_set(text.skips, begin):
                continue
            if size <= SHORT_BYTES:
                entry = find_short(cache, keys[i].head, keys[i].tail, keys[i].slot)
                if entry != NULL:
                    # Four ids are stored whatever the count: cheaper than a branch on it.
                    first = entry.ids[0]
                    memcpy(out + n, entry.ids, 16)
                    out[n] = first & ID_MASK
                    n += first >> COUNT_SHIFT & COUNT_MASK
                    continue
            written = self._find_or_merge(cache, text.bytes + begin, size, keys[i].part, out + n,
                                          &misses)
            if written < 0:
                return -1
            n += written
        tally.hits += batch.n - misses
        tally.misses += misses
        return n

    cdef int64_t _find_or_merge(self, Cache* cache, const uint8_t* piece, size_t size,
                                uint64_t part, uint32_t* out, size_t* misses) noexcept nogil:
        cdef uint64_t[3] head
        cdef uint64_t tail = 0
        cdef const LongEntry* entry
        cdef int64_t n
        if size <= LONG_BYTES:
            pack_long(piece, size, part, head, &tail)
            entry = find_long(cache, head, tail, hash_long(head, tail) & cache.long_mask)
            if entry != NULL:
                n = entry.ids[7] & COUNT_MASK
                memcpy(out, entry.ids, 4 * n)
                return n
        misses[0] += 1
        n = self._merge(piece, size, out) if part else self.encode_piece(piece, size, out)
        if n >= 0:
            cache_add(cache, piece, size, out, n, part, False)
        return n

    cdef int64_t encode_piece(self, const uint8_t* piece, size_t size,
                              uint32_t* out) noexcept nogil:
        """The ids of one piece; their number, or -1 without memory."""
        cdef int64_t entry
        if self.ignore_merges and size > LONG_BYTES:    # shorter entries are all in the cache
            entry = self.vocabulary.find(piece, size, 1)
            if entry >= 0:
                out[0] = self.vocabulary.ids[entry]
                return 1
        return self._merge(piece, size, out)

    # ----------------------------------------------------------------- merging

    cdef MergeSlot* _slot_of(self, uint64_t pair) noexcept nogil:
        cdef uint64_t at = (pair * 0x9E3779B97F4A7C15ULL >> 24) & self.slot_mask
        while self.slots[at].pair != pair and self.slots[at].pair != NO_PAIR:
            at = (at + 1) & self.slot_mask
        return self.slots + at

    cdef uint64_t _rank(self, uint32_t left, uint32_t right) noexcept nogil:
        """rank << 32 | merged id of a pair; NO_PAIR, above any rank, where it has no merge."""
        cdef uint64_t pair = <uint64_t>left << 32 | right
        cdef const MergeSlot* slot
        if not is_set(self.pair_filter, _filter_bit(pair)):
            return NO_PAIR
        slot = self._slot_of(pair)
        if slot.pair == NO_PAIR:
            return NO_PAIR
        return <uint64_t>slot.rank << 32 | slot.merged

    cdef int64_t _merge(self, const uint8_t* piece, size_t size, uint32_t* out) noexcept nogil:
        if size <= SCAN_SYMBOLS:
            return self._merge_by_scan(piece, size, out)
        return self._merge_by_heap(piece, size, out)

    cdef int64_t _merge_by_scan(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil:
        """Find the lowest rank by looking at all pairs, each time: best for ordinary words.

        Symbols stay where their first byte was; a swallowed one has no rank any more.
        """
        cdef uint64_t[SCAN_SYMBOLS + 2] ranks       # of the pair that begins at each symbol
        cdef uint32_t[SCAN_SYMBOLS + 2] ids
        cdef uint8_t[SCAN_SYMBOLS + 2] before
        cdef uint8_t[SCAN_SYMBOLS + 2] after
        cdef uint64_t lowest
        cdef size_t n = 0, i, at, right
        cdef int64_t token
        for i in range(size):
            token = self.vocabulary.byte_id[piece[i]]
            if tk_unlikely(token < 0):          # M5(c): gone before merging starts
                continue
            ids[n] = <uint32_t>token
            before[n] = <uint8_t>(n - 1)
            after[n] = <uint8_t>(n + 1)
            n += 1
        if n == 0:
            return 0
        if n == size:
            for i in range(n - 1):
                ranks[i] = self.byte_pairs[<size_t>piece[i] << 8 | piece[i + 1]]
        else:
            for i in range(n - 1):
                ranks[i] = self._rank(ids[i], ids[i + 1])
        ranks[n - 1] = NO_PAIR
        while True:
            at = 0
            lowest = ranks[0]
            for i in range(1, n - 1):
                if ranks[i] < lowest:
                    lowest = ranks[i]
                    at = i
            if lowest == NO_PAIR:
                break
            ids[at] = <uint32_t>lowest
            right = after[at]
            ranks[right] = NO_PAIR
            right = after[right]
            after[at] = <uint8_t>right
            if right < n:
                before[right] = <uint8_t>at
                ranks[at] = self._rank(ids[at], ids[right])
            else:
                ranks[at] = NO_PAIR
            if at:
                i = before[at]
                ranks[i] = self._rank(ids[i], ids[at])
        i = 0
        at = 0
        while at < n:
            out[i] = ids[at]
            i += 1
            at = after[at]
        return i

    cdef int64_t _merge_by_heap(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil:
        """O(n log n) for long pieces: linked symbols, and a heap of (rank, position).

        A heap entry is stale when its left symbol has changed since. It is recognised by the
        rank of the pair that stands there now: ids of distinct strings are distinct, so the
        same rank means the same pair.
        """
        cdef Symbol* symbols = <Symbol*>malloc((size + 1) * sizeof(Symbol))
        cdef uint64_t* heap = <uint64_t*>malloc((3 * size + 3) * sizeof(uint64_t))
        cdef size_t n, n_heap
        if symbols == NULL or heap == NULL or size >= END:
            free(symbols)
            free(heap)
            return -1
        n = self._link_symbols(piece, size, symbols)
        n_heap = self._fill_heap(symbols, n, heap)
        self._drain_heap(symbols, heap, n_heap)
        free(heap)
        cdef size_t n_out = 0
        cdef uint32_t at = 0 if n else END
        while at != END:
            out[n_out] = symbols[at].id
            n_out += 1
            at = symbols[at].after
        free(symbols)
        return n_out

    cdef size_t _link_symbols(self, const uint8_t* piece, size_t size,
                              Symbol* symbols) noexcept nogil:
        cdef size_t n = 0, i
        cdef int64_t token
        for i in range(size):
            token = self.vocabulary.byte_id[piece[i]]
            if token >= 0:                      # M5(c), as above
                symbols[n].id = <uint32_t>token
                symbols[n].before = <uint32_t>(n - 1) if n else END
                symbols[n].after = <uint32_t>(n + 1)
                n += 1
        if n:
            symbols[n - 1].after = END
        return n

    cdef size_t _fill_heap(self, const Symbol* symbols, size_t n, uint64_t* heap) noexcept nogil:
        cdef size_t n_heap = 0, i
        cdef uint64_t rank
        for i in range(n - 1 if n else 0):
            rank = self._rank(symbols[i].id, symbols[i + 1].id)
            if rank != NO_PAIR:
                heap[n_heap] = (rank & <uint64_t>0xFFFFFFFF00000000ULL) | i
                n_heap += 1
        i = n_heap // 2
        while i:
            i -= 1
            _sift_down(heap, n_heap, i)
        return n_heap

    cdef void _drain_heap(self, Symbol* symbols, uint64_t* heap, size_t n_heap) noexcept nogil:
        cdef uint64_t top, rank
        cdef uint32_t at, after, before
        while n_heap:
            top = heap[0]
            n_heap -= 1
            heap[0] = heap[n_heap]
            _sift_down(heap, n_heap, 0)
            at = <uint32_t>top
            after = symbols[at].after
            if symbols[at].id == END or after == END:
                continue
            rank = self._rank(symbols[at].id, symbols[after].id)
            if rank == NO_PAIR or rank >> 32 != top >> 32:
                continue
            symbols[at].id = <uint32_t>rank
            symbols[after].id = END             # swallowed: its own heap entries are stale
            after = symbols[after].after
            symbols[at].after = after
            if after != END:
                symbols[after].before = at
                rank = self._rank(symbols[at].id, symbols[after].id)
                n_heap = _push(heap, n_heap, rank, at)
            before = symbols[at].before
            if before != END:
                rank = self._rank(symbols[before].id, symbols[at].id)
                n_heap = _push(heap, n_heap, rank, before)


# ----------------------------------------------------------------------- keys

cdef inline size_t _filter_bit(uint64_t pair) noexcept nogil:
    return pair * 0x9E3779B97F4A7C15ULL >> (64 - FILTER_BITS)


cdef inline void _request(const Cache* cache, const Text* text, size_t begin, size_t end,
                          uint64_t part, Key* key) noexcept nogil:
    """Compute the key of a short piece and ask for its cache line."""
    cdef size_t size = end - begin
    cdef uint8_t[16] copy
    cdef const uint8_t* piece = text.bytes + begin
    key.part = part
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


# ----------------------------------------------------------------------- heap

cdef inline size_t _push(uint64_t* heap, size_t n, uint64_t rank, uint32_t at) noexcept nogil:
    """Add (rank, position), if the pair has a rank; the new size of the heap."""
    cdef uint64_t item
    cdef size_t i = n, parent
    if rank == NO_PAIR:
        return n
    item = (rank & <uint64_t>0xFFFFFFFF00000000ULL) | at
    while i:
        parent = (i - 1) // 2
        if heap[parent] <= item:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = item
    return n + 1


cdef inline void _sift_down(uint64_t* heap, size_t n, size_t i) noexcept nogil:
    cdef uint64_t item
    cdef size_t child
    if i >= n:
        return
    item = heap[i]
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item
