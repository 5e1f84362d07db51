# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the merge cache starts from: every entry that fits into it, so no common word is a miss.

Under ignore_merges that is more than speed: `Bpe` relies on it.

Nearly every entry becomes its own id. The others are *odd*: merging gives other ids (Llama-3 has
588 of them, which only ignore_merges makes reachable).
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from tokcy._cache cimport (
    LONG_BYTES,
    SHORT_BYTES,
    Cache,
    cache_add,
    cache_count,
    cache_end_of_seeds,
    cache_free,
    cache_new,
    cache_seed_many,
    cache_seed_whole,
)
from tokcy._merges cimport MergeTable, length_of
from tokcy._merging cimport merge_piece
from tokcy._spelling cimport BYTES, WORD_END
from tokcy._team cimport give_team_back, take_team
from tokcy._vocab cimport Vocabulary

from tokcy.threads import resolve_num_threads

cdef enum:
    # So that few entries have no room in their first line: with three to five slots for each seed
    # 5% of the look-ups in Chinese went further; twice as many slots took 4% off the time.
    SLOTS_PER_SEED = 5
    MOST_LINES = 1 << 19    # 32 MB
    UTMOST_LINES = 1 << 20  # for a vocabulary made to collide
    MOST_THREADS = 4        # that fill it
    WORDS_PER_SLOT = 16     # of the cache's arena, for what it learns: 36 bytes of text and 7 ids


@cython.final
cdef class Seeds:
    """The seeds of one model; immutable.

    Args:
        vocabulary: the entries.
        merge_table: their merges.
        ignore_merges: whether an odd entry has its own id where it is a whole piece.
        tables: what `tables` gave for this vocabulary, to spare the merging.

    Raises:
        MemoryError: the tables do not fit.
        ValueError: `tables` do not fit the vocabulary.
    """

    def __cinit__(self, Vocabulary vocabulary, MergeTable merge_table, bint ignore_merges,
                  dict tables=None):
        cdef size_t n = vocabulary.n_entries, entry, size
        cdef uint8_t kind = WORD_END if vocabulary.suffix else BYTES
        self.vocabulary = vocabulary
        self.merge_table = merge_table
        self.ignore_merges = ignore_merges
        self.is_plain = <uint8_t*>malloc(n + 1)
        if self.is_plain == NULL:
            raise MemoryError
        for entry in range(n):
            size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
            self.is_plain[entry] = vocabulary.kinds[entry] == kind and 0 < size <= LONG_BYTES
        self.odd = self._find_odd() if tables is None else bytes(tables["odd"])
        self._leave_out_odd()

    def __dealloc__(self):
        free(self.is_plain)

    def tables(self):
        """What merging gives of odd entries, by name: an array uint32 as bytes.

        ``odd`` has of each, in order, the index of the entry, how many ids there are, and these.
        """
        return {"odd": self.odd}

    cdef Cache* make_cache(self) except NULL:
        """A cache of the seeds."""
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint64_t n_lines = 1 << 15, long_slots = 1 << 17, shorts = 0, longs = 0
        cdef uint64_t words = <size_t>len(self.odd) // 4    # of the arena, that seeds may need
        cdef size_t entry, size
        cdef int threads = min(<int>resolve_num_threads(None), <int>MOST_THREADS)
        cdef Cache* cache
        for entry in range(vocabulary.n_entries):
            size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
            shorts += size <= SHORT_BYTES
            if SHORT_BYTES < size <= LONG_BYTES:
                longs += 1
                words += size // 4 + 2
        while 2 * n_lines < SLOTS_PER_SEED * shorts and n_lines < MOST_LINES:
            n_lines *= 2
        while long_slots < 4 * longs:
            long_slots *= 2
        # An entry that finds no room in its lines, which only a vocabulary made for it has. There
        # may be no room in any number of them; only under ignore_merges must each entry have it.
        while n_lines <= UTMOST_LINES:
            cache = cache_new(n_lines, long_slots, words + WORDS_PER_SLOT * long_slots)
            if cache == NULL:
                break
            if self._fill(cache, threads) or (n_lines == UTMOST_LINES and not self.ignore_merges):
                cache_end_of_seeds(cache)
                return cache
            cache_free(cache)
            n_lines *= 2
        raise MemoryError

    # --------------------------------------------------------------- odd entries

    cdef bytes _find_odd(self):
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint32_t[2 + LONG_BYTES] found
        cdef const uint8_t* piece
        cdef size_t entry, size
        cdef int64_t n
        odd = bytearray()
        for entry in range(vocabulary.n_entries):
            if not self.is_plain[entry] or self.merge_table.makes(vocabulary.ids[entry]):
                continue
            piece = vocabulary.arena + vocabulary.offsets[entry]
            size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
            n = merge_piece(&self.merge_table.merges, piece, size, found + 2)
            if n < 0:
                raise MemoryError
            if n != 1 or found[2] != vocabulary.ids[entry]:
                found[0] = <uint32_t>entry
                found[1] = <uint32_t>n
                odd += (<char*>found)[:4 * (2 + n)]
        return bytes(odd)

    cdef int _leave_out_odd(self) except -1:
        """Take odd entries out of `is_plain`; ValueError where ids are not of an entry's bytes."""
        cdef Vocabulary vocabulary = self.vocabulary
        cdef const uint32_t* words = <const uint32_t*><const char*>self.odd
        cdef size_t n_words = <size_t>len(self.odd) // 4, at = 0, entry
        while at < n_words:
            if n_words - at < 2 or words[at + 1] > LONG_BYTES or n_words - at < 2 + words[at + 1]:
                raise ValueError(f"odd: it breaks off at word {at}")
            self._leave_out(words[at], words + at + 2, words[at + 1])
            at += 2 + words[at + 1]
        if self.merge_table.merges.has_all_bytes or self.merge_table.merges.lacks_characters:
            return 0
        for entry in range(vocabulary.n_entries):
            if self.is_plain[entry] and self._kept(entry) < (
                    vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]):
                raise ValueError(f"odd: entry {entry} is missing")
        return 0

    cdef int _leave_out(self, size_t entry, const uint32_t* ids, size_t n_ids) except -1:
        cdef size_t length = 0, i
        cdef bint known = True
        if entry >= self.vocabulary.n_entries or not self.is_plain[entry]:
            raise ValueError(f"odd: {entry} is no seed, or stands twice")
        for i in range(n_ids):
            known = known and length_of(self.vocabulary, ids[i]) > 0
            length += length_of(self.vocabulary, ids[i])
        if self.merge_table.merges.lacks_characters:
            known = True        # no saved tables then, of which nothing is known
            length = self._kept(entry)
        if not known or length != self._kept(entry):
            raise ValueError(f"odd: ids that do not make entry {entry}")
        self.is_plain[entry] = False
        return 0

    cdef size_t _kept(self, size_t entry) noexcept:
        """Of how many bytes of an entry there are symbols; others are dropped (M5(c))."""
        cdef size_t n = 0, at
        for at in range(self.vocabulary.offsets[entry], self.vocabulary.offsets[entry + 1]):
            n += self.merge_table.merges.has_byte[self.vocabulary.arena[at]] != 0
        return n

    # ------------------------------------------------------------------- filling

    cdef bint _fill(self, Cache* cache, int threads) noexcept:
        """Add all seeds to an empty cache; whether there was room for each."""
        cdef Vocabulary vocabulary = self.vocabulary
        cdef const uint32_t* words = <const uint32_t*><const char*>self.odd
        cdef size_t n_words = <size_t>len(self.odd) // 4, at = 0
        cdef uint64_t n_added = 0
        cdef bint together, all_have_room
        while at < n_words:
            if not self._add_odd(cache, words[at], words + at + 2, words[at + 1], &n_added):
                return False
            at += 2 + words[at + 1]
        cache_count(cache, n_added)
        with nogil:
            together = take_team(threads)
            all_have_room = cache_seed_many(
                cache, vocabulary.arena, vocabulary.offsets, vocabulary.ids, self.is_plain,
                vocabulary.n_entries, threads if together else 1)
            if together:
                give_team_back()
        return all_have_room

    cdef bint _add_odd(self, Cache* cache, size_t entry, const uint32_t* ids, size_t n_ids,
                       uint64_t* n_added) noexcept:
        cdef const uint8_t* piece = self.vocabulary.arena + self.vocabulary.offsets[entry]
        cdef size_t size = self.vocabulary.offsets[entry + 1] - self.vocabulary.offsets[entry]
        cdef const uint32_t* token = self.vocabulary.ids + entry
        if not self.ignore_merges:
            return cache_add(cache, piece, size, ids, n_ids, False, True, n_added)
        if size > SHORT_BYTES:
            return cache_add(cache, piece, size, token, 1, False, True, n_added)
        return cache_seed_whole(cache, piece, size, token[0], n_added)
