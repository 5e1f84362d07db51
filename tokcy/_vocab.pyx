# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Vocabulary and merges of a BPE model, as C arrays.

A token of a byte-level model is written in the file with one character per byte. Here it is
turned back into those bytes once, at load, so that encoding and decoding touch bytes alone.
An entry with a character outside that alphabet of 256 stands for its own UTF-8 text (rule D3);
no merge of bytes can produce it.

A model of characters is read in the same way, as what it is stands elsewhere in its file, and
`Vocabulary.characters` then spells its tokens as they stand in a text. Many such models write "▁"
for a space. Where that is *folded*, the engine sees texts and tokens with the space itself.

Some models mark the place of a token in its piece, by a prefix on what does not begin it or by a
suffix on what ends it (rule M4). An entry is then of the kind that says so, without its marks, and
the same bytes in another place are another entry.

Every merge needs three look-ups: 840,000 for Llama-3. They are made in blocks, so that the
cache misses of a block overlap, and need no Python object.
"""

cimport cython
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove, memset

from tokcy._hashing cimport hash_token, is_equal
from tokcy._platform cimport tk_alloc_table, tk_free_table, tk_prefetch
from tokcy._spelling cimport (
    BYTE_NAME,
    BYTES,
    CONTINUES,
    ENDS,
    FORMS,
    Spelling,
    byte_level_text,
    read_byte_level,
    read_token,
    spell_byte_level,
    spell_token,
)
from tokcy._strings cimport (
    Strings,
    fill_entries,
    merge_error,
    read_merges,
    read_vocab,
    resized,
    strings_close,
    strings_free,
    strings_open,
    strings_text,
)

cdef enum:
    BLOCK = 32              # merges whose look-ups are under way together
    # Arrays are indexed by id, and the merge cache packs one into 28 bits: an id far beyond the
    # size of the vocabulary would reserve gigabytes.
    MAX_ID = 1 << 28
    MAX_ID_PER_ENTRY = 64
    ALWAYS_ALLOWED_ID = 1 << 20


# ------------------------------------------------------------------- vocabulary

@cython.final
cdef class Vocabulary:
    """Entries and merges of one BPE model; immutable once built.

    It is that of a byte-level model without marks, unless it comes from `characters` or `marked`.

    Args:
        vocab: token string → id below 2**32, as in ``model.vocab``.
        merges: all ``"left right"`` or all ``[left, right]``, in order of rank.
        source: name of the file, for messages.
        prefix: what the right part of a merge loses; its first bytes whatever they are (M3), of
            which it has as many, up to the end of a character.

    Attributes:
        n_entries, n_merges: how many there are.
        max_id: the largest id, 0 without entries.
        ids_are_dense: ids are below 2**28 and not far beyond the number of entries. Without that
            there is no index by id, and no engine can be built.
        ids_are_distinct: no two entries have the same id; known only of dense ids.
        byte_level: whether tokens are written with one character per byte.
        folded: whether "▁" in a token stands for a space.
        byte_fallback: whether entries such as ``<0x0A>`` stand for bytes.
        unknown_id: what a character becomes that is no entry; -1 if it is dropped, or none is
            lacking.
        fuses_unknown: whether several of these in a row become one.
        prefix, suffix: what entries begin with that do not begin a piece, and end with that end
            one; UTF-8, empty where nothing is marked so.

    Raises:
        ModelFileError: a merge has not two parts, or names a token that is not in ``vocab``.
    """

    def __cinit__(self, dict vocab not None, list merges not None, str source="<string>", *,
                  str prefix=""):
        cdef Strings entries, parts
        cdef uint32_t* ids = NULL
        cdef int64_t wrong
        self.unknown_id = -1
        self._write(True, False, False, "", "")
        self.lost = len(prefix.encode())
        if strings_open(&entries, len(vocab), 16 * <size_t>len(vocab)) < 0:
            raise MemoryError
        if strings_open(&parts, 2 * <size_t>len(merges), 16 * <size_t>len(merges)) < 0:
            strings_free(&entries)
            raise MemoryError
        try:
            ids = <uint32_t*>PyMem_RawMalloc((len(vocab) + 1) * sizeof(uint32_t))
            if ids == NULL:
                raise MemoryError
            read_vocab(vocab, ids, &entries)
            read_merges(merges, &parts, source)
            wrong = self.take(&entries, &ids, &parts)
            if wrong >= 0:
                raise self._unknown_part(wrong, merges[wrong], strings_text(&parts, 2 * wrong),
                                         strings_text(&parts, 2 * wrong + 1), source)
        finally:
            PyMem_RawFree(ids)
            strings_free(&entries)
            strings_free(&parts)

    def __dealloc__(self):
        self._free()

    def __eq__(self, other):
        """Whether both were read from the same entries and merges, in the same order."""
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._alphabet() == (<Vocabulary>other)._alphabet() and (
            self.tables() == (<Vocabulary>other).tables())

    __hash__ = None

    def __repr__(self):
        return f"<Vocabulary of {self.n_entries} entries and {self.n_merges} merges>"

    cdef tuple _alphabet(self):
        return (self.byte_level, self.folded, self.byte_fallback, self.unknown_id,
                self.fuses_unknown, self.prefix, self.suffix)

    @property
    def byte_level(self):
        return self.spelling.byte_level

    @property
    def folded(self):
        return self.spelling.folded

    @property
    def byte_fallback(self):
        return self.spelling.byte_fallback

    cdef int _write(self, bint byte_level, bint folded, bint byte_fallback, str prefix,
                    str suffix) except -1:
        """Say how tokens are written."""
        self.prefix = prefix.encode()
        self.suffix = suffix.encode()
        self.marks = (CONTINUES if prefix else 0) | (ENDS if suffix else 0)
        self.spelling = Spelling(
            byte_level, folded, byte_fallback,
            <const uint8_t*><const char*>self.prefix, len(self.prefix),
            <const uint8_t*><const char*>self.suffix, len(self.suffix))
        return 0

    cdef void _free(self) noexcept:
        PyMem_RawFree(self.arena)
        PyMem_RawFree(self.offsets)
        PyMem_RawFree(self.ids)
        PyMem_RawFree(self.kinds)
        PyMem_RawFree(self.entry_of_id)
        PyMem_RawFree(self.left)
        PyMem_RawFree(self.right)
        PyMem_RawFree(self.merged)
        tk_free_table(self.slots)

    @staticmethod
    def from_tables(tables, *, bint byte_level=True, bint folded=False, bint byte_fallback=False,
                    str prefix="", str suffix=""):
        """A vocabulary without merges, of the entries' arrays as `tables` gives them.

        Raises:
            ValueError: they are not those of a vocabulary with dense and distinct ids; says which
                array is at fault.
        """
        cdef Vocabulary made = Vocabulary({}, [])
        made._write(byte_level, folded, byte_fallback, prefix, suffix)
        cdef Strings entries, parts
        cdef uint32_t* ids = NULL
        if strings_open(&parts, 0, 0) < 0:
            raise MemoryError
        memset(&entries, 0, sizeof(Strings))
        try:
            fill_entries(tables, byte_level, made.marks, &entries, &ids)
            if made.take(&entries, &ids, &parts) == REPEATED:
                raise ValueError("arena: an entry stands twice")
        finally:
            PyMem_RawFree(ids)
            strings_free(&entries)
            strings_free(&parts)
        if not (made.ids_are_dense and made.ids_are_distinct):
            raise ValueError("ids: not dense and distinct")
        return made

    @staticmethod
    def from_ranks(tables):
        """A vocabulary of tiktoken's kind, of the entries' arrays in order of rank.

        There a pair is merged that comes first by the rank of what it makes. So the merges are
        all ways to cut an entry in two others, in the order of the entries. Among those of one
        entry the order does not matter, for they never meet: where two symbols stand side by
        side, nothing has reached out of the two, so merging their text alone comes to the same
        two; and a text comes to two symbols only once before it is one.

        Raises:
            ValueError: as `from_tables`.
        """
        cdef Vocabulary made = Vocabulary.from_tables(tables)
        made._link_all()
        return made

    def characters(self, *, bint folded, bint byte_fallback, str prefix="", str suffix="",
                   unk_token=None, bint fuse_unk=False):
        """The same entries and merges as those of a model of characters.

        Args:
            folded: "▁" in a token stands for a space.
            byte_fallback: entries such as ``<0x0A>`` stand for a byte of a character that is no
                entry; no merge may name them then, see `merges_name`. Not beside marks.
            prefix, suffix: as in `marked`.
            unk_token: the entry that other such characters become; None, or what is no entry:
                they are dropped. No merge may name it.
            fuse_unk: several in a row become one.
        """
        cdef Vocabulary made = Vocabulary({}, [])
        made._write(False, folded, byte_fallback, prefix, suffix)
        return made._respell(self, unk_token, fuse_unk)

    def marked(self, *, str prefix="", str suffix="", unk_token=None, bint fuse_unk=False):
        """The same entries and merges, where marks say in which place of a piece an entry stands.

        Args:
            prefix: of entries that do not begin a piece; empty: those are not marked.
            suffix: of entries that end one, likewise.
            unk_token, fuse_unk: as in `characters`, of a byte that lacks an entry in some place.
        """
        cdef Vocabulary made = Vocabulary({}, [])
        made._write(True, False, False, prefix, suffix)
        return made._respell(self, unk_token, fuse_unk)

    cdef Vocabulary _respell(self, Vocabulary byte_level, unk_token, bint fuse_unk):
        """Become the model of another's entries and merges, whose texts are read anew.

        Raises:
            ValueError: the other is none as a model file is read at first.
        """
        cdef Strings entries, parts
        cdef size_t n = byte_level.n_entries, n_merges = byte_level.n_merges, entry, size
        cdef size_t merges_size = (n_merges + 1) * sizeof(uint32_t)
        cdef uint32_t* ids = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
        cdef uint8_t* text
        cdef uint8_t kind
        memset(&entries, 0, sizeof(Strings))
        memset(&parts, 0, sizeof(Strings))
        try:
            if byte_level.marks or not byte_level.spelling.byte_level:
                raise ValueError("the vocabulary has been spelled already")
            if (ids == NULL or strings_open(&parts, 0, 0) < 0
                    or strings_open(&entries, n, 2 * <size_t>byte_level.offsets[n]) < 0):
                raise MemoryError
            memcpy(ids, byte_level.ids, n * sizeof(uint32_t))
            for entry in range(n):
                text = entries.arena + entries.offsets[entry]
                size = byte_level.spell(entry, text)
                kind = read_token(&self.spelling, text, &size)
                strings_close(&entries, size, kind)
            self.take(&entries, &ids, &parts)
            self.left = <uint32_t*>resized(self.left, merges_size)
            self.right = <uint32_t*>resized(self.right, merges_size)
            self.merged = <uint32_t*>resized(self.merged, merges_size)
            self.n_merges = n_merges
            memcpy(self.left, byte_level.left, n_merges * sizeof(uint32_t))
            memcpy(self.right, byte_level.right, n_merges * sizeof(uint32_t))
            memcpy(self.merged, byte_level.merged, n_merges * sizeof(uint32_t))
        finally:
            PyMem_RawFree(ids)
            strings_free(&entries)
            strings_free(&parts)
        self.fuses_unknown = fuse_unk
        if unk_token is not None and not self.is_complete():
            unknown = byte_level.token_to_id(unk_token)
            self.unknown_id = -1 if unknown is None else unknown
        return self

    # ------------------------------------------------------------------ asking

    def token_bytes(self, uint32_t token_id):
        """The bytes that an id stands for, and its marks; None if no entry has the id."""
        cdef int32_t entry
        cdef uint8_t kind
        if not self.has_id(token_id):
            return None
        entry = self.entry_of_id[token_id]
        kind = self.kinds[entry]
        token = (<char*>self.arena)[self.offsets[entry]:self.offsets[entry + 1]]
        if kind & BYTES and kind >> 1 & CONTINUES:
            token = self.prefix + token
        return token + self.suffix if kind & BYTES and kind >> 1 & ENDS else token

    def has_id(self, token_id):
        """Whether an entry has the id."""
        return (self.entry_of_id != NULL and 0 <= token_id <= self.max_id
                and self.entry_of_id[<size_t>token_id] >= 0)

    def id_to_token(self, token_id):
        """The entry with the id as the model file writes it, or None."""
        return self._text(self.entry_of_id[<size_t>token_id]) if self.has_id(token_id) else None

    cdef size_t spell(self, size_t entry, uint8_t* out) noexcept:
        """Write an entry as the model file does, in UTF-8; see `spell_token`."""
        return spell_token(&self.spelling, self.arena + self.offsets[entry],
                           self.offsets[entry + 1] - self.offsets[entry], self.kinds[entry], out)

    def token_to_id(self, token):
        """The id of an entry as the model file writes it, or None."""
        cdef int64_t entry = self._entry_of(token)
        return None if entry < 0 else self.ids[entry]

    def merges_name(self, token_ids):
        """Whether a merge has one of these ids as a part, or makes it."""
        cdef size_t rank, token
        cdef bytearray named = bytearray(<size_t>self.max_id + 1)
        cdef uint8_t* flags = named
        for token in token_ids:
            if token <= self.max_id:
                flags[token] = 1
        for rank in range(self.n_merges):
            if flags[self.left[rank]] | flags[self.right[rank]] | flags[self.merged[rank]]:
                return True
        return False

    def marks_keep_places(self):
        """Whether each merge joins tokens that may stand so, to one that is marked accordingly.

        Else text that looks like a mark could become a token of another place.
        """
        cdef size_t rank
        cdef int32_t left, right
        cdef uint8_t before, behind, both
        for rank in range(self.n_merges):
            left = self.entry_of_id[self.left[rank]]
            right = self.entry_of_id[self.right[rank]]
            before = self.kinds[left] >> 1
            behind = self.kinds[right] >> 1
            both = self.kinds[self.entry_of_id[self.merged[rank]]]
            if (not self.kinds[left] & self.kinds[right] & both & BYTES
                    or self.offsets[left] == self.offsets[left + 1]
                    or self.offsets[right] == self.offsets[right + 1]
                    or before & ENDS or ~behind & self.marks & CONTINUES
                    or both >> 1 != (before & CONTINUES | behind & ENDS)):
                return False
        return True

    def marks_are_clear(self):
        """Whether each byte or character, marked for any place, is read as that.

        The prefix ends the first character and begins the suffix where it is not: of `#` and
        `#>` the character `#` at the end of a piece is written `##>`, as are `#>` elsewhere.
        """
        if self.marks != FORMS - 1:
            return True
        prefix = self.prefix.decode()
        spelled = prefix[0] + self.suffix.decode()
        return (len(spelled) <= len(prefix) or not spelled.startswith(prefix)
                or self.token_to_id(spelled) is None)

    def byte_names(self):
        """The ids of the entries that stand for a byte, such as ``<0x0A>``."""
        return [self.ids[entry] for entry in range(self.n_entries)
                if self.kinds[entry] == BYTE_NAME]

    def joined_ascii(self):
        """Which ASCII characters some merge brings together, one before the other.

        Returns:
            bytes of [128, 128], 1 or 0. No token that merging makes holds any others of them
            side by side.
        """
        cdef bytearray joined = bytearray(128 * 128)
        cdef uint8_t* flags = joined
        cdef size_t n = <size_t>self.max_id + 1, entry, rank
        cdef uint8_t left, right
        # By id, in tables that stay in the cache; 0xFF for what is not ASCII, or empty.
        cdef bytearray edges = bytearray(b"\xFF") * (2 * n)
        cdef uint8_t* first = edges
        cdef uint8_t* last = first + n
        for entry in range(self.n_entries):
            if self.offsets[entry] < self.offsets[entry + 1]:
                first[self.ids[entry]] = self.arena[self.offsets[entry]]
                last[self.ids[entry]] = self.arena[self.offsets[entry + 1] - 1]
        for rank in range(self.n_merges):
            left = last[self.left[rank]]
            right = first[self.right[rank]]
            if (left | right) < 0x80:
                flags[left << 7 | right] = 1
        return bytes(joined)

    def as_dict(self):
        """token → id in the order of the file: a new dict."""
        cdef size_t entry
        found = {}
        for entry in range(self.n_entries):
            found[self._text(entry)] = self.ids[entry]
        return found

    def tables(self):
        """What was read, by name: arrays as bytes, in the byte order of this machine.

        Of entries ``arena``, ``offsets``, ``kinds`` and ``ids``, of merges ``left``, ``right``
        and ``merged``; uint32 but for ``arena`` and ``kinds``.
        """
        cdef size_t n = self.n_entries, m = self.n_merges
        return {
            "arena": (<char*>self.arena)[:self.offsets[n]],
            "offsets": (<char*>self.offsets)[:4 * (n + 1)],
            "kinds": (<char*>self.kinds)[:n],
            "ids": (<char*>self.ids)[:4 * n],
            "left": (<char*>self.left)[:4 * m],
            "right": (<char*>self.right)[:4 * m],
            "merged": (<char*>self.merged)[:4 * m],
        }

    def has_all_bytes(self):
        """True if every one of the 256 bytes has an entry of its own, for each place."""
        cdef int byte
        cdef uint8_t form, key
        for byte in range(256):
            key = <uint8_t>byte
            for form in range(1, FORMS):
                if not form & ~self.marks and self.find(&key, 1, form << 1 | BYTES) < 0:
                    return False
            if self.byte_id[byte] < 0:
                return False
        return True

    def is_complete(self):
        """True if every byte of a valid text has an id, so that no character is unknown."""
        cdef int byte
        if self.marks:
            return self.spelling.byte_level and self.has_all_bytes()
        for byte in range(0xF5):
            if self.byte_id[byte] < 0 and byte != 0xC0 and byte != 0xC1:
                return False
        return True

    def lacks_characters(self):
        """Whether something of a text may be no entry, in a model of characters or of marks.

        What becomes of it depends on what stands beside it. (A byte that a byte-level model lacks
        is just dropped.)
        """
        return (self.marks or not self.spelling.byte_level) and not self.is_complete()

    cdef bint is_piece(self, int byte) noexcept nogil:
        """Whether the byte's id is that of the piece which is this byte."""
        return (self.byte_id[byte] >= 0 and self.entry_of_id != NULL
                and self.kinds[self.entry_of_id[self.byte_id[byte]]] != BYTE_NAME)

    cdef int64_t find(self, const uint8_t* key, size_t size, uint8_t kind) noexcept nogil:
        """Index of the entry of that kind with these bytes, or -1."""
        return self._find_hashed(key, size, kind, hash_token(key, size, kind))

    cdef int64_t _find_hashed(self, const uint8_t* key, size_t size, uint8_t kind,
                              uint64_t hash) noexcept nogil:
        cdef uint64_t at = hash >> 32 & self.slot_mask
        while self.slots[at].number:
            if (self.slots[at].tag == <uint32_t>hash
                    and self._is_entry(self.slots[at].number - 1, key, size, kind)):
                return self.slots[at].number - 1
            at = (at + 1) & self.slot_mask
        return -1

    cdef inline bint _is_entry(self, size_t entry, const uint8_t* key, size_t size,
                               uint8_t kind) noexcept nogil:
        cdef uint32_t begin = self.offsets[entry]
        return (self.offsets[entry + 1] - begin == size and self.kinds[entry] == kind
                and is_equal(self.arena + begin, key, size))

    cdef int64_t _entry_of(self, object token) except -2:
        """Index of the entry that is written so, or -1."""
        cdef bytearray key
        cdef uint8_t* begin
        cdef size_t size
        cdef uint8_t kind
        if not isinstance(token, str):
            return -1
        text = str.__str__(token)   # of a subclass, too, the string itself
        try:
            key = bytearray(text.encode("utf-8"))
        except UnicodeEncodeError:
            return -1
        begin = key
        size = len(key)
        kind = read_token(&self.spelling, begin, &size)
        return self.find(begin, size, kind)

    cdef str _text(self, size_t entry):
        cdef size_t size = self.offsets[entry + 1] - self.offsets[entry]
        cdef uint8_t* text
        if self.spelling.byte_level and self.kinds[entry] <= BYTES:
            return byte_level_text(self.arena + self.offsets[entry], size, self.kinds[entry])
        text = <uint8_t*>PyMem_RawMalloc(
            6 * size + self.spelling.prefix_size + self.spelling.suffix_size + 1)
        if text == NULL:
            raise MemoryError
        try:
            return PyUnicode_DecodeUTF8(<const char*>text, self.spell(entry, text), NULL)
        finally:
            PyMem_RawFree(text)

    # ---------------------------------------------------------------- building

    cdef int64_t take(self, Strings* entries, uint32_t** ids, Strings* parts) except -4:
        """Become the model of these entries and merges; entries and ids are taken over.

        `parts` holds the left and the right part of each merge. Returns SOUND; REPEATED; or the
        index of the first merge that names a token which is no entry. What is not sound must not
        be used.
        """
        self._free()
        self.n_entries = entries.n
        self.ids = ids[0]
        ids[0] = NULL
        self.arena = <uint8_t*>PyMem_RawRealloc(entries.arena, entries.offsets[entries.n] + 1)
        if self.arena == NULL:
            self.arena = entries.arena
        self.offsets = entries.offsets
        self.kinds = entries.kinds
        self.entry_of_id = NULL
        self.left = self.right = self.merged = NULL
        self.slots = NULL
        memset(entries, 0, sizeof(Strings))
        if self._index_entries():
            return REPEATED
        self._index_ids()
        return self._link(parts)

    cdef int _index_entries(self) except -1:
        """Fill the hash table; whether an entry stands twice."""
        cdef size_t n = self.n_entries, n_slots = 16, begin, i
        cdef uint64_t[BLOCK] hashes
        cdef uint64_t at
        cdef bint repeated = False
        while n_slots < 2 * n:
            n_slots *= 2
        self.slot_mask = n_slots - 1
        self.slots = <EntrySlot*>tk_alloc_table(n_slots * sizeof(EntrySlot))
        if self.slots == NULL:
            raise MemoryError
        for begin in range(0, n, BLOCK):
            for i in range(begin, min(begin + BLOCK, n)):
                hashes[i - begin] = hash_token(self.arena + self.offsets[i],
                                               self.offsets[i + 1] - self.offsets[i],
                                               self.kinds[i])
                tk_prefetch(self.slots + (hashes[i - begin] >> 32 & self.slot_mask))
            for i in range(begin, min(begin + BLOCK, n)):
                repeated |= self._find_hashed(
                    self.arena + self.offsets[i], self.offsets[i + 1] - self.offsets[i],
                    self.kinds[i], hashes[i - begin]) >= 0
                at = hashes[i - begin] >> 32 & self.slot_mask
                while self.slots[at].number:
                    at = (at + 1) & self.slot_mask
                self.slots[at] = EntrySlot(<uint32_t>hashes[i - begin], <uint32_t>(i + 1))
        return repeated

    cdef int _index_ids(self) except -1:
        cdef size_t entry, size
        cdef int byte
        cdef int64_t found
        cdef uint8_t key
        self.max_id = 0
        for entry in range(self.n_entries):
            if self.ids[entry] > self.max_id:
                self.max_id = self.ids[entry]
        size = MAX_ID_PER_ENTRY * self.n_entries
        self.ids_are_dense = self.max_id < MAX_ID and (self.max_id < ALWAYS_ALLOWED_ID
                                                       or self.max_id < size)
        self.ids_are_distinct = True
        if self.ids_are_dense:
            size = (<size_t>self.max_id + 1) * sizeof(int32_t)
            self.entry_of_id = <int32_t*>PyMem_RawMalloc(size)
            if self.entry_of_id == NULL:
                raise MemoryError
            memset(self.entry_of_id, 0xFF, size)
            for entry in range(self.n_entries):
                if self.entry_of_id[self.ids[entry]] >= 0:
                    self.ids_are_distinct = False
                self.entry_of_id[self.ids[entry]] = <int32_t>entry
        for byte in range(256):
            key = <uint8_t>byte
            found = -1
            if self.spelling.byte_level or byte < 0x80:
                found = self.find(&key, 1, BYTES)
            if found < 0:
                found = self.find(&key, 1, BYTE_NAME)
            self.byte_id[byte] = -1 if found < 0 else self.ids[found]
        return 0

    cdef int64_t _link(self, const Strings* parts) except -4:
        """Look the parts of all merges up; SOUND, or the first of which one is no entry."""
        cdef size_t n = parts.n // 2, rank, begin, end
        cdef uint64_t[2 * BLOCK] hashes
        cdef uint64_t* hash
        cdef const uint32_t* at
        cdef int64_t near = 0
        self.n_merges = n
        self.left = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
        self.right = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
        self.merged = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
        if self.left == NULL or self.right == NULL or self.merged == NULL:
            raise MemoryError
        for begin in range(0, n, BLOCK):
            end = min(begin + BLOCK, n)
            for rank in range(begin, end):
                at = parts.offsets + 2 * rank
                hash = hashes + 2 * (rank - begin)
                hash[0] = hash_token(parts.arena + at[0], at[1] - at[0], parts.kinds[2 * rank])
                hash[1] = hash_token(parts.arena + at[1], at[2] - at[1], parts.kinds[2 * rank + 1])
                tk_prefetch(self.slots + (hash[0] >> 32 & self.slot_mask))
                tk_prefetch(self.slots + (hash[1] >> 32 & self.slot_mask))
            for rank in range(begin, end):
                near = self._link_one(parts, rank, hashes + 2 * (rank - begin), near)
                if near < 0:
                    return rank
        return SOUND

    cdef int _link_all(self) except -1:
        """Make merges of all ways to cut an entry in two others, in the order of the entries."""
        cdef const uint8_t* token
        cdef size_t entry, size, cut
        cdef int64_t left, right
        # At each border between bytes there may be one; only the pages that are written exist.
        cdef size_t room = (self.offsets[self.n_entries] + 1) * sizeof(uint32_t)
        self.left = <uint32_t*>resized(self.left, room)
        self.right = <uint32_t*>resized(self.right, room)
        self.merged = <uint32_t*>resized(self.merged, room)
        for entry in range(self.n_entries):
            token = self.arena + self.offsets[entry]
            size = self.offsets[entry + 1] - self.offsets[entry]
            for cut in range(1, size):
                left = self.find(token, cut, 1)
                right = self.find(token + cut, size - cut, 1) if left >= 0 else -1
                if right >= 0:
                    self.left[self.n_merges] = self.ids[left]
                    self.right[self.n_merges] = self.ids[right]
                    self.merged[self.n_merges] = self.ids[entry]
                    self.n_merges += 1
        room = (self.n_merges + 1) * sizeof(uint32_t)
        self.left = <uint32_t*>resized(self.left, room)
        self.right = <uint32_t*>resized(self.right, room)
        self.merged = <uint32_t*>resized(self.merged, room)
        return 0

    cdef int64_t _link_one(self, const Strings* parts, size_t rank, const uint64_t* hashes,
                           int64_t near) noexcept nogil:
        """Look up the parts of a merge, which have these hashes, and what it makes.

        Returns that entry, or -1 if one of the three is no entry. `near` is what the merge before
        makes: in all the models measured, this one makes the same or the next.
        """
        cdef const uint32_t* at = parts.offsets + 2 * rank
        cdef const uint8_t* text = parts.arena + at[0]
        cdef size_t first = at[1] - at[0], second = at[2] - at[1]
        cdef int64_t left, right, merged, n = self.n_entries
        left = self._find_hashed(text, first, parts.kinds[2 * rank], hashes[0])
        right = self._find_hashed(text + first, second, parts.kinds[2 * rank + 1], hashes[1])
        if left < 0 or right < 0:
            return -1
        if self.lost or not parts.kinds[2 * rank] or not parts.kinds[2 * rank + 1]:
            merged = self._find_joined(parts, rank)
        elif self._is_entry(near, text, first + second, 1):
            merged = near
        elif near + 1 < n and self._is_entry(near + 1, text, first + second, 1):
            merged = near + 1
        else:
            merged = self.find(text, first + second, 1)
        if merged < 0:
            return -1
        self.left[rank] = self.ids[left]
        self.right[rank] = self.ids[right]
        self.merged[rank] = self.ids[merged]
        return merged

    cdef int64_t _find_joined(self, const Strings* parts, size_t rank) noexcept nogil:
        """The entry that is both parts of a merge, as the file writes them; or -1."""
        cdef const uint32_t* at = parts.offsets + 2 * rank
        cdef uint8_t* text = <uint8_t*>malloc(2 * <size_t>(at[2] - at[0]) + 1)
        cdef uint8_t* right
        cdef size_t size, behind
        cdef uint8_t kind
        cdef int64_t found = -1
        if text == NULL:
            return -1
        size = spell_byte_level(parts.arena + at[0], at[1] - at[0], parts.kinds[2 * rank], text)
        right = text + size
        behind = spell_byte_level(parts.arena + at[1], at[2] - at[1], parts.kinds[2 * rank + 1],
                                  right)
        if behind >= self.lost:
            memmove(right, right + self.lost, behind - self.lost)
            size += behind - self.lost
            kind = read_byte_level(text, &size)
            found = self.find(text, size, kind)
        free(text)
        return found

    cdef _unknown_part(self, size_t index, object item, str first, str second, str source):
        part = first
        if self.token_to_id(first) is not None:
            part = second
            if self.token_to_id(second) is not None:
                part = first + second.encode()[self.lost:].decode(errors="replace")
        shown = repr(part) if len(part) <= 60 else repr(part[:57] + "...")
        return merge_error(index, item, f"needs the token {shown}, which is not in model.vocab",
                           source)
