# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Typed segments as one text in UTF-8, and its parts.

The texts are copied behind each other in one buffer. Either each is a part by itself, or there is
one part of all, in which those that are trusted make stretches.
"""

from libc.stdint cimport uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from tokcy._platform cimport tk_alloc_large
from tokcy._source cimport Source, source_close, source_open
from tokcy._transcode cimport TK_TRANSCODE_SLACK

from tokcy.errors import EncodeTypeError


cdef int segments_open(object segments, bint joined, Segments* out) except -1:
    """Read an iterable of (text, allow_special), until `segments_close`.

    Raises:
        EncodeTypeError: an item is no such pair, or its text is not expressible in UTF-8; says
            which.
    """
    cdef list pairs = _pairs(segments)
    cdef size_t n = len(pairs), i = 0, opened = 0, size = 0
    cdef Source* sources = <Source*>malloc((n + 1) * sizeof(Source))
    memset(out, 0, sizeof(Segments))
    try:
        if sources == NULL:
            raise MemoryError
        for i in range(n):
            source_open((<tuple>pairs[i])[0], sources + i)
            opened += 1
            size += sources[i].size
        _fill(pairs, sources, size, joined, out)
        return 0
    except EncodeTypeError as error:
        raise EncodeTypeError(f"segments[{i}]: {error}") from None
    finally:
        for i in range(opened):
            source_close(sources + i)
        free(sources)


cdef int _fill(list pairs, const Source* sources, size_t size, bint joined,
               Segments* out) except -1:
    cdef size_t n = len(pairs), i, at = 0
    cdef Stretch* stretch
    cdef Part* part
    out.bytes = <uint8_t*>tk_alloc_large(size + TK_TRANSCODE_SLACK, size)
    out.parts = <Part*>malloc((n + 1) * sizeof(Part))
    out.trusted = stretch = <Stretch*>malloc((n + 1) * sizeof(Stretch))
    if out.bytes == NULL or out.parts == NULL or out.trusted == NULL:
        segments_close(out)
        raise MemoryError
    part = out.parts
    part.begin = 0
    part.trusted = stretch
    part.n_trusted = 0
    for i in range(n):
        if not joined:
            part.begin = at
            part.trusted = stretch
            part.n_trusted = 0
        if sources[i].size == 0:
            continue
        memcpy(out.bytes + at, sources[i].bytes, sources[i].size)
        if <bint>(<tuple>pairs[i])[1]:
            if part.n_trusted and part.trusted[part.n_trusted - 1].end == at:
                (stretch - 1).end = at + sources[i].size
            else:
                stretch.begin = at
                stretch.end = at + sources[i].size
                stretch += 1
                part.n_trusted += 1
        at += sources[i].size
        if not joined:
            part.end = at
            part += 1
    if joined:
        part.end = at
        part += 1
    out.bytes[at] = 0
    out.size = at
    out.n_parts = part - out.parts
    return 0


cdef void segments_close(Segments* segments) noexcept nogil:
    free(segments.bytes)
    free(segments.parts)
    free(segments.trusted)
    memset(segments, 0, sizeof(Segments))


cdef list _pairs(segments):
    """(text, flag) of each segment, the flags as bool."""
    cdef list found = []
    cdef object item, text, flag
    if isinstance(segments, (str, bytes)):
        raise EncodeTypeError(
            f"segments must be pairs of (text, allow_special), not {type(segments).__name__}"
        )
    for item in segments:
        try:
            if isinstance(item, (str, bytes)):
                raise TypeError
            text, flag = item
        except (TypeError, ValueError):
            raise EncodeTypeError(
                f"segments[{len(found)}] must be (text, allow_special), not {item!r:.80}"
            ) from None
        found.append((text, bool(flag)))
    return found
