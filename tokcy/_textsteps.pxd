"""Steps of a decoder that make a text of a text."""

from libc.stdint cimport uint8_t

from tokcy._bytes cimport Bytes, Span


cdef enum:                  # where a text stands; its place is the sum of those that hold
    FIRST = 1
    LAST = 2


cdef enum StepKind:
    SUBSTITUTE
    STRIP_START
    BYTE_LEVEL
    JOIN_WORDS


cdef struct Step:
    StepKind kind
    Span pattern            # of STRIP_START the character, of JOIN_WORDS the prefix
    Span[4] contents        # of SUBSTITUTE, by place
    size_t most             # of STRIP_START


cdef class TextSteps:
    cdef Step* steps
    cdef readonly size_t n_steps
    cdef readonly bint by_place     # whether a text's place matters
    cdef readonly bint by_last      # whether being the last does
    cdef list texts         # what the steps point to

    cdef Span _span(self, str text)
    cdef int run(self, int place, Span* text, Bytes* spare) noexcept nogil
