# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""``model.vocab`` and ``model.merges`` straight from the bytes of a ``tokenizer.json``.

Nine tenths of a model file are these two. Python's JSON reader made half a million objects of
them, which took more time than all else. Here a file that is written as every sound one is gives
a Vocabulary without one Python object per token, and the rest of the file as JSON of its own.

Whatever is out of the ordinary is declined, and read by `tokcy.spec` in its usual strict way;
nothing is refused here. That the two agree rests on this: the rest must be valid JSON, too, so
the strings and brackets in it are where this reader saw them, and all that was taken out is one
valid value each, as checked here to the last byte.
"""

from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

from tokcy._platform cimport tk_load64
from tokcy._spelling cimport translate
from tokcy._strings cimport (
    Strings,
    strings_close,
    strings_close_text,
    strings_free,
    strings_open,
)
from tokcy._vocab cimport SOUND, Vocabulary

cdef const char* ESCAPES = b'"\\/bfnrt'
cdef const char* ESCAPED = b'"\\/\b\f\n\r\t'

cdef enum:
    FIRST_STRINGS = 1 << 16     # room of the lists, which grow

cdef enum Status:
    OK = 0
    NO_MEMORY = -1
    DECLINED = -2


cdef struct Span:               # of the file; NULL where it was not found
    const uint8_t* begin
    const uint8_t* end


cdef struct Reader:
    const uint8_t* at
    const uint8_t* end
    Strings entries
    uint32_t* ids
    size_t ids_capacity
    Strings parts               # left and right part of each merge
    Span vocab
    Span merges


def read_bpe_tables(bytes data not None):
    """What a model file says of vocabulary and merges, and all else that it says.

    Returns:
        (vocabulary, rest): `rest` is the file's content with an empty object and an empty list in
        place of the two; None if the file is not written in the ordinary way or is not sound.
    """
    cdef Reader reader
    cdef const uint8_t* begin = <const uint8_t*><const char*>data
    cdef Vocabulary vocabulary
    cdef int status
    memset(&reader, 0, sizeof(Reader))
    reader.at = begin
    reader.end = begin + len(data)
    if len(data) >> 32:
        return None
    try:
        with nogil:
            status = _read_file(&reader)
        if status == NO_MEMORY:
            raise MemoryError
        if status != OK:
            return None
        vocabulary = Vocabulary({}, [])
        if vocabulary.take(&reader.entries, &reader.ids, &reader.parts) != SOUND:
            return None
        return vocabulary, _rest(data, begin, &reader)
    finally:
        PyMem_RawFree(reader.ids)
        strings_free(&reader.entries)
        strings_free(&reader.parts)


cdef bytes _rest(bytes data, const uint8_t* begin, const Reader* reader):
    """The file with other values in place of the two that were read."""
    cdef size_t vocab = reader.vocab.begin - begin, after_vocab = reader.vocab.end - begin
    cdef size_t merges = reader.merges.begin - begin, after_merges = reader.merges.end - begin
    if vocab < merges:
        return b"".join([data[:vocab], b"{}", data[after_vocab:merges], b"[]",
                         data[after_merges:]])
    return b"".join([data[:merges], b"[]", data[after_merges:vocab], b"{}", data[after_vocab:]])


# ----------------------------------------------------------------- the document

cdef int _read_file(Reader* reader) noexcept nogil:
    """Read all of it; `model` must be there, with both tables."""
    cdef int status = _read_object(reader, True)
    if status != OK:
        return status
    _skip_space(reader)
    if reader.at != reader.end or reader.vocab.end == NULL or reader.merges.end == NULL:
        return DECLINED
    return OK


cdef int _read_object(Reader* reader, bint is_root) noexcept nogil:
    """Read the whole file, or its model."""
    cdef const uint8_t* key
    cdef size_t size
    cdef int status
    cdef bint seen_model = False
    if not _accept(reader, b"{"):
        return DECLINED
    while True:
        if not _accept(reader, b'"'):
            return DECLINED
        key = reader.at
        while reader.at < reader.end and reader.at[0] != b'"':
            if reader.at[0] == b"\\":      # such a key may be any of those looked for
                return DECLINED
            reader.at += 1
        size = reader.at - key
        if not _accept(reader, b'"') or not _accept(reader, b":"):
            return DECLINED
        _skip_space(reader)
        if is_root and size == 5 and memcmp(key, b"model", 5) == 0:
            if seen_model:
                return DECLINED
            seen_model = True
            status = _read_object(reader, False)
        elif not is_root and size == 5 and memcmp(key, b"vocab", 5) == 0:
            status = _read_vocab(reader)
        elif not is_root and size == 6 and memcmp(key, b"merges", 6) == 0:
            status = _read_merges(reader)
        else:
            status = _skip_value(reader)
        if status != OK:
            return status
        if _accept(reader, b"}"):
            return OK
        if not _accept(reader, b","):
            return DECLINED


cdef int _skip_value(Reader* reader) noexcept nogil:
    """Go behind a value, which is sound or will be found out by who reads the rest."""
    cdef size_t depth = 0
    cdef uint8_t c
    while reader.at < reader.end:
        c = reader.at[0]
        if c == b'"':
            reader.at += 1
            while reader.at < reader.end and reader.at[0] != b'"':
                reader.at += 2 if reader.at[0] == b"\\" else 1
        elif c == b"{" or c == b"[":
            depth += 1
        elif c == b"}" or c == b"]":
            if depth == 0:
                return OK
            depth -= 1
        elif c == b"," and depth == 0:
            return OK
        reader.at += 1
    return DECLINED


# ------------------------------------------------------------------- the tables

cdef int _read_vocab(Reader* reader) noexcept nogil:
    cdef int status
    cdef uint32_t token_id = 0
    if reader.vocab.begin != NULL:
        return DECLINED
    reader.vocab.begin = reader.at
    if not _accept(reader, b"{") or _open(reader, &reader.entries) != OK:
        return DECLINED
    while not (reader.entries.n == 0 and _accept(reader, b"}")):
        if not _accept(reader, b'"'):
            return DECLINED
        status = _read_token(reader, &reader.entries)
        if status != OK:
            return status
        if not _accept(reader, b":") or not _read_number(reader, &token_id):
            return DECLINED
        if reader.entries.n > reader.ids_capacity and _grow_ids(reader) != OK:
            return NO_MEMORY
        reader.ids[reader.entries.n - 1] = token_id
        if _accept(reader, b"}"):
            break
        if not _accept(reader, b","):
            return DECLINED
    reader.vocab.end = reader.at
    return OK


cdef int _read_merges(Reader* reader) noexcept nogil:
    cdef int status
    cdef bint are_pairs
    if reader.merges.begin != NULL:
        return DECLINED
    reader.merges.begin = reader.at
    if not _accept(reader, b"[") or _open(reader, &reader.parts) != OK:
        return DECLINED
    _skip_space(reader)
    are_pairs = reader.at < reader.end and reader.at[0] == b"["
    while not (reader.parts.n == 0 and _accept(reader, b"]")):
        status = _read_pair(reader) if are_pairs else _read_line(reader)
        if status != OK:
            return status
        if _accept(reader, b"]"):
            break
        if not _accept(reader, b","):
            return DECLINED
    reader.merges.end = reader.at
    return OK


cdef int _read_pair(Reader* reader) noexcept nogil:
    """A merge in the form ["a", "b"]."""
    cdef int status
    if not _accept(reader, b"[") or not _accept(reader, b'"'):
        return DECLINED
    status = _read_token(reader, &reader.parts)
    if status != OK:
        return status
    if not _accept(reader, b",") or not _accept(reader, b'"'):
        return DECLINED
    status = _read_token(reader, &reader.parts)
    if status != OK:
        return status
    return OK if _accept(reader, b"]") else DECLINED


cdef int _read_line(Reader* reader) noexcept nogil:
    """A merge in the form "a b"."""
    cdef Strings* parts = &reader.parts
    cdef uint8_t* left = parts.arena + parts.offsets[parts.n]
    cdef uint8_t* right = left
    cdef uint8_t* out
    cdef const uint8_t* stop
    if not _accept(reader, b'"'):
        return DECLINED
    stop = translate(reader.at, reader.end, &right, True)
    if stop == reader.end or stop[0] != b" ":
        return _read_escaped_line(reader)
    out = right
    stop = translate(stop + 1, reader.end, &out, True)
    if stop == reader.end or stop[0] != b'"':
        return _read_escaped_line(reader)
    if _is_version(left, right - left):
        return DECLINED
    reader.at = stop + 1
    if strings_close(parts, right - left, True) != OK:
        return NO_MEMORY
    return strings_close(parts, out - right, True)


cdef int _read_escaped_line(Reader* reader) noexcept nogil:
    """The same of a line that holds escapes or characters outside the alphabet."""
    cdef Strings* parts = &reader.parts
    cdef uint8_t* text = parts.arena + parts.offsets[parts.n]
    cdef uint8_t* space
    cdef uint8_t* out
    cdef size_t size = 0
    if not _unescape(reader, text, &size):
        return DECLINED
    space = <uint8_t*>memchr(text, b" ", size)
    if space == NULL or _is_version(text, space - text):
        return DECLINED
    size -= space - text + 1
    if memchr(space + 1, b" ", size) != NULL:
        return DECLINED
    if strings_close_text(parts, space - text) != OK:
        return NO_MEMORY
    out = parts.arena + parts.offsets[parts.n]
    memmove(out, space + 1, size)
    return strings_close_text(parts, size)


cdef inline bint _is_version(const uint8_t* left, size_t size) noexcept nogil:
    """Whether a line has the beginning of one that is no merge (rule M1)."""
    return size >= 8 and left[0] == b"#" and memcmp(left, b"#version", 8) == 0


# ---------------------------------------------------------------------- tokens

cdef int _open(Reader* reader, Strings* strings) noexcept nogil:
    """Make a list for what is read from here on: a token takes no more room than in the file."""
    cdef int status = strings_open(strings, FIRST_STRINGS, reader.end - reader.at)
    return OK if status == 0 else NO_MEMORY


cdef int _grow_ids(Reader* reader) noexcept nogil:
    cdef size_t capacity = 2 * reader.ids_capacity + FIRST_STRINGS
    cdef void* moved = PyMem_RawRealloc(reader.ids, capacity * sizeof(uint32_t))
    if moved == NULL:
        return NO_MEMORY
    reader.ids = <uint32_t*>moved
    reader.ids_capacity = capacity
    return OK


cdef inline int _read_token(Reader* reader, Strings* strings) noexcept nogil:
    """Append the string whose opening quote was read."""
    cdef uint8_t* begin = strings.arena + strings.offsets[strings.n]
    cdef uint8_t* out = begin
    cdef const uint8_t* stop = translate(reader.at, reader.end, &out, True)
    cdef size_t size = 0
    if stop < reader.end and stop[0] == b'"':
        reader.at = stop + 1
        return strings_close(strings, out - begin, True)
    if not _unescape(reader, begin, &size):
        return DECLINED
    return strings_close_text(strings, size)


cdef bint _unescape(Reader* reader, uint8_t* out, size_t* size) noexcept nogil:
    """Copy the string whose opening quote was read, as UTF-8; whether it is sound."""
    cdef const uint8_t* at = reader.at
    cdef uint8_t* to = out
    cdef size_t width
    cdef int64_t code
    while at < reader.end and at[0] != b'"':
        if at[0] == b"\\":
            code = _read_escape(&at, reader.end)
            if code < 0:
                return False
            to += _put_character(<uint32_t>code, to)
            continue
        width = _character_width(at, reader.end)
        if width == 0:
            return False
        memcpy(to, at, width)
        to += width
        at += width
    if at == reader.end:
        return False
    reader.at = at + 1
    size[0] = to - out
    return True


cdef int64_t _read_escape(const uint8_t** at, const uint8_t* end) noexcept nogil:
    """The character of an escape, behind which `at` moves; -1 if it is none."""
    cdef const uint8_t* from_ = at[0]
    cdef int64_t high, low
    cdef const char* found
    if end - from_ < 2:
        return -1
    if from_[1] != b"u":
        found = <const char*>memchr(ESCAPES, from_[1], 8)
        at[0] = from_ + 2
        return -1 if found == NULL else <uint8_t>ESCAPED[found - ESCAPES]
    high = _read_hex(from_ + 2, end)
    at[0] = from_ + 6
    if high >> 11 != 0x1B:
        return high
    if high >= 0xDC00 or end - from_ < 12 or from_[6] != b"\\" or from_[7] != b"u":
        return -1
    low = _read_hex(from_ + 8, end)
    at[0] = from_ + 12
    return 0x10000 + ((high & 0x3FF) << 10 | (low & 0x3FF)) if low >> 10 == 0x37 else -1


cdef int64_t _read_hex(const uint8_t* digits, const uint8_t* end) noexcept nogil:
    """The value of four hexadecimal digits, or -1."""
    cdef int64_t value = 0
    cdef int i
    cdef uint8_t c
    if end - digits < 4:
        return -1
    for i in range(4):
        c = digits[i] | 0x20
        if b"0" <= c <= b"9" and digits[i] == c:
            value = value << 4 | (c & 15)
        elif b"a" <= c <= b"f":
            value = value << 4 | ((c & 15) + 9)
        else:
            return -1
    return value


cdef size_t _put_character(uint32_t code, uint8_t* out) noexcept nogil:
    """Write a character as UTF-8; its bytes, never more than its escape takes."""
    if code < 0x80:
        out[0] = <uint8_t>code
        return 1
    if code < 0x800:
        out[0] = <uint8_t>(0xC0 | code >> 6)
        out[1] = 0x80 | (code & 0x3F)
        return 2
    if code < 0x10000:
        out[0] = <uint8_t>(0xE0 | code >> 12)
        out[1] = 0x80 | (code >> 6 & 0x3F)
        out[2] = 0x80 | (code & 0x3F)
        return 3
    out[0] = <uint8_t>(0xF0 | code >> 18)
    out[1] = 0x80 | (code >> 12 & 0x3F)
    out[2] = 0x80 | (code >> 6 & 0x3F)
    out[3] = 0x80 | (code & 0x3F)
    return 4


cdef size_t _character_width(const uint8_t* at, const uint8_t* end) noexcept nogil:
    """Bytes of the character that begins here; 0 for what no JSON string may hold as it is."""
    cdef uint8_t first = at[0], second
    if first < 0x80:
        return first >= 0x20
    if first < 0xC2 or first > 0xF4 or end - at < 4:    # behind a string more must follow
        return 0
    second = at[1]
    if second & 0xC0 != 0x80:
        return 0
    if first < 0xE0:
        return 2
    if at[2] & 0xC0 != 0x80:
        return 0
    if first < 0xF0:        # no overlong form, no surrogate
        return 0 if first == 0xE0 and second < 0xA0 or first == 0xED and second > 0x9F else 3
    if at[3] & 0xC0 != 0x80 or first == 0xF0 and second < 0x90 or first == 0xF4 and second > 0x8F:
        return 0
    return 4


# ------------------------------------------------------------------- the rest

cdef bint _read_number(Reader* reader, uint32_t* number) noexcept nogil:
    """A plain number below 2**32; what follows it is for the caller to check."""
    cdef uint64_t value = 0
    cdef const uint8_t* begin
    _skip_space(reader)
    begin = reader.at
    while reader.at < reader.end and b"0" <= reader.at[0] <= b"9" and reader.at - begin <= 10:
        value = 10 * value + (reader.at[0] & 15)
        reader.at += 1
    number[0] = <uint32_t>value
    return (reader.at > begin and value >> 32 == 0
            and (begin[0] != b"0" or reader.at == begin + 1))


cdef inline void _skip_space(Reader* reader) noexcept nogil:
    cdef const uint8_t* at = reader.at
    while at < reader.end:
        # Half of an indented file is spaces.
        if reader.end - at >= 8 and tk_load64(at) == 0x2020202020202020ULL:
            at += 8
        elif reader.end - at >= 4 and memcmp(at, b"    ", 4) == 0:
            at += 4
        elif at[0] == b" " or at[0] == b"\n" or at[0] == b"\r" or at[0] == b"\t":
            at += 1
        else:
            break
    reader.at = at


cdef inline bint _accept(Reader* reader, uint8_t wanted) noexcept nogil:
    """Go behind this character, after white space, if it is there."""
    if reader.at < reader.end and reader.at[0] == wanted:
        reader.at += 1
        return True
    _skip_space(reader)
    if reader.at < reader.end and reader.at[0] == wanted:
        reader.at += 1
        return True
    return False
