"""Raw text → spans of text and added tokens: the C interface that the engine calls."""

from libc.stdint cimport uint8_t

from tokcy._added cimport AddedMatcher, Part, Span, SpanList, Stretch
from tokcy._aligned cimport AlignedText
from tokcy._normalize cimport Normalizer, Workspace


# Span (of _added): begin, end and token. With token -1 it is text to be pre-tokenized,
# Prepared.text[begin:end]. Else it is the added token with that id, which was found at
# raw[begin:end]; in a text of one's own without offsets both are 0.

cdef struct Prepared:
    const uint8_t* text     # the caller's raw text, or `owned`
    size_t size
    uint8_t* owned          # the normalized text, or NULL where nothing had to change
    const Span* spans       # in order; spans of text are not empty and do not overlap
    size_t n_spans
    size_t* raw_begin       # of each byte of an owned text whose offsets are wanted: the raw
    size_t* raw_end         # byte range it came from; else NULL, for the identity
    SpanList sections       # where the spans lie: here, or in `found` where sections were split
    SpanList found


cdef void prepared_init(Prepared* prepared) noexcept nogil
cdef void release(Prepared* prepared) noexcept nogil
cdef void leave_tokens_out(Prepared* prepared) noexcept nogil


cdef struct StretchList:
    Stretch* data
    size_t size
    size_t capacity


cdef struct Rewriting:
    AlignedText* text       # what is written, and its spans
    SpanList* spans
    SpanList found          # of one section
    Workspace section
    Workspace span
    size_t part_begin       # of the part of the raw text that the section is of


cdef class Preparer:
    cdef AddedMatcher raw_tokens            # None where there are none
    cdef AddedMatcher normalized_tokens
    cdef Normalizer normalizer
    cdef Normalizer span_normalizer
    cdef bytes prefix_bytes
    cdef const uint8_t* prefix
    cdef size_t prefix_size
    cdef bint prefix_first
    cdef int prepare(self, const uint8_t* raw, size_t size, bint allow_added,
                     bint want_offsets, Prepared* out) noexcept nogil
    cdef int prepare_parts(self, const uint8_t* raw, size_t size, const Part* parts,
                           size_t n_parts, bint want_offsets, Prepared* out) noexcept nogil
    cdef int find_sections(self, const uint8_t* raw, const Part* parts, size_t n_parts,
                           Prepared* out) noexcept nogil
    cdef int find_sections_from(self, const uint8_t* raw, const Part* parts, size_t n_parts,
                                size_t at, size_t done, Prepared* out) noexcept nogil
    cdef int settle_sections(self, const uint8_t* raw, size_t size, const Part* parts,
                             size_t n_parts, bint want_offsets, Prepared* out) noexcept nogil
    cdef bint is_normal(self, const uint8_t* raw, const SpanList* sections) noexcept nogil
    cdef bint spans_are_settled(self, const uint8_t* raw, const Part* parts,
                                const SpanList* spans) noexcept nogil
    cdef bint lacks_prefix(self, const uint8_t* text, size_t size, bint first) noexcept nogil
    cdef int split_in_place(self, const uint8_t* raw, const Part* parts, const SpanList* sections,
                            SpanList* spans) noexcept nogil
    cdef int rewrite(self, const uint8_t* raw, const Part* parts, size_t n_parts,
                     const SpanList* sections, SpanList* spans, AlignedText* text) noexcept nogil
    cdef int rewrite_section(self, const uint8_t* raw, const Part* part,
                             Rewriting* rewriting) noexcept nogil
    cdef int find_normalized(self, const uint8_t* raw, const uint8_t* bytes,
                             const AlignedText* changed, const Part* part,
                             SpanList* found) noexcept nogil
    cdef int rewrite_span(self, const uint8_t* bytes, AlignedText* source, const Span* span,
                          Rewriting* rewriting) noexcept nogil
    cdef int write_prefix(self, const uint8_t* bytes, const AlignedText* source, size_t at,
                          AlignedText* text) noexcept nogil
