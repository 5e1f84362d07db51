# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ids → bytes → text: the byte-level decoder.

A token's bytes are looked up by id and copied; the text is the lossy UTF-8 decoding of all of
them together (rule D3), so a character split over tokens comes out whole.

Nearly all tokens are short. These lie in the table itself, 16 bytes an id, and are copied all 16
bytes at once, which the next one overwrites from where the token ends.
"""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset

from tokcy._transcode cimport (
    TK_TRANSCODE_SLACK,
    tk_find_transcode,
    tk_transcode_ops,
    transcode_by,
)
from tokcy._vocab cimport Vocabulary

from tokcy._pretok import SIMD as _simd

cnp.import_array()

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 greatest)
    void* PyUnicode_DATA(object text)
    int PyUnicode_KIND(object text)

cdef enum:
    NEAR_BYTES = 15         # of a token that lies in the table
    FAR = 255               # in place of a size: the token lies elsewhere
    BLOCK = 1024            # ids between two looks whether there is room
    SHORT_LIST = 1024       # ids; releasing the GIL would cost more than it gives
    SHORT_TEXT = 64         # bytes; Python's decoder has less to prepare
    LONG_TEXT = 8192        # bytes; below, releasing the GIL would cost more than it gives

cdef struct Token:
    uint8_t bytes[NEAR_BYTES]       # or, of a far token, its number in 4 bytes
    uint8_t size                    # or FAR

cdef struct FarToken:
    const uint8_t* bytes
    size_t size
    bint special

cdef struct Bytes:          # a growing buffer, with slack behind it
    uint8_t* data
    size_t size
    size_t capacity

cdef const tk_transcode_ops* best = tk_find_transcode(_simd.encode())


@cython.final
cdef class ByteDecoder:
    """The decoder of one tokenizer; immutable, shared by threads.

    Args:
        vocabulary: the model's entries.
        added: id → the bytes of an added token, which stand before the model's of that id.
        special: ids of added tokens that ``skip_special_tokens`` leaves out.
    """

    cdef Vocabulary vocabulary      # owns the bytes of its entries
    cdef dict added                 # owns the bytes of the added tokens
    cdef Token* tokens              # [n_tokens], by id
    cdef size_t n_tokens
    cdef FarToken* far
    cdef size_t n_far

    def __cinit__(self, Vocabulary vocabulary, dict added, special):
        cdef size_t entry, token
        cdef bytes content
        self.vocabulary = vocabulary
        self.added = dict(added)
        special = set(special)
        self.n_tokens = <size_t>max(vocabulary.max_id, max(added, default=0)) + 1
        self.tokens = <Token*>calloc(self.n_tokens, sizeof(Token))
        if self.tokens == NULL:
            raise MemoryError
        for entry in range(vocabulary.n_entries):
            self._put(vocabulary.ids[entry], vocabulary.arena + vocabulary.offsets[entry],
                      vocabulary.offsets[entry + 1] - vocabulary.offsets[entry], False)
        for token, content in self.added.items():
            self._put(token, <const uint8_t*><const char*>content, len(content),
                      token in special)

    def __dealloc__(self):
        free(self.tokens)
        free(self.far)

    cdef int _put(self, size_t token, const uint8_t* content, size_t size,
                  bint special) except -1:
        cdef Token* near = self.tokens + token
        cdef uint32_t number = <uint32_t>self.n_far
        cdef void* moved
        memset(near, 0, sizeof(Token))
        if size <= NEAR_BYTES and not special:
            memcpy(near.bytes, content, size)
            near.size = <uint8_t>size
            return 0
        if number & (number - 1) == 0:      # the room is a power of two
            moved = realloc(self.far, (2 * self.n_far + 1) * sizeof(FarToken))
            if moved == NULL:
                raise MemoryError
            self.far = <FarToken*>moved
        self.far[number] = FarToken(content, size, special)
        self.n_far += 1
        memcpy(near.bytes, &number, sizeof(number))
        near.size = FAR
        return 0

    def decode_bytes(self, cnp.ndarray ids, bint skip_special):
        """The bytes of the ids (uint32[n]), one after another; unknown ids give none (D1)."""
        cdef Bytes text
        memset(&text, 0, sizeof(Bytes))
        try:
            self._join(ids, skip_special, &text)
            return PyBytes_FromStringAndSize(<char*>text.data, text.size)
        finally:
            free(text.data)

    def decode(self, cnp.ndarray ids, bint skip_special):
        """The text of the ids (uint32[n]); bytes that are not UTF-8 become U+FFFD."""
        cdef Bytes text
        memset(&text, 0, sizeof(Bytes))
        try:
            self._join(ids, skip_special, &text)
            return _text_of(best, &text)
        finally:
            free(text.data)

    cdef int _join(self, cnp.ndarray ids, bint skip_special, Bytes* text) except -1:
        cdef size_t n
        cdef const uint32_t* data
        cdef int status
        if (cnp.PyArray_NDIM(ids) != 1 or cnp.PyArray_TYPE(ids) != cnp.NPY_UINT32
                or not cnp.PyArray_ISCARRAY_RO(ids)):
            raise ValueError("ids must be a contiguous array uint32[n]")
        n = cnp.PyArray_DIM(ids, 0)
        data = <const uint32_t*>cnp.PyArray_DATA(ids)
        if n < SHORT_LIST:
            status = self._append(data, n, skip_special, text)
        else:
            with nogil:
                status = self._append(data, n, skip_special, text)
        if status < 0:
            raise MemoryError
        return 0

    cdef int _append(self, const uint32_t* ids, size_t n, bint skip_special,
                     Bytes* text) noexcept nogil:
        """Append the bytes of n tokens; 0, or -1 without memory."""
        cdef size_t i = 0, stop
        cdef const Token* token = NULL
        cdef const FarToken* far
        cdef uint32_t number = 0
        cdef uint8_t* to
        if n > BLOCK and _reserve(text, 4 * n) < 0:
            return -1
        while True:
            stop = min(i + BLOCK, n)
            if _reserve(text, (stop - i) * NEAR_BYTES) < 0:
                return -1
            to = text.data + text.size
            while i < stop:
                if ids[i] < self.n_tokens:
                    token = self.tokens + ids[i]
                    memcpy(to, token, sizeof(Token))
                    if token.size == FAR:
                        break
                    to += token.size
                i += 1
            text.size = to - text.data
            if i < stop:
                memcpy(&number, token.bytes, sizeof(number))
                far = self.far + number
                if not (skip_special and far.special):
                    if _reserve(text, far.size) < 0:
                        return -1
                    memcpy(text.data + text.size, far.bytes, far.size)
                    text.size += far.size
                i += 1
            elif i == n:
                return 0


cdef inline int _reserve(Bytes* text, size_t more) noexcept nogil:
    """Make room for `more` bytes and the slack; 0, or -1 without memory."""
    cdef size_t needed = text.size + more + TK_TRANSCODE_SLACK
    cdef void* moved
    if needed <= text.capacity:
        return 0
    needed = max(needed, text.capacity + text.capacity // 2)
    moved = realloc(text.data, needed)
    if moved == NULL:
        return -1
    text.data = <uint8_t*>moved
    text.capacity = needed
    return 0


cdef object _text_of(const tk_transcode_ops* simd, const Bytes* text):
    """The lossy UTF-8 decoding of bytes."""
    cdef size_t length = 0
    cdef uint8_t greatest = 0
    cdef bint valid = False
    cdef object made
    cdef void* out
    cdef int width
    if text.size >= LONG_TEXT and simd.check != NULL:
        with nogil:
            valid = simd.check(text.data, text.size, &length, &greatest)
    elif text.size >= SHORT_TEXT and simd.check != NULL:
        valid = simd.check(text.data, text.size, &length, &greatest)
    if not valid:
        return PyUnicode_DecodeUTF8(<char*>text.data, text.size, "replace")
    made = PyUnicode_New(length, 0x7F if greatest < 0x80 else 0xFF if greatest < 0xC4
                         else 0xFFFF if greatest < 0xF0 else 0x10FFFF)
    out = PyUnicode_DATA(made)
    width = PyUnicode_KIND(made)
    if text.size < LONG_TEXT:
        simd.decode(text.data, text.size, width, out)
    else:
        with nogil:         # nobody else has the string yet
            simd.decode(text.data, text.size, width, out)
    return made


def text_of(bytes content, str simd=None) -> str:
    """The lossy UTF-8 decoding of bytes, by the SIMD variant of that name, or by the one in use.

    Raises:
        ValueError: the processor lacks the variant.
    """
    cdef const tk_transcode_ops* found = transcode_by(best, simd)
    cdef Bytes text
    memset(&text, 0, sizeof(Bytes))
    try:
        if _reserve(&text, len(content)) < 0:
            raise MemoryError
        memcpy(text.data, <const char*>content, len(content))
        text.size = len(content)
        return _text_of(found, &text)
    finally:
        free(text.data)
