# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The merges of a model, and merging by them.

Merging is the definition of BPE and nothing else (rule M6): among all adjacent pairs that have
a merge, take the one of lowest rank, the leftmost of those; until there is none.

Short pieces look at all their pairs each time, long ones use a heap.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tokcy._bitmap cimport is_set, set_bit
from tokcy._platform cimport tk_alloc_table, tk_unlikely
from tokcy._status cimport INTERRUPTED, check_signals
from tokcy._vocab cimport Vocabulary

cdef enum:
    # Most pairs asked for have no merge. A filter of 256 KB, which stays in L2, answers for 87%
    # of those without touching the table of 16 MB (Llama-3): 7-10% on unseen text.
    FILTER_BITS = 21
    STEPS_BETWEEN_LOOKS = 1 << 18   # at signals: some 50 ms
    SCAN_BYTES = 48         # up to here a scan for the lowest rank beats a heap

cdef enum:
    CERTAIN = 0
    A_BYTE = -1             # in place of a rank
    NEVER = -2
    UNSURE = -3

cdef uint64_t NO_PAIR = 0xFFFFFFFFFFFFFFFFULL
cdef uint32_t END = 0xFFFFFFFF


@cython.final
cdef class MergeTable:
    """The merges of a vocabulary, immutable.

    Attributes:
        n_merges: how many are in the table, without those that never happen.

    Raises:
        MemoryError: the tables do not fit.
    """

    def __cinit__(self, Vocabulary vocabulary):
        self.vocabulary = vocabulary
        self._index()

    def __dealloc__(self):
        free(self.slots)
        free(self.pair_filter)
        free(self.byte_pairs)

    cdef int _index(self) except -1:
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint64_t pair
        cdef int left, right
        self.pair_filter = <uint64_t*>malloc(sizeof(uint64_t) << (FILTER_BITS - 6))
        self.byte_pairs = <uint64_t*>malloc(65536 * sizeof(uint64_t))
        if self.pair_filter == NULL or self.byte_pairs == NULL:
            raise MemoryError
        if not self._add_merges_that_happen():
            self._add_all_merges()
        for left in range(256):
            for right in range(256):
                pair = NO_PAIR
                if vocabulary.byte_id[left] >= 0 and vocabulary.byte_id[right] >= 0:
                    pair = self._rank(<uint32_t>vocabulary.byte_id[left],
                                      <uint32_t>vocabulary.byte_id[right])
                self.byte_pairs[left << 8 | right] = pair
        return 0

    cdef int _clear(self, size_t n) except -1:
        """Make room for n merges; there are none in the table then."""
        cdef uint64_t n_slots = 64, at
        while n_slots < 2 * n:
            n_slots *= 2
        free(self.slots)
        self.slots = <MergeSlot*>tk_alloc_table(n_slots * sizeof(MergeSlot))
        if self.slots == NULL:
            raise MemoryError
        self.slot_mask = n_slots - 1
        self.n_merges = 0
        for at in range(n_slots):
            self.slots[at].pair = NO_PAIR
        memset(self.pair_filter, 0, sizeof(uint64_t) << (FILTER_BITS - 6))
        return 0

    cdef bint _add(self, size_t rank) noexcept nogil:
        """Add a merge; whether its pair had none before. M2: of equal pairs the last counts."""
        cdef uint64_t pair = (<uint64_t>self.vocabulary.left[rank] << 32
                              | self.vocabulary.right[rank])
        cdef uint64_t at = self._slot_of(pair)
        cdef bint is_new = self.slots[at].pair == NO_PAIR
        self.n_merges += is_new
        self.slots[at] = MergeSlot(pair, <uint32_t>rank, self.vocabulary.merged[rank])
        set_bit(self.pair_filter, _filter_bit(pair))
        return is_new

    cdef int _add_all_merges(self) except -1:
        cdef size_t rank
        self._clear(self.vocabulary.n_merges)
        for rank in range(self.vocabulary.n_merges):
            self._add(rank)
        return 0

    cdef bint _add_merges_that_happen(self) except -1:
        """Add the merges but for those that never happen.

        Llama-3 lists every way to cut each token in two, 280,000 merges for 128,000 tokens, but
        merging only ever makes a token in one way (`_may_meet`). Without the others the table
        has 4 MB in place of 16 MB, and a piece that the cache does not know takes 8 to 14% less
        time; telling them apart takes 6 ms.

        False if all are needed, or that cannot be told: the merges of some token do not stand
        together in the list, or a pair is there twice. The table is of no use then.
        """
        cdef Vocabulary vocabulary = self.vocabulary
        cdef uint32_t* merged = vocabulary.merged
        cdef size_t n = vocabulary.n_merges, n_tokens = 0, rank, begin = 0, end
        cdef int64_t room
        cdef Making* made
        for rank in range(n):
            n_tokens += rank == 0 or merged[rank] != merged[rank - 1]
        # An array by id would be too large where ids are sparse; no model with such a list is.
        if n_tokens == n or vocabulary.max_id // 4 > vocabulary.n_entries:
            return False
        room = n_tokens + n_tokens // 8
        self._clear(room)
        made = <Making*>malloc((<size_t>vocabulary.max_id + 1) * sizeof(Making))
        if made == NULL:
            raise MemoryError
        for rank in range(<size_t>vocabulary.max_id + 1):
            made[rank].rank = UNSURE
            made[rank].seen = False
        for rank in range(256):
            if vocabulary.byte_id[rank] >= 0:
                made[vocabulary.byte_id[rank]].rank = A_BYTE
        while begin < n and room >= 0:
            end = begin + 1
            while end < n and merged[end] == merged[begin]:
                end += 1
            if not self._add_merges_of_token(begin, end, made, &room):
                room = -1
            begin = end
        free(made)
        return room >= 0

    cdef bint _add_merges_of_token(self, size_t begin, size_t end, Making* made,
                                   int64_t* room) noexcept nogil:
        """Add what may happen of the merges [begin, end), which all make one token.

        False if one of them cannot be added, or the token or one of the pairs is known already.
        """
        cdef Making* making = made + self.vocabulary.merged[begin]
        cdef int32_t rank, happens = NEVER, may
        cdef int32_t first = <int32_t>begin, last = <int32_t>end
        if making.rank != UNSURE or making.seen:
            return False
        making.seen = True
        for rank in range(first, last):
            may = self._may_meet(self.vocabulary.left[rank], self.vocabulary.right[rank], made)
            if may == CERTAIN:
                making.rank = rank
                making.left = self.vocabulary.left[rank]
                making.right = self.vocabulary.right[rank]
                room[0] -= 1
                return room[0] >= 0 and self._add(rank)
            if may == UNSURE:
                happens = UNSURE
        making.rank = happens
        for rank in range(first, last if happens == UNSURE else first):
            room[0] -= 1
            if room[0] < 0 or not self._add(rank):
                return False
        return True

    cdef int32_t _may_meet(self, uint32_t left, uint32_t right, const Making* made) noexcept nogil:
        """Whether two tokens come to stand side by side while some piece is merged.

        If they do, nothing before has reached out of the two, so merging their text alone comes
        to the same two; and as a text comes to two tokens only once before it is one, only one
        merge of those that make a token happens.

        Of the merges that made the two the one of higher rank came last, as the rank of each
        token in `made` is above those of its parts. Just before, a part of it stood beside the
        other token. Had these a merge of lower rank, it would have come first. If not, the two
        meet if these do; and two bytes meet.
        """
        cdef int32_t rank_left, rank_right
        while True:
            rank_left = made[left].rank
            rank_right = made[right].rank
            if rank_left == NEVER or rank_right == NEVER:
                return NEVER
            if rank_left == UNSURE or rank_right == UNSURE:
                return UNSURE
            if rank_left > rank_right:
                left = made[left].right
                if self._rank(left, right) >> 32 < <uint64_t>rank_left:
                    return NEVER
            elif rank_right != A_BYTE:      # of equal merges the one on the left comes first
                right = made[right].left
                if self._rank(left, right) >> 32 <= <uint64_t>rank_right:
                    return NEVER
            else:
                return CERTAIN

    # ------------------------------------------------------------------- ranks

    cdef uint64_t _slot_of(self, uint64_t pair) noexcept nogil:
        cdef uint64_t at = _first_slot(pair) & self.slot_mask
        while self.slots[at].pair != pair and self.slots[at].pair != NO_PAIR:
            at = (at + 1) & self.slot_mask
        return at

    cdef uint64_t _rank(self, uint32_t left, uint32_t right) noexcept nogil:
        """rank << 32 | merged id of a pair; NO_PAIR, above any rank, where it has no merge."""
        cdef uint64_t pair = <uint64_t>left << 32 | right
        cdef const MergeSlot* slot
        if not is_set(self.pair_filter, _filter_bit(pair)):
            return NO_PAIR
        slot = self.slots + self._slot_of(pair)
        if slot.pair == NO_PAIR:
            return NO_PAIR
        return <uint64_t>slot.rank << 32 | slot.merged

    # ----------------------------------------------------------------- merging

    cdef int64_t merge(self, const uint8_t* piece, size_t size, uint32_t* out) noexcept nogil:
        """The ids of a piece by merging alone; their number, or a status below 0."""
        if size <= SCAN_BYTES:
            return self._merge_by_scan(piece, size, out)
        return self._merge_by_heap(piece, size, out)

    cdef int64_t _merge_by_scan(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil:
        """Find the lowest rank by looking at all pairs, each time: best for ordinary words.

        Symbols stay where their first byte was; a swallowed one has no rank any more.
        """
        cdef uint64_t[SCAN_BYTES + 2] ranks       # of the pair that begins at each symbol
        cdef uint32_t[SCAN_BYTES + 2] ids
        cdef uint8_t[SCAN_BYTES + 2] before
        cdef uint8_t[SCAN_BYTES + 2] after
        cdef uint64_t lowest
        cdef size_t n = 0, i, at, right
        cdef int64_t token
        for i in range(size):
            token = self.vocabulary.byte_id[piece[i]]
            if tk_unlikely(token < 0):          # M5(c): gone before merging starts
                continue
            ids[n] = <uint32_t>token
            before[n] = <uint8_t>(n - 1)
            after[n] = <uint8_t>(n + 1)
            n += 1
        if n == 0:
            return 0
        if n == size:
            for i in range(n - 1):
                ranks[i] = self.byte_pairs[<size_t>piece[i] << 8 | piece[i + 1]]
        else:
            for i in range(n - 1):
                ranks[i] = self._rank(ids[i], ids[i + 1])
        ranks[n - 1] = NO_PAIR
        while True:
            at = 0
            lowest = ranks[0]
            for i in range(1, n - 1):
                if ranks[i] < lowest:
                    lowest = ranks[i]
                    at = i
            if lowest == NO_PAIR:
                break
            ids[at] = <uint32_t>lowest
            right = after[at]
            ranks[right] = NO_PAIR
            right = after[right]
            after[at] = <uint8_t>right
            if right < n:
                before[right] = <uint8_t>at
                ranks[at] = self._rank(ids[at], ids[right])
            else:
                ranks[at] = NO_PAIR
            if at:
                i = before[at]
                ranks[i] = self._rank(ids[i], ids[at])
        i = 0
        at = 0
        while at < n:
            out[i] = ids[at]
            i += 1
            at = after[at]
        return i

    cdef int64_t _merge_by_heap(self, const uint8_t* piece, size_t size,
                                uint32_t* out) noexcept nogil:
        """O(n log n) for long pieces: linked symbols, and a heap of (rank, position).

        A heap entry is stale when its left symbol has changed since. It is recognised by the
        rank of the pair that stands there now: ids of distinct strings are distinct, so the
        same rank means the same pair.
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
        n = self._link_symbols(piece, size, symbols)
        n_heap = self._fill_heap(symbols, n, heap)
        status = self._drain_heap(symbols, heap, n_heap)
        free(heap)
        at = 0 if n and status == 0 else END
        while at != END:
            out[n_out] = symbols[at].id
            n_out += 1
            at = symbols[at].after
        free(symbols)
        return n_out if status == 0 else status

    cdef size_t _link_symbols(self, const uint8_t* piece, size_t size,
                              Symbol* symbols) noexcept nogil:
        cdef size_t n = 0, i
        cdef int64_t token
        for i in range(size):
            token = self.vocabulary.byte_id[piece[i]]
            if token >= 0:                      # M5(c), as above
                symbols[n].id = <uint32_t>token
                symbols[n].before = <uint32_t>(n - 1) if n else END
                symbols[n].after = <uint32_t>(n + 1)
                n += 1
        if n:
            symbols[n - 1].after = END
        return n

    cdef size_t _fill_heap(self, const Symbol* symbols, size_t n, uint64_t* heap) noexcept nogil:
        cdef size_t n_heap = 0, i
        cdef uint64_t rank
        for i in range(n - 1 if n else 0):
            rank = self._rank(symbols[i].id, symbols[i + 1].id)
            if rank != NO_PAIR:
                heap[n_heap] = (rank & <uint64_t>0xFFFFFFFF00000000ULL) | i
                n_heap += 1
        i = n_heap // 2
        while i:
            i -= 1
            _sift_down(heap, n_heap, i)
        return n_heap

    cdef int _drain_heap(self, Symbol* symbols, uint64_t* heap, size_t n_heap) noexcept nogil:
        """Merge; 0, or a status."""
        cdef size_t steps = 0
        cdef uint64_t top, rank
        cdef uint32_t at, after, before
        while n_heap:
            steps += 1
            if steps % STEPS_BETWEEN_LOOKS == 0 and check_signals() != 0:
                return INTERRUPTED
            top = heap[0]
            n_heap -= 1
            heap[0] = heap[n_heap]
            _sift_down(heap, n_heap, 0)
            at = <uint32_t>top
            after = symbols[at].after
            if symbols[at].id == END or after == END:
                continue
            rank = self._rank(symbols[at].id, symbols[after].id)
            if rank == NO_PAIR or rank >> 32 != top >> 32:
                continue
            symbols[at].id = <uint32_t>rank
            symbols[after].id = END             # swallowed: its own heap entries are stale
            after = symbols[after].after
            symbols[at].after = after
            if after != END:
                symbols[after].before = at
                rank = self._rank(symbols[at].id, symbols[after].id)
                n_heap = _push(heap, n_heap, rank, at)
            before = symbols[at].before
            if before != END:
                rank = self._rank(symbols[before].id, symbols[at].id)
                n_heap = _push(heap, n_heap, rank, before)
        return 0


# --------------------------------------------------------------------- hashing

cdef inline uint64_t _first_slot(uint64_t pair) noexcept nogil:
    return pair * 0x9E3779B97F4A7C15ULL >> 24


cdef inline size_t _filter_bit(uint64_t pair) noexcept nogil:
    return pair * 0x9E3779B97F4A7C15ULL >> (64 - FILTER_BITS)


# ----------------------------------------------------------------------- heap

cdef inline size_t _push(uint64_t* heap, size_t n, uint64_t rank, uint32_t at) noexcept nogil:
    """Add (rank, position), if the pair has a rank; the new size of the heap."""
    cdef uint64_t item
    cdef size_t i = n, parent
    if rank == NO_PAIR:
        return n
    item = (rank & <uint64_t>0xFFFFFFFF00000000ULL) | at
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
