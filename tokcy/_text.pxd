"""One text → ids: the C interface that the engine is built on."""

cimport numpy as cnp
from libc.stdint cimport uint32_t

from tokcy._bpe cimport Tally
from tokcy._cache cimport Cache
from tokcy._job cimport Ids, Job
from tokcy._parallel cimport JobEngine
from tokcy._prefix cimport PrefixStore, PrefixView
from tokcy._resume cimport Resume
from tokcy._source cimport Source


cdef enum Form:             # of the ids of one text
    ARRAY
    LIST
    COUNT


cdef class TextEngine(JobEngine):
    cdef Ids prefix
    cdef Ids suffix
    cdef object _encode(self, text, bint special, bint added, num_threads, PrefixView known,
                        Form form)
    cdef cnp.ndarray _array(self, Job* job, bint special)
    cdef void _surround(self, const Job* job, uint32_t* out) noexcept nogil
    cdef list _list(self, const Job* job, bint special)
    cdef object _encode_known(self, text, bint special, bint added, num_threads,
                              PrefixView known, Form form)
    cdef object _encode_behind(self, int status, Resume* resume, bint special, num_threads,
                               PrefixView known, Form form)
    cdef int _go_on(self, Cache* cache, PrefixStore store, Resume* resume, int threads, Job* job,
                    Tally* tally) noexcept nogil
    cdef cnp.ndarray _array_behind(self, const Job* job, const Resume* resume, bint special,
                                   bint views)
    cdef tuple _located(self, text, bint added, bint wants_words, bint spans_are_words)
    cdef int _encode_with_alignment(self, Cache* cache, const Source* source, bint added, Job* job,
                                    Tally* tally) noexcept nogil


cdef cnp.ndarray new_array(size_t n, int dtype=*)
