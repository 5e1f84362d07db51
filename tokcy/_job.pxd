"""One text on its way through the rooms: its spans, bitmaps, units and ids."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tokcy._bpe cimport Tally, Text
from tokcy._prepare cimport Prepared
from tokcy._scratch cimport Scratch
from tokcy._team cimport Team


cdef struct Slot:           # where a thread puts ids until those before them are in place
    uint64_t taken
    uint32_t* ids
    size_t capacity


cdef struct Unit:           # consecutive spans, or parts of one, that are encoded in one go
    size_t first_span
    size_t end_span         # exclusive
    size_t begin            # byte in the first span, if that is text
    size_t end              # byte in the last span, if that is text
    size_t n_ids
    int status
    Slot* slot              # that holds its ids, where several threads encode
    uint64_t done
    Tally tally


cdef enum:
    FEW_WORDS = 512
    AHEAD_PARTS = 64
    HUGE_PAGE = 2 << 20

cdef int64_t BREAK          # in place of a token: a span that ends a unit, and has no id


cdef struct Job:
    Prepared prepared       # the one text, or all texts that were joined
    size_t* text_ends       # of each joined text, how many spans it and those before it have
    size_t n_texts          # that were joined
    size_t n_breaks         # spans that are to end a unit, and have no ids: see BREAK
    size_t capacity         # of the joined text
    Text text
    Scratch block           # or nothing, where `few` is enough
    size_t block_bytes
    uint64_t* starts        # in one of these: starts, skips, units, and mostly ids
    uint64_t* skips
    Unit* units
    size_t n_units
    uint32_t* ids           # of all units behind each other
    uint32_t* room          # memory of the ids of a long text, which may be taken; else NULL
    size_t room_ids         # that fit there
    bint room_is_new        # whether the system is yet to clear its pages
    int threads             # that encode, and put ids into place, if several do; else 0
    size_t before           # ids to leave room for in front of these
    size_t after            # and behind them
    size_t n_ids            # in place so far
    size_t n_placed         # units whose ids are in place
    uint64_t placing        # whether a thread puts ids into place
    Slot* slots             # where several threads encode, one for each unit of a block
    size_t n_slots
    uint64_t few[FEW_WORDS]


cdef struct Ids:            # a growing buffer
    uint32_t* data
    size_t size
    size_t capacity


cdef void job_init(Job* job) noexcept nogil
cdef int job_join(Job* job, const Prepared* text) noexcept nogil
cdef struct Ahead:          # memory that will be written to
    uint8_t* begins[AHEAD_PARTS]
    uint8_t* ends[AHEAD_PARTS]
    size_t n


cdef int job_reserve(Job* job, size_t size, size_t unit_bytes) noexcept nogil
cdef void ahead_add(Ahead* ahead, void* data, size_t begin, size_t size) noexcept nogil
cdef void ahead_have(void* ahead, size_t i) noexcept nogil
cdef int job_plan(Job* job, size_t unit_bytes, Team* team) noexcept nogil
cdef void job_have_pages(Job* job, const Unit* unit) noexcept nogil
cdef int job_open_slots(Job* job, size_t n, size_t unit_bytes) noexcept nogil
cdef Slot* job_take_slot(Job* job, const Unit* unit) noexcept nogil
cdef void job_place(Job* job) noexcept nogil
cdef void job_free(Job* job) noexcept nogil

cdef int ids_reserve(Ids* ids, size_t more) noexcept nogil
cdef void ids_append(Ids* ids, const uint32_t* more, size_t n) noexcept nogil
