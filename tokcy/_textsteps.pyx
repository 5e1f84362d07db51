# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Steps of a decoder that make a text of a text (rules D3, D5).

They work on bytes, and mean the same as on characters: in UTF-8 no character begins within
another. Bytes that are not UTF-8, which come from single-byte tokens, are left as they are.
"""

cimport cython
from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp

from tokcy._bytes cimport Bytes, Span, bytes_append, bytes_reserve
from tokcy._spelling cimport translate


@cython.final
cdef class TextSteps:
    """Steps to run one after another; immutable, shared by threads.

    Args:
        steps: `TextStep` of `spec/plan_decode.py`.
        byte_level: at the end take a text for the bytes that its characters stand for, if all of
            them do.
    """

    def __cinit__(self, tuple steps, bint byte_level):
        cdef Step* made
        cdef int place
        self.texts = []
        self.steps = <Step*>calloc(len(steps) + 1, sizeof(Step))
        if self.steps == NULL:
            raise MemoryError
        for step in steps:
            made = self.steps + self.n_steps
            self.n_steps += 1
            if hasattr(step, "most"):       # a StripStart
                made.kind = STRIP_START
                made.pattern = self._span(step.character)
                made.most = step.most
                continue
            if hasattr(step, "prefix"):     # a JoinWords
                made.kind = JOIN_WORDS
                made.pattern = self._span(step.prefix)
                made.contents[0] = self._span(" ")
                self.by_place = True
                continue
            made.kind = SUBSTITUTE
            made.pattern = self._span(step.pattern)
            for place in range(4):
                made.contents[place] = self._span(step.contents[place])
            self.by_place |= len(set(step.contents)) > 1
            self.by_last |= step.contents[:2] != step.contents[2:]
        if byte_level:
            self.steps[self.n_steps].kind = BYTE_LEVEL
            self.n_steps += 1

    def __dealloc__(self):
        free(self.steps)

    cdef Span _span(self, str text):
        cdef bytes encoded = text.encode("utf-8")
        self.texts.append(encoded)
        return Span(<const uint8_t*><const char*>encoded, len(encoded))

    cdef int run(self, int place, Span* text, Bytes* spare) noexcept nogil:
        """Make of a text what the steps make of it in this place; 0, or -1 without memory.

        The result is a part of the text, or lies in one of the two buffers `spare`, in which the
        text must not lie.
        """
        cdef const Step* step
        cdef size_t i, k
        cdef Bytes* out = spare
        cdef int made
        for i in range(self.n_steps):
            step = self.steps + i
            if step.kind == STRIP_START:
                k = 0
                while k < step.most and _begins(text, &step.pattern):
                    k += 1
                    text.data += step.pattern.size
                    text.size -= step.pattern.size
                continue
            out.size = 0
            if step.kind == BYTE_LEVEL:
                made = _as_bytes(text, out)
            elif step.kind == JOIN_WORDS:
                made = 0 if place & FIRST else _join_words(text, step, out)
            else:
                made = _substitute(text, &step.pattern, step.contents + place, out)
            if made < 0:
                return -1
            if made:
                text[0] = Span(out.data, out.size)
                out = spare + (out == spare)
        return 0


cdef inline bint _begins(const Span* text, const Span* pattern) noexcept nogil:
    return (text.size >= pattern.size and text.data[0] == pattern.data[0]
            and memcmp(text.data, pattern.data, pattern.size) == 0)


cdef inline const uint8_t* _find(const uint8_t* at, const uint8_t* end,
                                 const Span* pattern) noexcept nogil:
    """Where the pattern stands first, or NULL."""
    if pattern.size == 0:
        return at
    while <size_t>(end - at) >= pattern.size:
        at = <const uint8_t*>memchr(at, pattern.data[0], end - at - pattern.size + 1)
        if at == NULL or memcmp(at, pattern.data, pattern.size) == 0:
            return at
        at += 1
    return NULL


cdef int _substitute(const Span* text, const Span* pattern, const Span* content,
                     Bytes* out) noexcept nogil:
    """Write the text with the content for the pattern; 0 if it is not there, -1 without memory."""
    cdef const uint8_t* at = text.data
    cdef const uint8_t* end = text.data + text.size
    cdef const uint8_t* found = _find(at, end, pattern)
    if found == NULL:
        return 0
    while found != NULL:
        if (bytes_append(out, at, found - at) < 0
                or bytes_append(out, content.data, content.size) < 0):
            return -1
        at = found + pattern.size
        found = _find(at, end, pattern) if pattern.size else NULL
    return -1 if bytes_append(out, at, end - at) < 0 else 1


cdef int _join_words(Span* text, const Step* step, Bytes* out) noexcept nogil:
    """Take the prefix away, or else write the text with a space before; as `_substitute`."""
    if _begins(text, &step.pattern):
        text.data += step.pattern.size
        text.size -= step.pattern.size
        return 0
    if (bytes_append(out, step.contents[0].data, step.contents[0].size) < 0
            or bytes_append(out, text.data, text.size) < 0):
        return -1
    return 1


cdef int _as_bytes(const Span* text, Bytes* out) noexcept nogil:
    """Write the bytes that all characters stand for; 0 if one has none, -1 without memory."""
    cdef const uint8_t* end = text.data + text.size
    cdef uint8_t* to
    if bytes_reserve(out, text.size) < 0:
        return -1
    to = out.data
    if translate(text.data, end, &to, False) < end:
        return 0
    out.size = to - out.data
    return 1
