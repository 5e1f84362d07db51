"""Encoding that goes on where a stored text ends: the C interface that the engine calls."""

from libc.stdint cimport uint8_t, uint32_t

from tokcy._added cimport Part
from tokcy._idbuffer cimport IdBuffer
from tokcy._job cimport Job
from tokcy._nodes cimport Cut, Found
from tokcy._prefix cimport PrefixStore, PrefixView
from tokcy._prepare cimport Prepared, Preparer
from tokcy._runs cimport Stream
from tokcy._segments cimport Segments
from tokcy._source cimport Wide


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
    const uint8_t* key
    Stream stream
    Place* places           # of the runs
    Found found
    Cut base                # the cut that encoding goes on from; zeros: from the beginning
    size_t part             # and where in the text that is
    size_t at
    size_t done
    Cut* cuts               # new ones
    size_t n_cuts
    bint stored             # whether the text is to be
    IdBuffer* buffer        # with the ids of the text, or with those behind a place of it, or NULL


cdef inline size_t resume_size(const Resume* resume) noexcept nogil:
    """Bytes of the text."""
    return resume.parts[resume.n_parts - 1].end if resume.n_parts else 0


cdef void resume_begin(PrefixStore store, Preparer preparer, const uint8_t* key,
                       Resume* resume) noexcept nogil
cdef int resume_open(PrefixStore store, const uint8_t* raw, const Part* parts, size_t n_parts,
                     Resume* resume) noexcept nogil
cdef int resume_open_wide(PrefixStore store, Wide* wide, bint trusted,
                          Resume* resume) noexcept nogil
cdef int resume_open_segments(PrefixView known, Preparer preparer, object segments, bint joined,
                              bint chunked, Segments* opened, Resume* resume) except? -3
cdef void resume_needs(const Resume* resume, size_t* first, size_t* begin) noexcept nogil
cdef void resume_settle(Resume* resume, const uint8_t* raw, const Part* part) noexcept nogil
cdef int resume_sections(Resume* resume, Preparer preparer, Prepared* out) noexcept nogil
cdef void resume_shift(const Resume* resume, Prepared* prepared) noexcept nogil
cdef void resume_count(Resume* resume, const Job* job) noexcept nogil
cdef void resume_keep(PrefixStore store, Resume* resume, const uint32_t* ids, size_t n_ids,
                      const uint32_t* front, size_t n_front) noexcept nogil
cdef void resume_copy(const Resume* resume, uint32_t* out) noexcept nogil
cdef void resume_close(PrefixStore store, Resume* resume) noexcept nogil
