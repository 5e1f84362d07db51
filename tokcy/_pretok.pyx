# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Text → piece boundaries, by the tables that tokcy.pattern makes of split patterns.

A split is one pass. Bytes become classes (``classify``), classes drive the transducer
(``run_transducer``: one table step for two bytes, eight cursors in one loop), and what it tells
becomes bits where pieces start (``emit``). A cursor, or a thread, begins at a guessed state;
where the scan before it arrives, the truth overwrites the guess until both are in one state,
from where they are the same. This is exact because a token depends on no text before it.

Splits without a transducer go through the DFA token by token (`_dfa`).
"""

import os

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from cython.parallel cimport parallel, threadid
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
from tokcy._dfa cimport scan_by_dfa
from tokcy._platform cimport tk_ctz64
from tokcy._status cimport check_signals, raise_status
from tokcy._team cimport Team, team_assist, team_end, team_init, team_run
from tokcy._utf8 cimport utf8_width

from tokcy.errors import SettingError
from tokcy.pattern import split as _split

cdef enum:
    ISOLATED = 0
    REMOVED = 1
    MERGED_WITH_PREVIOUS = 2
    MERGED_WITH_NEXT = 3
    CONTIGUOUS = 4

# The bits of codes, as tokcy.pattern.transducer numbers them.
cdef enum:
    GAP_HERE = 4
    GAP_BACK = 5
    CUT = 6
    OTHER = 7

cdef enum:
    BLOCK = 4096            # bytes; their classes, columns and entries stay in L1
    PAIRS = 2048
    BLOCK_WORDS = 64
    DEFAULT_UNIT = 32768
    FEW_WORDS = 32          # of each bitmap, that the stack takes


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


cdef struct Scratch:
    uint8_t[BLOCK] classes
    uint16_t[PAIRS] columns
    uint32_t[PAIRS] entries


cdef extern from "_steps.h" nogil:
    ctypedef struct tk_walk:
        const uint32_t* pairs
        const uint32_t* singles
        const uint16_t* columns
        const uint8_t* classes
        uint32_t* entries
    uint16_t tk_column_at_segment(const uint8_t* classes, size_t n_classes, size_t n_pairs)
    uint32_t tk_entry(const uint32_t* table, size_t row, size_t column)
    size_t tk_row_of(uint32_t entry)
    size_t tk_run_pairs(const tk_walk* walk, size_t n, size_t row, size_t guess)
    size_t tk_run_singles(const tk_walk* walk, size_t n, size_t row, size_t guess)
    void tk_put_segments_right(const tk_walk* walk, const uint64_t* segments, size_t n,
                               size_t row)


# ---------------------------------------------------------------- bytes → classes

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
                   bint* skipping) noexcept nogil:
    """The columns of the bytes begin, …, end - 1, where ``begin`` is a multiple of 64.

    ``skipping`` says whether the segment that runs into ``begin`` is skipped, and then whether
    the one that runs into ``end`` is. The result: whether each byte is a character.
    """
    cdef const Stage* stage = scan.stage
    cdef const uint8_t* text = scan.text
    cdef size_t at = begin, stop, i
    cdef uint64_t leads, beyond = 0
    cdef uint8_t[64] tail
    while at < end:
        if at + 64 <= scan.size:
            leads = stage.simd.classify(text + at, stage.byte_class, classes, &beyond)
        else:
            memset(tail, 0, 64)
            memcpy(tail, text + at, scan.size - at)
            leads = stage.simd.classify(tail, stage.byte_class, classes, &beyond)
        stop = at + 64 if at + 64 <= end else end
        if not stage.byte_level:
            while leads:
                i = <size_t>tk_ctz64(leads)
                classes[i] = wide_class(stage, text + at + i, utf8_width(text[at + i]))
                leads &= leads - 1
        if skipping[0] or scan.segments[at >> 6]:
            skipping[0] = mark_segments(scan, at, stop, classes, skipping[0])
        classes += 64
        at = stop
    return stage.byte_level or beyond == 0


# ---------------------------------------------------------------- classes → entries

cdef size_t count_segments(const Scan* scan, size_t begin, size_t n) noexcept nogil:
    cdef size_t word, found = 0
    cdef uint64_t bits
    for word in range(begin >> 6, (begin + n + 63) >> 6):
        bits = scan.segments[word]
        while bits:
            found += 1
            bits &= bits - 1
    return found


cdef void pair_columns(const Scan* scan, size_t begin, size_t n, Scratch* scratch) noexcept nogil:
    cdef const Stage* stage = scan.stage
    cdef size_t at, i
    cdef uint64_t bits
    for at in range(0, n, 64):
        stage.simd.columns(scratch.classes + at, stage.n_classes + 1, scratch.columns + at // 2)
        bits = scan.segments[(begin + at) >> 6]
        while bits:
            i = (at + <size_t>tk_ctz64(bits)) >> 1
            scratch.columns[i] = tk_column_at_segment(scratch.classes + 2 * i, stage.n_classes,
                                                      stage.n_pairs)
            bits &= bits - 1


cdef size_t run_transducer(const Scan* scan, size_t begin, size_t n, size_t row,
                           Scratch* scratch) noexcept nogil:
    """The entries for ``n`` classes from ``row`` on; the last row.

    Segments that are not many are taken for other text at first, and put right then.
    """
    cdef const Stage* stage = scan.stage
    cdef size_t n_pairs = (n + 1) >> 1, n_segments
    cdef tk_walk walk = tk_walk(stage.steps, stage.steps + stage.n_pairs, &scratch.columns[0],
                                &scratch.classes[0], &scratch.entries[0])
    if n & 1:
        scratch.classes[n] = stage.n_classes
    n_segments = count_segments(scan, begin, n)
    if stage.n_pairs == 0 or n_segments > n >> 5:
        return tk_run_singles(&walk, n_pairs, row, 0)
    pair_columns(scan, begin, n, scratch)
    tk_run_pairs(&walk, n_pairs, row, 0)
    tk_put_segments_right(&walk, scan.segments + (begin >> 6), n_pairs, row)
    return tk_row_of(scratch.entries[n_pairs - 1])


# ---------------------------------------------------------------- entries → bits

cdef inline size_t step_back(const Scan* scan, size_t i, int n_characters) noexcept nogil:
    # Nothing goes back beyond the text; a table from a file that lies might.
    while n_characters > 0 and i > 0:
        n_characters -= 1
        i -= 1
        if not scan.stage.byte_level:
            while i > 0 and (scan.text[i] & 0xC0) == 0x80:
                i -= 1
    return i


cdef void take_back(const Scan* scan, size_t i, int n_borders) noexcept nogil:
    """Forget the last borders before i, and what was told of gaps since."""
    cdef size_t place = i
    while n_borders:
        place = last_set(scan.starts, i)
        if is_set(scan.segments, place) or place < scan.floor:  # nor this, as it is no guess
            break
        clear_bit(scan.starts, place)
        n_borders -= 1
    if scan.stage.has_gaps:
        while place < i:
            clear_bit(scan.gaps, place)
            place += 1
        place = last_set(scan.starts, i)
        if place < scan.floor:  # a guess does not tell where its first token starts
            place = scan.floor
            while not scan.stage.byte_level and (scan.text[place] & 0xC0) == 0x80:
                place += 1
        clear_bit(scan.gaps, place)


cdef void emit_one(const Scan* scan, uint8_t code, size_t i) noexcept nogil:
    """Any event, told by the character at i (or by the end of text, if i is the size)."""
    cdef const uint8_t* other
    cdef int borders = code & 15, gaps = code >> GAP_HERE & 3, cut = code >> CUT & 1, distance = 0
    cdef size_t place
    if code >> OTHER:
        other = scan.stage.others + (code & 0x7C)
        borders, gaps, cut = other[0], other[1], other[3]
        if other[2] and i > 0:
            take_back(scan, i, other[2] - 1)
    if cut and i < scan.size:
        set_bit(scan.cuts, i)
    while borders | gaps:
        place = step_back(scan, i, distance)
        if borders & 1 and place < scan.size:
            set_bit(scan.starts, place)
        if gaps & 1 and place < scan.size:
            set_bit(scan.gaps, place)
        borders >>= 1
        gaps >>= 1
        distance += 1


cdef inline void emit_back(const Scan* scan, uint64_t* bitmap, size_t word, uint64_t bits,
                           int distance, bint single) noexcept nogil:
    """Set the bits some characters before these; a shift does for those behind ASCII ones."""
    cdef size_t base = word << 6
    cdef uint64_t one_by_one = 0    # what has a longer character so near before it
    cdef int _
    if not single:
        one_by_one = ~<uint64_t>0
        if base + 64 <= scan.size:
            one_by_one = scan.stage.simd.beyond_ascii(scan.text + base) << 1
            for _ in range(1, distance):
                one_by_one |= one_by_one << 1
    one_by_one |= bits_below(<size_t>distance)
    bitmap[word] |= (bits & ~one_by_one) >> distance
    bits &= one_by_one
    while bits:
        set_bit(bitmap, step_back(scan, base + <size_t>tk_ctz64(bits), distance))
        bits &= bits - 1


cdef void emit_more(const Scan* scan, const uint32_t* entries, size_t word,
                    bint single) noexcept nogil:
    """Set the bits of 32 entries but for borders at a character and one before it."""
    cdef uint64_t[8] masks
    cdef uint64_t bits
    cdef int k
    scan.stage.simd.spread(entries, masks)
    if scan.stage.has_gaps:
        scan.gaps[word] |= masks[GAP_HERE] & ~masks[OTHER]
        scan.cuts[word] |= masks[CUT] & ~masks[OTHER]
        bits = masks[GAP_BACK] & ~masks[OTHER]
        if bits:
            emit_back(scan, scan.gaps, word, bits, 1, single)
    if not masks[OTHER]:
        for k in range(2, GAP_HERE):
            if masks[k]:
                emit_back(scan, scan.starts, word, masks[k], k, single)
        return
    # In order, as what is taken back must be there, and what is told later must not.
    bits = masks[2] | masks[3] | masks[OTHER]
    while bits:
        k = tk_ctz64(bits)
        emit_one(scan, <uint8_t>(entries[k >> 1] >> (24 if k & 1 else 16)),
                 (word << 6) + <size_t>k)
        bits &= bits - 1


cdef void emit(const Scan* scan, uint32_t* entries, size_t begin, size_t n,
               bint single) noexcept nogil:
    """Set the bits that the entries of ``n`` characters tell of, the first at byte ``begin``.

    ``begin`` is a multiple of 64, and ``entries`` has room up to the next multiple of 64.
    """
    cdef size_t first = begin >> 6, n_words = (n + 63) >> 6, word
    cdef uint64_t[BLOCK_WORDS] here
    cdef uint64_t[BLOCK_WORDS] back
    cdef uint64_t more
    if n & 63:
        memset(entries + (n + 1) // 2, 0, (64 - (n & 63)) // 2 * sizeof(uint32_t))
    more = scan.stage.simd.events(entries, n_words, here, back)
    for word in range(n_words):
        scan.starts[first + word] |= here[word]
        if back[word]:
            emit_back(scan, scan.starts, first + word, back[word], 1, single)
    while more:
        word = <size_t>tk_ctz64(more)
        emit_more(scan, entries + 32 * word, first + word, single)
        more &= more - 1


# ---------------------------------------------------------------- one stage

cdef size_t scan_range(const Scan* scan, size_t begin, size_t end, size_t row, bint skipping,
                       Scratch* scratch) noexcept nogil:
    """Scan begin, …, end - 1 from ``row`` on, ``begin`` being a multiple of 64."""
    cdef size_t at = begin, n
    cdef bint single
    while at < end:
        n = min(<size_t>BLOCK, end - at)
        single = classify(scan, at, at + n, scratch.classes, &skipping)
        row = run_transducer(scan, at, n, row, scratch)
        emit(scan, scratch.entries, at, n, single)
        at += n
    return row


cdef inline bint is_skipping(const Scan* scan, size_t begin) noexcept nogil:
    """Whether the segment that runs into byte ``begin`` is to be skipped."""
    if begin == 0 or not scan.any_skips:
        return False
    return is_set(scan.skips, last_set(scan.segments, begin))


cdef size_t scan_unit(const Scan* scan, size_t begin, size_t end, size_t row,
                      size_t floor) noexcept nogil:
    """``scan_range`` with scratch of its own, 16 KB of stack: malloc cost a short text 5%."""
    cdef Scratch scratch
    cdef Scan unit = scan[0]
    unit.floor = floor
    return scan_range(&unit, begin, end, row, is_skipping(scan, begin), &scratch)


cdef size_t repair_unit(const Scan* scan, size_t begin, size_t end, size_t row,
                        size_t guessed_last) noexcept nogil:
    """Replace what a scan of begin, …, end - 1 from a guess left by what one from ``row`` finds.

    Both are followed until they are in one row that is settled, that is, until every bit below
    is final; the bits from there on are right as they are. Returns the true last row.
    """
    cdef const Stage* stage = scan.stage
    cdef const uint32_t* singles = stage.steps + stage.n_pairs
    cdef uint8_t[64] classes
    cdef uint32_t[32] entries
    cdef uint32_t entry, guessed
    cdef size_t guess = 0, at = begin, n, i
    cdef uint64_t stale
    cdef bint skipping = is_skipping(scan, begin), met = False, single
    while at < end and not met:
        n = min(<size_t>64, end - at)
        single = classify(scan, at, at + n, classes, &skipping)
        i = 0
        while i < n and not met:
            entry = tk_entry(singles, row, classes[i])
            row = tk_row_of(entry)
            guessed = tk_entry(singles, guess, classes[i])
            guess = tk_row_of(guessed)
            if i & 1:
                entries[i >> 1] = (entries[i >> 1] & 0x00FF0000) | entry >> 24 << 24
            else:
                entries[i >> 1] = entry & 0x00FF0000
            met = (entry == guessed and classes[i] != stage.n_classes
                   and stage.settled[row // stage.row_width])
            i += 1
        stale = bits_below(i - 1 if met else i)
        scan.starts[at >> 6] &= ~stale | scan.segments[at >> 6]
        if stage.has_gaps:
            scan.gaps[at >> 6] &= ~stale
            scan.cuts[at >> 6] &= ~stale
        emit(scan, entries, at, i, single)
        at += n
    return guessed_last if met else row


cdef struct Guesses:        # of units that are scanned side by side
    const Scan* scan
    size_t begin
    size_t end
    size_t unit
    size_t row              # in which the first one begins
    size_t* lasts           # the rows in which they end


cdef void scan_guess(void* context, size_t u) noexcept nogil:
    """Scan a unit from a guess, but for the first."""
    cdef const Guesses* guesses = <const Guesses*>context
    cdef size_t at = guesses.begin + u * guesses.unit
    guesses.lasts[u] = scan_unit(guesses.scan, at, min(at + guesses.unit, guesses.end),
                                 0 if u else guesses.row, at if u else 0)


cdef int scan_parallel(const Scan* scan, size_t begin, size_t end, size_t* row, Team* team,
                       size_t unit) noexcept nogil:
    """Units side by side, each from a guess; then one after another put right."""
    cdef size_t n_units = (end - begin + unit - 1) // unit, u, at
    cdef size_t* lasts = <size_t*>malloc(n_units * sizeof(size_t))
    cdef Guesses guesses = Guesses(scan, begin, end, unit, row[0], lasts)
    if lasts == NULL:
        return -1
    team_run(team, scan_guess, &guesses, n_units)
    row[0] = lasts[0]
    for u in range(1, n_units):
        at = begin + u * unit
        row[0] = repair_unit(scan, at, min(at + unit, end), row[0], lasts[u])
    free(lasts)
    return 0


cdef int scan_by_transducer(const Scan* scan, Team* team, size_t unit) noexcept nogil:
    cdef size_t at = 0, end, row = 0
    cdef uint32_t entry
    cdef int status = 0
    while at < scan.size and status == 0:
        end = min(at + SUPER_BLOCK, scan.size)
        if team != NULL:
            status = scan_parallel(scan, at, end, &row, team, unit)
        else:
            row = scan_unit(scan, at, end, row, 0)
        if end < scan.size and status == 0:
            status = check_signals()
        at = end
    if status == 0:
        # The end of text, told by one more character, the first of a segment behind it.
        entry = tk_entry(scan.stage.steps + scan.stage.n_pairs, row, 2 * scan.stage.n_classes + 3)
        emit_one(scan, <uint8_t>(entry >> 24), scan.size)
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
                   uint64_t* skips, Team* team, size_t unit) noexcept nogil:
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
        if stage.has_gaps or stage.steps == NULL or has_effect(stage):
            memset(gaps, 0, 2 * n_words * sizeof(uint64_t))
        scan = Scan(stage, text, size, starts, skips, gaps, gaps + n_words, segments,
                    any_bit(skips, n_words), 0)
        if stage.steps != NULL:
            status = scan_by_transducer(&scan, team, unit)
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
                    uint64_t* starts, uint64_t* skips, Team* team, size_t unit) noexcept nogil:
    """What `PreTokenizer.find_pieces` does."""
    cdef size_t i
    cdef int status = 0
    unit = (unit + 63) // 64 * 64 if unit else DEFAULT_UNIT
    if size <= unit:
        team = NULL
    for i in range(n_stages):
        if status == 0 and size:
            status = run_stage(stages + i, text, size, starts, skips, team, unit)
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
        self._steps = [tables.transducer.steps() if use_transducer and tables.transducer else None
                       for tables in self._passes]
        for i, (tables, steps) in enumerate(zip(self._passes, self._steps)):
            fill_stage(&self._stages[<size_t>i], tables, steps)
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
                         uint64_t* skips, Team* team, size_t unit) noexcept nogil:
        """Refine the pieces of a text in place.

        ``starts`` and ``skips`` have (size + 63) // 64 + 1 words. On entry a bit in ``starts``
        is the start of a segment (0 is always one) and the same bit in ``skips`` says that the
        segment is not to be touched. On return every piece has its bit in ``starts``, and
        ``skips`` has those that a split removes as well. The text is UTF-8.

        ``team``, which the caller leads, shares the work; NULL: nobody does. ``unit`` is the
        bytes of a share, rounded up to whole words; 0: the default. Result 0; -1: no memory; -2:
        interrupted, with the exception set.
        """
        return run_stages(self._stages, self._n_stages, text, size, starts, skips, team, unit)

    cdef int _find_pieces_on(self, int num_threads, const uint8_t* text, size_t size,
                             uint64_t* starts, uint64_t* skips, size_t unit) noexcept nogil:
        """`find_pieces` on so many threads."""
        cdef Team team
        team_init(&team)
        with parallel(num_threads=num_threads):
            if threadid() == 0:
                team.status = self.find_pieces(text, size, starts, skips, &team, unit)
                team_end(&team)
            else:
                team_assist(&team)
        return team.status

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
                status = self._find_pieces_on(num_threads, utf8, size, bits, bits + n_words, unit)
            raise_status(status)
            while begin < size:
                end = next_set(bits, begin + 1, size)
                found.append((begin, end, bool(is_set(bits + n_words, begin))))
                begin = end
        finally:
            free(bits)
        return found


cdef void* data_of(array) except? NULL:
    """The address of a NumPy array's elements; the PreTokenizer keeps it alive."""
    cdef const uint8_t[::1] view = array.reshape(-1).view("u1")
    return <void*>&view[0] if view.shape[0] else NULL


cdef int fill_stage(Stage* stage, tables, steps) except -1:
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
    if steps is not None:
        stage.steps = <const uint32_t*>data_of(steps.table)
        stage.n_pairs = steps.n_pairs
        stage.row_width = steps.row_width
        stage.others = <const uint8_t*>data_of(tables.transducer.others)
        stage.settled = <const uint8_t*>data_of(tables.transducer.settled)
    return 0
