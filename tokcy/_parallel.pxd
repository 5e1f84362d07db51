"""A job through the rooms: the C interface that the engine is built on."""

from libc.stdint cimport uint32_t

from tokcy._bpe cimport Bpe, Tally
from tokcy._cache cimport Cache
from tokcy._job cimport Job, Unit
from tokcy._prepare cimport Preparer
from tokcy._pretok cimport PreTokenizer
from tokcy._segments cimport Segments
from tokcy._source cimport Source
from tokcy._team cimport Team


cdef struct Raw:            # what is to be made UTF-8, and prepared: a text, or segments
    Source* source          # or NULL
    bint added              # added tokens are found in that text
    Segments* segments
    bint plain_only         # leave out the added tokens of these


cdef class JobEngine:
    cdef Preparer preparer
    cdef PreTokenizer pretokenizer
    cdef readonly Bpe model
    cdef bint drops
    cdef size_t unit_bytes
    cdef size_t bytes_per_thread
    cdef int run(self, const Raw* raw, num_threads, Cache* cache, Job* job,
                 Tally* tally) except? -3
    cdef int threads_for(self, size_t size, num_threads) except -1
    cdef int encode_job(self, Cache* cache, const Raw* raw, Job* job, int threads,
                        bint interruptible, Tally* tally) noexcept nogil
    cdef int _prepare(self, const Raw* raw, Job* job) noexcept nogil
    cdef int _prepare_together(self, const Raw* raw, Job* job, Team* team) noexcept nogil
    cdef int _encode_together(self, Cache* cache, const Raw* raw, Job* job, int threads,
                              bint interruptible) noexcept nogil
    cdef int _lead(self, Cache* cache, const Raw* raw, Job* job, Team* team, int threads,
                   bint interruptible) noexcept nogil
    cdef void _help(self, Cache* cache, Job* job, Team* team) noexcept nogil
    cdef int _encode_pieces(self, Cache* cache, Job* job, Team* team, Py_ssize_t block,
                            bint interruptible) noexcept nogil
    cdef int _find_pieces(self, Job* job, Team* team) noexcept nogil
    cdef void _share_units(self, Cache* cache, Job* job, Team* team, Unit* units,
                           size_t n) noexcept nogil
    cdef void _encode_apart(self, Cache* cache, Job* job, Unit* unit) noexcept nogil
    cdef void _encode_unit(self, Cache* cache, const Job* job, Unit* unit,
                           uint32_t* out) noexcept nogil
