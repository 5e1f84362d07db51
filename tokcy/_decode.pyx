# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ids → bytes → text: the decoder of any plan that `spec/plan_decode.py` makes.

What a plan makes of a token that is neither first nor last is found out once, and kept by id. Then
decoding is looking bytes up and copying them, and the text is the lossy UTF-8 decoding of all of
them together (rule D3), so a character split over tokens comes out whole. The first and the last
token, where a plan treats them otherwise, go through its steps again; so do runs of tokens that
stand for single bytes (rule D4).

Nearly all tokens are short. These lie in the table itself, 16 bytes an id, and are copied all 16
bytes at once, which the next one overwrites from where the token ends.
"""

cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove, memset

from tokcy._bytes cimport Bytes, Span, bytes_append, bytes_reserve
from tokcy._textsteps cimport FIRST, LAST, TextSteps
from tokcy._transcode cimport tk_find_transcode, tk_transcode_ops, transcode_by
from tokcy._utf8 cimport utf8_valid_size
from tokcy._vocab cimport Vocabulary

from tokcy._pretok import SIMD as _simd

cnp.import_array()

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 greatest)
    void* PyUnicode_DATA(object text)
    int PyUnicode_KIND(object text)

cdef enum:
    BLOCK = 1024            # ids between two looks whether there is room
    SHORT_LIST = 1024       # ids; releasing the GIL would cost more than it gives
    SHORT_TEXT = 64         # bytes; Python's decoder has less to prepare
    LONG_TEXT = 8192        # bytes; below, releasing the GIL would cost more than it gives

cdef const tk_transcode_ops* best = tk_find_transcode(_simd.encode())
cdef const uint8_t* REPLACEMENT = b"\xef\xbf\xbd"


cdef const uint32_t* ids_of(cnp.ndarray ids, size_t* n) except NULL:
    """The ids in an array uint32[n], and how many there are."""
    if (cnp.PyArray_NDIM(ids) != 1 or cnp.PyArray_TYPE(ids) != cnp.NPY_UINT32
            or not cnp.PyArray_ISCARRAY_RO(ids)):
        raise ValueError("ids must be a contiguous array uint32[n]")
    n[0] = cnp.PyArray_DIM(ids, 0)
    return <const uint32_t*>cnp.PyArray_DATA(ids)


@cython.final
cdef class Decoder:
    """The decoder of one tokenizer; immutable, shared by threads.

    Args:
        vocabulary: the model's entries.
        added: id → an added token as text, which stands before the model's of that id.
        special: ids of tokens that ``skip_special_tokens`` leaves out.
        plan: a `DecoderPlan`.
    """

    def __cinit__(self, Vocabulary vocabulary, dict added, special, plan):
        cdef Output work
        cdef size_t token
        self.vocabulary = vocabulary
        self.added = dict(added)
        self.byte_fallback = plan.byte_fallback
        self.byte_level = plan.byte_level
        self.token_steps = TextSteps(plan.token_steps, self.byte_level and not self.byte_fallback)
        self.run_steps = TextSteps(plan.run_steps, self.byte_level and self.byte_fallback)
        self.text_steps = TextSteps(plan.text_steps, False)
        self.by_place = self.token_steps.by_place or self.run_steps.by_place
        self.by_last = self.token_steps.by_last or self.run_steps.by_last
        self.n_tokens = <size_t>max(vocabulary.max_id, max(added, default=0)) + 1
        self.tokens = <Token*>malloc(self.n_tokens * sizeof(Token))
        if self.tokens == NULL:
            raise MemoryError
        for token in range(self.n_tokens):
            self.tokens[token].size = NONE
        memset(&work, 0, sizeof(Output))
        try:
            self._put_all(frozenset(special), &work)
        finally:
            output_free(&work)

    def __dealloc__(self):
        free(self.tokens)
        free(self.far)
        free(self.arena.data)

    # ---------------------------------------------------------------- building

    cdef int _put_all(self, frozenset special, Output* work) except -1:
        cdef Vocabulary vocabulary = self.vocabulary
        cdef size_t entry, token
        cdef size_t n_marks = vocabulary.spelling.prefix_size + vocabulary.spelling.suffix_size
        cdef bytes content
        for entry in range(vocabulary.n_entries):
            token = vocabulary.ids[entry]
            work.text.size = 0
            if bytes_reserve(&work.text, 6 * self._size_of(entry) + n_marks) < 0:
                raise MemoryError
            work.text.size = vocabulary.spell(entry, work.text.data)
            self._put(token, Span(work.text.data, work.text.size), False, work)
        for token, text in self.added.items():
            content = text.encode("utf-8")
            self._put(token, Span(<const uint8_t*><const char*>content, len(content)),
                      token in special, work)
        return 0

    cdef size_t _size_of(self, size_t entry) noexcept nogil:
        return self.vocabulary.offsets[entry + 1] - self.vocabulary.offsets[entry]

    cdef int _put(self, size_t token, Span text, bint special, Output* work) except -1:
        cdef Token* near = self.tokens + token
        cdef uint32_t number = <uint32_t>self.n_far
        cdef void* moved
        cdef int byte = self.piece(&text, 0, work)
        memset(near, 0, sizeof(Token))
        if byte == NO_MEMORY:
            raise MemoryError
        if byte >= 0:
            near.bytes[0] = <uint8_t>byte
            near.bytes[1] = special
            near.size = BYTE
            return 0
        if text.size <= NEAR_BYTES and not special:
            if text.size:
                memcpy(near.bytes, text.data, text.size)
            near.size = <uint8_t>text.size
            return 0
        if number & (number - 1) == 0:      # the room is a power of two
            moved = realloc(self.far, (2 * self.n_far + 1) * sizeof(FarToken))
            if moved == NULL:
                raise MemoryError
            self.far = <FarToken*>moved
        self.far[number] = FarToken(self.arena.size, text.size, special)
        if bytes_append(&self.arena, text.data, text.size) < 0:
            raise MemoryError
        self.n_far += 1
        memcpy(near.bytes, &number, sizeof(number))
        near.size = FAR
        return 0

    cdef int piece(self, Span* text, int place, Output* work) noexcept nogil:
        """Make of a token's text what it gives in a place. The byte that it is for byte fallback;
        else -1, or NO_MEMORY."""
        cdef int byte
        if self.token_steps.run(place, text, work.spare) < 0:
            return NO_MEMORY
        if self.byte_fallback:
            byte = _byte_of(text)
            if byte >= 0:
                return byte
            # A token is never the first or the last before byte fallback and not so after it.
            if self.run_steps.run(place, text, work.spare + 2) < 0:
                return NO_MEMORY
        return -1

    # ---------------------------------------------------------------- decoding

    def decode_bytes(self, cnp.ndarray ids, bint skip_special):
        """The bytes of the ids (uint32[n]), one after another; unknown ids give none (D1).

        They are those of the text where that is nowhere lossy: bytes of byte fallback and of
        byte-level tokens stay what they are, and the steps of the plan work on them.
        """
        cdef Output out
        cdef Span text
        memset(&out, 0, sizeof(Output))
        out.skip_special = skip_special
        out.raw = True
        try:
            self._join(ids, &out, &text)
            return PyBytes_FromStringAndSize(<const char*>text.data, text.size)
        finally:
            output_free(&out)

    def decode(self, cnp.ndarray ids, bint skip_special):
        """The text of the ids (uint32[n]); bytes that are not UTF-8 become U+FFFD."""
        cdef Output out
        cdef Span text
        memset(&out, 0, sizeof(Output))
        out.skip_special = skip_special
        try:
            self._join(ids, &out, &text)
            return _text_of(best, text)
        finally:
            output_free(&out)

    cdef int _join(self, cnp.ndarray ids, Output* out, Span* text) except -1:
        """Find the bytes of all ids; they lie in `out`."""
        cdef size_t n = 0
        cdef const uint32_t* data = ids_of(ids, &n)
        if self.by_place:
            self._append_by_place(data, n, out)
        else:
            self.append_all(data, n, out)
        if out.in_run and self.close_run(LAST, out) < 0:
            raise MemoryError
        if self.text_steps.n_steps and self.byte_level and not out.raw:
            _repair(&out.text)
        text[0] = Span(out.text.data, out.text.size)
        if self.text_steps.run(FIRST | LAST, text, out.spare) < 0:
            raise MemoryError
        return 0

    cdef int _append_by_place(self, const uint32_t* ids, size_t n, Output* out) except -1:
        """Append the tokens, the first and the last of those that are kept as such (D6)."""
        cdef size_t first = 0, last = n - 1
        while first < n and not self.is_kept(ids[first], out):
            first += 1
        if first == n:
            return 0
        while not self.is_kept(ids[last], out):
            last -= 1
        if last == first:
            return self.append_in_place(ids[first], FIRST | LAST, out)
        self.append_in_place(ids[first], FIRST, out)
        self.append_all(ids + first + 1, last - first - 1, out)
        return self.append_in_place(ids[last], LAST, out)

    cdef bint is_kept(self, uint32_t token, const Output* out) noexcept nogil:
        cdef const Token* near = self.tokens + token
        cdef uint32_t number = 0
        if token >= self.n_tokens or near.size == NONE:
            return False
        if near.size < BYTE or not out.skip_special:
            return True
        if near.size == BYTE:
            return not near.bytes[1]
        memcpy(&number, near.bytes, sizeof(number))
        return not self.far[number].special

    cdef int append_in_place(self, uint32_t token, int place, Output* out) except -1:
        cdef bytes content = self.token_text(token)
        cdef Span text = Span(<const uint8_t*><const char*>content, len(content))
        cdef int byte = self.piece(&text, place, out)
        cdef int status = 0
        cdef uint8_t single = <uint8_t>byte
        if byte == NO_MEMORY:
            raise MemoryError
        if byte >= 0:
            open_run(out)
            status = bytes_append(&out.text, &single, 1)
        else:
            if out.in_run:
                status = self.close_run(0, out)
            status |= bytes_append(&out.text, text.data, text.size)
            out.begun = True
        if status < 0:
            raise MemoryError
        return 0

    cdef bytes token_text(self, uint32_t token):
        """The text of a token that there is, in UTF-8."""
        text = self.added.get(token)
        return (self.vocabulary.id_to_token(token) if text is None else text).encode("utf-8")

    cdef int append_all(self, const uint32_t* ids, size_t n, Output* out) except -1:
        cdef int status
        if n < SHORT_LIST:
            status = self.append(ids, n, out)
        else:
            with nogil:
                status = self.append(ids, n, out)
        if status < 0:
            raise MemoryError
        return 0

    cdef int append(self, const uint32_t* ids, size_t n, Output* out) noexcept nogil:
        """Append n tokens that are neither the first nor the last; 0, or -1 without memory."""
        cdef size_t i = 0, stop
        cdef const Token* token
        cdef Bytes* text = &out.text
        cdef uint8_t* to
        if n > BLOCK and bytes_reserve(text, 4 * n) < 0:
            return -1
        while i < n:
            if out.in_run:
                if self._append_run(ids, &i, n, out) < 0:
                    return -1
                continue
            stop = min(i + BLOCK, n)
            if bytes_reserve(text, (stop - i) * NEAR_BYTES) < 0:
                return -1
            to = text.data + text.size
            while i < stop:
                if ids[i] < self.n_tokens:
                    token = self.tokens + ids[i]
                    memcpy(to, token, sizeof(Token))
                    if token.size >= BYTE:
                        break
                    to += token.size
                i += 1
            text.size = to - text.data
            if i == stop:
                continue
            if self.is_kept(ids[i], out):
                if self.tokens[ids[i]].size == BYTE:
                    open_run(out)
                    continue
                if self._append_far(ids[i], text) < 0:
                    return -1
            i += 1
        return 0

    cdef int _append_far(self, uint32_t token, Bytes* text) noexcept nogil:
        cdef uint32_t number = 0
        cdef const FarToken* far
        memcpy(&number, self.tokens[token].bytes, sizeof(number))
        far = self.far + number
        return bytes_append(text, self.arena.data + far.at, far.size)

    # -------------------------------------------------- runs of single bytes

    cdef int _append_run(self, const uint32_t* ids, size_t* i, size_t n,
                         Output* out) noexcept nogil:
        """Go on with a run that is not over, from the i-th id on; 0, or -1 without memory."""
        cdef const Token* token
        while i[0] < n:
            if self.is_kept(ids[i[0]], out):
                token = self.tokens + ids[i[0]]
                if token.size != BYTE:
                    return self.close_run(0, out)
                if bytes_append(&out.text, token.bytes, 1) < 0:
                    return -1
            i[0] += 1
        return 0

    cdef int close_run(self, int place, Output* out) noexcept nogil:
        """End a run, behind which comes something or, in the place LAST, nothing; 0, or -1."""
        cdef Bytes* text = &out.text
        cdef size_t n = text.size - out.run_at, k
        cdef Span piece = Span(text.data + out.run_at, n)
        place |= 0 if out.begun else FIRST
        out.in_run = False
        out.begun = True
        if out.raw or utf8_valid_size(piece.data, n) == n:
            if self.run_steps.n_steps == 0:
                return 0
            if self.run_steps.run(place, &piece, out.spare + 4) < 0:
                return -1
            text.size = out.run_at
            if bytes_reserve(text, piece.size) < 0:     # nothing moves if the piece lies in there
                return -1
            if piece.size:
                memmove(text.data + text.size, piece.data, piece.size)
            text.size += piece.size
            return 0
        text.size = out.run_at
        for k in range(n):      # each is a text of its own
            piece = Span(REPLACEMENT, 3)
            if self.run_steps.run(place & ~(FIRST if k else 0) & ~(LAST if k < n - 1 else 0),
                                  &piece, out.spare + 4) < 0:
                return -1
            if bytes_append(text, piece.data, piece.size) < 0:
                return -1
        return 0


cdef void output_free(Output* out) noexcept nogil:
    cdef int k
    free(out.text.data)
    for k in range(6):
        free(out.spare[k].data)


cdef int _byte_of(const Span* text) noexcept nogil:
    """The byte that `<0x0A>` stands for, or -1; a digit may be a plus sign, as in Rust (D4)."""
    cdef int high, low
    if (text.size != 6 or memcmp(text.data, b"<0x", 3) != 0 or text.data[5] != c">"):
        return -1
    high = 0 if text.data[3] == c"+" else _digit_of(text.data[3])
    low = _digit_of(text.data[4])
    return -1 if high < 0 or low < 0 else high << 4 | low


cdef int _digit_of(int character) noexcept nogil:
    if c"0" <= character <= c"9":
        return character - c"0"
    character |= 0x20
    return character - c"a" + 10 if c"a" <= character <= c"f" else -1


cdef int _repair(Bytes* text) except -1:
    """Put U+FFFD for what is not UTF-8, as the lossy decoding does."""
    cdef bytes sound = PyUnicode_DecodeUTF8(
        <const char*>text.data, text.size, "replace").encode("utf-8")
    text.size = 0
    if bytes_append(text, <const uint8_t*><const char*>sound, len(sound)) < 0:
        raise MemoryError
    return 0


cdef object _text_of(const tk_transcode_ops* simd, Span text):
    """The lossy UTF-8 decoding of bytes behind which there is the slack."""
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
        if bytes_append(&text, <const uint8_t*><const char*>content, len(content)) < 0:
            raise MemoryError
        return _text_of(found, Span(text.data, text.size))
    finally:
        free(text.data)
