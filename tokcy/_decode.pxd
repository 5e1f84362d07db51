"""The decoder of one tokenizer, token by token."""

cimport numpy as cnp
from libc.stdint cimport uint8_t, uint32_t

from tokcy._bytes cimport Bytes, Span
from tokcy._textsteps cimport TextSteps
from tokcy._vocab cimport Vocabulary


cdef enum:
    NEAR_BYTES = 15         # of a token that lies in the table
    # In place of a size. From BYTE on they end the loop that just copies.
    BYTE = 253              # a byte for byte fallback: it, and whether the token is special
    NONE = 254              # no token has this id
    FAR = 255               # the token lies elsewhere
    NO_MEMORY = -2          # see Decoder.piece


cdef struct Token:
    uint8_t bytes[NEAR_BYTES]       # or, of a far token, its number in 4 bytes
    uint8_t size                    # or BYTE, NONE or FAR


cdef struct FarToken:
    size_t at               # in the arena
    size_t size
    bint special


cdef struct Output:
    Bytes text
    size_t run_at           # where a run of single bytes begins, if one is not over yet
    bint in_run
    bint begun              # whether there was anything before the run
    bint skip_special
    bint raw                # leave bytes as they are
    Bytes[6] spare          # for steps: two on tokens, two behind byte fallback, two at a run's end


cdef inline void open_run(Output* out) noexcept nogil:
    if not out.in_run:
        out.in_run = True
        out.run_at = out.text.size


cdef void output_free(Output* out) noexcept nogil
cdef const uint32_t* ids_of(cnp.ndarray ids, size_t* n) except NULL


cdef class Decoder:
    cdef Vocabulary vocabulary
    cdef dict added
    cdef TextSteps token_steps
    cdef TextSteps run_steps
    cdef TextSteps text_steps
    cdef bint byte_fallback
    cdef bint byte_level
    cdef bint by_place              # whether the first or the last token is not as others
    cdef bint by_last               # whether the last one is not
    cdef Token* tokens              # [n_tokens], by id
    cdef size_t n_tokens
    cdef FarToken* far
    cdef size_t n_far
    cdef Bytes arena                # of far tokens

    cdef int _put_all(self, frozenset special, Output* work) except -1
    cdef size_t _size_of(self, size_t entry) noexcept nogil
    cdef int _put(self, size_t token, Span text, bint special, Output* work) except -1
    cdef int piece(self, Span* text, int place, Output* work) noexcept nogil
    cdef int _join(self, cnp.ndarray ids, Output* out, Span* text) except -1
    cdef int _append_by_place(self, const uint32_t* ids, size_t n, Output* out) except -1
    cdef bint is_kept(self, uint32_t token, const Output* out) noexcept nogil
    cdef int append_in_place(self, uint32_t token, int place, Output* out) except -1
    cdef bytes token_text(self, uint32_t token)
    cdef int append_all(self, const uint32_t* ids, size_t n, Output* out) except -1
    cdef int append(self, const uint32_t* ids, size_t n, Output* out) noexcept nogil
    cdef int _append_far(self, uint32_t token, Bytes* text) noexcept nogil
    cdef int _append_run(self, const uint32_t* ids, size_t* i, size_t n,
                         Output* out) noexcept nogil
    cdef int close_run(self, int place, Output* out) noexcept nogil
