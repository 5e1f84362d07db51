# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""A normalizer, compiled: steps that follow each other, each text → text (rules N1 to N5).

A step first looks whether it would change anything, mostly by three bytes at a time (_sieve.h),
and nearly always it would not. Else it writes its text anew, and with every byte the place in its
own source that the byte came from. The places of several steps are put together at the end of
each.
"""

import numpy as np

from tokcy._pretok import SIMD as _simd
from tokcy.pattern.charset import distinct

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from tokcy._added cimport load_ranges, space_at, space_before
from tokcy._aligned cimport (
    AlignedText,
    aligned_append_raw,
    aligned_free,
    aligned_init,
    aligned_put,
    aligned_reserve,
)
from tokcy._bitmap cimport bitmap_words, is_set, next_set, set_bit
from tokcy._forms cimport form_append, form_load, form_settled
from tokcy._pretok cimport PreTokenizer, run_stages
from tokcy._sieve cimport Sieve, next_place, sieve_characters, tk_places
from tokcy._status cimport OUT_OF_MEMORY, raise_status
from tokcy._utf8 cimport utf8_before, utf8_decode, utf8_width

cdef enum:
    FORM = 0
    MAP = 1
    PREPEND = 2
    STRIP = 3
    REPLACE = 4


# --- would a step change anything? --------------------------------------------------------------

cdef bint step_settled(const Step* step, const uint8_t* text, size_t begin,
                       size_t end) noexcept nogil:
    """Whether the step certainly leaves text[begin:end] as it is."""
    cdef tk_places places
    if begin == end:
        return True
    if step.kind == FORM:
        return form_settled(step.form, text, begin, end) == end
    places.end = 0
    if step.kind == MAP:
        return next_mapped(step.map, text, begin, end, &places) == end
    if step.kind == STRIP:
        return not (step.left and space_at(text, begin)
                    or step.right and space_before(text, end))
    if step.kind == REPLACE:
        return next_place(step.sieve, text, begin, end, &places) == end
    return False


cdef inline uint16_t map_entry(const CharacterMap* map, const uint8_t* at) noexcept nogil:
    cdef uint32_t code = utf8_decode(at, utf8_width(at[0]))
    return map.entries[(<size_t>map.block_of[code >> 8] << 8) + (code & 0xFF)]


cdef size_t next_mapped(const CharacterMap* map, const uint8_t* text, size_t at, size_t end,
                        tk_places* known) noexcept nogil:
    """The first character of text[at:end] that the map has, or `end`."""
    while True:
        at = next_place(&map.sieve, text, at, end, known)
        if at == end or map_entry(map, text + at):
            return at
        at += utf8_width(text[at])


# --- doing it -----------------------------------------------------------------------------------

cdef int step_append(const Step* step, const uint8_t* text, size_t begin, size_t end,
                     AlignedText* out) noexcept nogil:
    """Append what the step makes of text[begin:end]; 0, or a status below 0."""
    if step.kind == FORM:
        return form_append(step.form, text, begin, end, out)
    if step.kind == MAP:
        return append_mapped(step.map, text, begin, end, out)
    if step.kind == PREPEND:
        return append_prepended(step, text, begin, end, out)
    if step.kind == REPLACE:
        return append_replaced(step, text, begin, end, out)
    while step.left and begin < end and space_at(text, begin):
        begin += utf8_width(text[begin])
    while step.right and begin < end and space_before(text, end):
        end = utf8_before(text, end)
    return aligned_append_raw(out, text, begin, end)


cdef int append_mapped(const CharacterMap* map, const uint8_t* text, size_t begin, size_t end,
                       AlignedText* out) noexcept nogil:
    """All that stands for a character has that character's range."""
    cdef size_t at = begin, after
    cdef const uint8_t* content
    cdef uint16_t entry
    cdef tk_places places
    places.end = 0
    while True:
        at = next_mapped(map, text, begin, end, &places)
        if aligned_append_raw(out, text, begin, at) < 0:
            return OUT_OF_MEMORY
        if at == end:
            return 0
        after = at + utf8_width(text[at])
        entry = map_entry(map, text + at)
        content = map.contents + map.ends[entry - 1]
        if put(out, content, map.ends[entry] - map.ends[entry - 1], at, after) < 0:
            return OUT_OF_MEMORY
        begin = after


cdef inline int put(AlignedText* out, const uint8_t* content, size_t size, size_t begin,
                    size_t end) noexcept nogil:
    """Append a text that came from text[begin:end]."""
    if aligned_reserve(out, size) < 0:
        return OUT_OF_MEMORY
    aligned_put(out, content, size, begin, end)
    return 0


cdef int append_prepended(const Step* step, const uint8_t* text, size_t begin, size_t end,
                          AlignedText* out) noexcept nogil:
    # What is prepended has the range of the first character.
    if aligned_reserve(out, step.content_size + end - begin) < 0:
        return OUT_OF_MEMORY
    aligned_put(out, step.content, step.content_size, begin, begin + utf8_width(text[begin]))
    return aligned_append_raw(out, text, begin, end)


cdef int append_replaced(const Step* step, const uint8_t* text, size_t begin, size_t end,
                         AlignedText* out) noexcept nogil:
    """What replaces a match has the range of the match's last character."""
    cdef size_t size = end - begin, n_words = bitmap_words(size), at = 0, after
    cdef uint64_t* starts = <uint64_t*>calloc(2 * n_words, sizeof(uint64_t))
    cdef uint64_t* matches = starts + n_words
    cdef int status
    if starts == NULL:
        return OUT_OF_MEMORY
    set_bit(starts, 0)
    status = run_stages(step.stages, step.n_stages, text + begin, size, starts, matches, NULL, 0)
    while at < size and status == 0:
        after = next_set(starts, at + 1, size)
        if is_set(matches, at):
            status = put(out, step.content, step.content_size,
                         utf8_before(text, begin + after), begin + after)
        else:
            status = aligned_append_raw(out, text, begin + at, begin + after)
        at = after
    free(starts)
    return status


cdef void relate(AlignedText* text, const AlignedText* source) noexcept nogil:
    """Turn ranges of the source into what these are ranges of."""
    cdef size_t i, begin
    if not text.aligned:
        return
    for i in range(text.size):
        begin = text.begins[i]
        text.begins[i] = source.begins[begin]
        text.ends[i] = source.ends[begin]


cdef void workspace_init(Workspace* work, bint aligned) noexcept nogil:
    aligned_init(&work.one, aligned)
    aligned_init(&work.other, aligned)


cdef void workspace_free(Workspace* work) noexcept nogil:
    aligned_free(&work.one)
    aligned_free(&work.other)


@cython.final
cdef class Normalizer:
    """Steps in the order in which they run; immutable, shared by threads.

    Args:
        steps: of each its kind and what that needs:
            ``("form", name)``, a normalization form, "NFC", "NFD", "NFKC" or "NFKD";
            ``("map", {code point: text, …})``, where no text is that character;
            ``("prepend", text)``, which is not empty;
            ``("strip", left, right)``, of whitespace;
            ``("replace", splits, text)``, with ``SplitTables`` that remove what is replaced, which
            is nowhere empty.
    """

    def __cinit__(self, steps=()):
        steps = list(steps)
        self.kept = []
        self.steps = <Step*>calloc(len(steps) + 1, sizeof(Step))
        if self.steps == NULL:
            raise MemoryError
        for step in steps:
            kind, first, *others = step
            fill_step(self, self.steps + self.n_steps, kind, first, others)
            self.n_steps += 1

    def __dealloc__(self):
        free(self.steps)

    def normalize(self, str text) -> str:
        """What the steps make of a text."""
        return normalized(self, text, False)[0].decode()

    def ranges(self, str text) -> tuple[bytes, list[tuple[int, int]]]:
        """The UTF-8 of the result, and of each byte the (begin, end) of its source in bytes."""
        return normalized(self, text, True)

    def is_settled(self, str text) -> bool:
        """Whether a text certainly stays as it is."""
        cdef Py_ssize_t size = 0
        cdef const uint8_t* utf8 = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &size)
        return self.settled(utf8, 0, size)

    cdef bint settled(self, const uint8_t* text, size_t begin, size_t end) noexcept nogil:
        """Whether text[begin:end] certainly stays as it is."""
        cdef size_t i
        for i in range(self.n_steps):
            if not step_settled(self.steps + i, text, begin, end):
                return False
        return True

    cdef int apply(self, const uint8_t* text, size_t begin, size_t end, Workspace* work,
                   AlignedText** result) noexcept nogil:
        """Find what becomes of text[begin:end]; 0, or a status below 0.

        The result is a text of the workspace, or NULL where all stays as it is.
        """
        cdef AlignedText* now = NULL
        cdef AlignedText* follow
        cdef size_t i
        cdef int status
        result[0] = NULL
        for i in range(self.n_steps):
            if step_settled(self.steps + i, text, begin, end):
                continue
            follow = &work.other if now == &work.one else &work.one
            follow.size = 0
            status = aligned_reserve(follow, 1)
            if status == 0:
                status = step_append(self.steps + i, text, begin, end, follow)
            if status < 0:
                return status
            if now != NULL:
                relate(follow, now)
            now = follow
            text = now.bytes
            begin = 0
            end = now.size
        result[0] = now
        return 0


cdef tuple normalized(Normalizer normalizer, str text, bint aligned):
    cdef Py_ssize_t size = 0
    cdef const uint8_t* utf8 = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &size)
    cdef AlignedText* result = NULL
    cdef Workspace work
    cdef int status
    workspace_init(&work, aligned)
    try:
        with nogil:
            status = normalizer.apply(utf8, 0, size, &work, &result)
            if status == 0 and result == NULL:
                result = &work.one
                status = aligned_append_raw(result, utf8, 0, size)
        raise_status(status)
        content = result.bytes[:result.size]
        ranges = [(result.begins[i], result.ends[i]) for i in range(result.size if aligned else 0)]
        return content, ranges
    finally:
        workspace_free(&work)


# --- making it ----------------------------------------------------------------------------------

cdef int fill_step(Normalizer normalizer, Step* step, str kind, first, list others) except -1:
    cdef PreTokenizer finder
    if kind == "form":
        step.kind = FORM
        step.form = form_load(first)
    elif kind == "map":
        step.kind = MAP
        step.map = new_map(normalizer.kept, first)
    elif kind == "prepend":
        step.kind = PREPEND
        keep_content(normalizer, step, first)
    elif kind == "strip":
        load_ranges()
        step.kind = STRIP
        step.left, step.right = first, others[0]
    elif kind == "replace":
        finder = PreTokenizer([first])
        normalizer.kept.append(finder)
        step.kind = REPLACE
        step.stages = finder._stages
        step.n_stages = finder._n_stages
        step.sieve = new_sieve(normalizer.kept, beginnings(first))
        keep_content(normalizer, step, others[0])
    else:
        raise ValueError(f"unknown step {kind!r}")
    return 0


cdef int keep_content(Normalizer normalizer, Step* step, str text) except -1:
    cdef bytes content = text.encode()
    normalizer.kept.append(content)
    step.content = content
    step.content_size = len(content)
    return 0


cdef void* kept_memory(list kept, size_t size) except NULL:
    """Zeroed memory that is freed with the list."""
    array = np.zeros(size, dtype=np.uint8)
    kept.append(array)
    return <void*><size_t>array.ctypes.data


cdef const CharacterMap* new_map(list kept, dict texts) except NULL:
    cdef CharacterMap* map = <CharacterMap*>kept_memory(kept, sizeof(CharacterMap))
    codes = np.array(sorted(texts), dtype=np.int64)
    contents = [texts[code].encode() for code in codes.tolist()]
    ends = np.cumsum([0] + [len(content) for content in contents], dtype=np.uint32)
    joined = np.frombuffer(b"".join(contents) + b"\0", dtype=np.uint8)
    blocks = distinct(codes >> 8)
    which = np.searchsorted(blocks, codes >> 8)
    entries = np.zeros((len(blocks) + 1) * 256, dtype=np.uint16)
    entries[((which + 1) << 8) + (codes & 0xFF)] = np.arange(1, len(codes) + 1)
    for i, block in enumerate(blocks.tolist(), start=1):
        map.block_of[block] = i
    sieve_characters(&map.sieve, codes, _simd)
    kept.extend([entries, ends, joined])
    map.entries = <const uint16_t*><size_t>entries.ctypes.data
    map.ends = <const uint32_t*><size_t>ends.ctypes.data
    map.contents = <const uint8_t*><size_t>joined.ctypes.data
    return map


cdef const Sieve* new_sieve(list kept, codes) except NULL:
    cdef Sieve* sieve = <Sieve*>kept_memory(kept, sizeof(Sieve))
    sieve_characters(sieve, codes, _simd)
    return sieve


cdef object beginnings(tables):
    """The characters with which a match of a split may begin, int [n]."""
    dfa = tables.dfa
    first = dfa.next[1, :dfa.classes.count]
    leads_to_match = (dfa.accept == 1).any(axis=1)
    while True:
        wider = leads_to_match | leads_to_match[dfa.next].any(axis=1)
        if np.array_equal(wider, leads_to_match):
            break
        leads_to_match = wider
    codes = np.concatenate([np.arange(0xD800), np.arange(0xE000, 0x110000)])
    return codes[leads_to_match[first][dfa.classes.of(codes.astype(np.int32))]]
