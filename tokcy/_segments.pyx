# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Typed segments as one text in UTF-8, and its parts.

The texts are copied behind each other in one buffer. Either each is a part by itself, or there is
one part of all, in which those that are trusted make stretches.

Some models' own code cuts long texts up before it calls tiktoken (Kimi's, and that of Llama 3 and
4): 400,000 characters at most, and cut again where more than 25,000 in a row are whitespace or are
not, which is counted anew in each such block. That was to spare tiktoken long pieces, and gives
other ids at the cuts than the whole text would. Here each chunk is a part.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tokcy._scratch cimport scratch_give, scratch_take
from tokcy._source cimport SHORT_TEXT, source_look, source_most, source_refuse, source_write
from tokcy._status cimport OUT_OF_MEMORY, raise_status
from tokcy._utf8 cimport utf8_decode, utf8_width

from tokcy.errors import EncodeTypeError

cdef enum:
    BLOCK_CHARACTERS = 400_000
    RUN_CHARACTERS = MAY_BE_CUT
    # Any longer run has a whole one of these stretches of bytes, from one multiple to the next.
    WINDOW_BYTES = RUN_CHARACTERS // 2
    COUNTED_BYTES = 4096        # whose characters are counted in one loop


cdef int segments_look(list items, size_t first, bint joined, bint chunked,
                       Segments* out) except -1:
    """Read (text, allow_special) pairs, until `segments_close`.

    Args:
        items: as `listed` gives it; it becomes one of tuples, and keeps the strings alive, as it
            must until `segments_place`.
        first: how many others stand before it, for messages.
        joined: the texts are one text; else each is one by itself.
        chunked: long ones of these are cut up.

    Raises:
        EncodeTypeError: an item is no such pair; says which.
    """
    cdef tuple pair
    cdef size_t n = len(items), i = 0
    memset(out, 0, sizeof(Segments))
    out.first = first
    out.joined = joined
    out.chunked = chunked
    try:
        out.sources = <Source*>malloc((n + 1) * sizeof(Source))
        out.flags = <bint*>malloc((n + 1) * sizeof(bint))
        if out.sources == NULL or out.flags == NULL:
            raise MemoryError
        for i in range(n):
            if type(items[i]) is not tuple or len(<tuple>items[i]) != 2:
                items[i] = _pair(items[i])
            pair = <tuple>items[i]
            out.flags[i] = bool(pair[1])
            source_look(pair[0], out.sources + i)
            out.length += out.sources[i].length
            out.most += source_most(out.sources + i)
            out.n_segments += 1
        return 0
    except EncodeTypeError as error:
        segments_close(out)
        raise EncodeTypeError(f"segments[{first + i}]: {error}") from None
    except BaseException:
        segments_close(out)
        raise


cdef int segments_open(list items, size_t first, bint joined, bint chunked,
                       Segments* out) except -1:
    """Read and place segments.

    Args, Raises: as `segments_look`; and EncodeTypeError if a text is not expressible in UTF-8.
    """
    cdef int status
    segments_look(items, first, joined, chunked, out)
    if out.length < SHORT_TEXT:
        status = segments_place(out)
    else:
        with nogil:
            status = segments_place(out)
    try:
        return raise_status(status) or (segments_refuse(items, out) if status else 0)
    except BaseException:
        segments_close(out)
        raise


cdef int segments_refuse(list items, const Segments* segments) except -1:
    """Raise the EncodeTypeError of a text that `segments_place` found to be no UTF-8."""
    cdef size_t i = segments.n_placed
    try:
        return source_refuse(items[i][0], segments.sources + i)
    except EncodeTypeError as error:
        raise EncodeTypeError(f"segments[{segments.first + i}]: {error}") from None


def parts_of(segments, bint joined, bint chunked) -> list[list[tuple[str, bool]]]:
    """The texts that segments come to: of each, stretches and whether they are trusted.

    Args, Raises: as `segments_open`.
    """
    cdef Segments opened
    cdef const Part* part
    cdef const Stretch* stretch
    cdef size_t i, k, at
    segments_open(listed(segments), 0, joined, chunked, &opened)
    try:
        found = []
        for i in range(opened.n_parts):
            part = opened.parts + i
            stretches = []
            at = part.begin
            for k in range(part.n_trusted):
                stretch = part.trusted + k
                if at < stretch.begin:
                    stretches.append((opened.bytes[at:stretch.begin].decode(), False))
                stretches.append((opened.bytes[stretch.begin:stretch.end].decode(), True))
                at = stretch.end
            if at < part.end:
                stretches.append((opened.bytes[at:part.end].decode(), False))
            found.append(stretches)
        return found
    finally:
        segments_close(&opened)


cdef list listed(object segments):
    """A list of one's own of what is iterable, but for a text.

    Raises:
        EncodeTypeError: it is not.
    """
    if isinstance(segments, (str, bytes)):
        raise EncodeTypeError(
            f"segments must be pairs of (text, allow_special), not {type(segments).__name__}"
        )
    return list(segments)


cdef tuple _pair(item):
    try:
        if isinstance(item, (str, bytes)):
            raise TypeError
        text, flag = item
    except (TypeError, ValueError):
        raise EncodeTypeError(f"must be (text, allow_special), not {item!r:.80}") from None
    return text, flag


cdef int segments_reserve(Segments* segments) noexcept nogil:
    """Have memory for the bytes; a status."""
    cdef int status = 0
    if segments.bytes == NULL:
        status = scratch_take(&segments.memory, segments.most + 1, segments.length)
        segments.bytes = <uint8_t*>segments.memory.data
    return status


cdef int segments_place(Segments* out) noexcept nogil:
    """Put the UTF-8 of the texts in a row and mark the parts; a status as of `source_convert`."""
    cdef size_t n = out.n_segments, i, at = 0, size
    cdef size_t most = _most_parts(out)
    cdef int status
    cdef Stretch* stretch
    cdef Part* part
    if out.parts != NULL:       # it was done
        return 0
    status = segments_reserve(out)
    out.parts = <Part*>malloc(most * sizeof(Part))
    out.trusted = stretch = <Stretch*>malloc(most * sizeof(Stretch))
    if status or out.parts == NULL or out.trusted == NULL:
        return OUT_OF_MEMORY
    part = out.parts
    _begin(part, 0, stretch)
    for i in range(n):
        status = source_write(out.sources + i, out.bytes + at)
        if status:
            return status
        out.n_placed += 1
        size = out.sources[i].size
        if size == 0:
            continue
        if not out.joined:
            _begin(part, at, stretch)
        if out.flags[i]:
            if part.n_trusted and (stretch - 1).end == at:
                (stretch - 1).end = at + size
            else:
                stretch.begin = at
                stretch.end = at + size
                stretch += 1
                part.n_trusted += 1
        at += size
        part.end = at
        if not out.joined:
            part += 1
    if out.joined:
        part += 1
    out.size = at
    out.n_parts = part - out.parts
    return 0 if not out.chunked or _cut_parts(most, out) else OUT_OF_MEMORY


cdef size_t _most_parts(const Segments* segments) noexcept nogil:
    """How many parts there can be, and how many stretches."""
    cdef size_t most = segments.n_segments + 1
    if segments.chunked:    # a cut takes so many characters, and may make two of one
        most += segments.length // RUN_CHARACTERS + segments.length // BLOCK_CHARACTERS
    return most


cdef inline void _begin(Part* part, size_t at, const Stretch* stretch) noexcept nogil:
    part.begin = part.end = at
    part.trusted = stretch
    part.n_trusted = 0


cdef bint _cut_parts(size_t most, Segments* out) noexcept nogil:
    """Make a part of each chunk of each part; False without memory."""
    cdef Part* parts = <Part*>malloc(most * sizeof(Part))
    cdef Stretch* trusted = <Stretch*>malloc(most * sizeof(Stretch))
    cdef size_t* ends = <size_t*>malloc(most * sizeof(size_t))
    cdef Stretch* stretch = trusted
    cdef Part* part = parts
    cdef const Part* whole
    cdef const Stretch* old
    cdef size_t i, n, k, begin
    if parts != NULL and trusted != NULL and ends != NULL:
        for i in range(out.n_parts):
            whole = out.parts + i
            old = whole.trusted
            begin = whole.begin
            n = _find_ends(out.bytes, whole.begin, whole.end, ends)
            for k in range(n):
                _begin(part, begin, stretch)
                part.end = ends[k]
                while old < whole.trusted + whole.n_trusted and old.begin < part.end:
                    stretch.begin = max(begin, old.begin)
                    stretch.end = min(part.end, old.end)
                    stretch += 1
                    part.n_trusted += 1
                    if old.end > part.end:
                        break
                    old += 1
                begin = part.end
                part += 1
        free(out.parts)
        free(out.trusted)
        out.parts, out.trusted = parts, trusted
        out.n_parts = part - parts
        free(ends)
        return True
    free(parts)
    free(trusted)
    free(ends)
    return False


cdef size_t _find_ends(const uint8_t* text, size_t begin, size_t end, size_t* ends) noexcept nogil:
    """Where the chunks of a text end; how many there are."""
    cdef size_t n = 0, block_end
    while begin < end:
        block_end = _skip(text, begin, end, BLOCK_CHARACTERS)
        if _may_have_long_run(text, begin, block_end):
            n += _find_run_cuts(text, begin, block_end, ends + n)
        ends[n] = block_end
        n += 1
        begin = block_end
    return n


cdef size_t _skip(const uint8_t* text, size_t begin, size_t end, size_t characters) noexcept nogil:
    """Where so many characters end, or `end` if there are not more."""
    cdef size_t counted, i
    if end - begin <= characters:
        return end
    while end - begin > COUNTED_BYTES:
        counted = 0
        for i in range(begin, begin + COUNTED_BYTES):
            counted += text[i] & 0xC0 != 0x80
        if counted >= characters:
            break
        characters -= counted
        begin += COUNTED_BYTES
    while begin < end:
        if text[begin] & 0xC0 != 0x80:
            if characters == 0:
                break
            characters -= 1
        begin += 1
    return begin


cdef bint _may_have_long_run(const uint8_t* text, size_t begin, size_t end) noexcept nogil:
    """Whether some window is all alike; mostly its first characters tell that it is not."""
    cdef size_t at, last, width
    cdef bint space
    while end - begin >= WINDOW_BYTES:
        at = begin
        begin += WINDOW_BYTES
        while at < begin and text[at] & 0xC0 == 0x80:
            at += 1
        space = _is_space(text, at)
        last = begin
        while at < last and _is_space(text, at) == space:
            width = utf8_width(text[at])
            at += width
        if at >= last:
            return True
    return False


cdef size_t _find_run_cuts(const uint8_t* text, size_t begin, size_t end,
                           size_t* cuts) noexcept nogil:
    """Where runs of one kind have their 25,001st character, and so on; how many."""
    cdef size_t n = 0, run = 0
    cdef bint space, before = False
    while begin < end:
        space = _is_space(text, begin)
        run = 1 if space != before else run + 1
        if run > RUN_CHARACTERS:
            cuts[n] = begin
            n += 1
            run = 1
        before = space
        begin += utf8_width(text[begin])
    return n


cdef inline bint _is_space(const uint8_t* text, size_t at) noexcept nogil:
    """Python's ``str.isspace`` of the character that begins here."""
    cdef uint8_t lead = text[at]
    cdef uint32_t code
    if lead < 0x80:
        return lead == 0x20 or 0x09 <= lead <= 0x0D or 0x1C <= lead <= 0x1F
    if lead != 0xC2 and not 0xE1 <= lead <= 0xE3:
        return False
    code = utf8_decode(text + at, utf8_width(lead))
    return (code == 0x85 or code == 0xA0 or code == 0x1680 or 0x2000 <= code <= 0x200A
            or code == 0x2028 or code == 0x2029 or code == 0x202F or code == 0x205F
            or code == 0x3000)


cdef void segments_close(Segments* segments) noexcept nogil:
    free(segments.sources)
    free(segments.flags)
    scratch_give(&segments.memory, segments.size)
    free(segments.parts)
    free(segments.trusted)
    memset(segments, 0, sizeof(Segments))
