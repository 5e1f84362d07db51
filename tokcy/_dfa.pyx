# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Piece boundaries by the DFA of a split pattern, token by token: 100 to 200 MB/s.

It is for the patterns that have no transducer, and the definition of what a transducer finds.
"""

from libc.stdint cimport uint8_t

from tokcy._bitmap cimport is_set, next_set, set_bit
from tokcy._pretok cimport SUPER_BLOCK, Scan, Stage, wide_class
from tokcy._status cimport check_signals
from tokcy._utf8 cimport utf8_width

# As tokcy.pattern.automaton numbers them.
cdef enum:
    DEAD = 0
    START = 1
    MATCH = 1
    GAP = 2


cdef struct Futile:
    # Between these bytes the DFA, in this state, finds no further match before it dies.
    size_t state
    size_t begin
    size_t end


cdef size_t match_token(const Scan* scan, size_t begin, size_t end, int* kind,
                        Futile* futile) noexcept nogil:
    """The end of the token at ``begin``, and its kind: the DFA, with the last match remembered.

    ``futile`` keeps what was read in vain behind the match. The next token is likely to get into
    the same state there; without it, \\s+$ on n spaces in a line would take n * n / 2 steps.
    """
    cdef const Stage* stage = scan.stage
    cdef const uint8_t* text = scan.text
    cdef size_t i = begin, last = begin, since = begin, length, column, at, follow
    cdef size_t state = START
    kind[0] = GAP
    while state != futile.state or i < futile.begin or i > futile.end:
        length = 1
        if i >= end:
            column = stage.n_classes
        elif stage.byte_level or text[i] < 0x80:
            column = stage.byte_class[text[i]]
        else:
            length = utf8_width(text[i])
            column = wide_class(stage, text + i, length)
        at = state * stage.n_columns + column
        if stage.accept[at]:
            last = i
            kind[0] = stage.accept[at]
        follow = stage.next[at]
        if follow == DEAD:
            if i - last > 16:
                futile[0] = Futile(state, max(since, last + 1), i)
            return last
        i += length
        if follow != state:
            since = i
            state = follow
    return last


cdef int scan_segment(const Scan* scan, size_t begin, size_t end) noexcept nogil:
    """Mark the pieces of one segment; a run of gap characters is one piece."""
    cdef Futile futile = Futile(DEAD, 0, 0)
    cdef size_t i = begin, after, next_look = begin + SUPER_BLOCK
    cdef int kind = 0, before = 0
    while i < end:
        after = match_token(scan, i, end, &kind, &futile)
        if kind != GAP or before != GAP:
            set_bit(scan.starts, i)
        if kind != MATCH:
            set_bit(scan.gaps, i)
            kind = GAP
        before = kind
        i = after
        if i > next_look:
            next_look = i + SUPER_BLOCK
            if check_signals() != 0:
                return -2
    return 0


cdef int scan_by_dfa(const Scan* scan) noexcept nogil:
    cdef size_t begin = 0, end
    cdef int status = 0
    while begin < scan.size and status == 0:
        end = next_set(scan.segments, begin + 1, scan.size)
        if not is_set(scan.skips, begin):
            status = scan_segment(scan, begin, end)
        begin = end
    return status
