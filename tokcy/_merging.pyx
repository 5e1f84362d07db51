# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Merging one piece.

It is the definition of BPE and nothing else (rule M6): among all adjacent pairs that have a merge,
take the one of lowest rank, the leftmost of those; until there is none. Short pieces look at all
their pairs each time, long ones use a heap. (`_merges.h` has a third way, for many short pieces.)
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from tokcy._merges cimport (
    NO_RANK,
    Merges,
    find_rank,
    first_rank,
    first_symbol,
    symbol_of_rank,
)
from tokcy._platform cimport tk_unlikely
from tokcy._status cimport INTERRUPTED, check_signals

cdef enum:
    STEPS_BETWEEN_LOOKS = 1 << 18   # at signals: some 50 ms
    SCAN_BYTES = 48         # up to here a scan for the lowest rank beats a heap

cdef uint32_t END = 0xFFFFFFFF


cdef struct Symbol:         # of a long piece, in a linked list
    uint32_t name           # END once it is swallowed
    uint32_t before
    uint32_t after          # index of the next symbol; END behind the last


cdef int64_t merge_piece(const Merges* merges, const uint8_t* piece, size_t size,
                         uint32_t* out) noexcept nogil:
    """The ids of a piece by merging alone; their number, or a status below 0."""
    if size <= SCAN_BYTES:
        return _merge_by_scan(merges, piece, size, out)
    return _merge_by_heap(merges, piece, size, out)


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
    cdef uint32_t lowest, symbol = NO_RANK
    cdef size_t n = 0, i = 0, at, right
    while i < size:
        i += first_symbol(merges, piece, size, i, &symbol)
        if tk_unlikely(symbol == NO_RANK):
            continue
        symbols[n] = symbol
        before[n] = <uint8_t>(n - 1)
        after[n] = <uint8_t>(n + 1)
        n += 1
    if n == 0:
        return 0
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

cdef int64_t _merge_by_heap(const Merges* merges, const uint8_t* piece, size_t size,
                            uint32_t* out) noexcept nogil:
    """O(n log n) for long pieces: linked symbols, and a heap of (rank, position).

    A heap entry is stale when its left symbol has changed since. It is recognised by the rank of
    the pair that stands there now: the same rank means the same pair.
    """
    cdef Symbol* symbols = <Symbol*>malloc((size + 1) * sizeof(Symbol))
    cdef uint64_t* heap = <uint64_t*>malloc((3 * size + 3) * sizeof(uint64_t))
    cdef size_t n, n_heap, n_out = 0
    cdef uint32_t at
    cdef int status
    if symbols == NULL or heap == NULL or size >= END:
        free(symbols)
        free(heap)
        return -1
    n = _link_symbols(merges, piece, size, symbols)
    n_heap = _fill_heap(merges, symbols, n, heap)
    status = _drain_heap(merges, symbols, heap, n_heap)
    free(heap)
    at = 0 if n and status == 0 else END
    while at != END:
        out[n_out] = merges.ids[symbols[at].name]
        n_out += 1
        at = symbols[at].after
    free(symbols)
    return n_out if status == 0 else status


cdef size_t _link_symbols(const Merges* merges, const uint8_t* piece, size_t size,
                          Symbol* symbols) noexcept nogil:
    cdef size_t n = 0, i = 0
    cdef uint32_t symbol = NO_RANK
    while i < size:
        i += first_symbol(merges, piece, size, i, &symbol)
        if symbol != NO_RANK:
            symbols[n].name = symbol
            symbols[n].before = <uint32_t>(n - 1) if n else END
            symbols[n].after = <uint32_t>(n + 1)
            n += 1
    if n:
        symbols[n - 1].after = END
    return n


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
