"""One text on its way through the rooms: its spans, bitmaps, units and ids."""

from libc.stdint cimport uint32_t, uint64_t

from tokcy._bpe cimport Tally, Text
from tokcy._prepare cimport Prepared


cdef struct Unit:           # consecutive spans, or parts of one, that are encoded in one go
    size_t first_span
    size_t end_span         # exclusive
    size_t begin            # byte in the first span, if that is text
    size_t end              # byte in the last span, if that is text
    size_t out              # first id in Job.ids
    size_t n_ids
    int status
    Tally tally


cdef enum:
    FEW_WORDS = 512


cdef struct Job:
    Prepared prepared       # the one text, or all texts that were joined
    size_t* text_ends       # of each joined text, how many spans it and those before it have
    size_t n_texts          # that were joined
    size_t capacity         # of the joined text
    Text text
    uint64_t* starts        # one block, `few` or allocated: starts, skips, units, ids
    uint64_t* skips
    Unit* units
    size_t n_units
    uint32_t* ids
    uint64_t few[FEW_WORDS]


cdef struct Ids:            # a growing buffer
    uint32_t* data
    size_t size
    size_t capacity


cdef void job_init(Job* job) noexcept nogil
cdef int job_join(Job* job, const Prepared* text) noexcept nogil
cdef int job_plan(Job* job, size_t unit_bytes) noexcept nogil
cdef void job_place_windows(Job* job) noexcept nogil
cdef size_t job_n_ids(const Job* job) noexcept nogil
cdef size_t job_gather(const Job* job, size_t first, size_t last, uint32_t* out) noexcept nogil
cdef void job_free(Job* job) noexcept nogil

cdef int ids_reserve(Ids* ids, size_t more) noexcept nogil
cdef void ids_append(Ids* ids, const Ids* more) noexcept nogil
