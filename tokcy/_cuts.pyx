# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where a piece may be cut before merging, because no token reaches across.

If no token of the vocabulary holds the end of one character followed by the beginning of the
next, no merge can ever join the two, and merging the piece gives what merging its two parts
gives. Chinese and Japanese pieces, often a whole clause without a space, fall into words of one
to three characters, which the merge cache knows; English ones stay whole.

A token touches a border in one of two ways. It holds both characters whole: then the pair is in
`pairs`. Or it holds only some bytes of one of them, at its own edge: then the last byte before the
border and the first two behind are in `halves`. (With the first one alone, one border in ten of
Chinese was taken for joined under Qwen3's and Llama-3's vocabularies, and is not.) Both tables may
say "joined" of what is not; that only loses a cut.

What the vocabulary lacks, a byte or a character, is dropped before merging, which makes others
adjacent, or becomes one unknown token with its neighbours (rule M5). A vocabulary that is not
complete is therefore left uncut.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from tokcy._bitmap cimport bits_below
from tokcy._platform cimport tk_unlikely
from tokcy._pretok cimport simd_ops
from tokcy._spelling cimport BYTES
from tokcy._utf8 cimport utf8_width
from tokcy._vocab cimport Vocabulary

from tokcy._pretok import SIMD

cdef enum:
    PAIRS_BYTES = 1 << (TK_PAIR_BITS - 3)
    HALVES_BYTES = 1 << (TK_EDGE_BITS - 3)
    MARGIN = 4              # bytes that are read on either side of 64: a character


@cython.final
cdef class CutFilter:
    """The borders that some token of a vocabulary reaches across; immutable.

    Args:
        vocabulary: the tokens.
        simd: the variant of the wide steps.
        tables: what `tables` gave for this vocabulary, to spare the work.

    Raises:
        ValueError: `tables` are of another size.
    """

    def __cinit__(self, Vocabulary vocabulary, *, str simd=SIMD, dict tables=None):
        cdef bytes variant = simd.encode()
        cdef size_t entry
        self.simd = simd_ops(simd)
        self.find_cuts = tk_choose_find_cuts(variant)
        # The edge of a part is in another place than that of a piece.
        self.enabled = vocabulary.is_complete() and not vocabulary.marks
        # 128 KB; the vocabularies measured have at most 55,000 pairs.
        self.pairs = <uint32_t*>calloc(1, PAIRS_BYTES)
        self.halves = <uint32_t*>calloc(1, HALVES_BYTES)
        if self.pairs == NULL or self.halves == NULL:
            raise MemoryError
        if tables is not None:
            _copy_exactly(tables, "pairs", self.pairs, PAIRS_BYTES)
            _copy_exactly(tables, "halves", self.halves, HALVES_BYTES)
            return
        for entry in range(vocabulary.n_entries):
            if vocabulary.kinds[entry] == BYTES:
                _note_borders(self.pairs, self.halves,
                              vocabulary.arena + vocabulary.offsets[entry],
                              vocabulary.offsets[entry + 1] - vocabulary.offsets[entry])

    def __dealloc__(self):
        free(self.pairs)
        free(self.halves)

    def tables(self):
        """What was found out, by name: bit tables as bytes."""
        return {
            "pairs": (<char*>self.pairs)[:PAIRS_BYTES],
            "halves": (<char*>self.halves)[:HALVES_BYTES],
        }

    cdef uint64_t cuts_in_word(self, const uint8_t* text, size_t size, size_t word,
                               uint64_t starts) noexcept nogil:
        """Bits of the 64 bytes at `word` where a piece may be cut; `starts` are not among them.

        The text is valid UTF-8. Only borders beside a character beyond ASCII are looked at.
        """
        cdef size_t base = word << 6, before, behind
        cdef const uint8_t* at = text + base
        cdef uint8_t[MARGIN + 64 + MARGIN] copy     # of the ends of a text: nothing is read past it
        cdef uint64_t wide, edge, borders
        if tk_unlikely(base < MARGIN or base + 64 + MARGIN > size):
            memset(copy, 0, sizeof(copy))
            at = copy + MARGIN
            before = base if base < MARGIN else MARGIN
            behind = size - base if size - base < 64 + MARGIN else 64 + MARGIN
            memcpy(copy + MARGIN - before, text + base - before, before + behind)
        wide = self.simd.beyond_ascii(at)
        edge = (at - 1)[0] >> 7
        if not wide | edge:
            return 0
        borders = ~self.simd.continuations(at) & (wide | wide << 1 | edge) & ~starts
        if base == 0:
            borders &= ~<uint64_t>1
        if size - base < 64:
            borders &= bits_below(size - base)
        return self.find_cuts(at, borders, self.pairs, self.halves) if borders else 0


cdef int _copy_exactly(dict tables, str name, void* to, size_t size) except -1:
    cdef const uint8_t[::1] table = tables[name]
    if <size_t>len(table) != size:
        raise ValueError(f"{name}: not {size} bytes")
    memcpy(to, &table[0], size)
    return 0


cdef void _note_borders(uint32_t* pairs, uint32_t* halves, const uint8_t* token,
                        size_t size) noexcept nogil:
    """Mark every border between characters, or parts of them, within a token."""
    cdef size_t at, end, before = 0     # where what stands before the border begins
    for at in range(1, size):
        if _continues(token[at]):
            continue
        if (token[at] | token[at - 1]) & 0x80:      # others are never asked for
            end = at + utf8_width(token[at])
            if end <= size and _is_character(token, before, at) and _is_character(token, at, end):
                _set_bit(pairs, tk_hash_pair(_pack(token, before, at), _pack(token, at, end)))
            else:
                _note_edge(halves, token + at, size - at)
        before = at


cdef void _note_edge(uint32_t* halves, const uint8_t* at, size_t size) noexcept nogil:
    """Mark a border of which one side is a part of a character; `size` bytes are behind it."""
    cdef int second
    if size > 1 and _continues(at[1]):
        _set_bit(halves, tk_edge((at - 1)[0], at[0], at[1]))
    else:                               # any, or none of ASCII
        for second in range(64):
            _set_bit(halves, tk_edge((at - 1)[0], at[0], <uint8_t>second))


cdef inline bint _continues(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef inline bint _is_character(const uint8_t* text, size_t begin, size_t end) noexcept nogil:
    """Whether these bytes are one whole character, as far as their kinds tell."""
    cdef size_t i
    if _continues(text[begin]) or begin + utf8_width(text[begin]) != end:
        return False
    for i in range(begin + 1, end):
        if not _continues(text[i]):
            return False
    return True


cdef inline uint32_t _pack(const uint8_t* text, size_t begin, size_t end) noexcept nogil:
    """A character as the inner loop reads it."""
    cdef uint8_t[4] packed
    memset(packed, 0, 4)
    memcpy(packed, text + begin, end - begin)
    return tk_character_at(packed)


cdef inline void _set_bit(uint32_t* bitmap, size_t i) noexcept nogil:
    bitmap[i >> 5] |= <uint32_t>1 << (i & 31)
