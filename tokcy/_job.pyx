# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One text on its way through the rooms: its spans, bitmaps, units and ids.

Everything a text needs lies in one block of memory, as a short text must not pay for four
allocations. The ids part is larger than needed (an id for each byte), but pages that nothing is
written to cost nothing.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from tokcy._bitmap cimport next_set, set_bit
from tokcy._prepare cimport Span, release

cdef enum:
    OUT_OF_MEMORY = -1
    SLACK = 4               # ids that Bpe.encode_pieces may write beyond its last


cdef void job_init(Job* job) noexcept nogil:
    memset(job, 0, sizeof(Job))


cdef int job_plan(Job* job, size_t unit_bytes) noexcept nogil:
    """Allocate the block, mark the spans in the bitmaps and cut them into units."""
    cdef size_t size = job.prepared.size, n_spans = job.prepared.n_spans
    cdef size_t words = (size + 63) // 64 + 1
    cdef size_t most_units = (size + n_spans) // unit_bytes + 2
    cdef size_t most_ids = size + n_spans + SLACK * most_units
    cdef size_t bitmap_bytes = 2 * words * sizeof(uint64_t)
    cdef uint8_t* block = <uint8_t*>malloc(bitmap_bytes + most_units * sizeof(Unit)
                                           + most_ids * sizeof(uint32_t))
    if block == NULL:
        return OUT_OF_MEMORY
    memset(block, 0, bitmap_bytes)
    job.starts = <uint64_t*>block
    job.skips = job.starts + words
    job.units = <Unit*>(block + bitmap_bytes)
    job.ids = <uint32_t*>(job.units + most_units)
    _mark_spans(job)
    _cut_units(job, unit_bytes)
    return 0


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


cdef void _cut_units(Job* job, size_t unit_bytes) noexcept nogil:
    """Walk the spans and close a unit whenever it has its bytes; a token counts as one byte."""
    cdef const Span* span
    cdef Unit* unit = NULL
    cdef size_t i, used = unit_bytes, at, part
    for i in range(job.prepared.n_spans):
        span = job.prepared.spans + i
        at = span.begin if span.token < 0 else 0
        while True:
            if used >= unit_bytes:
                unit = job.units + job.n_units
                memset(unit, 0, sizeof(Unit))
                unit.first_span = i
                unit.begin = at
                used = 0
                job.n_units += 1
            unit.last_span = i
            if span.token >= 0:
                used += 1
                break
            part = min(span.end - at, unit_bytes - used)
            at += part
            used += part
            unit.end = at
            if at == span.end:
                break


cdef void job_place_windows(Job* job) noexcept nogil:
    """Give each unit its window of `ids`, once the pieces are known.

    A unit encodes the pieces that start in it, and its last one may reach into the units
    behind. So a window begins where the unit's first piece does, plus the tokens before.
    """
    cdef size_t u, s = 0, at = 0, tokens = 0
    cdef const Span* span
    cdef Unit* unit
    for u in range(job.n_units):
        unit = job.units + u
        while s < unit.first_span:
            span = job.prepared.spans + s
            if span.token >= 0:
                tokens += 1
            else:
                at = span.end
            s += 1
        span = job.prepared.spans + s
        if span.token < 0:
            at = next_set(job.starts, unit.begin, span.end)
        unit.out = at + tokens + SLACK * u


cdef size_t job_n_ids(const Job* job) noexcept nogil:
    cdef size_t u, n = 0
    for u in range(job.n_units):
        n += job.units[u].n_ids
    return n


cdef void job_gather(const Job* job, uint32_t* out) noexcept nogil:
    """Copy the ids of all units, in order."""
    cdef size_t u
    for u in range(job.n_units):
        memcpy(out, job.ids + job.units[u].out, job.units[u].n_ids * sizeof(uint32_t))
        out += job.units[u].n_ids


cdef void job_free(Job* job) noexcept nogil:
    free(job.starts)
    release(&job.prepared)
    job_init(job)


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


cdef void ids_append(Ids* ids, const Ids* more) noexcept nogil:
    """Append to a buffer that has room."""
    memcpy(ids.data + ids.size, more.data, more.size * sizeof(uint32_t))
    ids.size += more.size
