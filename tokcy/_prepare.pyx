# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Raw text → spans of text and added tokens: steps A and B of the pipeline.

Tokens that are not normalized are found in the raw text first. What is left between them, a
*section*, is normalized by itself, and normalized tokens are found in the result (rules A3, A4).
At last ByteLevel puts its prefix space before each span of text that has none (rule P2).

Nearly every text comes out as it went in, and then the spans point into the caller's bytes. Else
the spans of text are written one behind the other into a text of our own.
"""

from collections.abc import Iterable

from tokcy._nfc import nfc as normal_form

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from libc.string cimport memset

from tokcy._added cimport spans_push
from tokcy._aligned cimport (
    aligned_append,
    aligned_append_raw,
    aligned_free,
    aligned_init,
    aligned_put,
    aligned_reserve,
)
from tokcy._nfc cimport nfc_append, nfc_load, nfc_settled

cdef const uint8_t* SPACE = b" "


cdef void prepared_init(Prepared* prepared) noexcept nogil:
    memset(prepared, 0, sizeof(Prepared))


cdef void release(Prepared* prepared) noexcept nogil:
    """Free what a Prepared owns; it may be filled again."""
    forget_text(prepared)
    free(prepared.sections.data)
    free(prepared.found.data)
    prepared_init(prepared)


cdef inline void forget_text(Prepared* prepared) noexcept nogil:
    """Leave nothing of a Prepared but memory for the spans of the next text."""
    if prepared.owned != NULL:
        free(prepared.owned)
        free(prepared.raw_begin)
        free(prepared.raw_end)
        prepared.owned = NULL
        prepared.raw_begin = prepared.raw_end = NULL
    prepared.sections.size = prepared.found.size = 0


cdef AddedMatcher matcher_of(list tokens):
    """The automaton of (content, added token) pairs, or None."""
    rows = [
        (content.encode(), token.id, token.lstrip, token.rstrip, token.single_word)
        for content, token in tokens
    ]
    return AddedMatcher(rows) if rows else None


@cython.final
cdef class Preparer:
    """Finds added tokens and normalizes; immutable, shared by threads.

    Args:
        added_tokens: objects with the fields of ``tokcy.spec.AddedToken``.
        nfc: whether the normalizer is NFC, or there is none.
        add_prefix_space: whether ByteLevel comes first and adds a space.
    """

    def __cinit__(self, added_tokens: Iterable[object], bint nfc, bint add_prefix_space):
        tokens = list(added_tokens)
        if nfc:
            nfc_load()
        self.raw_tokens = matcher_of([(t.content, t) for t in tokens if not t.normalized])
        self.normalized_tokens = matcher_of([
            (normal_form(t.content) if nfc else t.content, t) for t in tokens if t.normalized
        ])
        self.nfc = nfc
        self.add_prefix_space = add_prefix_space

    def spans(self, str text, bint allow_added=True, bint want_offsets=True) -> list[tuple]:
        """The spans of a text: (bytes or None, token, raw byte ranges).

        Text has token -1 and a range for each byte, none if it changed and no offsets are wanted;
        a text that did not change has the ranges of its bytes, another those of whole
        characters. An added token has its one range, and no bytes.
        """
        cdef Py_ssize_t size = 0
        cdef const uint8_t* raw = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &size)
        cdef Prepared prepared
        cdef int status
        prepared_init(&prepared)
        with nogil:
            status = self.prepare(raw, size, allow_added, want_offsets, &prepared)
        try:
            if status < 0:
                raise MemoryError
            return [span_view(&prepared, prepared.spans + i) for i in range(prepared.n_spans)]
        finally:
            release(&prepared)

    cdef int prepare(self, const uint8_t* raw, size_t size, bint allow_added, bint want_offsets,
                     Prepared* out) noexcept nogil:
        """Fill `out` anew; 0, or -1 without memory.

        Without `allow_added` nothing is taken for an added token. The caller has initialized
        `out`, perhaps used it for other texts, and releases it before the raw text goes,
        whatever comes back.
        """
        cdef SpanList* spans = &out.sections
        cdef AlignedText text
        cdef int status = 0
        cdef bint in_place
        forget_text(out)
        if allow_added and self.raw_tokens is not None:
            status = self.raw_tokens.find_spans(raw, 0, size, &out.sections)
        elif size > 0:
            status = spans_push(&out.sections, 0, size, -1)
        in_place = status == 0 and self.is_normal(raw, &out.sections)
        if in_place:
            if allow_added and self.normalized_tokens is not None:
                spans = &out.found
                status = self.split_in_place(raw, &out.sections, spans)
            in_place = not self.add_prefix_space or all_start_with_space(raw, spans)
        if in_place:
            out.text = raw
            out.size = size
        elif status == 0:
            spans = &out.found
            spans.size = 0
            aligned_init(&text, want_offsets)
            status = self.rewrite(raw, allow_added, &out.sections, spans, &text)
            out.text = out.owned = text.bytes
            out.size = text.size
            out.raw_begin = text.begins
            out.raw_end = text.ends
        out.spans = spans.data
        out.n_spans = spans.size
        return status

    cdef bint is_normal(self, const uint8_t* raw, const SpanList* sections) noexcept nogil:
        """Whether all sections are certainly as the normalizer would have them."""
        cdef const Span* section
        cdef size_t i
        if self.nfc:
            for i in range(sections.size):
                section = sections.data + i
                if (section.token < 0
                        and nfc_settled(raw, section.begin, section.end) < section.end):
                    return False
        return True

    cdef int split_in_place(self, const uint8_t* raw, const SpanList* sections,
                            SpanList* spans) noexcept nogil:
        """Find the normalized tokens in sections that stay as they are."""
        cdef const Span* section
        cdef size_t i
        cdef int status = 0
        for i in range(sections.size):
            section = sections.data + i
            if section.token < 0:
                status = self.normalized_tokens.find_spans(raw, section.begin, section.end, spans)
            else:
                status = spans_push(spans, section.begin, section.end, section.token)
            if status < 0:
                return status
        return 0

    cdef int rewrite(self, const uint8_t* raw, bint allow_added, const SpanList* sections,
                     SpanList* spans, AlignedText* text) noexcept nogil:
        """Write the spans of text of all sections into `text`."""
        cdef const Span* section
        cdef size_t i
        cdef int status = aligned_reserve(text, 1)
        for i in range(sections.size):
            if status < 0:
                return status
            section = sections.data + i
            if section.token < 0:
                status = self.rewrite_section(raw, section, allow_added, spans, text)
            elif text.aligned:
                status = spans_push(spans, section.begin, section.end, section.token)
            else:
                status = spans_push(spans, 0, 0, section.token)
        return status

    cdef int rewrite_section(self, const uint8_t* raw, const Span* section, bint allow_added,
                             SpanList* spans, AlignedText* text) noexcept nogil:
        """Normalize one section, find the normalized tokens in it and write what is left."""
        cdef AlignedText normalized
        cdef SpanList found
        cdef const Span* span
        cdef size_t i
        cdef int status
        memset(&found, 0, sizeof(SpanList))
        aligned_init(&normalized, text.aligned)
        if self.nfc:
            status = nfc_append(raw, section.begin, section.end, &normalized)
        else:
            status = aligned_append_raw(&normalized, raw, section.begin, section.end)
        if status == 0 and allow_added and self.normalized_tokens is not None:
            status = self.normalized_tokens.find_spans(normalized.bytes, 0, normalized.size,
                                                       &found)
        elif status == 0:
            status = spans_push(&found, 0, normalized.size, -1)
        for i in range(found.size):
            if status < 0:
                break
            span = found.data + i
            if span.token < 0:
                status = write_text(&normalized, span, self.add_prefix_space, spans, text)
            elif not text.aligned:
                status = spans_push(spans, 0, 0, span.token)
            else:
                status = spans_push(spans, normalized.begins[span.begin],
                                    normalized.ends[span.end - 1], span.token)
        free(found.data)
        aligned_free(&normalized)
        return status


cdef bint all_start_with_space(const uint8_t* text, const SpanList* spans) noexcept nogil:
    """Whether every span of text starts with the space that ByteLevel would add."""
    cdef size_t i
    for i in range(spans.size):
        if spans.data[i].token < 0 and text[spans.data[i].begin] != SPACE[0]:
            return False
    return True


cdef int write_text(const AlignedText* source, const Span* span, bint prefix_space,
                    SpanList* spans, AlignedText* text) noexcept nogil:
    """Append a span of text, after a space if it is to have one before it."""
    cdef size_t begin = text.size
    if prefix_space and source.bytes[span.begin] != SPACE[0]:
        if aligned_reserve(text, 1) < 0:
            return -1
        # A prefix has the range of the first character (rule N5).
        if text.aligned:
            aligned_put(text, SPACE, 1, source.begins[span.begin], source.ends[span.begin])
        else:
            aligned_put(text, SPACE, 1, 0, 0)
    if aligned_append(text, source, span.begin, span.end) < 0:
        return -1
    return spans_push(spans, begin, text.size, -1)


cdef span_view(const Prepared* prepared, const Span* span):
    """One item of ``Preparer.spans``."""
    if span.token >= 0:
        return None, span.token, [(span.begin, span.end)]
    ranges = []
    for at in range(span.begin, span.end):
        if prepared.raw_begin != NULL:
            ranges.append((prepared.raw_begin[at], prepared.raw_end[at]))
        elif prepared.owned == NULL:
            ranges.append((at, at + 1))
    return prepared.text[span.begin:span.end], span.token, ranges
