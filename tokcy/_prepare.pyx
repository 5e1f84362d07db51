# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Raw text → spans of text and added tokens: steps A and B of the pipeline.

Tokens that are not normalized are found in the raw text first. What is left between them, a
*section*, is normalized by itself, and normalized tokens are found in the result (rules A3, A4).
What the pre-tokenizer does to a whole span of text comes last: Metaspace changes its spaces, and
Metaspace or ByteLevel put a prefix before it (rules P2, P3).

Nearly every text comes out as it went in, and then the spans point into the caller's bytes. Else
the spans of text are written one behind the other into a text of our own.

A raw text may have several *parts*, each of which is prepared as if it were alone. And added tokens
are only found in what of a part is *trusted*; everything else is one text across those borders.
"""

from collections.abc import Iterable

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memset

from tokcy._added cimport part_of_stretch, spans_push
from tokcy._aligned cimport (
    aligned_append,
    aligned_append_raw,
    aligned_init,
    aligned_put,
    aligned_reserve,
)
from tokcy._normalize cimport Normalizer, relate, workspace_free, workspace_init
from tokcy._status cimport UNDECIDED, raise_status
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


cdef void leave_tokens_out(Prepared* prepared) noexcept nogil:
    """Keep the spans of text alone."""
    cdef Span* spans = <Span*>prepared.spans
    cdef size_t i, n = 0
    for i in range(prepared.n_spans):
        if spans[i].token < 0:
            spans[n] = spans[i]
            n += 1
    prepared.n_spans = n


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
        """As `prepare_parts`, of one text; without `allow_added` no added token is found in it."""
        cdef Stretch whole
        cdef Part part
        part_of_stretch(&part, &whole, 0, size)
        part.n_trusted = allow_added
        return self.prepare_parts(raw, size, &part, 1, want_offsets, out)

    cdef int prepare_parts(self, const uint8_t* raw, size_t size, const Part* parts,
                           size_t n_parts, bint want_offsets, Prepared* out) noexcept nogil:
        """Fill `out` anew; 0, or a status below 0.

        The parts cover the raw text, in order. The caller has initialized `out`, perhaps used it
        for other texts, and releases it before the raw text goes, whatever comes back.
        """
        cdef int status = self.find_sections(raw, parts, n_parts, out)
        if status == 0:
            status = self.settle_sections(raw, size, parts, n_parts, want_offsets, out)
        return status

    cdef int find_sections(self, const uint8_t* raw, const Part* parts, size_t n_parts,
                           Prepared* out) noexcept nogil:
        """Find the sections of a raw text and the added tokens between them."""
        return self.find_sections_from(raw, parts, n_parts, 0, 0, out)

    cdef int find_sections_from(self, const uint8_t* raw, const Part* parts, size_t n_parts,
                                size_t at, size_t done, Prepared* out) noexcept nogil:
        """As `find_sections`, but of the first part what follows a token.

        It ends at `at`, and its spaces at `done`.
        """
        cdef size_t i
        cdef int status = 0
        forget_text(out)
        for i in range(n_parts):
            at = max(at, parts[i].begin)
            done = max(done, at)
            if status < 0:
                break
            if self.raw_tokens is not None and parts[i].n_trusted:
                status = self.raw_tokens.find_spans_from(raw, parts + i, at, done, &out.sections)
            elif done < parts[i].end:
                status = spans_push(&out.sections, done, parts[i].end, -1)
        return status

    cdef int settle_sections(self, const uint8_t* raw, size_t size, const Part* parts,
                             size_t n_parts, bint want_offsets, Prepared* out) noexcept nogil:
        """Make spans of the sections, of which the first ones may have been left out."""
        cdef SpanList* spans = &out.sections
        cdef AlignedText text
        cdef int status = 0
        cdef bint in_place = self.is_normal(raw, &out.sections)
        if in_place:
            if self.normalized_tokens is not None:
                spans = &out.found
                status = self.split_in_place(raw, parts, &out.sections, spans)
            in_place = status == 0 and self.spans_are_settled(raw, parts, spans)
        if in_place:
            out.text = raw
            out.size = size
        elif status == 0:
            spans = &out.found
            spans.size = 0
            aligned_init(&text, want_offsets)
            status = self.rewrite(raw, parts, n_parts, &out.sections, spans, &text)
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

    cdef bint spans_are_settled(self, const uint8_t* raw, const Part* parts,
                                const SpanList* spans) noexcept nogil:
        """Whether all spans of text of a raw text certainly stay as they are."""
        cdef const Span* span
        cdef size_t i
        for i in range(spans.size):
            span = spans.data + i
            if span.token >= 0:
                continue
            parts = part_at(parts, span.begin)
            if (self.lacks_prefix(raw + span.begin, span.end - span.begin,
                                  span.begin == parts.begin)
                    or not self.span_normalizer.settled(raw, span.begin, span.end)):
                return False
        return True

    cdef bint lacks_prefix(self, const uint8_t* text, size_t size, bint first) noexcept nogil:
        """Whether a span of text is to get a prefix; `first`: it begins where its part does."""
        if self.prefix_size == 0 or self.prefix_first and not first:
            return False
        return size < self.prefix_size or memcmp(text, self.prefix, self.prefix_size) != 0

    cdef int split_in_place(self, const uint8_t* raw, const Part* parts, const SpanList* sections,
                            SpanList* spans) noexcept nogil:
        """Find the normalized tokens in sections that stay as they are."""
        cdef StretchList trusted
        cdef Part part
        cdef const Span* section
        cdef size_t i
        cdef int status = 0
        memset(&trusted, 0, sizeof(StretchList))
        for i in range(sections.size):
            section = sections.data + i
            if section.token >= 0:
                status = spans_push(spans, section.begin, section.end, section.token)
            else:
                parts = part_at(parts, section.begin)
                status = clip(parts, section.begin, section.end, &trusted, &part)
                if status == 0:
                    status = self.find_normalized(raw, raw, NULL, &part, spans)
            if status < 0:
                break
        free(trusted.data)
        return status

    cdef int rewrite(self, const uint8_t* raw, const Part* parts, size_t n_parts,
                     const SpanList* sections, SpanList* spans, AlignedText* text) noexcept nogil:
        """Write the spans of text of all sections into `text`."""
        cdef const Span* section
        cdef Rewriting rewriting
        cdef StretchList trusted
        cdef Part part
        cdef size_t i
        cdef int status = aligned_reserve(text, 1)
        memset(&rewriting, 0, sizeof(Rewriting))
        memset(&trusted, 0, sizeof(StretchList))
        rewriting.text = text
        rewriting.spans = spans
        # Where a part of a changed text stands in the raw one, only an aligned text tells.
        workspace_init(&rewriting.section, text.aligned or self.prefix_first
                       or some_in_part(parts, n_parts))
        workspace_init(&rewriting.span, text.aligned)
        for i in range(sections.size):
            if status < 0:
                break
            section = sections.data + i
            if section.token < 0:
                parts = part_at(parts, section.begin)
                rewriting.part_begin = parts.begin
                status = clip(parts, section.begin, section.end, &trusted, &part)
                if status == 0:
                    status = self.rewrite_section(raw, &part, &rewriting)
            elif text.aligned:
                status = spans_push(spans, section.begin, section.end, section.token)
            else:
                status = spans_push(spans, 0, 0, section.token)
        workspace_free(&rewriting.section)
        workspace_free(&rewriting.span)
        free(rewriting.found.data)
        free(trusted.data)
        return status

    cdef int rewrite_section(self, const uint8_t* raw, const Part* part,
                             Rewriting* rewriting) noexcept nogil:
        """Normalize one section, find the normalized tokens in it and write what is left."""
        cdef AlignedText* changed = NULL
        cdef const uint8_t* bytes = raw
        cdef size_t i
        cdef const Span* span
        cdef SpanList* found = &rewriting.found
        cdef int status = self.normalizer.apply(raw, part.begin, part.end, &rewriting.section,
                                                &changed)
        if changed != NULL:
            bytes = changed.bytes
        found.size = 0
        if status == 0:
            status = self.find_normalized(raw, bytes, changed, part, found)
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

    cdef int find_normalized(self, const uint8_t* raw, const uint8_t* bytes,
                             const AlignedText* changed, const Part* part,
                             SpanList* found) noexcept nogil:
        """Append the spans of a section after normalization; no change means the raw text.

        Of a section that is changed alignment does not tell which bytes come from trusted text
        alone: it gives a composed character to its first part, and a replacement to a part of what
        it replaces. So where not all is trusted, a token must stand in the raw text as it is; if
        one does not, the status is UNDECIDED.
        """
        cdef Stretch all_of_it
        cdef Part whole
        cdef size_t i, first = found.size
        cdef int status
        if self.normalized_tokens is None or part.n_trusted == 0:
            if changed == NULL:
                return push_text(found, part.begin, part.end)
            return push_text(found, 0, changed.size)
        if changed == NULL:
            return self.normalized_tokens.find_spans(bytes, part, found)
        part_of_stretch(&whole, &all_of_it, 0, changed.size)
        status = self.normalized_tokens.find_spans(bytes, &whole, found)
        if status == 0 and not is_trusted(part):
            for i in range(first, found.size):
                if found.data[i].token >= 0 and not stands_in(raw, part, changed, found.data + i):
                    return UNDECIDED
        return status

    cdef int rewrite_span(self, const uint8_t* bytes, AlignedText* source, const Span* span,
                          Rewriting* rewriting) noexcept nogil:
        """Write a span of text, changed and with its prefix; no source means the raw text."""
        cdef AlignedText* text = rewriting.text
        cdef AlignedText* changed = NULL
        cdef size_t begin = span.begin, end = span.end, written = text.size
        cdef bint first = (begin if source == NULL or not self.prefix_first
                           else source.begins[begin]) == rewriting.part_begin
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
        if self.lacks_prefix(bytes + begin, end - begin, first):
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


cdef inline const Part* part_at(const Part* parts, size_t at) noexcept nogil:
    """The first part from this one on that ends behind a place."""
    while parts.end <= at:
        parts += 1
    return parts


cdef inline int push_text(SpanList* spans, size_t begin, size_t end) noexcept nogil:
    return spans_push(spans, begin, end, -1) if begin < end else 0


cdef inline bint is_trusted(const Part* part) noexcept nogil:
    """Whether all of a part is."""
    return (part.n_trusted == 1 and part.trusted.begin == part.begin
            and part.trusted.end == part.end)


cdef bint some_in_part(const Part* parts, size_t n_parts) noexcept nogil:
    """Whether some part is trusted, but not all of it."""
    cdef size_t i
    for i in range(n_parts):
        if parts[i].n_trusted and not is_trusted(parts + i):
            return True
    return False


cdef const Stretch* stretch_at(const Part* part, size_t at) noexcept nogil:
    """The first trusted stretch of a part that ends behind a place, or what follows the last."""
    cdef size_t low = 0, high = part.n_trusted, middle
    while low < high:
        middle = (low + high) // 2
        if part.trusted[middle].end <= at:
            low = middle + 1
        else:
            high = middle
    return part.trusted + low


cdef bint stands_in(const uint8_t* raw, const Part* part, const AlignedText* changed,
                    const Span* token) noexcept nogil:
    """Whether a token of a changed section stands in the raw one, in one trusted stretch.

    The spaces that it takes along may be anyone's, as in a section that is not changed.
    """
    cdef size_t first = token.begin + token.ahead, last = token.end - token.back, begin, end
    cdef const Stretch* stretch
    if last <= first:       # the spaces of the token before have all of it
        return False
    begin, end = changed.begins[first], changed.ends[last - 1]
    stretch = stretch_at(part, begin)
    return (stretch < part.trusted + part.n_trusted and stretch.begin <= begin
            and end <= stretch.end and end - begin == last - first
            and memcmp(raw + begin, changed.bytes + first, end - begin) == 0)


cdef int clip(const Part* whole, size_t begin, size_t end, StretchList* trusted,
              Part* part) noexcept nogil:
    """Make a part of a section, with what of it is trusted; 0, or -1 without memory."""
    cdef const Stretch* stretch = stretch_at(whole, begin)
    cdef const Stretch* last = whole.trusted + whole.n_trusted
    trusted.size = 0
    while stretch < last and stretch.begin < end:
        if stretches_push(trusted, max(begin, stretch.begin), min(end, stretch.end)) < 0:
            return -1
        stretch += 1
    part.begin = begin
    part.end = end
    part.trusted = trusted.data
    part.n_trusted = trusted.size
    return 0


cdef int stretches_push(StretchList* list, size_t begin, size_t end) noexcept nogil:
    """Append a stretch; 0, or -1 without memory."""
    cdef Stretch* moved
    if list.size == list.capacity:
        moved = <Stretch*>realloc(list.data, (2 * list.capacity + 8) * sizeof(Stretch))
        if moved == NULL:
            return -1
        list.data = moved
        list.capacity = 2 * list.capacity + 8
    list.data[list.size].begin = begin
    list.data[list.size].end = end
    list.size += 1
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
