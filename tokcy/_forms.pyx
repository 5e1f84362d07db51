# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Unicode's normalization forms, as Hugging Face has them: those of Unicode 9 (rule N1).

Nearly all text is in form C already, and ``form_settled`` finds that out at the speed of reading
it: characters that neither move nor change are skipped, most of them by their first three bytes.
What is left of doubt is a stretch from one *boundary* to the next, a boundary being a character
before which nothing can combine. Only such stretches are decomposed, ordered and composed again.

Offsets (rule N5) are part of being exact. Hugging Face walks through the result with a cursor in
the source: a character that stands for n source characters takes the range of the first and
moves the cursor on by n, one that was inserted takes the range before the cursor.
"""

import numpy as np

from tokcy import unicode as ucd
from tokcy._pretok import SIMD as _simd
from tokcy.pattern.charset import distinct

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from tokcy._aligned cimport AlignedText, aligned_append_raw, aligned_put, aligned_reserve
from tokcy._sieve cimport next_place, sieve_characters, tk_places
from tokcy._utf8 cimport utf8_before, utf8_decode, utf8_encode, utf8_width

cdef enum:
    BOUNDARY = 1            # nothing before this character combines with it
    MAYBE = 2               # it may be the second of a composition
    CHANGES = 4             # it never stands in the form

cdef enum:
    HANGUL_BASE = 0xAC00
    HANGUL_SYLLABLES = 11172
    L_BASE = 0x1100
    L_COUNT = 19
    V_BASE = 0x1161
    V_COUNT = 21
    T_BASE = 0x11A7
    T_COUNT = 28

cdef enum:
    UTF8_MOST = 4
    SHORT_RUN = 16          # marks that insertion sort orders faster than counting

ctypedef fused Key:
    uint32_t
    uint64_t

cdef struct Item:           # a character on its way
    uint32_t code
    uint8_t ccc
    int32_t change          # as the reference counts: 1 inserted, -n stands for n more

cdef struct Items:
    Item* data
    size_t size
    size_t capacity

# Written once, with the GIL held, by form_load.
cdef Form forms[4]
cdef const uint64_t* pairs = NULL
cdef const uint32_t* composites = NULL
cdef size_t n_pairs = 0
cdef list tables_in_use = []            # keeps the arrays behind the pointers alive

FORMS = ("NFC", "NFD", "NFKC", "NFKD")


cdef const Form* form_load(str name) except NULL:
    """The form of that name; its tables are made by the first call."""
    cdef Form* form = &forms[<size_t>FORMS.index(name)]
    if form.kind_blocks != NULL:
        return form
    tables = ucd.canonical_tables()
    decompositions = tables.decompositions
    compatible = ucd.compatibility_decompositions() if "K" in name else None
    if compatible is not None:
        decompositions = _in_place_of(decompositions, compatible)
    if pairs == NULL:
        _load_compositions(tables.compositions)
    form.composes = name.endswith("C")
    blocks = _load_kinds(form, tables, decompositions, compatible)
    form.decomposing = <const uint32_t*><size_t>decompositions.characters.ctypes.data
    form.decomposition_ends = <const uint32_t*><size_t>decompositions.ends.ctypes.data
    form.decomposed = <const uint32_t*><size_t>decompositions.values.ctypes.data
    form.n_decomposing = decompositions.characters.size
    tables_in_use.extend([blocks, decompositions])
    form.kind_blocks = <const uint8_t*><size_t>blocks.ctypes.data
    return form


def _in_place_of(canonical, compatible):
    """The compatible decompositions, and the canonical ones of other characters."""
    rows = canonical.as_dict() | compatible.as_dict()
    characters = sorted(rows)
    return ucd.Becoming(
        np.array(characters, dtype=np.int32),
        np.array([c for character in characters for c in rows[character]], dtype=np.int32),
        np.cumsum([len(rows[character]) for character in characters], dtype=np.int32),
    )


def _load_compositions(compositions):
    global pairs, composites, n_pairs
    first, second, composed = compositions.astype(np.uint64).T
    keys = first << np.uint64(32) | second
    order = np.argsort(keys)
    keys = keys[order]
    composed = composed[order].astype(np.uint32)
    pairs = <const uint64_t*><size_t>keys.ctypes.data
    composites = <const uint32_t*><size_t>composed.ctypes.data
    n_pairs = keys.size
    tables_in_use.extend([keys, composed])


def _find(numbers, among):
    """Of each number its place among sorted ones, and whether it is there."""
    places = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    return places, among[places] == numbers


def _character_kinds(tables, decompositions, compatible, bint composes):
    """Every character that is not plainly inert: (characters int32[n], kinds uint32[n]).

    A kind is class << 16 | trail << 8 | flags.
    """
    marks, classes = tables.combining_classes.T
    primary = seconds = np.empty(0, dtype=np.int32)
    hangul = np.arange(HANGUL_BASE, HANGUL_BASE + HANGUL_SYLLABLES, dtype=np.int32)

    def ccc(characters):
        places, found = _find(characters, marks)
        return classes[places] * found

    if composes:
        primary = np.sort(tables.compositions[:, 2])
        if compatible is not None:
            primary = primary[~_find(primary, compatible.characters)[1]]
        seconds = distinct(np.concatenate([
            tables.compositions[:, 1], np.arange(V_BASE, V_BASE + V_COUNT, dtype=np.int32),
            np.arange(T_BASE + 1, T_BASE + T_COUNT, dtype=np.int32)]))
    characters = distinct(np.concatenate([marks, seconds, decompositions.characters]))
    rows, decompose = _find(characters, decompositions.characters)
    ends = decompositions.ends
    begins = np.append(0, ends)
    first = np.where(decompose, decompositions.values[begins[rows]], characters)
    last = np.where(decompose, decompositions.values[ends[rows] - 1], characters)
    flags = np.where(ccc(first) == 0, BOUNDARY, 0)
    if composes:
        flags[_find(first, seconds)[1]] = 0
        flags[_find(characters, seconds)[1]] |= MAYBE
        decompose &= ~_find(characters, primary)[1]
    flags[decompose] |= CHANGES
    kinds = ccc(characters) << 16 | ccc(last) << 8 | flags
    if not composes:
        characters = np.append(characters, hangul)
        kinds = np.append(kinds, np.full(len(hangul), CHANGES | BOUNDARY))
    return characters, kinds.astype(np.uint32)


cdef object _load_kinds(Form* form, tables, decompositions, compatible):
    """Number the kinds, passing ones first; the blocks of 256 characters' kinds, [n, 256]."""
    characters, kinds = _character_kinds(tables, decompositions, compatible, form.composes)
    ordered = distinct(np.append(kinds, np.uint32(BOUNDARY)))
    passing = ordered & 0xFF00FF == BOUNDARY
    ordered = np.concatenate([ordered[passing], ordered[~passing]])
    for i, kind in enumerate(ordered.tolist()):
        form.kinds[i].ccc, form.kinds[i].trail, form.kinds[i].flags = kind.to_bytes(3, "big")
    form.passing_kinds = passing.sum()
    order = np.argsort(ordered)
    numbers = order[np.searchsorted(ordered, kinds, sorter=order)].astype(np.uint8)
    codes = characters[numbers > 0]
    numbers = numbers[numbers > 0]
    mixed = distinct(codes >> 8)
    for i, block in enumerate(mixed.tolist(), start=1):
        form.block_of[block] = i
    by_block = np.zeros((len(mixed) + 1, 256), dtype=np.uint8)
    by_block[np.searchsorted(mixed, codes >> 8) + 1, codes & 0xFF] = numbers
    sieve_characters(&form.not_passing, codes[numbers >= form.passing_kinds], _simd)
    return by_block


cdef inline const Kind* kind_of(const Form* form, uint32_t code) noexcept nogil:
    return form.kinds + kind_number(form, code)


cdef inline uint8_t kind_number(const Form* form, uint32_t code) noexcept nogil:
    return form.kind_blocks[(<size_t>form.block_of[code >> 8] << 8) + (code & 0xFF)]


# --- is it in the form? -------------------------------------------------------------------------

cdef size_t form_settled(const Form* form, const uint8_t* text, size_t begin,
                         size_t end) noexcept nogil:
    """How far text[begin:end], which starts at a boundary, is certainly in the form.

    That is `end`, or else the boundary at which the first stretch in doubt starts.
    """
    cdef size_t at = begin, here, width, boundary = begin, run_end = begin
    cdef uint32_t code, starter = 0
    cdef uint8_t ccc, last_ccc = 0, trail = 0
    cdef const Kind* kind
    cdef bint has_starter = False
    cdef tk_places places
    places.end = 0
    while True:
        here = next_place(&form.not_passing, text, at, end, &places)
        if here == end:
            return end
        width = utf8_width(text[here])
        code = utf8_decode(text + here, width)
        kind = kind_of(form, code)
        at = here + width
        if kind < form.kinds + form.passing_kinds:
            continue
        if here != run_end:
            boundary = utf8_before(text, here)
            starter = utf8_decode(text + boundary, here - boundary)
            trail = kind_of(form, starter).trail
            has_starter = True
            last_ccc = 0
        run_end = at
        ccc = kind.ccc
        if kind.flags & BOUNDARY:
            boundary = here
        if kind.flags & CHANGES or 0 < ccc < last_ccc:
            return boundary
        # A mark that would go before the starter's own marks may combine with what is beneath.
        if has_starter and kind.flags & MAYBE and (
                0 < ccc < trail
                or (last_ccc == 0 or last_ccc < ccc) and compose(starter, code) != 0):
            return boundary
        last_ccc = ccc
        if ccc == 0:
            starter = code
            trail = kind.trail
            has_starter = True


# --- making it so -------------------------------------------------------------------------------

cdef int form_append(const Form* form, const uint8_t* text, size_t begin, size_t end,
                     AlignedText* out) noexcept nogil:
    """Append the normal form of text[begin:end]; 0, or -1 without memory."""
    cdef Items items
    cdef size_t at = begin, doubt
    cdef int status = aligned_reserve(out, end - begin + (end - begin) // 64)
    memset(&items, 0, sizeof(Items))
    while at < end and status == 0:
        doubt = form_settled(form, text, at, end)
        status = aligned_append_raw(out, text, at, doubt)
        at = doubt
        if at < end and status == 0:
            at = next_boundary(form, text, doubt, end)
            status = append_stretch(form, text, doubt, at, &items, out)
    free(items.data)
    return status


cdef size_t next_boundary(const Form* form, const uint8_t* text, size_t at,
                          size_t end) noexcept nogil:
    """The first boundary behind the character at `at`."""
    cdef size_t width
    at += utf8_width(text[at])
    while at < end:
        width = utf8_width(text[at])
        if kind_of(form, utf8_decode(text + at, width)).flags & BOUNDARY:
            break
        at += width
    return at


cdef int append_stretch(const Form* form, const uint8_t* text, size_t begin, size_t end,
                        Items* items, AlignedText* out) noexcept nogil:
    """Append the normal form of one stretch."""
    cdef size_t at = begin, width
    items.size = 0
    while at < end:
        width = utf8_width(text[at])
        if decompose(form, utf8_decode(text + at, width), items) < 0:
            return -1
        at += width
    if order_marks(items) < 0 or aligned_reserve(out, UTF8_MOST * items.size) < 0:
        return -1
    if form.composes:
        compose_items(items)
    emit(text, begin, items, out)
    return 0


cdef int push(const Form* form, Items* items, uint32_t code, bint inserted) noexcept nogil:
    cdef Item* moved
    if items.size == items.capacity:
        moved = <Item*>realloc(items.data, (2 * items.capacity + 32) * sizeof(Item))
        if moved == NULL:
            return -1
        items.data = moved
        items.capacity = 2 * items.capacity + 32
    items.data[items.size].code = code
    items.data[items.size].ccc = kind_of(form, code).ccc
    items.data[items.size].change = inserted
    items.size += 1
    return 0


cdef int decompose(const Form* form, uint32_t code, Items* items) noexcept nogil:
    """Push the full decomposition of a character."""
    cdef uint32_t syllable = code - HANGUL_BASE
    cdef size_t i, row, first
    if syllable < HANGUL_SYLLABLES:
        if (push(form, items, L_BASE + syllable // (V_COUNT * T_COUNT), False) < 0
                or push(form, items, V_BASE + syllable // T_COUNT % V_COUNT, True) < 0):
            return -1
        if syllable % T_COUNT:
            return push(form, items, T_BASE + syllable % T_COUNT, True)
        return 0
    row = lower_bound(form.decomposing, form.n_decomposing, code)
    if row == form.n_decomposing or form.decomposing[row] != code:
        return push(form, items, code, False)
    first = form.decomposition_ends[row - 1] if row else 0
    for i in range(first, form.decomposition_ends[row]):
        if push(form, items, form.decomposed[i], i > first) < 0:
            return -1
    return 0


cdef int order_marks(Items* items) noexcept nogil:
    """Sort each run of marks by combining class, equal classes as they stand."""
    cdef size_t i = 0, first
    while i < items.size:
        if items.data[i].ccc == 0:
            i += 1
            continue
        first = i
        while i < items.size and items.data[i].ccc != 0:
            i += 1
        if i - first <= SHORT_RUN:
            insertion_sort(items.data + first, i - first)
        elif counting_sort(items.data + first, i - first) < 0:
            return -1
    return 0


cdef void insertion_sort(Item* marks, size_t n) noexcept nogil:
    cdef size_t i, j
    cdef Item mark
    for i in range(1, n):
        mark = marks[i]
        j = i
        while j > 0 and marks[j - 1].ccc > mark.ccc:
            marks[j] = marks[j - 1]
            j -= 1
        marks[j] = mark


cdef int counting_sort(Item* marks, size_t n) noexcept nogil:
    """Linear, as a text may be nothing but marks."""
    cdef size_t places[256]
    cdef size_t i, total = 0, count
    cdef Item* copy = <Item*>malloc(n * sizeof(Item))
    if copy == NULL:
        return -1
    memcpy(copy, marks, n * sizeof(Item))
    memset(places, 0, sizeof(places))
    for i in range(n):
        places[copy[i].ccc] += 1
    for i in range(256):
        count = places[i]
        places[i] = total
        total += count
    for i in range(n):
        marks[places[copy[i].ccc]] = copy[i]
        places[copy[i].ccc] += 1
    free(copy)
    return 0


cdef void compose_items(Items* items) noexcept nogil:
    """Canonical composition, in place."""
    cdef size_t i, kept = 0, starter = 0
    cdef bint has_starter = False
    cdef uint8_t last_ccc = 0       # of the marks between the starter and here
    cdef uint32_t composite
    cdef Item item
    for i in range(items.size):
        item = items.data[i]
        if has_starter and (last_ccc == 0 or last_ccc < item.ccc):
            composite = compose(items.data[starter].code, item.code)
            if composite != 0:
                items.data[starter].code = composite
                items.data[starter].change += item.change - 1
                continue
        if item.ccc == 0:
            starter = kept
            has_starter = True
        last_ccc = item.ccc
        items.data[kept] = item
        kept += 1
    items.size = kept


cdef uint32_t compose(uint32_t first, uint32_t second) noexcept nogil:
    """The primary composite of two characters, or 0."""
    cdef uint64_t key = <uint64_t>first << 32 | second
    cdef uint32_t syllable = first - HANGUL_BASE, leading = first - L_BASE, row
    cdef uint32_t vowel = second - V_BASE, tail = second - T_BASE
    if leading < L_COUNT and vowel < V_COUNT:
        return HANGUL_BASE + (leading * V_COUNT + vowel) * T_COUNT
    if syllable < HANGUL_SYLLABLES and syllable % T_COUNT == 0 and 0 < tail < T_COUNT:
        return first + tail
    row = lower_bound(pairs, n_pairs, key)
    return composites[row] if row < n_pairs and pairs[row] == key else 0


cdef void emit(const uint8_t* text, size_t cursor, const Items* items,
               AlignedText* out) noexcept nogil:
    """Append the items; the cursor says which source character each stands for."""
    cdef uint8_t encoded[UTF8_MOST]
    cdef size_t i, begin = cursor, end = cursor
    cdef int32_t change
    for i in range(items.size):
        change = items.data[i].change
        if change <= 0:
            begin = cursor
            end = cursor + utf8_width(text[cursor])
            cursor = end
        aligned_put(out, encoded, utf8_encode(items.data[i].code, encoded), begin, end)
        while change < 0:
            begin = cursor
            end = cursor + utf8_width(text[cursor])
            cursor = end
            change += 1


cdef size_t lower_bound(const Key* values, size_t n, Key value) noexcept nogil:
    """How many of the sorted values are below this one."""
    cdef size_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
