# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The merges of a model, as a table of pairs, and what can be proved of them at load.

Symbols are numbered in order of rank, so that a slot of eight bytes tells a pair, its rank and
what it makes (`_merges.h`).
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tokcy._bitmap cimport set_bit
from tokcy._cuts cimport CutFilter
from tokcy._platform cimport tk_alloc_table, tk_free_table
from tokcy._spelling cimport BYTES, FORMS, TEXT
from tokcy._vocab cimport Vocabulary

cdef enum:
    BMP_SIZE = 1 << 16      # characters of up to three bytes

cdef enum:                  # in place of a symbol + 1
    UNMADE = 0              # no merge so far makes the token
    MISSED = 1 << 28        # none did when it was needed
    UNSURE = 1 << 29        # some may
    NEVER_MADE = 1 << 30    # none does

cdef extern from *:
    """
    #define TK_CERTAIN 0x80000000u
    """
    const uint32_t CERTAIN "TK_CERTAIN"     # beside a symbol + 1: the token's bytes become it


@cython.final
cdef class MergeTable:
    """The merges of a vocabulary, immutable.

    Two things are looked for at load, and used where they can be proved:

    * Merges that never happen are left out, and what merging makes of a token's own bytes is
      known to be that token (`_choose`, `makes`).
    * An *atom* is a character of several bytes that always becomes one symbol, so that merging
      may begin with it (`_find_atoms`). In a model of characters each entry that is one is an
      atom: it begins with them by definition (M4).

    Where tokens are marked, a byte or a character has a symbol for each place in a piece, and a
    token's bytes are those of its place: `Vocabulary.marks_keep_places` must hold.

    Args:
        vocabulary: entries and merges, fewer than 2**21 - 256 of these.
        cut_filter: that of the vocabulary.
        tables: what `tables` gave for this vocabulary, to spare the work; merges of the
            vocabulary are not looked at then.

    Attributes:
        n_merges: how many are in the table.

    Raises:
        MemoryError: the tables do not fit.
        ValueError: there are too many merges, or `tables` do not fit the vocabulary; says which.
    """

    def __cinit__(self, Vocabulary vocabulary, CutFilter cut_filter, dict tables=None):
        cdef uint32_t left, right
        cdef size_t entry
        self.vocabulary = vocabulary
        self.cut_filter = cut_filter
        self.merges.halves = cut_filter.halves
        self.n_known = FIRST_MERGED
        for entry in range(vocabulary.n_entries if self._numbers_entries() else 0):
            self.n_known += self._numbered(entry) >= 0
        self.first_made = self.n_known + (vocabulary.unknown_id >= 0)
        if self.first_made + vocabulary.n_merges >= 1 << SYMBOL_BITS:
            raise ValueError(f"{vocabulary.n_merges} merges are too many")
        if tables is None:
            self._index()
        else:
            self._take(tables)
        for left in range(256):
            for right in range(256):
                self.merges.byte_pairs[left << 8 | right] = find_rank(&self.merges, left, right)

    def __dealloc__(self):
        cdef int form
        if not self.slots_are_held:
            tk_free_table(self.merges.slots)
        free(self.merges.pair_filter)
        free(self.merges.byte_pairs)
        free(self.merges.ids)
        free(self.merges.same)
        for form in range(FORMS):
            free(self.merges.atoms[form])
        free(self.symbols)

    cdef bint makes(self, uint32_t token) noexcept nogil:
        """Whether it is known that merging the bytes of a token gives just that token."""
        return self.symbols != NULL and self.symbols[token] & CERTAIN != 0

    def made_by_merging(self, ids):
        """Those of `ids` that merging may begin with or make."""
        cdef size_t symbol
        cdef set made = set()
        for symbol in range(self.n_symbols):
            if symbol >= FIRST_MERGED or self.merges.has_byte[symbol]:
                made.add(self.merges.ids[symbol])
        return [token for token in ids if token in made]

    cdef int _begin(self, size_t n_symbols) except -1:
        """Make room for so many symbols; those that merging begins with are filled in."""
        cdef Vocabulary vocabulary = self.vocabulary
        cdef Merges* merges = &self.merges
        cdef size_t byte
        merges.pair_filter = <uint64_t*>malloc(sizeof(uint64_t) << (FILTER_BITS - 6))
        merges.byte_pairs = <uint32_t*>malloc(65536 * sizeof(uint32_t))
        merges.ids = <uint32_t*>malloc(n_symbols * sizeof(uint32_t))
        if merges.pair_filter == NULL or merges.byte_pairs == NULL or merges.ids == NULL:
            raise MemoryError
        merges.has_all_bytes = True
        for byte in range(256):
            merges.has_byte[byte] = vocabulary.byte_id[byte] >= 0
            if merges.has_byte[byte] and not vocabulary.is_piece(byte):
                merges.has_byte[byte] = HAS_NAME
            merges.has_all_bytes = merges.has_all_bytes and merges.has_byte[byte]
            merges.ids[byte] = <uint32_t>vocabulary.byte_id[byte]
        merges.is_byte_level = vocabulary.spelling.byte_level
        merges.marks = vocabulary.marks
        merges.has_all_bytes = merges.has_all_bytes and (
            not vocabulary.marks or vocabulary.is_complete())
        merges.lacks_characters = vocabulary.lacks_characters()
        merges.fuses_unknown = vocabulary.fuses_unknown
        merges.space_width = 3 if vocabulary.spelling.folded else 1
        merges.unknown = NO_RANK
        if vocabulary.unknown_id >= 0:
            merges.unknown = <uint32_t>self.n_known
            merges.ids[self.n_known] = <uint32_t>vocabulary.unknown_id
        return self._begin_numbered()

    cdef size_t _character_width(self, size_t entry) noexcept:
        """Bytes of the entry if it is one character of several, else 0."""
        cdef Vocabulary vocabulary = self.vocabulary
        cdef const uint8_t* token = vocabulary.arena + vocabulary.offsets[entry]
        cdef size_t size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
        if not vocabulary.kinds[entry] & BYTES or not 2 <= size <= 4:
            return 0
        return size if character_width(token, size) == size else 0

    cdef bint _numbers_entries(self) noexcept:
        """Whether some entry may be `_numbered`."""
        return not self.vocabulary.spelling.byte_level or self.vocabulary.marks != 0

    cdef int64_t _numbered(self, size_t entry) noexcept:
        """The byte or the character of an entry that merging begins with; -1 if it is none.

        So it is numbered as a symbol, which a byte that is not marked is as it is.
        """
        cdef Vocabulary vocabulary = self.vocabulary
        cdef const uint8_t* token = vocabulary.arena + vocabulary.offsets[entry]
        cdef size_t size = vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]
        cdef uint8_t kind = vocabulary.kinds[entry]
        if size - 1 > 3 or not kind & BYTES:
            return -1
        if size == 1:
            return -1 if kind == BYTES else token[0]
        if vocabulary.spelling.byte_level or character_width(token, size) != size:
            return -1
        return code_point(token, size)

    cdef int _begin_numbered(self) except -1:
        """Make symbols of the entries that merging begins with: of each form a table."""
        cdef Vocabulary vocabulary = self.vocabulary
        cdef Merges* merges = &self.merges
        cdef size_t entry, symbol = FIRST_MERGED
        cdef uint8_t form
        cdef int64_t code
        if not self._numbers_entries():
            return 0
        for entry in range(vocabulary.n_entries):
            form = vocabulary.kinds[entry] >> 1
            code = self._numbered(entry)
            if code >= 0:
                merges.n_atoms[form] = max(merges.n_atoms[form], <size_t>code + 1)
        for form in range(FORMS):
            if merges.n_atoms[form]:
                # Zeros, of which only the pages that are written take memory.
                merges.atoms[form] = <uint32_t*>calloc(merges.n_atoms[form], sizeof(uint32_t))
                if merges.atoms[form] == NULL:
                    raise MemoryError
        for entry in range(vocabulary.n_entries):
            code = self._numbered(entry)
            if code >= 0:
                merges.atoms[vocabulary.kinds[entry] >> 1][code] = <uint32_t>symbol
                merges.ids[symbol] = vocabulary.ids[entry]
                symbol += 1
        return 0

    cdef int _index(self) except -1:
        self._begin(self.first_made + self.vocabulary.n_merges)
        # Of ids that are far apart only the pages that are written take memory.
        self.symbols = <uint32_t*>calloc(<size_t>self.vocabulary.max_id + 1, sizeof(uint32_t))
        if self.symbols == NULL:
            raise MemoryError
        self._add_merges()
        if self.vocabulary.spelling.byte_level and self.cut_filter.enabled:
            self._find_atoms()
        return 0

    # ------------------------------------------------------------------ tables

    def tables(self):
        """What was made of the merges, by name: arrays as bytes.

        ``slots``, uint64, and of the symbols that merges make ``symbol_ids`` and ``same``, uint32,
        the latter empty where each is itself; ``atoms``, uint32, empty where there are none or
        they are the characters of the vocabulary.
        """
        cdef size_t n = self.n_symbols
        cdef const Merges* merges = &self.merges
        return {
            "slots": (<char*>merges.slots)[:merges.n_buckets * BUCKET * sizeof(uint64_t)],
            "symbol_ids": (<char*>merges.ids)[4 * self.first_made:4 * n],
            "same": (<char*>merges.same)[4 * self.first_made:4 * n]
            if merges.same != NULL else b"",
            "atoms": (<char*>merges.atoms[0])[:4 * merges.n_atoms[0]]
            if self.vocabulary.spelling.byte_level else b"",
        }

    cdef int _take(self, dict tables) except -1:
        """Become what has these tables, of which nothing is taken for granted.

        Whatever they hold, a merge makes a token as long as its two parts, so a piece never
        becomes more ids than it has bytes, nor ids of other bytes than it has.
        """
        cdef const uint8_t[::1] ids = tables["symbol_ids"]
        cdef size_t symbol
        cdef uint32_t* lengths
        self.n_symbols = self.first_made + <size_t>len(ids) // 4
        if len(ids) % 4 or self.n_symbols > 1 << SYMBOL_BITS:
            raise ValueError(f"symbol_ids: {len(ids)} bytes")
        self._begin(self.n_symbols)
        if len(ids):
            memcpy(self.merges.ids + self.first_made, &ids[0], len(ids))
        lengths = <uint32_t*>malloc(self.n_symbols * sizeof(uint32_t))
        if lengths == NULL:
            raise MemoryError
        try:
            for symbol in range(self.n_symbols):
                # 0 of what no text has; no slot may name it.
                lengths[symbol] = length_of(self.vocabulary, self.merges.ids[symbol])
            self._take_same(tables["same"], lengths)
            self._take_slots(tables["slots"], lengths)
            self._take_atoms(tables["atoms"], lengths)
        finally:
            free(lengths)
        return 0

    cdef int _take_same(self, const uint8_t[::1] same, const uint32_t* lengths) except -1:
        cdef size_t symbol
        if len(same) == 0:
            return 0
        if <size_t>len(same) != 4 * (self.n_symbols - self.first_made):
            raise ValueError(f"same: {len(same)} bytes")
        self.merges.same = <uint32_t*>malloc(self.n_symbols * sizeof(uint32_t))
        if self.merges.same == NULL:
            raise MemoryError
        memcpy(self.merges.same + self.first_made, &same[0], len(same))
        for symbol in range(self.first_made, self.n_symbols):
            if (self.merges.same[symbol] >= self.n_symbols
                    or lengths[self.merges.same[symbol]] != lengths[symbol]):
                raise ValueError(f"same: {self.merges.same[symbol]} in place of {symbol}")
        return 0

    cdef int _take_slots(self, const uint8_t[::1] slots, const uint32_t* lengths) except -1:
        cdef size_t n = <size_t>len(slots) // sizeof(uint64_t), i
        cdef uint64_t slot, pair
        cdef size_t left, right, made
        if len(slots) % (BUCKET * sizeof(uint64_t)) or n == 0:
            raise ValueError(f"slots: {len(slots)} bytes")
        if <size_t>&slots[0] % (BUCKET * sizeof(uint64_t)) == 0:
            # Used where it is: 4 MB for Llama-3, which took 2 ms to copy.
            self.holder = slots.base
            self.slots_are_held = True
            self.merges.slots = <uint64_t*>&slots[0]
            self._clear_filter(n // BUCKET)
        else:       # a bucket would be in two lines of the processor's cache
            self._open_buckets(n // BUCKET)
            memcpy(self.merges.slots, &slots[0], len(slots))
        for i in range(n):
            slot = self.merges.slots[i]
            if slot == FREE_SLOT:
                continue
            pair = slot >> (SYMBOL_BITS + 1)
            left = pair >> SYMBOL_BITS
            right = pair & ((1 << SYMBOL_BITS) - 1)
            made = FIRST_MERGED + ((slot & ((2 << SYMBOL_BITS) - 1)) >> 1)
            if (left >= self.n_symbols or right >= self.n_symbols or made >= self.n_symbols
                    or not _may_make(left, right, made, lengths, self.first_made)
                    or (slot & 1 and (self.merges.same == NULL or made < self.first_made))):
                raise ValueError(f"slots: {left} and {right} do not make {made}")
            set_bit(self.merges.pair_filter, pair_hash(pair) >> (64 - FILTER_BITS))
            self.n_merges += 1
        if self.n_merges == n:      # a look-up would never end
            raise ValueError("slots: none is free")
        return 0

    cdef int _take_atoms(self, const uint8_t[::1] atoms, const uint32_t* lengths) except -1:
        cdef int code
        cdef uint32_t symbol
        if len(atoms) == 0:
            return 0
        if (len(atoms) != 4 * BMP_SIZE or not self.cut_filter.enabled
                or not self.vocabulary.spelling.byte_level):
            raise ValueError(f"atoms: {len(atoms)} bytes")
        self.merges.atoms[0] = <uint32_t*>malloc(len(atoms))
        if self.merges.atoms[0] == NULL:
            raise MemoryError
        memcpy(self.merges.atoms[0], &atoms[0], len(atoms))
        self.merges.n_atoms[0] = BMP_SIZE
        for code in range(BMP_SIZE):
            symbol = self.merges.atoms[0][code]
            if symbol and (symbol >= self.n_symbols
                           or lengths[symbol] != (2 if code < 0x800 else 3)):
                raise ValueError(f"atoms: {symbol} for U+{code:04X}")
        return 0

    # ------------------------------------------------------------------ adding

    cdef int _clear(self, size_t n) except -1:
        """Begin anew, with room for n merges; what merging begins with alone is made then."""
        cdef size_t rank, byte, symbol
        self._clear_slots(n)
        for rank in range(self.vocabulary.n_merges):
            self.symbols[self.vocabulary.merged[rank]] = UNMADE
            self.symbols[self.vocabulary.left[rank]] = UNMADE
            self.symbols[self.vocabulary.right[rank]] = UNMADE
        for byte in range(256):
            if self.merges.has_byte[byte]:
                self.symbols[self.merges.ids[byte]] = <uint32_t>byte + 1 | CERTAIN
        for symbol in range(FIRST_MERGED, self.n_known):
            self.symbols[self.merges.ids[symbol]] = <uint32_t>symbol + 1 | CERTAIN
        return 0

    cdef int _clear_slots(self, size_t n) except -1:
        # Filled to 45%, of the buckets 1 to 2% overflow.
        self._open_buckets(n * 20 // (9 * BUCKET) + 1)
        memset(self.merges.slots, 0xFF, self.merges.n_buckets * BUCKET * sizeof(uint64_t))
        return 0

    cdef int _open_buckets(self, size_t n) except -1:
        """Have n buckets of slots that are yet to be filled."""
        tk_free_table(self.merges.slots)
        self.merges.slots = <uint64_t*>tk_alloc_table(n * BUCKET * sizeof(uint64_t))
        if self.merges.slots == NULL:
            raise MemoryError
        self._clear_filter(n)
        return 0

    cdef void _clear_filter(self, size_t n_buckets) noexcept:
        """Begin to count and to mark the pairs of so many buckets."""
        self.merges.n_buckets = n_buckets
        memset(self.merges.pair_filter, 0, sizeof(uint64_t) << (FILTER_BITS - 6))
        self.n_merges = 0

    cdef bint _add(self, uint32_t left, uint32_t right, uint32_t rank) noexcept nogil:
        """Add a merge; whether its pair had none before. M2: of equal pairs the last counts.

        `rank` is as in the table, twice the place.
        """
        cdef uint64_t pair = pair_of(left, right)
        cdef uint64_t* slot = find_slot(&self.merges, pair)
        cdef bint is_new = slot[0] == FREE_SLOT
        self.n_merges += is_new
        slot[0] = pair << (SYMBOL_BITS + 1) | rank
        set_bit(self.merges.pair_filter, pair_hash(pair) >> (64 - FILTER_BITS))
        return is_new

    cdef int _add_merges(self) except -1:
        """Add those of the merges that may happen, or all if that cannot be told."""
        cdef size_t n = self.vocabulary.n_merges, n_kept, rank
        cdef bint unsure = False
        cdef uint32_t* kept = <uint32_t*>malloc((n + 1) * sizeof(uint32_t))
        if kept == NULL:
            raise MemoryError
        try:
            n_kept = self._choose(kept, &unsure)
            self.n_symbols = self.first_made + (n_kept or n)
            if n and n_kept == 0:
                self._clear(n)
                for rank in range(n):
                    kept[rank] = <uint32_t>rank
                self._add_listed(kept, n)
            elif unsure:
                self._add_listed(kept, n_kept)
        finally:
            free(kept)
        return 0

    cdef int _add_listed(self, const uint32_t* kept, size_t n) except -1:
        """Add merges of the vocabulary in this order, to an empty table but for `symbols`.

        A token that several of them make goes by the symbol of the first.
        """
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint32_t* symbols = self.symbols
        cdef uint32_t rank, token, left, right, made
        cdef uint32_t first = <uint32_t>self.first_made
        cdef uint32_t* same = <uint32_t*>malloc((first + n) * sizeof(uint32_t))
        self.merges.same = same
        if same == NULL:
            raise MemoryError
        self._clear_slots(n)
        for rank in range(<uint32_t>n):
            token = vocabulary.merged[kept[rank]]
            made = first + rank
            if not _is_symbol(symbols[token]):
                symbols[token] = made + 1
            elif symbols[token] & CERTAIN and symbols[token] - 1 ^ CERTAIN >= first:
                symbols[token] = made + 1 | CERTAIN
            self.merges.ids[made] = token
            same[made] = (symbols[token] & ~CERTAIN) - 1
        for rank in range(<uint32_t>n):
            left = symbols[vocabulary.left[kept[rank]]]
            right = symbols[vocabulary.right[kept[rank]]]
            made = first + rank
            # What no text has is not made either, though its merges are in the list.
            if _is_symbol(left) and _is_symbol(right) and length_of(vocabulary,
                                                                    self.merges.ids[made]):
                self._add((left & ~CERTAIN) - 1, (right & ~CERTAIN) - 1,
                          2 * (made - FIRST_MERGED) | (same[made] != made))
        return 0

    # ------------------------------------------------------------ what happens

    cdef size_t _choose(self, uint32_t* kept, bint* unsure) except? 0:
        """Add the merges that happen, for each token one; note those that may happen in `kept`.

        Llama-3 lists every way to cut each token in two, 280,000 merges for 128,000 tokens, but
        merging only ever makes a token in one way (`_meet`). Without the others the table is
        less than half as large, and a piece that the cache does not know takes 8 to 14% less
        time; telling them apart takes 6 ms.

        `unsure` receives whether the table lacks some of those in `kept`. The result is their
        number, or 0 if it cannot be told: a token that no merge could make is made by one that
        stands elsewhere, or a pair is there twice. The table is of no use then.
        """
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint32_t* merged = vocabulary.merged
        cdef size_t n = vocabulary.n_merges, n_tokens = 0, n_kept = 0, rank, begin = 0, end
        cdef int64_t n_unsure
        cdef uint32_t made = <uint32_t>self.first_made
        cdef uint32_t* lefts        # of each symbol: what its merge joins
        cdef uint32_t* rights
        for rank in range(n):
            n_tokens += rank == 0 or merged[rank] != merged[rank - 1]
        self._clear(n_tokens)
        lefts = <uint32_t*>malloc(2 * (self.first_made + n) * sizeof(uint32_t))
        if lefts == NULL:
            raise MemoryError
        rights = lefts + self.first_made + n
        while begin < n:
            end = begin + 1
            while end < n and merged[end] == merged[begin]:
                end += 1
            rank = self._find_certain(begin, end, made, lefts, rights)
            if rank < end:
                n_unsure = 0
                kept[n_kept] = <uint32_t>rank
                n_kept += 1
                made += 1
            else:
                n_unsure = self._keep_unsure(begin, end, &made, lefts, rights, kept + n_kept)
                n_kept += n_unsure
                unsure[0] = unsure[0] or n_unsure
            # More than one merge for a token, on average, is more than the table has room for.
            if n_unsure < 0 or self.n_merges != made - self.first_made or self.n_merges > n_tokens:
                n_kept = 0
                break
            begin = end
        free(lefts)
        return n_kept

    cdef size_t _find_certain(self, size_t begin, size_t end, uint32_t made, uint32_t* lefts,
                              uint32_t* rights) noexcept nogil:
        """The one of the merges [begin, end), which all make one token, that is known to happen.

        The token becomes the symbol `made`. The result is `end` if there is none, or the token
        was needed before.
        """
        cdef uint32_t token = self.vocabulary.merged[begin], left, right
        cdef size_t rank
        for rank in range(begin, end if self.symbols[token] == UNMADE else begin):
            left = self.symbols[self.vocabulary.left[rank]]
            right = self.symbols[self.vocabulary.right[rank]]
            if left & right & CERTAIN:
                left = (left & ~CERTAIN) - 1
                right = (right & ~CERTAIN) - 1
                if self._meet(left, right, lefts, rights):
                    lefts[made] = left
                    rights[made] = right
                    self.merges.ids[made] = token
                    self.symbols[token] = made + 1 | CERTAIN
                    self._add(left, right, 2 * (made - FIRST_MERGED))
                    return rank
        return end

    cdef int64_t _keep_unsure(self, size_t begin, size_t end, uint32_t* made,
                              const uint32_t* lefts, const uint32_t* rights,
                              uint32_t* kept) noexcept nogil:
        """Note those of the merges [begin, end) in `kept` that may happen; how many.

        Those of two certain symbols are added to the table, for `_meet` to see. The result is
        -1 if merges of the token stood elsewhere before, and what was made of them does not hold.
        """
        cdef uint32_t* token = self.symbols + self.vocabulary.merged[begin]
        cdef uint32_t* left
        cdef uint32_t* right
        cdef int64_t n_kept = 0
        cdef size_t rank
        if token[0] & CERTAIN and token[0] - 1 ^ CERTAIN >= self.first_made:
            return self._find_pair_again(begin, end, lefts, rights)
        if token[0] != UNMADE and token[0] != MISSED and token[0] != UNSURE:
            return -1
        for rank in range(begin, end):
            left = self.symbols + self.vocabulary.left[rank]
            right = self.symbols + self.vocabulary.right[rank]
            if left[0] == NEVER_MADE or right[0] == NEVER_MADE:
                continue
            if left[0] & right[0] & CERTAIN:
                if not self._meet((left[0] & ~CERTAIN) - 1, (right[0] & ~CERTAIN) - 1,
                                  lefts, rights):
                    continue
                self._add((left[0] & ~CERTAIN) - 1, (right[0] & ~CERTAIN) - 1,
                          2 * (made[0] - FIRST_MERGED))
                made[0] += 1
            if left[0] == UNMADE:
                left[0] = MISSED
            if right[0] == UNMADE:
                right[0] = MISSED
            kept[n_kept] = <uint32_t>rank
            n_kept += 1
        if n_kept:
            token[0] = UNSURE
        elif token[0] != UNSURE:    # which merges that stand elsewhere may have made it
            token[0] = NEVER_MADE
        return n_kept

    cdef int64_t _find_pair_again(self, size_t begin, size_t end, const uint32_t* lefts,
                                  const uint32_t* rights) noexcept nogil:
        """0 if none of the merges [begin, end) happens, as their token is certain; else -1.

        The token is made in one way; a second merge of that pair would be the one that counts.
        """
        cdef uint32_t made = (self.symbols[self.vocabulary.merged[begin]] & ~CERTAIN) - 1
        cdef uint32_t left, right
        cdef size_t rank
        for rank in range(begin, end):
            left = self.symbols[self.vocabulary.left[rank]]
            right = self.symbols[self.vocabulary.right[rank]]
            if (left & right & CERTAIN and (left & ~CERTAIN) - 1 == lefts[made]
                    and (right & ~CERTAIN) - 1 == rights[made]):
                return -1
        return 0

    cdef bint _meet(self, uint32_t left, uint32_t right, const uint32_t* lefts,
                    const uint32_t* rights) noexcept nogil:
        """Whether two symbols come to stand side by side while some piece is merged.

        If they do, nothing before has reached out of the two, so merging their text alone comes
        to the same two; and as a text comes to two symbols only once before it is one, only one
        merge of those that make a token happens.

        Of the merges that made the two the one of higher rank came last, as the rank of each
        symbol is above those of its parts. Just before, a part of it stood beside the other
        symbol. Had these a merge of lower rank, it would have come first. If not, the two meet
        if these do; and any two that merging begins with meet.
        """
        cdef uint32_t rank
        while left >= self.first_made or right >= self.first_made:
            if left > right:
                rank = 2 * (left - FIRST_MERGED)
                left = rights[left]
                if find_rank(&self.merges, left, right) < rank:
                    return False
            else:               # of equal merges the one on the left comes first
                rank = 2 * (right - FIRST_MERGED)
                right = lefts[right]
                if find_rank(&self.merges, left, right) <= rank:
                    return False
        return True

    # ------------------------------------------------------------------- atoms

    cdef int _find_atoms(self) except -1:
        """Note the characters of two or three bytes that are a token which merging makes.

        A piece may begin with such a character as one symbol, if no token joins bytes at its
        edge to a part of a neighbour (`halves`): until the character is whole, nothing then
        reaches across its edges, so its bytes merge among themselves; and no merge with the
        whole character comes before that, as it has a higher rank. (A token of which a merge of
        lower rank is part is not CERTAIN.)
        """
        cdef Vocabulary vocabulary = self.vocabulary
        cdef size_t entry, width
        cdef uint32_t code
        self.merges.atoms[0] = <uint32_t*>calloc(BMP_SIZE, sizeof(uint32_t))
        if self.merges.atoms[0] == NULL:
            raise MemoryError
        self.merges.n_atoms[0] = BMP_SIZE
        for entry in range(vocabulary.n_entries):
            width = self._character_width(entry)
            if 2 <= width <= 3 and self.makes(vocabulary.ids[entry]):
                code = code_point(vocabulary.arena + vocabulary.offsets[entry], width)
                self.merges.atoms[0][code] = (self.symbols[vocabulary.ids[entry]] & ~CERTAIN) - 1
        return 0


cdef uint32_t length_of(Vocabulary vocabulary, uint32_t token) noexcept nogil:
    """How many bytes a token stands for; 0 if no entry has the id, or one that is text."""
    cdef int32_t entry
    if token > vocabulary.max_id or vocabulary.entry_of_id == NULL:
        return 0
    entry = vocabulary.entry_of_id[token]
    if entry < 0 or vocabulary.kinds[entry] == TEXT:
        return 0
    return vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]


cdef bint _may_make(size_t left, size_t right, size_t made, const uint32_t* lengths,
                    size_t first_made) noexcept nogil:
    """Whether a merge makes a token as long as its two parts, or never happens.

    It does not if a part has no bytes and is none that merging begins with: by induction no merge
    that happens makes that part.
    """
    if (lengths[left] == 0 and left >= first_made
            or lengths[right] == 0 and right >= first_made):
        return True
    return (lengths[left] > 0 and lengths[right] > 0
            and lengths[left] + lengths[right] == lengths[made])


cdef inline bint _is_symbol(uint32_t symbol) noexcept nogil:
    """Whether an element of `symbols` has one."""
    return 0 < symbol & ~CERTAIN < MISSED
