# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Text → piece boundaries, by the tables that tokcy.pattern makes of split patterns.

A split is one pass. Bytes become classes (``classify``), classes drive the transducer
(``run_transducer``: one table step per byte, eight cursors in one loop), and the rows it goes
through become bits where pieces start (``emit``). A cursor, or a thread, begins at a guessed
state; where the scan before it arrives, the truth overwrites the guess until both are in one
state, from where they are the same. This is exact because a token depends on no text before it.

Splits without a transducer go through the DFA token by token (``scan_by_dfa``).
"""

import os

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tokcy._bitmap cimport (
    bitmap_words,
    bits_below,
    bits_from,
    clear_bit,
    is_set,
    last_set,
    next_set,
    set_bit,
)
from tokcy._platform cimport tk_ctz64, tk_store_two16
from tokcy._status cimport check_signals, raise_status

from tokcy.errors import SettingError
from tokcy.pattern import split as _split

cdef enum:
    ISOLATED = 0
    REMOVED = 1
    MERGED_WITH_PREVIOUS = 2
    MERGED_WITH_NEXT = 3
    CONTIGUOUS = 4

# As tokcy.pattern.automaton and tokcy.pattern.transducer number them.
cdef enum:
    DEAD = 0
    START = 1
    MATCH = 1
    GAP = 2
    SPLIT_GAP = 3
    ROW_UNIT = 8

cdef enum:
    CURSORS = 8
    LONG_STRIDE = 1024
    MIDDLE_STRIDE = 128
    SHORT_STRIDE = 32
    SHORTEST_STRIDE = 8
    BLOCK = 8192            # CURSORS * LONG_STRIDE; classes and rows of a block stay in L1
    DEFAULT_UNIT = 32768
    FEW_WORDS = 32          # of each bitmap, that the stack takes
    SUPER_BLOCK = 4194304   # bytes between two looks at pending signals


def _wanted_simd(str setting):
    """The variant that a value of TOKCY_SIMD means: the best one unless it names another."""
    cdef bytes name = b"scalar" if setting == "off" else setting.encode()
    cdef const tk_simd_ops* found = tk_find_simd(name)
    if found == NULL:
        known = [v for v in ("scalar", "avx2", "avx512") if tk_find_simd(v.encode()) != NULL]
        raise SettingError(f"TOKCY_SIMD must be off or one of {', '.join(known)}, not {setting!r}")
    return found.name.decode()


# The variant of the wide steps in use.
SIMD = _wanted_simd(os.environ.get("TOKCY_SIMD", ""))


cdef struct Scan:
    # One stage over one text.
    const Stage* stage
    const uint8_t* text
    size_t size
    uint64_t* starts
    uint64_t* skips
    uint64_t* gaps              # pieces that the pattern does not match
    uint64_t* cuts              # starts of segments that an earlier split of a cascade makes
    const uint64_t* segments    # `starts` as they were before this stage
    bint any_skips


cdef struct Scratch:
    uint8_t classes[BLOCK]
    uint16_t rows[BLOCK]


# ---------------------------------------------------------------- bytes → classes

cdef inline uint8_t wide_class(const Stage* stage, const uint8_t* p, size_t length) noexcept nogil:
    """The class of the character of two to four bytes at p."""
    cdef size_t c
    if length == 2:
        c = <size_t>(p[0] & 0x1F) << 6 | (p[1] & 0x3F)
    elif length == 3:
        c = <size_t>(p[0] & 0x0F) << 12 | <size_t>(p[1] & 0x3F) << 6 | (p[2] & 0x3F)
    else:
        c = (<size_t>(p[0] & 0x07) << 18 | <size_t>(p[1] & 0x3F) << 12
             | <size_t>(p[2] & 0x3F) << 6 | (p[3] & 0x3F))
    return stage.pages[<size_t>stage.page_index[c >> 7] << 7 | (c & 127)]


cdef inline size_t wide_length(uint8_t lead) noexcept nogil:
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


cdef bint mark_segments(const Scan* scan, size_t begin, size_t end, uint8_t* classes,
                        bint skipping) noexcept nogil:
    """Move first characters of segments to the upper columns; blank what is to be skipped.

    ``begin`` to ``end`` lie in one word of the bitmaps, ``classes`` are theirs. ``skipping`` says
    whether the segment that runs into ``begin`` is skipped; the result, the one at ``end``.
    """
    cdef uint8_t continuation = scan.stage.n_classes, upper = scan.stage.n_classes + 2
    cdef uint64_t bits = scan.segments[begin >> 6] & bits_from(begin)
    cdef size_t at = begin, stop
    while True:
        stop = (begin & ~<size_t>63) + <size_t>tk_ctz64(bits) if bits else end
        if stop > end:
            stop = end
        if skipping:
            memset(classes + (at - begin), continuation, stop - at)
        if stop == end:
            return skipping
        bits &= bits - 1
        skipping = is_set(scan.skips, stop)
        if skipping:
            classes[stop - begin] = continuation + 1
        classes[stop - begin] += upper
        at = stop + 1


cdef bint classify(const Scan* scan, size_t begin, size_t end, uint8_t* classes,
                   bint skipping) noexcept nogil:
    """The columns of the bytes begin, …, end - 1, where ``begin`` is a multiple of 64."""
    cdef const Stage* stage = scan.stage
    cdef const uint8_t* text = scan.text
    cdef size_t at = begin, stop, i
    cdef uint64_t leads
    cdef uint8_t[64] tail
    while at < end:
        if at + 64 <= scan.size:
            leads = stage.simd.classify(text + at, stage.byte_class, classes)
        else:
            memset(tail, 0, 64)
            memcpy(tail, text + at, scan.size - at)
            leads = stage.simd.classify(tail, stage.byte_class, classes)
        stop = at + 64 if at + 64 <= end else end
        if not stage.byte_level:
            while leads:
                i = <size_t>tk_ctz64(leads)
                classes[i] = wide_class(stage, text + at + i, wide_length(text[at + i]))
                leads &= leads - 1
        if skipping or scan.segments[at >> 6]:
            skipping = mark_segments(scan, at, stop, classes, skipping)
        classes += 64
        at = stop
    return skipping


# ---------------------------------------------------------------- classes → rows

cdef inline size_t step(const uint8_t* table, size_t row, uint8_t column) noexcept nogil:
    return (<const uint16_t*>(table + 2 * <size_t>column + ROW_UNIT * row))[0]


cdef inline size_t two_steps(const uint8_t* table, size_t row, const uint8_t* classes,
                             uint16_t* rows) noexcept nogil:
    # One store for two rows: with one for each, the loop waited for the store buffer.
    cdef size_t first = step(table, row, classes[0]), second = step(table, first, classes[1])
    tk_store_two16(rows, <uint32_t>first, <uint32_t>second)
    return second


cdef size_t run_single(const uint8_t* table, const uint8_t* classes, uint16_t* rows, size_t n,
                       size_t row) noexcept nogil:
    cdef size_t i
    for i in range(n):
        row = step(table, row, classes[i])
        rows[i] = <uint16_t>row
    return row


cdef inline size_t run_cursors(const uint8_t* table, const uint8_t* classes, uint16_t* rows,
                               size_t stride, size_t row, size_t guess) noexcept nogil:
    """Eight stretches of ``stride`` bytes at once: a step waits for memory, not for the others."""
    cdef size_t r0 = row, r1 = guess, r2 = guess, r3 = guess
    cdef size_t r4 = guess, r5 = guess, r6 = guess, r7 = guess
    cdef size_t i, end
    for i in range(0, stride, 2):
        r0 = two_steps(table, r0, classes + i, rows + i)
        r1 = two_steps(table, r1, classes + i + stride, rows + i + stride)
        r2 = two_steps(table, r2, classes + i + 2 * stride, rows + i + 2 * stride)
        r3 = two_steps(table, r3, classes + i + 3 * stride, rows + i + 3 * stride)
        r4 = two_steps(table, r4, classes + i + 4 * stride, rows + i + 4 * stride)
        r5 = two_steps(table, r5, classes + i + 5 * stride, rows + i + 5 * stride)
        r6 = two_steps(table, r6, classes + i + 6 * stride, rows + i + 6 * stride)
        r7 = two_steps(table, r7, classes + i + 7 * stride, rows + i + 7 * stride)
    end = stride
    while end < CURSORS * stride:
        row = rows[end - 1]
        for i in range(end, end + stride):
            row = step(table, row, classes[i])
            if rows[i] == row:
                break
            rows[i] = <uint16_t>row
        end += stride
    return rows[end - 1]


cdef size_t run_transducer(const Stage* stage, const uint8_t* classes, uint16_t* rows, size_t n,
                           size_t row) noexcept nogil:
    """The rows entered by reading ``n`` columns from ``row`` on; the last one."""
    cdef size_t at = 0
    if n == BLOCK:
        return run_cursors(stage.table, classes, rows, LONG_STRIDE, row, stage.start)
    while n - at >= CURSORS * MIDDLE_STRIDE:
        row = run_cursors(stage.table, classes + at, rows + at, MIDDLE_STRIDE, row, stage.start)
        at += CURSORS * MIDDLE_STRIDE
    while n - at >= CURSORS * SHORT_STRIDE:
        row = run_cursors(stage.table, classes + at, rows + at, SHORT_STRIDE, row, stage.start)
        at += CURSORS * SHORT_STRIDE
    while n - at >= CURSORS * SHORTEST_STRIDE:
        row = run_cursors(stage.table, classes + at, rows + at, SHORTEST_STRIDE, row, stage.start)
        at += CURSORS * SHORTEST_STRIDE
    return run_single(stage.table, classes + at, rows + at, n - at, row)


# ---------------------------------------------------------------- rows → bits

cdef inline size_t step_back(const Scan* scan, size_t i, int n_characters) noexcept nogil:
    # Nothing goes back beyond the text; a table from a file that lies might.
    while n_characters > 0 and i > 0:
        n_characters -= 1
        i -= 1
        if not scan.stage.byte_level:
            while i > 0 and (scan.text[i] & 0xC0) == 0x80:
                i -= 1
    return i


cdef void emit_others(const Scan* scan, size_t row, size_t i) noexcept nogil:
    """Any event, told by the character at i (or by the end of text, if i is the size)."""
    cdef const Stage* stage = scan.stage
    cdef size_t at = row // stage.row_width, place = i
    cdef int borders = stage.borders[at], gaps = stage.gaps[at], undo = stage.undo[at]
    cdef int distance = 0
    if stage.cut[at] and i < scan.size:
        set_bit(scan.cuts, i)
    if undo and i > 0:
        while undo > 1:
            place = last_set(scan.starts, i)
            if is_set(scan.segments, place):    # nor this, as it is no guess
                break
            clear_bit(scan.starts, place)
            undo -= 1
        if stage.has_gaps:
            while place < i:
                clear_bit(scan.gaps, place)
                place += 1
            clear_bit(scan.gaps, last_set(scan.starts, i))
    while borders | gaps:
        place = step_back(scan, i, distance)
        if borders & 1 and place < scan.size:
            set_bit(scan.starts, place)
        if gaps & 1 and place < scan.size:
            set_bit(scan.gaps, place)
        borders >>= 1
        gaps >>= 1
        distance += 1


cdef void emit_one_back(const Scan* scan, size_t word, uint64_t bits) noexcept nogil:
    """Set the bits one character before these; a shift does for those behind an ASCII one."""
    cdef size_t base = word << 6
    cdef uint64_t behind_wide = 0
    if not scan.stage.byte_level:
        behind_wide = ~<uint64_t>0
        if base + 64 <= scan.size:
            behind_wide = scan.stage.simd.beyond_ascii(scan.text + base) << 1 | 1
    scan.starts[word] |= (bits & ~behind_wide) >> 1
    bits &= behind_wide | 1
    while bits:
        set_bit(scan.starts, step_back(scan, base + <size_t>tk_ctz64(bits), 1))
        bits &= bits - 1


cdef void emit(const Scan* scan, uint16_t* rows, size_t begin, size_t n) noexcept nogil:
    """Set the bits that ``n`` rows tell of, the first of them entered at byte ``begin``.

    ``begin`` is a multiple of 64, and ``rows`` has room up to the next multiple of 64.
    """
    cdef const Stage* stage = scan.stage
    cdef size_t word = begin >> 6, at, i
    cdef uint64_t[5] masks
    cdef uint64_t bits
    if n & 63:
        memset(rows + n, 0, (64 - (n & 63)) * sizeof(uint16_t))
    for at in range(0, n, 64):
        stage.simd.events(rows + at, stage.bounds, masks)
        scan.starts[word] |= masks[0] & ~masks[3]
        if stage.has_gaps:
            scan.gaps[word] |= masks[1] & ~masks[2]
            scan.cuts[word] |= masks[2] & ~masks[3]
        if masks[3] & ~masks[4]:
            emit_one_back(scan, word, masks[3] & ~masks[4])
        bits = masks[4]
        while bits:
            i = <size_t>tk_ctz64(bits)
            emit_others(scan, rows[at + i], (word << 6) + i)
            bits &= bits - 1
        word += 1


# ---------------------------------------------------------------- one stage

cdef size_t scan_range(const Scan* scan, size_t begin, size_t end, size_t row, bint skipping,
                       Scratch* scratch) noexcept nogil:
    """Scan begin, …, end - 1 from ``row`` on, ``begin`` being a multiple of 64."""
    cdef size_t at = begin, n
    while at < end:
        n = min(<size_t>BLOCK, end - at)
        skipping = classify(scan, at, at + n, scratch.classes, skipping)
        row = run_transducer(scan.stage, scratch.classes, scratch.rows, n, row)
        emit(scan, scratch.rows, at, n)
        at += n
    return row


cdef inline bint is_skipping(const Scan* scan, size_t begin) noexcept nogil:
    """Whether the segment that runs into byte ``begin`` is to be skipped."""
    if begin == 0 or not scan.any_skips:
        return False
    return is_set(scan.skips, last_set(scan.segments, begin))


cdef size_t scan_unit(const Scan* scan, size_t begin, size_t end, size_t row) noexcept nogil:
    """``scan_range`` with scratch of its own, 24 KB of stack: malloc cost a short text 5%."""
    cdef Scratch scratch
    return scan_range(scan, begin, end, row, is_skipping(scan, begin), &scratch)


cdef size_t repair_unit(const Scan* scan, size_t begin, size_t end, size_t row,
                        size_t guessed_last) noexcept nogil:
    """Replace what a scan of begin, …, end - 1 from a guess left by what one from ``row`` finds.

    Both are followed until they are in one row that is settled, that is, until every bit below
    is final; the bits from there on are right as they are. Returns the true last row.
    """
    cdef const Stage* stage = scan.stage
    cdef uint8_t[64] classes
    cdef uint16_t[64] rows
    cdef size_t guess = stage.start, at = begin, n, i
    cdef uint64_t stale
    cdef bint skipping = is_skipping(scan, begin), met = False
    while at < end and not met:
        n = min(<size_t>64, end - at)
        skipping = classify(scan, at, at + n, classes, skipping)
        i = 0
        while i < n and not met:
            row = step(stage.table, row, classes[i])
            guess = step(stage.table, guess, classes[i])
            rows[i] = <uint16_t>row
            met = (row == guess and classes[i] != stage.n_classes
                   and stage.settled[row // stage.row_width])
            i += 1
        stale = bits_below(i - 1 if met else i)
        scan.starts[at >> 6] &= ~stale | scan.segments[at >> 6]
        if stage.has_gaps:
            scan.gaps[at >> 6] &= ~stale
            scan.cuts[at >> 6] &= ~stale
        emit(scan, rows, at, i)
        at += n
    return guessed_last if met else row


cdef int scan_parallel(const Scan* scan, size_t begin, size_t end, size_t* row, int num_threads,
                       size_t unit) noexcept nogil:
    """Units side by side, each from a guess; then one after another put right."""
    cdef Py_ssize_t n_units = <Py_ssize_t>((end - begin + unit - 1) // unit), u
    cdef size_t* lasts = <size_t*>malloc(<size_t>n_units * sizeof(size_t))
    cdef size_t at
    if lasts == NULL:
        return -1
    for u in prange(n_units, num_threads=num_threads, schedule="dynamic"):
        lasts[u] = scan_unit(scan, begin + <size_t>u * unit,
                             min(begin + (<size_t>u + 1) * unit, end),
                             row[0] if u == 0 else scan.stage.start)
    for u in range(n_units):
        at = begin + <size_t>u * unit
        if u == 0:
            row[0] = lasts[0]
        else:
            row[0] = repair_unit(scan, at, min(at + unit, end), row[0], lasts[u])
    free(lasts)
    return 0


cdef int scan_by_transducer(const Scan* scan, int num_threads, size_t unit) noexcept nogil:
    cdef size_t at = 0, end, row = scan.stage.start
    cdef int status = 0
    while at < scan.size and status == 0:
        end = min(at + SUPER_BLOCK, scan.size)
        if num_threads > 1:
            status = scan_parallel(scan, at, end, &row, num_threads, unit)
        else:
            row = scan_unit(scan, at, end, row)
        if end < scan.size and status == 0:
            status = check_signals()
        at = end
    if status == 0:
        # The end of text, told by one more character, the first of a segment behind it.
        row = step(scan.stage.table, row, 2 * scan.stage.n_classes + 3)
        emit_others(scan, row, scan.size)
    return status


# ---------------------------------------------------------------- the DFA, token by token

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
            length = wide_length(text[i])
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


# ---------------------------------------------------------------- gaps and behaviours

cdef void join_gaps(const Scan* scan) noexcept nogil:
    """Make one piece of gap characters that follow each other in a segment."""
    cdef const Stage* stage = scan.stage
    cdef size_t word, n_words = bitmap_words(scan.size) - 1, n
    cdef uint64_t gaps, inside, continuations, carry = 0
    cdef uint8_t[64] tail
    for word in range(n_words):
        gaps = scan.gaps[word]
        if gaps == 0 and carry == 0:
            continue
        inside = gaps  # all bytes of gap characters
        if not stage.byte_level:
            n = scan.size - 64 * word
            if n >= 64:
                continuations = stage.simd.continuations(scan.text + 64 * word)
            else:
                memset(tail, 0, 64)
                memcpy(tail, scan.text + 64 * word, n)
                continuations = stage.simd.continuations(tail)
            if continuations:
                inside |= (inside << 1 | carry) & continuations
                inside |= (inside << 1 | carry) & continuations
                inside |= (inside << 1 | carry) & continuations
        scan.starts[word] &= ~(gaps & (inside << 1 | carry)) | scan.segments[word] | scan.cuts[word]
        carry = inside >> 63


cdef void apply_behavior(const Scan* scan) noexcept nogil:
    """Join or drop pieces as the split's behaviour says (rule P1)."""
    cdef int behavior = scan.stage.behavior
    cdef int before = -1  # whether the piece before is a match; -1: none in this segment
    cdef bint invert = scan.stage.invert, is_match, joined, skipped = False
    cdef size_t i = 0
    while i < scan.size:
        if is_set(scan.segments, i):
            before = -1
            skipped = is_set(scan.skips, i)
        if not skipped:
            is_match = is_set(scan.gaps, i) == invert
            joined = False
            if behavior == REMOVED and is_match:
                set_bit(scan.skips, i)
            elif behavior == CONTIGUOUS:
                # Two gaps side by side have an empty match between them.
                joined = before == is_match and is_match != invert
            elif behavior == MERGED_WITH_PREVIOUS:
                joined = before == 0 and is_match
            elif behavior == MERGED_WITH_NEXT:
                joined = before == 1 and not is_match
            if joined:
                clear_bit(scan.starts, i)
            before = is_match
        i = next_set(scan.starts, i + 1, scan.size)


cdef inline bint has_effect(const Stage* stage) noexcept nogil:
    """Whether ``apply_behavior`` can change anything; without gaps it mostly cannot."""
    if stage.has_gaps:
        return stage.behavior != ISOLATED
    return stage.behavior == CONTIGUOUS or (stage.behavior == REMOVED and not stage.invert)


cdef bint any_bit(const uint64_t* bits, size_t n_words) noexcept nogil:
    cdef uint64_t found = 0
    cdef size_t word
    for word in range(n_words):
        found |= bits[word]
    return found != 0


cdef int run_stage(const Stage* stage, const uint8_t* text, size_t size, uint64_t* starts,
                   uint64_t* skips, int num_threads, size_t unit) noexcept nogil:
    cdef size_t n_words = bitmap_words(size)
    cdef uint64_t[3 * FEW_WORDS] few    # malloc would cost a short text 5%
    cdef uint64_t* segments = few
    cdef uint64_t* gaps
    cdef Scan scan
    cdef int status = -1
    if n_words > FEW_WORDS:
        segments = <uint64_t*>malloc(3 * n_words * sizeof(uint64_t))
    if segments != NULL:
        gaps = segments + n_words
        memcpy(segments, starts, n_words * sizeof(uint64_t))
        if stage.has_gaps or stage.table == NULL or has_effect(stage):
            memset(gaps, 0, 2 * n_words * sizeof(uint64_t))
        scan = Scan(stage, text, size, starts, skips, gaps, gaps + n_words, segments,
                    any_bit(skips, n_words))
        if stage.table != NULL:
            status = scan_by_transducer(&scan, num_threads, unit)
            if stage.has_gaps and status == 0:
                join_gaps(&scan)
        else:
            status = scan_by_dfa(&scan)
        if status == 0 and has_effect(stage):
            apply_behavior(&scan)
    if segments != few:
        free(segments)
    return status


cdef int run_stages(const Stage* stages, size_t n_stages, const uint8_t* text, size_t size,
                    uint64_t* starts, uint64_t* skips, int num_threads,
                    size_t unit) noexcept nogil:
    """What `PreTokenizer.find_pieces` does."""
    cdef size_t i
    cdef int status = 0
    unit = (unit + 63) // 64 * 64 if unit else DEFAULT_UNIT
    if size <= unit:
        num_threads = 1
    for i in range(n_stages):
        if status == 0 and size:
            status = run_stage(stages + i, text, size, starts, skips, num_threads, unit)
    return status


# ---------------------------------------------------------------- Python's view


cdef class PreTokenizer:
    """A cascade of splits, fused where possible. Immutable; many threads may use it at once.

    Args:
        stages: SplitTables in the order in which they are applied.
        simd: the variant of the wide steps, "scalar", "avx2" or "avx512", or ValueError where
            the processor lacks it; None: ``SIMD``, the best one unless TOKCY_SIMD=off.
        use_transducer: False makes every stage go through its DFA, which is slower and finds
            the same pieces.
        fuse: False if the stages come from ``fuse_splits``.
    """

    def __cinit__(self, stages, *, simd=None, use_transducer=True, fuse=True):
        cdef const tk_simd_ops* ops = simd_ops(SIMD if simd is None else simd)
        self._tables = tuple(stages)
        self._passes = list(self._tables)
        if use_transducer and fuse:
            self._passes = _split.fuse_splits(self._tables)
        self._n_stages = len(self._passes)
        self._stages = <Stage*>calloc(self._n_stages + 1, sizeof(Stage))
        if self._stages == NULL:
            raise MemoryError
        for i, tables in enumerate(self._passes):
            fill_stage(&self._stages[<size_t>i], tables, use_transducer)
            self._stages[<size_t>i].simd = ops

    def __dealloc__(self):
        free(self._stages)

    def __reduce__(self):
        return PreTokenizer, (self._tables,)

    def __repr__(self):
        patterns = [tables.pattern for tables in self._tables]
        return f"PreTokenizer({patterns!r}, max_states={self.max_states})"

    @property
    def max_states(self):
        """The number of states of the largest DFA among the stages."""
        return max([len(tables.dfa.next) for tables in self._tables], default=0)

    @property
    def drops(self):
        """Whether text can be dropped, and so bits be added to ``skips``."""
        return any([tables.behavior == "Removed" and (tables.has_gaps or not tables.invert)
                    for tables in self._tables])

    cdef int find_pieces(self, const uint8_t* text, size_t size, uint64_t* starts,
                         uint64_t* skips, int num_threads, size_t unit) noexcept nogil:
        """Refine the pieces of a text in place.

        ``starts`` and ``skips`` have (size + 63) // 64 + 1 words. On entry a bit in ``starts``
        is the start of a segment (0 is always one) and the same bit in ``skips`` says that the
        segment is not to be touched. On return every piece has its bit in ``starts``, and
        ``skips`` has those that a split removes as well. The text is UTF-8.

        ``unit`` is the bytes that a thread does at a time, rounded up to whole words; 0: the
        default. Result 0; -1: no memory; -2: interrupted, with the exception set.
        """
        return run_stages(self._stages, self._n_stages, text, size, starts, skips, num_threads,
                          unit)

    def pieces(self, str text, int num_threads=1, size_t unit=0, segments=()):
        """The pieces of ``text`` as (begin, end, dropped), offsets in bytes of its UTF-8.

        ``segments`` are (begin, to be left alone) of the segments behind the first; a segment
        that is left alone comes back as one dropped piece.
        """
        cdef Py_ssize_t n_bytes = 0
        cdef const uint8_t* utf8 = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &n_bytes)
        cdef size_t size = <size_t>n_bytes, n_words = bitmap_words(size), begin = 0, end
        cdef uint64_t* bits = <uint64_t*>calloc(2 * n_words, sizeof(uint64_t))
        cdef int status
        found = []
        try:
            if bits == NULL:
                raise MemoryError
            set_bit(bits, 0)
            for at, left_alone in segments:
                if not 0 <= at < size:
                    raise IndexError(f"segment at byte {at} of a text of {size}")
                set_bit(bits, at)
                if left_alone:
                    set_bit(bits + n_words, at)
            with nogil:
                status = self.find_pieces(utf8, size, bits, bits + n_words, num_threads, unit)
            raise_status(status)
            while begin < size:
                end = next_set(bits, begin + 1, size)
                found.append((begin, end, bool(is_set(bits + n_words, begin))))
                begin = end
        finally:
            free(bits)
        return found


cdef void* data_of(array) except? NULL:
    """The address of a NumPy array's first element; the SplitTables keep it alive."""
    cdef const uint8_t[::1] view = array.reshape(-1).view("u1")
    return <void*>&view[0]


cdef int fill_stage(Stage* stage, tables, bint use_transducer) except -1:
    transducer = tables.transducer if use_transducer else None
    stage.byte_class = <const uint8_t*>data_of(tables.byte_class)
    stage.page_index = <const uint16_t*>data_of(tables.page_index)
    stage.pages = <const uint8_t*>data_of(tables.pages)
    stage.next = <const uint16_t*>data_of(tables.dfa.next)
    stage.accept = <const uint8_t*>data_of(tables.dfa.accept)
    stage.n_columns = tables.dfa.classes.count + 1
    stage.n_classes = tables.n_classes
    stage.byte_level = tables.byte_level
    stage.has_gaps = tables.has_gaps
    stage.behavior = _split.BEHAVIORS.index(tables.behavior)
    stage.invert = tables.invert
    if transducer is not None:
        stage.table = <const uint8_t*>data_of(transducer.table)
        stage.row_width = transducer.row_width
        stage.start = transducer.start
        stage.bounds = <const uint16_t*>data_of(transducer.bounds)
        stage.borders = <const uint8_t*>data_of(transducer.events[0])
        stage.gaps = <const uint8_t*>data_of(transducer.events[1])
        stage.undo = <const uint8_t*>data_of(transducer.events[2])
        stage.cut = <const uint8_t*>data_of(transducer.events[3])
        stage.settled = <const uint8_t*>data_of(transducer.settled)
    return 0
