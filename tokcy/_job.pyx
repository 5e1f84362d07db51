# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One text on its way through the rooms: its spans, bitmaps, units and ids.

Everything a text needs lies in one block of memory, which for a short one is a part of the job
itself, but for the ids of a long one, which the caller may keep.

One thread writes the ids of its units behind each other. There is room for an id for each byte,
more than is needed, but pages that nothing is written to cost nothing. Of several threads none
knows how many ids the units before its own will have. So each encodes into a slot, a buffer that
stays in its cache, and whoever finishes a unit copies from the slots what is next, unless another
is about it. Then the slot is free for another unit. There the room is for what is likely, and
grows, so that nothing need be given back, which interrupts the other cores (4 MB of English that is
new, two threads: 9.2 ms in place of 9.4).

The short texts of a batch are joined into one: finding pieces by eight cursors takes some hundred
bytes to pay. Nothing is seen across the border of two texts, as each starts a span of its own.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from tokcy._added cimport spans_push
from tokcy._bitmap cimport bitmap_words, next_set, set_bit
from tokcy._platform cimport (
    tk_alloc_large,
    tk_cas64,
    tk_is_new,
    tk_load_acquire64,
    tk_populate,
    tk_store_release64,
)
from tokcy._prepare cimport Span, release
from tokcy._scratch cimport scratch_give, scratch_take
from tokcy._status cimport OUT_OF_MEMORY
from tokcy._team cimport Team, team_run

cdef enum:
    # The ids of longer texts have memory of their own, which the array takes over. In place of a
    # copy, 150 KB of Python that are known take 0.25 ms and not 0.27, 500 KB 1.08 and not 1.20.
    LONG_TEXT_BYTES = 128 << 10
    CLEARED_WORDS = 4096    # of the bitmaps at a time; 32 KB
    SLACK = 4               # ids that Bpe.encode_pieces may write beyond its last
    LEAST_UNIT_BYTES = 4 << 10      # where several threads come to the end of a text
    LIKELY_BEYOND = 1024    # bytes of the last piece of a unit that are beyond it, or fewer
    LIKELY_BYTES = 2        # of text for an id, or more: five models had 2.7 to 7 in twelve texts

cdef int64_t BREAK = <int64_t>1 << 32       # no token has such an id


cdef void job_init(Job* job) noexcept nogil:
    memset(job, 0, sizeof(Job) - sizeof(job.few))


cdef int job_join(Job* job, const Prepared* text) noexcept nogil:
    """Append a prepared text to those that were joined; 0, or OUT_OF_MEMORY.

    `text_ends` has room for one more.
    """
    cdef Prepared* joined = &job.prepared
    cdef size_t base = joined.size, capacity, i
    cdef const Span* span
    cdef void* moved
    if base + text.size > job.capacity:
        capacity = max(2 * job.capacity, base + text.size)
        moved = realloc(joined.owned, capacity)
        if moved == NULL:
            return OUT_OF_MEMORY
        joined.text = joined.owned = <uint8_t*>moved
        job.capacity = capacity
    if text.size:
        memcpy(joined.owned + base, text.text, text.size)
    joined.size += text.size
    for i in range(text.n_spans):
        span = text.spans + i
        if spans_push(&joined.found, base + span.begin, base + span.end, span.token) < 0:
            return OUT_OF_MEMORY
    joined.spans = joined.found.data
    joined.n_spans = joined.found.size
    job.text_ends[job.n_texts] = joined.n_spans
    job.n_texts += 1
    return 0


cdef int job_reserve(Job* job, size_t size, size_t unit_bytes) noexcept nogil:
    """Have memory for a text of at most so many bytes before it is prepared; a status."""
    return _have_memory(job, size, _most_units(size, unit_bytes, job.threads))


cdef int _have_memory(Job* job, size_t size, size_t most_units) noexcept nogil:
    """Have memory for a text of so many bytes and added tokens; 0, or OUT_OF_MEMORY."""
    cdef size_t around = job.before + SLACK + job.after
    cdef size_t n_ids = around + (size // LIKELY_BYTES if job.threads else size)
    cdef size_t bitmap_bytes = 2 * bitmap_words(size) * sizeof(uint64_t)
    cdef size_t block_bytes = bitmap_bytes + most_units * sizeof(Unit)
    if size < LONG_TEXT_BYTES:
        block_bytes += (around + size) * sizeof(uint32_t)
    elif job.room_ids < n_ids:
        free(job.room)
        job.room = <uint32_t*>tk_alloc_large(n_ids * sizeof(uint32_t), size // 2)
        job.room_ids = n_ids
        if job.room == NULL:
            return OUT_OF_MEMORY
        job.room_is_new = tk_is_new(job.room, size)
    if block_bytes > max(job.block_bytes, sizeof(job.few)):
        scratch_give(&job.block, 0)
        job.block_bytes = block_bytes
        return scratch_take(&job.block, block_bytes, bitmap_bytes)
    return 0


cdef void ahead_add(Ahead* ahead, void* data, size_t begin, size_t size) noexcept nogil:
    """Add the bytes of some memory from `begin` to `size`, if any, in parts of a large page."""
    cdef uint8_t* at = <uint8_t*>data + begin
    cdef uint8_t* end = <uint8_t*>data + size
    while data != NULL and at < end and ahead.n < AHEAD_PARTS:
        ahead.begins[ahead.n] = at
        at = min(at + HUGE_PAGE, end)
        ahead.ends[ahead.n] = at
        ahead.n += 1


cdef void ahead_have(void* ahead, size_t i) noexcept nogil:
    """Have the pages of one part, as the body of a loop."""
    tk_populate((<Ahead*>ahead).begins[i], (<Ahead*>ahead).ends[i])


cdef int job_plan(Job* job, size_t unit_bytes, Team* team) noexcept nogil:
    """Lay out the block, mark the spans in the bitmaps and cut them into units.

    Joined texts are a unit each, and unit_bytes does not matter.

    Args:
        team: who helps, or NULL.
    """
    cdef size_t size = job.prepared.size, n_spans = job.prepared.n_spans
    cdef size_t words = bitmap_words(size)
    cdef size_t most_units = job.n_texts
    if most_units == 0:
        most_units = _most_units(size + n_spans, unit_bytes, job.threads) + job.n_breaks
    if _have_memory(job, size + n_spans, most_units):
        return OUT_OF_MEMORY
    job.starts = <uint64_t*>job.block.data if job.block.data != NULL else job.few
    job.skips = job.starts + words
    team_run(team, _clear_part, job, (2 * words + CLEARED_WORDS - 1) // CLEARED_WORDS)
    job.units = <Unit*>(job.skips + words)
    job.ids = job.room if job.room != NULL else <uint32_t*>(job.units + most_units)
    job.ids += job.before
    _mark_spans(job)
    if job.n_texts:
        _cut_texts(job)
    else:
        _cut_units(job, unit_bytes)
    return 0


cdef void _clear_part(void* job, size_t i) noexcept nogil:
    """Clear a part of the bitmaps, as the body of a loop."""
    cdef const Job* of = <const Job*>job
    cdef uint64_t* begin = of.starts + i * CLEARED_WORDS
    cdef uint64_t* end = min(begin + CLEARED_WORDS, of.skips + (of.skips - of.starts))
    if of.block.is_new:
        tk_populate(begin, end)
    memset(begin, 0, (end - begin) * sizeof(uint64_t))


cdef void _mark_spans(Job* job) noexcept nogil:
    """Spans of text start pieces; the text of added tokens between them is not to be touched."""
    cdef const Span* span
    cdef size_t i, at = 0
    for i in range(job.prepared.n_spans):
        span = job.prepared.spans + i
        if span.token < 0:
            if span.begin > at:
                set_bit(job.starts, at)
                set_bit(job.skips, at)
            set_bit(job.starts, span.begin)
            at = span.end
    if at < job.prepared.size:
        set_bit(job.starts, at)
        set_bit(job.skips, at)


cdef size_t _most_units(size_t size, size_t unit_bytes, size_t threads) noexcept nogil:
    """How many units there can be of so many bytes and added tokens, but for breaks."""
    cdef size_t n = size // unit_bytes + 2 + 2 * threads
    while unit_bytes > LEAST_UNIT_BYTES:    # from one half of the size of units to the next
        unit_bytes //= 2
        n += 2 * threads
    return n


cdef size_t _next_unit_bytes(size_t left, size_t unit_bytes, size_t threads) noexcept nogil:
    """How large the next unit of so many bytes is to be.

    Of several threads each has no more than half its part of what is left, so that all of them
    come to the end together: two threads waited some 30 µs for each other before.
    """
    if threads == 0:
        return unit_bytes
    return min(unit_bytes, max(left // (2 * threads), <size_t>LEAST_UNIT_BYTES))


cdef void _cut_units(Job* job, size_t unit_bytes) noexcept nogil:
    """Walk the spans and close a unit whenever it has its bytes; a token counts as one byte."""
    cdef const Span* span
    cdef Unit* unit = NULL
    cdef size_t left = job.prepared.size + job.prepared.n_spans, used = 0, room = 0, i, at, part
    for i in range(job.prepared.n_spans):
        span = job.prepared.spans + i
        at = span.begin if span.token < 0 else 0
        while True:
            if used >= room:
                left -= min(left, used)
                room = _next_unit_bytes(left, unit_bytes, job.threads)
                unit = job.units + job.n_units
                memset(unit, 0, sizeof(Unit))
                unit.first_span = i
                unit.begin = at
                used = 0
                job.n_units += 1
            unit.end_span = i + 1
            if span.token >= 0:
                used = room if span.token == BREAK else used + 1
                break
            part = min(span.end - at, room - used)
            at += part
            used += part
            unit.end = at
            if at == span.end:
                break


cdef void _cut_texts(Job* job) noexcept nogil:
    """Make a unit of each joined text."""
    cdef const Span* spans = job.prepared.spans
    cdef Unit* unit
    cdef size_t t, s = 0
    for t in range(job.n_texts):
        unit = job.units + t
        memset(unit, 0, sizeof(Unit))
        unit.first_span = s
        s = unit.end_span = job.text_ends[t]
        if unit.first_span < s:
            unit.begin = spans[unit.first_span].begin
            unit.end = spans[s - 1].end
    job.n_units = job.n_texts


cdef int job_open_slots(Job* job, size_t n, size_t unit_bytes) noexcept nogil:
    """Have a slot for each of n units; 0, or OUT_OF_MEMORY.

    One for each thread has memory, the others get it when they are used. A thread that asks malloc
    for the first time would have to make an arena.
    """
    cdef size_t i, room
    job.slots = <Slot*>calloc(n + 1, sizeof(Slot))     # not NULL for none
    if job.slots == NULL:
        return OUT_OF_MEMORY
    job.n_slots = n
    for i in range(min(n, <size_t>job.threads)):
        # Where the last piece of a unit ends is not known before the pieces are found.
        room = _most_ids_of(job, job.units + i) if job.n_texts else unit_bytes + LIKELY_BEYOND
        slot_reserve(job.slots + i, room)
    return 0


cdef Slot* job_take_slot(Job* job, const Unit* unit) noexcept nogil:
    """A slot that has room for the ids of a unit, or NULL without memory.

    The first one that is free: mostly few are used, again and again.
    """
    cdef Slot* slot = job.slots
    while tk_load_acquire64(&slot.taken) or not tk_cas64(&slot.taken, 0, 1):
        slot += 1
    if not slot_reserve(slot, _most_ids_of(job, unit)):
        tk_store_release64(&slot.taken, 0)
        return NULL
    return slot


cdef bint slot_reserve(Slot* slot, size_t room) noexcept nogil:
    """Have room for so many ids; False without memory."""
    if slot.capacity < room:
        free(slot.ids)
        slot.ids = <uint32_t*>malloc(room * sizeof(uint32_t))
        slot.capacity = room if slot.ids != NULL else 0
    return slot.capacity >= room


cdef size_t _most_ids_of(const Job* job, const Unit* unit) noexcept nogil:
    """One for each added token, and for each byte of the pieces that start in a unit."""
    cdef const Span* span
    cdef size_t s, begin, end, n = SLACK
    for s in range(unit.first_span, unit.end_span):
        span = job.prepared.spans + s
        if span.token >= 0:
            n += 1
        else:
            begin = unit.begin if s == unit.first_span else span.begin
            end = unit.end if s + 1 == unit.end_span else span.end
            n += next_set(job.starts, end, span.end) - begin
    return n


cdef void job_have_pages(Job* job, const Unit* unit) noexcept nogil:
    """Have the pages of as many ids as a unit of one thread may have."""
    if job.room_is_new:
        tk_populate(job.ids + job.n_ids, job.ids + job.n_ids + _most_ids_of(job, unit) // 4)


cdef void job_place(Job* job) noexcept nogil:
    """Put ids from slots into their place, up to the first unit that is not done.

    Does nothing where another thread is about it. That one may just have looked in vain for what
    this one has done; so behind a block of units this is to be called once more.
    """
    cdef Unit* unit
    if not tk_cas64(&job.placing, 0, 1):
        return
    while job.n_placed < job.n_units:
        unit = job.units + job.n_placed
        if not tk_load_acquire64(&unit.done):
            break
        if unit.slot != NULL:
            if _have_room(job, unit.n_ids):
                if job.room_is_new:
                    tk_populate(job.ids + job.n_ids, job.ids + job.n_ids + unit.n_ids)
                memcpy(job.ids + job.n_ids, unit.slot.ids, unit.n_ids * sizeof(uint32_t))
                job.n_ids += unit.n_ids
            else:
                unit.status = OUT_OF_MEMORY
            tk_store_release64(&unit.slot.taken, 0)
        job.n_placed += 1
    tk_store_release64(&job.placing, 0)


cdef bint _have_room(Job* job, size_t more) noexcept nogil:
    """Whether there is room for `more` ids behind those in place, and those that follow a text."""
    cdef size_t n_ids = job.before + job.n_ids + more + job.after
    cdef void* moved
    if job.room == NULL or n_ids <= job.room_ids:
        return True             # in the block there is room for all
    n_ids += n_ids // 2
    moved = realloc(job.room, n_ids * sizeof(uint32_t))
    if moved == NULL:
        return False
    job.room = <uint32_t*>moved
    job.room_ids = n_ids
    job.ids = job.room + job.before
    return True


cdef void job_free(Job* job) noexcept nogil:
    cdef size_t i
    for i in range(job.n_slots):
        free(job.slots[i].ids)
    free(job.slots)
    scratch_give(&job.block, job.prepared.size // 4 + job.n_units * sizeof(Unit))
    free(job.room)
    free(job.text_ends)
    release(&job.prepared)


cdef int ids_reserve(Ids* ids, size_t more) noexcept nogil:
    """Make room for `more` ids; 0, or OUT_OF_MEMORY."""
    cdef size_t capacity = ids.capacity
    cdef uint32_t* moved
    if ids.size + more <= capacity and ids.data != NULL:
        return 0
    capacity = max(2 * capacity, ids.size + more + 64)
    moved = <uint32_t*>realloc(ids.data, capacity * sizeof(uint32_t))
    if moved == NULL:
        return OUT_OF_MEMORY
    ids.data = moved
    ids.capacity = capacity
    return 0


cdef void ids_append(Ids* ids, const uint32_t* more, size_t n) noexcept nogil:
    """Append to a buffer that has room."""
    memcpy(ids.data + ids.size, more, n * sizeof(uint32_t))
    ids.size += n
