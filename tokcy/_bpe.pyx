# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The BPE model: pieces → ids, through the shared merge cache.

`Bpe.encode_pieces` takes a range of a text whose pieces are marked in a bitmap and looks each
piece up in the cache; what is not there is merged and added. It works in batches: the keys of a
batch are computed and their cache lines requested first, so that the waits for memory overlap.

Where no token reaches across a border between characters, a piece is cut there first (`_cuts`),
which makes nothing different but many more pieces known. Only under ignore_merges a part is not
a piece: a piece that is an entry gets that entry's id, merges or no merges, and a part does not.
The few entries that merging does not give (Llama-3 has 588) are marked in the cache.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from tokcy._bitmap cimport bits_below, bits_from, is_set, next_set
from tokcy._cache cimport (
    COUNT_LONG,
    COUNT_SHIFT,
    COUNT_WHOLE,
    ID_BITS,
    ID_MASK,
    LONG_BYTES,
    SHORT_BYTES,
    SHORT_IDS,
    Cache,
    Key,
    LongEntry,
    cache_add,
    cache_bytes,
    cache_count,
    cache_free,
    cache_is_full,
    cache_max_entries,
    cache_of_seeds,
    cache_request,
    find_further,
    find_in_line,
    find_long,
    hash_long,
    hash_short,
    long_slot,
    tk_find_line_ops,
)
from tokcy._cuts cimport CutFilter
from tokcy._merges cimport LANE, MergeTable, count_symbols, tk_find_merge_many
from tokcy._merging cimport merge_piece
from tokcy._platform cimport tk_prefetch
from tokcy._seeds cimport Seeds
from tokcy._status cimport raise_status
from tokcy._pretok cimport simd_ops
from tokcy._vocab cimport Vocabulary

from tokcy._pretok import SIMD

cdef enum:
    LONGS_AHEAD = 64        # pieces among which the long ones are asked for together
    KEY_BYTES = 16

cdef int64_t UNKNOWN = -100             # unlike any status
cdef uint64_t DROPPED = 0xFE00000000000000ULL    # the key of a piece that becomes no ids


@cython.final
cdef class Bpe:
    """A BPE model; immutable but for its cache, shared by threads.

    Args:
        vocabulary: entries and merges. Every id is below 2**28.
        ignore_merges: a piece that is an entry becomes that entry's id without merging (M7).
        tables: what `tables` gave for this vocabulary, to spare the work; merges of the
            vocabulary are not looked at then.
        simd: the variant of the wide steps, as for PreTokenizer.

    Raises:
        MemoryError: the tables do not fit.
        ValueError: `tables` do not fit the vocabulary; says which.
    """

    def __cinit__(self, Vocabulary vocabulary, bint ignore_merges, dict tables=None, *,
                  str simd=SIMD):
        cdef bytes variant = simd.encode()
        if vocabulary.max_id >> ID_BITS:
            raise ValueError(f"token id {vocabulary.max_id} is not below 2**{ID_BITS}")
        self.simd = simd_ops(simd)
        self.line_ops = tk_find_line_ops(variant)
        self.vocabulary = vocabulary
        self.ignore_merges = ignore_merges
        self.cut_filter = CutFilter(vocabulary, simd=simd, tables=tables)
        self.merge_table = MergeTable(vocabulary, self.cut_filter, tables)
        self.fill_holes = tk_find_fill_holes(variant)
        if self.merge_table.merges.has_all_bytes:
            self.merge_many = tk_find_merge_many(variant)
        self.seeds = Seeds(vocabulary, self.merge_table, ignore_merges, tables)
        self.cache = self.seeds.make_cache()

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
        """The ids of one piece of valid UTF-8 by merging alone, not the cache: the slow twin."""
        cdef size_t size = len(piece)
        cdef uint32_t* out = <uint32_t*>malloc(4 * size + 4)
        cdef int64_t n
        try:
            n = -1
            if out != NULL:
                n = merge_piece(&self.merge_table.merges, <const uint8_t*><const char*>piece, size,
                                out)
            if n < 0:
                raise_status(<int>n)
            return [out[i] for i in range(n)]
        finally:
            free(out)

    def made_by_merging(self, ids):
        """Those of `ids` that are a byte's or that merging may make."""
        return self.merge_table.made_by_merging(ids)

    def tables(self):
        """What was found out of the vocabulary, by name: arrays as bytes."""
        return {**self.cut_filter.tables(), **self.merge_table.tables(), **self.seeds.tables()}

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
                           size_t limit, uint32_t* out, size_t* n, Unknown* unknown,
                           Tally* tally) noexcept nogil:
        """Encode the pieces that start in [begin, end); the last may run on to `limit`.

        `out` holds n ids, and has room for one id per byte of those pieces and four more; n grows
        by those written. Some pieces may still wait in `unknown`, which begins without any and
        ends with `merge_unknown`. Returns 0, or a status below 0.
        """
        cdef Walk walk
        cdef Batch batch
        cdef int status
        walk.begin = next_set(text.starts, begin, limit)
        walk.end = next_set(text.starts, end, limit)
        if walk.begin >= walk.end:
            return 0
        walk.word = walk.begin >> 6
        batch.n = 0
        while walk.word << 6 < walk.end:
            self._collect(text, &walk, &batch)
            status = self._encode_batch(cache, text, &batch, out, n, unknown, tally)
            if status < 0:
                return status
        return 0

    cdef void _collect(self, const Text* text, Walk* walk, Batch* batch) noexcept nogil:
        """The next pieces of a walk, or parts of them; `batch` is the one before."""
        cdef size_t n = batch.n != 0, last = walk.end >> 6  # the word that is not all within
        if n:
            batch.position[0] = batch.position[batch.n]
        while n <= BATCH and walk.word << 6 < walk.end:
            if walk.word << 6 >= walk.begin:
                # Where there is nothing to cut, as in most words of most texts.
                n += self.simd.collect(text.bytes, text.starts, &walk.word, last,
                                       batch.position + n, BATCH - n)
                if n > BATCH or walk.word << 6 >= walk.end:
                    break
            n += self.simd.positions(self._marks(text, walk), walk.word << 6, batch.position + n)
            walk.word += 1
        if walk.word << 6 >= walk.end:
            batch.position[n] = walk.end
            n += 1
        batch.n = n - 1

    cdef uint64_t _marks(self, const Text* text, const Walk* walk) noexcept nogil:
        """Of the 64 bytes at walk.word those that begin a piece of the walk, or a part of one."""
        cdef size_t base = walk.word << 6
        cdef uint64_t marks = text.starts[walk.word]
        # A part of a dropped piece would not be recognised as such.
        if self.cut_filter.enabled and text.skips == NULL:
            marks |= self.cut_filter.cuts_in_word(text.bytes, text.size, walk.word, marks)
        if base < walk.begin:
            marks &= bits_from(walk.begin)
        return marks & bits_below(walk.end - base)

    cdef int _encode_batch(self, Cache* cache, const Text* text, const Batch* batch,
                           uint32_t* out, size_t* n, Unknown* unknown,
                           Tally* tally) noexcept nogil:
        """Write the ids of a batch behind the n that are there; 0, or a status below 0."""
        cdef Key[BATCH_ROOM] keys
        cdef uint32_t* to = out + n[0]
        cdef size_t i = 0
        cdef int64_t written
        cdef size_t requested = 0           # of the long pieces: up to which one
        self._request(cache, text, batch, keys)
        while True:
            i = self.line_ops.answer(keys, i, batch.n, &to)
            if i == batch.n:
                break
            if i >= requested and batch.position[i + 1] - batch.position[i] > SHORT_BYTES:
                requested = min(i + LONGS_AHEAD, batch.n)
                self._request_longs(cache, text, batch, i, requested, keys)
            written = self._encode_other(cache, text, batch.position[i], batch.position[i + 1],
                                         &keys[i], to, to - out, unknown, tally)
            if written < 0:
                return <int>written
            to += written
            if unknown.n == UNKNOWN_ROOM or unknown.n_holes == HOLES_ROOM:
                to = out + self.merge_unknown(cache, unknown, out, to - out, tally)
            i += 1
        tally.pieces += batch.n
        n[0] = to - out
        return 0

    cdef bint _waits(self, const uint8_t* piece, size_t size, const Key* key, bint part,
                     size_t place, Unknown* unknown) noexcept nogil:
        """Let an unknown piece wait, if it is short enough, and its ids be put in at a place.

        A new word often comes again soon: without `by_hash` a third more would be merged.
        """
        cdef uint8_t* known = unknown.by_hash + (hash_short(key.words[0], key.words[1]) >> 56)
        cdef size_t i
        if size > SHORT_BYTES and self.merge_many == NULL:
            return False                # nothing is gained, and a long one may need memory
        if size > LANE and (size > LONG_BYTES or count_symbols(
                &self.merge_table.merges, piece, size, LANE) > LANE):
            return False
        if unknown.n_holes == 0:
            memset(unknown.by_hash, 0, sizeof(unknown.by_hash))
        i = known[0] - <size_t>1
        if (known[0] == 0 or unknown.sizes[i] != size or unknown.parts[i] != part
                or memcmp(unknown.pieces[i], piece, size)):
            i = unknown.n
            unknown.pieces[i] = piece
            unknown.sizes[i] = <uint8_t>size
            unknown.parts[i] = part
            unknown.n += 1
            known[0] = <uint8_t>unknown.n
        unknown.place[unknown.n_holes] = place
        unknown.piece[unknown.n_holes] = <uint8_t>i
        unknown.n_holes += 1
        return True

    cdef size_t merge_unknown(self, Cache* cache, Unknown* unknown, uint32_t* out,
                              size_t n, Tally* tally) noexcept nogil:
        """Merge the pieces that wait and put their ids in; how many ids there are now."""
        cdef uint32_t[UNKNOWN_ROOM * LANE] ids
        cdef uint8_t[UNKNOWN_ROOM] counts
        cdef tk_holes holes
        cdef uint64_t n_added = 0
        cdef size_t i
        if unknown.n_holes == 0:
            return n
        tally.misses += unknown.n
        if self.merge_many != NULL:
            self.merge_many(&self.merge_table.merges, unknown.pieces, unknown.sizes, unknown.n,
                            ids, counts)
        for i in range(unknown.n):
            if self.merge_many == NULL:
                counts[i] = <uint8_t>merge_piece(&self.merge_table.merges, unknown.pieces[i],
                                                 unknown.sizes[i], ids + LANE * i)
            cache_request(cache, unknown.pieces[i], unknown.sizes[i], counts[i],
                          unknown.parts[i])
        for i in range(unknown.n):
            cache_add(cache, unknown.pieces[i], unknown.sizes[i], ids + LANE * i, counts[i],
                      unknown.parts[i], False, &n_added)
        cache_count(cache, n_added)
        holes.n = unknown.n_holes
        holes.places = unknown.place
        holes.entries = unknown.piece
        holes.rows = ids
        holes.room = LANE
        holes.counts = counts
        n = self.fill_holes(out, n, &holes)
        unknown.n = unknown.n_holes = 0
        return n

    cdef void _request(self, const Cache* cache, const Text* text, const Batch* batch,
                       Key* keys) noexcept nogil:
        """Make the keys of the pieces of a batch and ask for their cache lines."""
        cdef uint8_t[2 * KEY_BYTES] copy    # of the end of the text: nothing is read past it
        cdef size_t[KEY_BYTES + 1] places
        cdef size_t i, n = batch.n, begin
        while n and text.size - batch.position[n - 1] < KEY_BYTES:
            n -= 1
        self.line_ops.request(text.bytes, batch.position, n, cache.lines, cache.line_shift, keys)
        if n < batch.n:
            begin = batch.position[n]
            memset(copy, 0, sizeof(copy))
            memcpy(copy, text.bytes + begin, batch.position[batch.n] - begin)
            for i in range(n, batch.n + 1):
                places[i - n] = batch.position[i] - begin
            self.line_ops.request(copy, places, batch.n - n, cache.lines, cache.line_shift,
                                  keys + n)
        if text.skips != NULL:
            for i in range(batch.n):
                if is_set(text.skips, batch.position[i]):
                    keys[i].words[1] = DROPPED

    cdef void _request_longs(self, const Cache* cache, const Text* text, const Batch* batch,
                             size_t first, size_t last, Key* keys) noexcept nogil:
        """Put the hashes of pieces too long for a line into their keys, and ask for the entries.

        Each look-up waits for its slot and then for its place in the arena; here all that follow
        the first wait together (gpt-oss, mixed languages, repeated: 5%).
        """
        cdef uint8_t[LONGS_AHEAD] longs
        cdef size_t i, j, begin, size, n_long = 0
        for i in range(first, last):
            longs[n_long] = <uint8_t>i
            n_long += batch.position[i + 1] - batch.position[i] > SHORT_BYTES
        for j in range(n_long):
            i = longs[j]
            begin = batch.position[i]
            size = batch.position[i + 1] - begin
            if size <= LONG_BYTES:
                keys[i].words[0] = hash_long(text.bytes + begin, size,
                                             self._is_part(text, begin, begin + size))
                tk_prefetch(cache.longs + long_slot(cache, keys[i].words[0]))
        for j in range(n_long):
            i = longs[j]
            if batch.position[i + 1] - batch.position[i] <= LONG_BYTES:
                tk_prefetch(cache.arena + cache.longs[long_slot(cache, keys[i].words[0])].at)

    cdef int64_t _encode_other(self, Cache* cache, const Text* text, size_t begin, size_t end,
                               const Key* key, uint32_t* out, size_t place, Unknown* unknown,
                               Tally* tally) noexcept nogil:
        """The ids of a piece that its line does not tell; how many, or a status below 0.

        `place` is how many ids stand before: where those of an unknown piece are put in later.
        """
        cdef const uint8_t* piece = text.bytes + begin
        cdef size_t size = end - begin
        # Whether what is found out holds for parts alone.
        cdef bint part = self._is_part(text, begin, end)
        cdef const uint32_t* ids
        cdef uint64_t n_added = 0
        cdef int64_t n
        if key.words[1] == DROPPED:
            return 0
        if size <= SHORT_BYTES:
            ids = find_in_line(key.line, key.words)
            if ids == NULL:
                ids = find_further(cache, key.line, key.words)
            part = part and ids != NULL and _count(ids) == COUNT_WHOLE
            n = _ids_of_short(cache, ids, piece, size, part, out)
        else:
            n = self._find_long(cache, piece, size, key.words[0], part, out)
        if n != UNKNOWN:
            return n
        if self._waits(piece, size, key, part, place, unknown):
            return 0
        tally.misses += 1
        n = merge_piece(&self.merge_table.merges, piece, size, out)
        if n >= 0 and size <= LONG_BYTES:
            cache_add(cache, piece, size, out, n, part, False, &n_added)
            cache_count(cache, n_added)
        return n

    cdef bint _is_part(self, const Text* text, size_t begin, size_t end) noexcept nogil:
        """Whether these bytes are a part of a piece, an end being a cut, and that matters."""
        return self.ignore_merges and (
            not is_set(text.starts, begin) or (end < text.size and not is_set(text.starts, end)))

    cdef int64_t _find_long(self, const Cache* cache, const uint8_t* piece, size_t size,
                            uint64_t hash, bint part, uint32_t* out) noexcept nogil:
        """The ids of a piece that is too long for a short entry; how many, or UNKNOWN."""
        cdef int64_t entry
        if size <= LONG_BYTES:
            return _ids_of_long(cache, piece, size, hash, out)
        if self.ignore_merges and not part:     # shorter entries are all in the cache
            entry = self.vocabulary.find(piece, size, 1)
            if entry >= 0:
                out[0] = self.vocabulary.ids[entry]
                return 1
        return UNKNOWN


# --------------------------------------------------------------------- entries

cdef inline uint64_t _count(const uint32_t* ids) noexcept nogil:
    return ids[0] >> COUNT_SHIFT


cdef int64_t _ids_of_short(const Cache* cache, const uint32_t* ids, const uint8_t* piece,
                           size_t size, bint part, uint32_t* out) noexcept nogil:
    """Write what a short entry tells, or the long one that it points to; how many, or UNKNOWN."""
    if ids == NULL:
        return UNKNOWN
    if _count(ids) == COUNT_LONG or part:
        return _ids_of_long(cache, piece, size, hash_long(piece, size, part), out)
    memcpy(out, ids, 4 * SHORT_IDS)
    out[0] &= ID_MASK
    return 1 if _count(ids) == COUNT_WHOLE else _count(ids)


cdef int64_t _ids_of_long(const Cache* cache, const uint8_t* piece, size_t size, uint64_t hash,
                          uint32_t* out) noexcept nogil:
    """Write what the long entry with this hash tells; how many, or UNKNOWN."""
    cdef const LongEntry* entry = find_long(cache, piece, size, hash)
    if entry == NULL:
        return UNKNOWN
    memcpy(out, cache.arena + entry.at, 4 * entry.n_ids)
    return entry.n_ids
