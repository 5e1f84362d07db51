# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ids → bytes: the byte-level decoder.

A token's bytes are looked up by id and copied; the text is the lossy UTF-8 decoding of all of
them together (rule D3), so a character split over tokens comes out whole.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from tokcy._vocab cimport Vocabulary

cdef struct Token:
    const uint8_t* bytes
    uint32_t size
    bint known
    bint special


@cython.final
cdef class ByteDecoder:
    """The decoder of one tokenizer; immutable, shared by threads.

    Args:
        vocabulary: the model's entries.
        added: id → the bytes of an added token, which stand before the model's of that id.
        special: ids that ``skip_special_tokens`` leaves out.
    """

    cdef Vocabulary vocabulary      # owns the bytes of its entries
    cdef dict added                 # owns the bytes of the added tokens
    cdef Token* tokens
    cdef size_t n_tokens

    def __cinit__(self, Vocabulary vocabulary, dict added, special):
        cdef size_t entry, token
        cdef bytes content
        self.vocabulary = vocabulary
        self.added = dict(added)
        self.n_tokens = <size_t>max(vocabulary.max_id, max(added, default=0)) + 1
        self.tokens = <Token*>PyMem_RawCalloc(self.n_tokens, sizeof(Token))
        if self.tokens == NULL:
            raise MemoryError
        for entry in range(vocabulary.n_entries):
            self._put(vocabulary.ids[entry], vocabulary.arena + vocabulary.offsets[entry],
                      vocabulary.offsets[entry + 1] - vocabulary.offsets[entry])
        for token, content in self.added.items():
            self._put(token, <const uint8_t*><const char*>content, len(content))
        for token in special:
            self.tokens[token].special = True

    def __dealloc__(self):
        PyMem_RawFree(self.tokens)

    cdef void _put(self, size_t token, const uint8_t* content, size_t size) noexcept:
        self.tokens[token].bytes = content
        self.tokens[token].size = <uint32_t>size
        self.tokens[token].known = True

    def decode_bytes(self, const uint32_t[::1] ids, bint skip_special):
        """The bytes of the ids, one after another; unknown ids give none (D1)."""
        cdef size_t size = self._size(ids, skip_special)
        cdef bytes out = PyBytes_FromStringAndSize(NULL, size)
        cdef uint8_t* to = <uint8_t*>PyBytes_AS_STRING(out)
        with nogil:
            self._write(ids, skip_special, to)
        return out

    def decode(self, const uint32_t[::1] ids, bint skip_special):
        """The text of the ids; bytes that are not UTF-8 become U+FFFD."""
        cdef size_t size = self._size(ids, skip_special)
        cdef uint8_t* block = <uint8_t*>PyMem_RawMalloc(size + 1)
        if block == NULL:
            raise MemoryError
        try:
            with nogil:
                self._write(ids, skip_special, block)
            return PyUnicode_DecodeUTF8(<char*>block, size, "replace")
        finally:
            PyMem_RawFree(block)

    cdef size_t _size(self, const uint32_t[::1] ids, bint skip_special) noexcept nogil:
        cdef size_t size = 0, i
        for i in range(<size_t>ids.shape[0]):
            if self._is_kept(ids[i], skip_special):
                size += self.tokens[ids[i]].size
        return size

    cdef void _write(self, const uint32_t[::1] ids, bint skip_special,
                     uint8_t* out) noexcept nogil:
        cdef size_t i
        cdef const Token* token
        for i in range(<size_t>ids.shape[0]):
            if self._is_kept(ids[i], skip_special):
                token = self.tokens + ids[i]
                memcpy(out, token.bytes, token.size)
                out += token.size

    cdef inline bint _is_kept(self, uint32_t token, bint skip_special) noexcept nogil:
        return (token < self.n_tokens and self.tokens[token].known
                and not (skip_special and self.tokens[token].special))
