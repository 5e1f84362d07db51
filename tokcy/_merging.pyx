# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Merging one piece.

It is the definition of BPE and nothing else (rule M6): among all adjacent pairs that have a merge,
take the one of lowest rank, the leftmost of those; until there is none. Short pieces look at all
their pairs each time. Long ones are merged window by window, which is six times as fast as all at
once: 20 to 40 MB/s. (`_merge_many.h` has another way, for many short pieces.)
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memset

from tokcy._merges cimport (
    NO_RANK,
    Merges,
    find_rank,
    first_rank,
    first_symbols,
    symbol_of_rank,
)
from tokcy._status cimport INTERRUPTED, check_signals

cdef enum:
    STEPS_BETWEEN_LOOKS = 1 << 18   # at signals: some 50 ms
    SCAN_BYTES = 32         # up to here a scan of all pairs is best
    WINDOW_BITS = 8
    WINDOW = 256            # symbols that are merged at once
    GROUP = 16
    GROUPS = 16
    TOKENS_BACK = 4         # tokens at the end of a window, that are merged again
    NO_PAIR = 0x7FFFFFFF

cdef uint32_t END = 0xFFFFFFFF


cdef struct Window:         # of symbols that are merged at once
    int32_t[WINDOW] pairs       # rank << WINDOW_BITS | place, or NO_PAIR
    int32_t[GROUPS] lowest      # of each group of pairs
    uint32_t[WINDOW] symbols
    uint16_t[WINDOW] before
    uint16_t[WINDOW] after


cdef struct Piece:          # a long one
    size_t n
    uint32_t* first         # its n first symbols
    uint32_t* tokens        # what they became so far, as symbols
    uint32_t* begins        # the first of the first symbols of each
    size_t last_begin       # the window merged last
    size_t last_end
    size_t last_kept
    int64_t last_n


cdef struct Symbol:         # of a long piece, in a linked list
    uint32_t name           # END once it is swallowed
    uint32_t before
    uint32_t after          # index of the next symbol; END behind the last


cdef int64_t merge_piece(const Merges* merges, const uint8_t* piece, size_t size,
                         uint32_t* out) noexcept nogil:
    """The ids of a piece by merging alone; their number, or a status below 0."""
    if size <= SCAN_BYTES:
        return _merge_by_scan(merges, piece, size, out)
    return _merge_by_windows(merges, piece, size, out)


# ---------------------------------------------------------------- short pieces

cdef int64_t _merge_by_scan(const Merges* merges, const uint8_t* piece, size_t size,
                            uint32_t* out) noexcept nogil:
    """Find the lowest rank by looking at all pairs, each time: best for ordinary words.

    Symbols stay where they were; a swallowed one has no rank any more.
    """
    cdef uint32_t[SCAN_BYTES + 2] ranks       # of the pair that begins at each symbol
    cdef uint32_t[SCAN_BYTES + 2] symbols
    cdef uint8_t[SCAN_BYTES + 2] before
    cdef uint8_t[SCAN_BYTES + 2] after
    cdef uint32_t lowest, symbol
    cdef size_t n = first_symbols(merges, piece, size, symbols), i, at, right
    if n == 0:
        return 0
    for i in range(n):
        before[i] = <uint8_t>(i - 1)
        after[i] = <uint8_t>(i + 1)
    for i in range(n - 1):
        ranks[i] = first_rank(merges, symbols[i], symbols[i + 1])
    ranks[n - 1] = NO_RANK
    while True:
        at = 0
        lowest = ranks[0]
        for i in range(1, n - 1):
            if ranks[i] < lowest:
                lowest = ranks[i]
                at = i
        if lowest == NO_RANK:
            break
        symbol = symbol_of_rank(merges, lowest)
        symbols[at] = symbol
        right = after[at]
        ranks[right] = NO_RANK
        right = after[right]
        after[at] = <uint8_t>right
        if right < n:
            before[right] = <uint8_t>at
            ranks[at] = find_rank(merges, symbol, symbols[right])
        else:
            ranks[at] = NO_RANK
        if at:
            i = before[at]
            ranks[i] = find_rank(merges, symbols[i], symbol)
    i = 0
    at = 0
    while at < n:
        out[i] = merges.ids[symbols[at]]
        i += 1
        at = after[at]
    return i


# ---------------------------------------------------------------- long pieces

cdef int64_t _merge_by_windows(const Merges* merges, const uint8_t* piece, size_t size,
                               uint32_t* out) noexcept nogil:
    """The ids of a long piece, window by window, so that its symbols stay in the nearest cache.

    No merge crosses a border between the tokens of a result, so on either side of it all merges
    happen as if that side were alone. Conversely a row of tokens is the result of its bytes if
    each two neighbours are that of theirs: the first merge across a border would also be the
    first in those two alone, as until then each token is merged by itself.

    So a window begins at a border, some tokens before the end of the last one, which what
    follows may change. If its first token is the one that stood there, the pair of that and the
    token before stood in the last result, the others stand in this one, and the two are joined.
    If not, the next window begins further back.
    """
    cdef Piece whole
    cdef int64_t n = -1
    memset(&whole, 0, sizeof(Piece))
    if size < END:
        whole.first = <uint32_t*>malloc(2 * size * sizeof(uint32_t))
    if whole.first != NULL:
        whole.n = first_symbols(merges, piece, size, whole.first)
        whole.begins = whole.first + size
        whole.tokens = out
        n = _join_windows(merges, &whole)
    free(whole.first)
    for i in range(n):
        out[i] = merges.ids[out[i]]
    return n


cdef int64_t _join_windows(const Merges* merges, Piece* piece) noexcept nogil:
    """Merge; how many tokens there are, or a status."""
    cdef size_t kept = 0        # tokens before the window
    cdef size_t begin = 0, span = WINDOW, back = TOKENS_BACK, end, steps = 0
    cdef uint32_t known = 0     # the token that followed them in the last result
    cdef int64_t n = 0
    while piece.n:
        end = min(begin + span, piece.n)
        steps += end - begin
        if steps > STEPS_BETWEEN_LOOKS:
            steps = 0
            if check_signals() != 0:
                return INTERRUPTED
        n = _merge_window(merges, piece, begin, end, kept)
        if n < 0:
            return n
        if kept and piece.tokens[kept] != known:
            back = min(2 * back, kept)
            kept -= back
        elif end == piece.n:
            break
        elif n > 1:
            back = TOKENS_BACK
            kept += n - min(<size_t>TOKENS_BACK, <size_t>n // 2)
        begin = piece.begins[kept]
        known = piece.tokens[kept]
        # At least half of a window is new: the work stays linear, however long the tokens are.
        span = max(<size_t>WINDOW, 2 * (end - begin))
    return kept + n


cdef int64_t _merge_window(const Merges* merges, Piece* piece, size_t begin, size_t end,
                           size_t kept) noexcept nogil:
    """Merge the symbols [begin, end) alone, to behind the kept tokens; how many, or a status."""
    cdef size_t n = end - begin, i, shift = begin - piece.last_begin
    cdef const uint32_t* first = piece.first + begin
    cdef int64_t n_tokens = piece.last_n
    # What repeats itself, as a run does, need not be merged again.
    if (shift and n == piece.last_end - piece.last_begin and kept > piece.last_kept
            and memcmp(first, piece.first + piece.last_begin, n * sizeof(uint32_t)) == 0):
        i = n_tokens
        while i:
            i -= 1
            piece.tokens[kept + i] = piece.tokens[piece.last_kept + i]
            piece.begins[kept + i] = piece.begins[piece.last_kept + i] + <uint32_t>shift
    elif n <= WINDOW:
        n_tokens = _merge_by_groups(merges, first, n, begin, piece.tokens + kept,
                                    piece.begins + kept)
    else:
        n_tokens = _merge_by_heap(merges, first, n, begin, piece.tokens + kept,
                                  piece.begins + kept)
    piece.last_begin = begin
    piece.last_end = end
    piece.last_kept = kept
    piece.last_n = n_tokens
    return n_tokens


# --------------------------------------------------------------------- windows

cdef size_t _merge_by_groups(const Merges* merges, const uint32_t* first, size_t n, size_t begin,
                             uint32_t* tokens, uint32_t* begins) noexcept nogil:
    """Merge up to WINDOW symbols; how many tokens, whose places count from `begin`.

    The pairs are in groups of which the lowest is known, so that a step looks at few of them.
    """
    cdef Window window
    cdef uint32_t symbol
    cdef size_t at, i, right, touched
    cdef int32_t lowest
    cdef int k
    for i in range(n):
        window.symbols[i] = first[i]
        window.before[i] = <uint16_t>(i - 1)
        window.after[i] = <uint16_t>(i + 1)
    for i in range(n - 1):
        window.pairs[i] = _pair_at(first_rank(merges, first[i], first[i + 1]), i)
    for i in range(n - 1, (n + GROUP - 1) // GROUP * GROUP):
        window.pairs[i] = NO_PAIR
    for k in range(GROUPS):
        window.lowest[k] = NO_PAIR
    for i in range((n + GROUP - 1) // GROUP):
        _find_lowest(&window, i)
    while True:
        lowest = _lowest_of(window.lowest, GROUPS)
        if lowest == NO_PAIR:
            break
        at = <size_t>(lowest & (WINDOW - 1))
        symbol = symbol_of_rank(merges, <uint32_t>(lowest >> WINDOW_BITS))
        window.symbols[at] = symbol
        right = window.after[at]
        window.pairs[right] = NO_PAIR
        touched = right // GROUP
        right = window.after[right]
        window.after[at] = <uint16_t>right
        window.pairs[at] = NO_PAIR
        if right < n:
            window.before[right] = <uint16_t>at
            window.pairs[at] = _pair_at(find_rank(merges, symbol, window.symbols[right]), at)
        if touched != at // GROUP:
            _find_lowest(&window, touched)
        if at:
            i = window.before[at]
            window.pairs[i] = _pair_at(find_rank(merges, window.symbols[i], symbol), i)
            if i // GROUP != at // GROUP:
                _find_lowest(&window, i // GROUP)
        _find_lowest(&window, at // GROUP)
    i = at = 0
    while at < n:
        tokens[i] = window.symbols[at]
        begins[i] = <uint32_t>(begin + at)
        i += 1
        at = window.after[at]
    return i


cdef inline int32_t _pair_at(uint32_t rank, size_t at) noexcept nogil:
    """A pair as a number that is the lower the sooner it is merged."""
    return NO_PAIR if rank == NO_RANK else <int32_t>(rank << WINDOW_BITS | <uint32_t>at)


cdef inline int32_t _lowest_of(const int32_t* pairs, int n) noexcept nogil:
    cdef int32_t lowest = pairs[0]
    cdef int i
    for i in range(1, n):
        lowest = pairs[i] if pairs[i] < lowest else lowest
    return lowest


cdef inline void _find_lowest(Window* window, size_t group) noexcept nogil:
    window.lowest[group] = _lowest_of(window.pairs + group * GROUP, GROUP)


# ------------------------------------------------------- windows of any length

cdef int64_t _merge_by_heap(const Merges* merges, const uint32_t* first, size_t n, size_t begin,
                            uint32_t* tokens, uint32_t* begins) noexcept nogil:
    """As _merge_by_groups for any number of symbols, or a status: linked, with a heap of pairs.

    A heap entry is stale when its left symbol has changed since. It is recognised by the rank of
    the pair that stands there now: the same rank means the same pair.
    """
    cdef Symbol* symbols = <Symbol*>malloc((n + 1) * sizeof(Symbol))
    cdef uint64_t* heap = <uint64_t*>malloc((3 * n + 3) * sizeof(uint64_t))
    cdef size_t i, n_heap, n_tokens = 0
    cdef uint32_t at = 0
    cdef int status = -1
    if symbols != NULL and heap != NULL:
        for i in range(n):
            symbols[i].name = first[i]
            symbols[i].before = <uint32_t>(i - 1) if i else END
            symbols[i].after = <uint32_t>(i + 1) if i + 1 < n else END
        n_heap = _fill_heap(merges, symbols, n, heap)
        status = _drain_heap(merges, symbols, heap, n_heap)
    free(heap)
    while status == 0 and at != END:
        tokens[n_tokens] = symbols[at].name
        begins[n_tokens] = <uint32_t>begin + at
        n_tokens += 1
        at = symbols[at].after
    free(symbols)
    return n_tokens if status == 0 else status


cdef size_t _fill_heap(const Merges* merges, const Symbol* symbols, size_t n,
                       uint64_t* heap) noexcept nogil:
    cdef size_t n_heap = 0, i
    cdef uint32_t rank
    for i in range(n - 1 if n else 0):
        rank = first_rank(merges, symbols[i].name, symbols[i + 1].name)
        if rank != NO_RANK:
            heap[n_heap] = <uint64_t>rank << 32 | i
            n_heap += 1
    i = n_heap // 2
    while i:
        i -= 1
        _sift_down(heap, n_heap, i)
    return n_heap


cdef int _drain_heap(const Merges* merges, Symbol* symbols, uint64_t* heap,
                     size_t n_heap) noexcept nogil:
    """Merge; 0, or a status."""
    cdef size_t steps = 0
    cdef uint64_t top
    cdef uint32_t rank, at, after, before
    while n_heap:
        steps += 1
        if steps % STEPS_BETWEEN_LOOKS == 0 and check_signals() != 0:
            return INTERRUPTED
        top = heap[0]
        n_heap -= 1
        heap[0] = heap[n_heap]
        _sift_down(heap, n_heap, 0)
        at = <uint32_t>top
        rank = <uint32_t>(top >> 32)
        after = symbols[at].after
        if symbols[at].name == END or after == END:
            continue
        if find_rank(merges, symbols[at].name, symbols[after].name) != rank:
            continue
        symbols[at].name = symbol_of_rank(merges, rank)
        symbols[after].name = END               # its own heap entries are stale
        after = symbols[after].after
        symbols[at].after = after
        if after != END:
            symbols[after].before = at
            rank = find_rank(merges, symbols[at].name, symbols[after].name)
            n_heap = _push(heap, n_heap, rank, at)
        before = symbols[at].before
        if before != END:
            rank = find_rank(merges, symbols[before].name, symbols[at].name)
            n_heap = _push(heap, n_heap, rank, before)
    return 0


cdef inline size_t _push(uint64_t* heap, size_t n, uint32_t rank, uint32_t at) noexcept nogil:
    """Add (rank, position), if the pair has a rank; the new size of the heap."""
    cdef uint64_t item
    cdef size_t i = n, parent
    if rank == NO_RANK:
        return n
    item = <uint64_t>rank << 32 | at
    while i:
        parent = (i - 1) // 2
        if heap[parent] <= item:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = item
    return n + 1


cdef inline void _sift_down(uint64_t* heap, size_t n, size_t i) noexcept nogil:
    cdef uint64_t item
    cdef size_t child
    if i >= n:
        return
    item = heap[i]
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= item:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = item
