"""Encoding that goes on where a stored text ends: the C interface that the engine calls."""

from libc.stdint cimport uint8_t, uint32_t

from tokcy._added cimport Part
from tokcy._job cimport Job
from tokcy._prefix cimport Cut, Found, PrefixStore, Stream
from tokcy._prepare cimport Prepared, Preparer


cdef struct Place:          # of a run in the text
    size_t begin            # of its first byte
    size_t part             # that it belongs to
    bint last               # whether that ends with it


cdef struct Resume:
    const uint8_t* raw
    const Part* parts
    size_t n_parts
    size_t apart            # bytes from a new cut to the next
    size_t reach            # bytes behind a cut that decide whether it holds
    Stream stream
    Place* places           # of the runs
    Found found
    Cut base                # the cut that encoding goes on from; zeros: from the beginning
    size_t part             # and where in the text that is
    size_t at
    size_t done
    Cut* cuts               # new ones
    size_t n_cuts


cdef int resume_open(PrefixStore store, Preparer preparer, const uint8_t* key,
                     const uint8_t* raw, const Part* parts, size_t n_parts,
                     Resume* resume) noexcept nogil
cdef int resume_sections(Resume* resume, Preparer preparer, Prepared* out) noexcept nogil
cdef void resume_shift(const Resume* resume, Prepared* prepared) noexcept nogil
cdef void resume_count(Resume* resume, const Job* job) noexcept nogil
cdef void resume_close(PrefixStore store, Resume* resume, const uint32_t* ids) noexcept nogil
