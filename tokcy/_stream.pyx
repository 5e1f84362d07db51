# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ids → text, one id after another: what no later id can change.

Three things are kept back. The beginning of a character, up to three bytes, until it is whole or
broken. A run of single-byte tokens until it ends: until then nobody knows whether it is UTF-8 as a
whole, and if it is not, none of its characters comes out (rule D4). And, where the plan treats the
last token otherwise, one token.
"""

cimport cython
cimport numpy as cnp
from cpython.number cimport PyNumber_Index
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memmove, memset

from tokcy._bytes cimport Bytes, bytes_append
from tokcy._decode cimport Decoder, Output, ids_of, output_free
from tokcy._textsteps cimport FIRST, LAST

from tokcy.errors import TokenIdError

cnp.import_array()

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8Stateful(const char* text, Py_ssize_t size, const char* errors,
                                        Py_ssize_t* consumed)

cdef enum:
    ROOM = 1024             # bytes that a state keeps for what comes


@cython.final
cdef class StreamState:
    """How far a stream of ids has come, but for the `text_steps` of the plan.

    Args:
        decoder: of the tokenizer.
        skip_special: leave special tokens out.
    """

    cdef Decoder decoder
    cdef Output out
    cdef bint started       # whether a token has been appended
    cdef bint holds
    cdef uint32_t held      # the last token, if it `holds`

    def __cinit__(self, Decoder decoder not None, bint skip_special):
        memset(&self.out, 0, sizeof(Output))
        self.decoder = decoder
        self.out.skip_special = skip_special

    def __dealloc__(self):
        output_free(&self.out)

    def copy(self):
        """A state that goes on from here by itself."""
        cdef StreamState made = StreamState(self.decoder, self.out.skip_special)
        made.out.run_at = self.out.run_at
        made.out.in_run = self.out.in_run
        made.out.begun = self.out.begun
        made.started = self.started
        made.holds = self.holds
        made.held = self.held
        if bytes_append(&made.out.text, self.out.text.data, self.out.text.size) < 0:
            raise MemoryError
        return made

    def push(self, token_id):
        """The text that is certain with this id.

        Raises:
            TokenIdError: the id is negative or needs more than 32 bits.
            TypeError: it is not an integer.
        """
        cdef int64_t number
        cdef uint32_t token
        try:
            number = PyNumber_Index(token_id)
        except OverflowError:
            number = -1
        if not 0 <= number < 1 << 32:
            raise TokenIdError(f"token id {token_id} is not between 0 and 2**32 - 1")
        token = <uint32_t>number
        if not self.decoder.is_kept(token, &self.out):
            return ""
        self._push(token)
        return self._certain()

    def feed(self, cnp.ndarray ids):
        """The same with many ids (uint32[n])."""
        cdef size_t i = 0, n = 0
        cdef const uint32_t* data = ids_of(ids, &n)
        cdef Bytes rest
        while i < n and self.decoder.by_place and (self.decoder.by_last or not self.started):
            if self.decoder.is_kept(data[i], &self.out):
                self._push(data[i])
            i += 1
        self.decoder.append_all(data + i, n - i, &self.out)
        text = self._certain()
        if self.out.text.capacity > ROOM:       # a prompt's bytes are not needed any more
            memset(&rest, 0, sizeof(Bytes))
            if bytes_append(&rest, self.out.text.data, self.out.text.size) < 0:
                raise MemoryError
            free(self.out.text.data)
            self.out.text = rest
        return text

    def finish(self):
        """The rest of the text; ids that follow are decoded as behind a break in the text."""
        cdef size_t size
        if self.holds:
            self.holds = False
            self.decoder.append_in_place(self.held, self._place() | LAST, &self.out)
        if self.out.in_run and self.decoder.close_run(LAST, &self.out) < 0:
            raise MemoryError
        size = self.out.text.size
        self.out.text.size = 0
        return PyUnicode_DecodeUTF8Stateful(<const char*>self.out.text.data, size, "replace", NULL)

    cdef int _push(self, uint32_t token) except -1:
        """Append a token that is kept."""
        if self.decoder.by_last:
            if self.holds:
                self.decoder.append_in_place(self.held, self._place(), &self.out)
                self.started = True
            self.holds = True
            self.held = token
            return 0
        if self.decoder.by_place and not self.started:
            self.decoder.append_in_place(token, FIRST, &self.out)
        elif self.decoder.append(&token, 1, &self.out) < 0:
            raise MemoryError
        self.started = True
        return 0

    cdef int _place(self) noexcept:
        return 0 if self.started else FIRST

    cdef object _certain(self):
        """Take the text that nothing can change out of the bytes."""
        cdef Output* out = &self.out
        cdef size_t size = out.run_at if out.in_run else out.text.size
        cdef Py_ssize_t consumed = 0
        if size == 0:
            return ""
        text = PyUnicode_DecodeUTF8Stateful(<const char*>out.text.data, size, "replace", &consumed)
        out.text.size -= consumed
        memmove(out.text.data, out.text.data + consumed, out.text.size)
        if out.in_run:
            out.run_at -= consumed
        return text
