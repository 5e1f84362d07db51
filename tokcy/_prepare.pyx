# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Raw text → spans of text and added tokens: steps A and B of the pipeline.

Tokens that are not normalized are found in the raw text first. What is left between them, a
*section*, is normalized by itself, and normalized tokens are found in the result (rules A3, A4).
What the pre-tokenizer does to a whole span of text comes last: Metaspace changes its spaces, and
Metaspace or ByteLevel put a prefix before it (rules P2, P3).

Nearly every text comes out as it went in, and then the spans point into the caller's bytes. Else
the spans of text are written one behind the other into a text of our own.
"""

from collections.abc import Iterable

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memset

from tokcy._added cimport spans_push
from tokcy._aligned cimport (
    aligned_append,
    aligned_append_raw,
    aligned_init,
    aligned_put,
    aligned_reserve,
)
from tokcy._normalize cimport Normalizer, relate, workspace_free, workspace_init
from tokcy._status cimport raise_status
from tokcy._utf8 cimport utf8_width


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
        normalizer: what is done to each section.
        span_normalizer: what is done to each span of text that is then left.
        prefix: what each span of text begins with; it is put there where it is missing.
        prefix_first: the prefix is only for a span that begins where the raw text does.
    """

    def __cinit__(self, added_tokens: Iterable[object], Normalizer normalizer=None,
                  Normalizer span_normalizer=None, str prefix="", bint prefix_first=False):
        tokens = list(added_tokens)
        self.normalizer = normalizer = Normalizer() if normalizer is None else normalizer
        self.span_normalizer = Normalizer() if span_normalizer is None else span_normalizer
        self.raw_tokens = matcher_of([(t.content, t) for t in tokens if not t.normalized])
        self.normalized_tokens = matcher_of([
            (normalizer.normalize(t.content), t) for t in tokens if t.normalized
        ])
        self.prefix_bytes = prefix.encode()
        self.prefix = self.prefix_bytes
        self.prefix_size = len(self.prefix_bytes)
        self.prefix_first = prefix_first

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
            raise_status(status)
            return [span_view(&prepared, prepared.spans + i) for i in range(prepared.n_spans)]
        finally:
            release(&prepared)

    cdef int prepare(self, const uint8_t* raw, size_t size, bint allow_added, bint want_offsets,
                     Prepared* out) noexcept nogil:
        """Fill `out` anew; 0, or a status below 0.

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
            in_place = status == 0 and self.spans_are_settled(raw, spans)
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
        for i in range(sections.size):
            section = sections.data + i
            if section.token < 0 and not self.normalizer.settled(raw, section.begin, section.end):
                return False
        return True

    cdef bint spans_are_settled(self, const uint8_t* raw, const SpanList* spans) noexcept nogil:
        """Whether all spans of text of a raw text certainly stay as they are."""
        cdef const Span* span
        cdef size_t i
        for i in range(spans.size):
            span = spans.data + i
            if span.token < 0 and (
                    self.lacks_prefix(raw + span.begin, span.end - span.begin, span.begin)
                    or not self.span_normalizer.settled(raw, span.begin, span.end)):
                return False
        return True

    cdef bint lacks_prefix(self, const uint8_t* text, size_t size,
                           size_t raw_begin) noexcept nogil:
        """Whether a span of text is to get a prefix; `raw_begin` is where it begins in the raw."""
        if self.prefix_size == 0 or self.prefix_first and raw_begin > 0:
            return False
        return size < self.prefix_size or memcmp(text, self.prefix, self.prefix_size) != 0

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
        cdef Rewriting rewriting
        cdef size_t i
        cdef int status = aligned_reserve(text, 1)
        memset(&rewriting, 0, sizeof(Rewriting))
        rewriting.text = text
        rewriting.spans = spans
        # Where a span of a changed text begins in the raw one, only an aligned text tells.
        workspace_init(&rewriting.section, text.aligned or self.prefix_first)
        workspace_init(&rewriting.span, text.aligned)
        for i in range(sections.size):
            if status < 0:
                break
            section = sections.data + i
            if section.token < 0:
                status = self.rewrite_section(raw, section, allow_added, &rewriting)
            elif text.aligned:
                status = spans_push(spans, section.begin, section.end, section.token)
            else:
                status = spans_push(spans, 0, 0, section.token)
        workspace_free(&rewriting.section)
        workspace_free(&rewriting.span)
        free(rewriting.found.data)
        return status

    cdef int rewrite_section(self, const uint8_t* raw, const Span* section, bint allow_added,
                             Rewriting* rewriting) noexcept nogil:
        """Normalize one section, find the normalized tokens in it and write what is left."""
        cdef AlignedText* changed = NULL
        cdef const uint8_t* bytes = raw
        cdef size_t begin = section.begin, end = section.end, i
        cdef const Span* span
        cdef SpanList* found = &rewriting.found
        cdef int status = self.normalizer.apply(raw, begin, end, &rewriting.section, &changed)
        if changed != NULL:
            bytes = changed.bytes
            begin = 0
            end = changed.size
        found.size = 0
        if status == 0 and allow_added and self.normalized_tokens is not None:
            status = self.normalized_tokens.find_spans(bytes, begin, end, found)
        elif status == 0 and begin < end:
            status = spans_push(found, begin, end, -1)
        for i in range(found.size):
            if status < 0:
                break
            span = found.data + i
            if span.token < 0:
                status = self.rewrite_span(bytes, changed, span, rewriting)
            elif not rewriting.text.aligned:
                status = spans_push(rewriting.spans, 0, 0, span.token)
            elif changed != NULL:
                status = spans_push(rewriting.spans, changed.begins[span.begin],
                                    changed.ends[span.end - 1], span.token)
            else:
                status = spans_push(rewriting.spans, span.begin, span.end, span.token)
        return status

    cdef int rewrite_span(self, const uint8_t* bytes, AlignedText* source, const Span* span,
                          Rewriting* rewriting) noexcept nogil:
        """Write a span of text, changed and with its prefix; no source means the raw text."""
        cdef AlignedText* text = rewriting.text
        cdef AlignedText* changed = NULL
        cdef size_t begin = span.begin, end = span.end, written = text.size
        cdef size_t raw_begin = begin if source == NULL or not self.prefix_first \
            else source.begins[begin]
        cdef int status = self.span_normalizer.apply(bytes, begin, end, &rewriting.span, &changed)
        if status == 0 and changed != NULL:
            if source != NULL:
                relate(changed, source)
            source = changed
            bytes = changed.bytes
            begin = 0
            end = changed.size
        if status < 0 or begin == end:
            return status
        if self.lacks_prefix(bytes + begin, end - begin, raw_begin):
            status = self.write_prefix(bytes, source, begin, text)
        if status == 0:
            status = write_text(bytes, source, begin, end, text)
        if status == 0:
            status = spans_push(rewriting.spans, written, text.size, -1)
        return status

    cdef int write_prefix(self, const uint8_t* bytes, const AlignedText* source, size_t at,
                          AlignedText* text) noexcept nogil:
        """The prefix has the range of the first character (rule N5)."""
        if aligned_reserve(text, self.prefix_size) < 0:
            return -1
        if not text.aligned:
            aligned_put(text, self.prefix, self.prefix_size, 0, 0)
        elif source == NULL:
            aligned_put(text, self.prefix, self.prefix_size, at, at + utf8_width(bytes[at]))
        else:
            aligned_put(text, self.prefix, self.prefix_size, source.begins[at], source.ends[at])
        return 0


cdef int write_text(const uint8_t* bytes, AlignedText* source, size_t begin, size_t end,
                    AlignedText* text) noexcept nogil:
    """Append text[begin:end] of a source; a whole one changes places with an empty text."""
    cdef AlignedText empty
    if source == NULL:
        return aligned_append_raw(text, bytes, begin, end)
    if text.size == 0 and end - begin == source.size and source.aligned == text.aligned:
        empty = text[0]
        text[0] = source[0]
        source[0] = empty
        return 0
    return aligned_append(text, source, begin, end)


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
