# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Vocabulary and merges of a byte-level BPE model, read into C arrays.

A token of a byte-level model is written in the file with one character per byte. Here it is
turned back into those bytes once, at load, so that encoding and decoding touch bytes alone.
An entry with a character outside that alphabet of 256 stands for its own UTF-8 text (rule D3);
no merge of bytes can produce it.

Reading 128,000 entries and 280,000 merges (Llama-3) through Python dictionaries took 0.3 s, as
every merge needs three look-ups and two new strings; the table here needs no new objects.
"""

cimport cython
from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from tokcy.errors import ModelFileError

cdef extern from "Python.h":
    int PyUnicode_KIND(object o)
    void* PyUnicode_DATA(object o)
    Py_ssize_t PyUnicode_GET_LENGTH(object o)
    Py_UCS4 PyUnicode_READ(int kind, void* data, Py_ssize_t index)

cdef enum:
    ALPHABET_END = 324      # the byte-level characters are U+0021 … U+0143

cdef int[ALPHABET_END] BYTE_OF      # character → byte, -1 outside the alphabet


cdef void _fill_alphabet() noexcept:
    """GPT-2's byte alphabet: printable Latin-1 stands for itself, the rest for U+0100 on."""
    cdef int byte, spare = 256
    for byte in range(ALPHABET_END):
        BYTE_OF[byte] = -1
    for byte in range(256):
        if 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte <= 255:
            BYTE_OF[byte] = byte
        else:
            BYTE_OF[spare] = byte
            spare += 1


_fill_alphabet()


def byte_level_alphabet() -> list[str]:
    """The character that stands for each byte 0 … 255 in a byte-level model file."""
    characters = [""] * 256
    for code in range(ALPHABET_END):
        if BYTE_OF[code] >= 0:
            characters[BYTE_OF[code]] = chr(code)
    return characters


def token_text_to_bytes(str token):
    """The bytes that a token, as written in a byte-level model file, stands for (D3)."""
    cdef list codes = _byte_codes(token)
    return token.encode("utf-8") if -1 in codes else bytes(codes)


cdef list _byte_codes(str token):
    """The byte that each character stands for, -1 for one outside the alphabet."""
    return [BYTE_OF[ord(c)] if ord(c) < ALPHABET_END else -1 for c in token]


cdef inline Py_ssize_t _to_bytes(str text, Py_ssize_t begin, Py_ssize_t end,
                                 uint8_t* out) noexcept:
    """Write the bytes that text[begin:end] stands for; -1 if it leaves the alphabet."""
    cdef int kind = PyUnicode_KIND(text)
    cdef void* data = PyUnicode_DATA(text)
    cdef Py_ssize_t i
    cdef Py_UCS4 character
    cdef int byte
    for i in range(begin, end):
        character = PyUnicode_READ(kind, data, i)
        byte = BYTE_OF[character] if character < ALPHABET_END else -1
        if byte < 0:
            return -1
        out[i - begin] = <uint8_t>byte
    return end - begin


cdef inline uint64_t _hash(const uint8_t* key, size_t size, uint8_t tag) noexcept nogil:
    cdef uint64_t value = 0xCBF29CE484222325ULL ^ tag
    cdef size_t i
    for i in range(size):
        value = (value ^ key[i]) * 0x100000001B3ULL
    return value ^ (value >> 29)


@cython.final
cdef class Vocabulary:
    """Entries and merges of one byte-level BPE model; immutable once built.

    Args:
        vocab: token string → id, as in ``model.vocab``. Ids are distinct.
        merges: all ``"left right"`` or all ``[left, right]``, in order of rank.
        source: name of the file, for messages.

    Raises:
        ModelFileError: a merge has not two parts, or names a token that is not in ``vocab``.
    """

    def __cinit__(self, dict vocab, list merges, str source="<string>"):
        self._read_vocab(vocab)
        self._read_merges(merges, source)

    def __dealloc__(self):
        PyMem_RawFree(self.arena)
        PyMem_RawFree(self.offsets)
        PyMem_RawFree(self.ids)
        PyMem_RawFree(self.is_bytes)
        PyMem_RawFree(self.entry_of_id)
        PyMem_RawFree(self.left)
        PyMem_RawFree(self.right)
        PyMem_RawFree(self.merged)
        PyMem_RawFree(self.slots)

    def token_bytes(self, uint32_t token_id):
        """The bytes that an id stands for, or None if no entry has the id."""
        cdef int32_t entry = -1
        if token_id <= self.max_id and self.n_entries:
            entry = self.entry_of_id[token_id]
        if entry < 0:
            return None
        cdef uint32_t begin = self.offsets[entry]
        return (<char*>self.arena)[begin:self.offsets[entry + 1]]

    def has_all_bytes(self):
        """True if every one of the 256 bytes has an entry of its own."""
        cdef int byte
        for byte in range(256):
            if self.byte_id[byte] < 0:
                return False
        return True

    def made_by_merging(self, ids):
        """Those of `ids` that are a byte's or the result of a merge."""
        cdef set made = {self.byte_id[byte] for byte in range(256)}
        cdef size_t rank
        for rank in range(self.n_merges):
            made.add(self.merged[rank])
        return [token for token in ids if token in made]

    cdef int64_t find(self, const uint8_t* key, size_t size, uint8_t is_bytes) noexcept nogil:
        """Index of the entry with these bytes, or -1."""
        cdef uint64_t slot = _hash(key, size, is_bytes) & self.slot_mask
        cdef uint32_t entry, begin
        while self.slots[slot]:
            entry = self.slots[slot] - 1
            begin = self.offsets[entry]
            if (self.offsets[entry + 1] - begin == size and self.is_bytes[entry] == is_bytes
                    and memcmp(self.arena + begin, key, size) == 0):
                return entry
            slot = (slot + 1) & self.slot_mask
        return -1

    cdef int _read_vocab(self, dict vocab) except -1:
        cdef size_t n = len(vocab), used = 0, capacity, n_slots = 16, length
        cdef Py_ssize_t position = 0, written
        cdef PyObject* key = NULL
        cdef PyObject* value = NULL
        cdef str token
        cdef bytes encoded
        cdef size_t entry = 0
        cdef uint64_t slot
        capacity = 16 * n + 64
        while n_slots < 2 * n:
            n_slots *= 2
        self.slot_mask = n_slots - 1
        self.arena = <uint8_t*>PyMem_RawMalloc(capacity)
        self.offsets = <uint32_t*>PyMem_RawCalloc(n + 1, sizeof(uint32_t))
        self.ids = <uint32_t*>PyMem_RawCalloc(n + 1, sizeof(uint32_t))
        self.is_bytes = <uint8_t*>PyMem_RawCalloc(n + 1, 1)
        self.slots = <uint32_t*>PyMem_RawCalloc(n_slots, sizeof(uint32_t))
        if (self.arena == NULL or self.offsets == NULL or self.ids == NULL
                or self.is_bytes == NULL or self.slots == NULL):
            raise MemoryError
        while PyDict_Next(vocab, &position, &key, &value):
            token = <str>key
            length = 4 * <size_t>PyUnicode_GET_LENGTH(token)
            if used + length > capacity:
                capacity = 2 * capacity + length
                self.arena = <uint8_t*>_grown(self.arena, capacity)
            written = _to_bytes(token, 0, PyUnicode_GET_LENGTH(token), self.arena + used)
            self.is_bytes[entry] = written >= 0
            if written < 0:
                encoded = token.encode("utf-8")
                written = len(encoded)
                memcpy(self.arena + used, <const char*>encoded, written)
            self.ids[entry] = <uint32_t>(<object>value)
            slot = _hash(self.arena + used, written, self.is_bytes[entry]) & self.slot_mask
            while self.slots[slot]:
                slot = (slot + 1) & self.slot_mask
            self.slots[slot] = <uint32_t>(entry + 1)
            used += written
            entry += 1
            self.offsets[entry] = <uint32_t>used
        self.n_entries = n
        return self._index_ids()

    def _index_ids(self):
        cdef size_t entry, size
        cdef int byte
        cdef int64_t found
        cdef uint8_t key
        for entry in range(self.n_entries):
            if self.ids[entry] > self.max_id:
                self.max_id = self.ids[entry]
        size = <size_t>self.max_id + 1
        self.entry_of_id = <int32_t*>PyMem_RawMalloc(size * sizeof(int32_t))
        if self.entry_of_id == NULL:
            raise MemoryError
        for entry in range(size):
            self.entry_of_id[entry] = -1
        for entry in range(self.n_entries):
            self.entry_of_id[self.ids[entry]] = <int32_t>entry
        for byte in range(256):
            key = <uint8_t>byte
            found = self.find(&key, 1, 1)
            self.byte_id[byte] = -1 if found < 0 else self.ids[found]
        return 0

    cdef int _read_merges(self, list merges, str source) except -1:
        cdef size_t n = len(merges), rank = 0, index
        cdef Py_ssize_t length, middle, first, second
        cdef int64_t left, right, merged
        cdef object item
        cdef str text
        cdef size_t capacity = 1024
        cdef uint8_t* scratch = <uint8_t*>PyMem_RawMalloc(capacity)
        self.left = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
        self.right = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
        self.merged = <uint32_t*>PyMem_RawMalloc((n + 1) * sizeof(uint32_t))
        try:
            if scratch == NULL or not self.left or not self.right or not self.merged:
                raise MemoryError
            for index in range(n):
                item = merges[index]
                if type(item) is str:
                    text = <str>item
                    if text.startswith("#version"):     # M1: no rank
                        continue
                    middle = text.find(" ")
                    if middle < 0 or text.find(" ", middle + 1) >= 0:
                        raise _merge_error(index, item, "does not have exactly two parts", source)
                    first, second = middle, middle + 1
                else:
                    text = <str>item[0] + <str>item[1]
                    first = second = len(<str>item[0])
                length = PyUnicode_GET_LENGTH(text)
                if <size_t>length > capacity:
                    capacity = 2 * length
                    scratch = <uint8_t*>_grown(scratch, capacity)
                left = _to_bytes(text, 0, first, scratch)
                right = _to_bytes(text, second, length, scratch + first)
                if left >= 0 and right >= 0:
                    merged = self.find(scratch, first + right, 1)
                    right = self.find(scratch + first, right, 1)
                    left = self.find(scratch, first, 1)
                else:
                    merged = self._find_text(text[:first] + text[second:])
                    left = self._find_text(text[:first])
                    right = self._find_text(text[second:])
                if left < 0 or right < 0 or merged < 0:
                    raise _unknown_part(index, item, text[:first], text[second:], left, right,
                                        source)
                self.left[rank] = self.ids[left]
                self.right[rank] = self.ids[right]
                self.merged[rank] = self.ids[merged]
                rank += 1
        finally:
            PyMem_RawFree(scratch)
        self.n_merges = rank
        return 0

    cdef int64_t _find_text(self, str token) except -2:
        """Index of the entry that is written so, or -1."""
        cdef bytes key = token_text_to_bytes(token)
        cdef bint is_bytes = -1 not in _byte_codes(token)
        return self.find(<const uint8_t*><const char*>key, len(key), is_bytes)


cdef void* _grown(void* block, size_t size) except NULL:
    cdef void* moved = PyMem_RawRealloc(block, size)
    if moved == NULL:
        raise MemoryError
    return moved


cdef _merge_error(size_t index, object item, str reason, str source):
    shown = repr(item) if len(repr(item)) <= 80 else repr(item)[:77] + "..."
    return ModelFileError(f"{shown} {reason}", source=source, field=f"model.merges[{index}]")


cdef _unknown_part(size_t index, object item, str first, str second, int64_t left, int64_t right,
                   str source):
    part = first if left < 0 else second if right < 0 else first + second
    shown = repr(part) if len(part) <= 60 else repr(part[:57] + "...")
    return _merge_error(index, item, f"needs the token {shown}, which is not in model.vocab",
                        source)
