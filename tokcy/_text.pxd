"""One text → ids: the C interface that the engine is built on."""

cimport numpy as cnp
from libc.stdint cimport uint8_t, uint32_t

from tokcy._added cimport Part
from tokcy._bpe cimport Bpe, Tally
from tokcy._cache cimport Cache
from tokcy._job cimport Ids, Job, Unit
from tokcy._prefix cimport PrefixStore, PrefixView
from tokcy._prepare cimport Preparer
from tokcy._pretok cimport PreTokenizer
from tokcy._resume cimport Resume
from tokcy._segments cimport Segments
from tokcy._source cimport Source
from tokcy._team cimport Team


cdef enum Form:             # of the ids of one text
    ARRAY
    LIST
    COUNT


cdef class TextEngine:
    cdef Preparer preparer
    cdef PreTokenizer pretokenizer
    cdef readonly Bpe model
    cdef Ids prefix
    cdef Ids suffix
    cdef bint drops
    cdef size_t unit_bytes
    cdef size_t bytes_per_thread
    cdef object _encode(self, text, bint special, bint added, num_threads, PrefixView known,
                        Form form)
    cdef int _run(self, const Source* source, bint added, num_threads, Cache* cache, Job* job,
                  Tally* tally) except? -3
    cdef cnp.ndarray _array(self, Job* job, bint special)
    cdef void _surround(self, const Job* job, uint32_t* out) noexcept nogil
    cdef list _list(self, const Job* job, bint special)
    cdef int _threads_for(self, size_t size, num_threads) except -1
    cdef int _encode_text(self, Cache* cache, const Source* source, bint added, int threads,
                          Job* job, Tally* tally) noexcept nogil
    cdef int _encode_job(self, Cache* cache, Job* job, int threads, bint interruptible,
                         Tally* tally) noexcept nogil
    cdef int _encode_together(self, Cache* cache, Job* job, int threads,
                              bint interruptible) noexcept nogil
    cdef int _lead(self, Cache* cache, Job* job, Team* team, int threads,
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
    cdef object _encode_known(self, text, bint special, bint added, num_threads,
                              PrefixView known, Form form)
    cdef object _encode_behind(self, int status, Resume* resume, bint special, num_threads,
                               PrefixView known, Form form)
    cdef int _go_on(self, Cache* cache, PrefixStore store, Resume* resume, int threads, Job* job,
                    Tally* tally) noexcept nogil
    cdef cnp.ndarray _array_behind(self, const Job* job, const Resume* resume, bint special,
                                   bint views)
    cdef int _run_segments(self, const Segments* segments, int threads, bint plain_only,
                           Cache* cache, Job* job, Tally* tally) except? -3
    cdef int _encode_segments(self, Cache* cache, const Segments* segments, int threads,
                              bint plain_only, Job* job, Tally* tally) noexcept nogil
    cdef tuple _located(self, text, bint added, bint wants_words, bint spans_are_words)
    cdef int _encode_with_alignment(self, Cache* cache, const Source* source, bint added, Job* job,
                                    Tally* tally) noexcept nogil


cdef cnp.ndarray new_array(size_t n, int dtype=*)
