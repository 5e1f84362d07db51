"""A normalizer, compiled: the C interface that _prepare calls."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from tokcy._aligned cimport AlignedText
from tokcy._forms cimport Form
from tokcy._pretok cimport Stage
from tokcy._sieve cimport Sieve


cdef struct CharacterMap:   # some characters, and the texts that stand for them
    Sieve sieve             # the places where one of them may stand
    uint16_t block_of[0x1100]
    const uint16_t* entries     # of the characters of each block; 0: not in the map
    const uint32_t* ends        # in `contents`, of the texts of all entries; of 0, it is 0
    const uint8_t* contents


cdef struct Step:
    int kind
    const Form* form
    const CharacterMap* map
    const Stage* stages         # find what is replaced
    size_t n_stages
    const Sieve* sieve          # where that may begin
    const uint8_t* content      # what is prepended or put in its place
    size_t content_size
    bint left
    bint right


cdef struct Workspace:          # two texts, to be written in turn
    AlignedText one
    AlignedText other


cdef void workspace_init(Workspace* work, bint aligned) noexcept nogil
cdef void workspace_free(Workspace* work) noexcept nogil
cdef void relate(AlignedText* text, const AlignedText* source) noexcept nogil


cdef class Normalizer:
    cdef Step* steps
    cdef size_t n_steps
    cdef list kept              # what the steps point into
    cdef bint settled(self, const uint8_t* text, size_t begin, size_t end) noexcept nogil
    cdef int apply(self, const uint8_t* text, size_t begin, size_t end, Workspace* work,
                   AlignedText** result) noexcept nogil
