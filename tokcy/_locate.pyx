# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Where in the raw text each id comes from.

The tokens of a piece are its bytes, in order. So the ranges follow from the ids and the piece
boundaries, and encoding itself need not keep them.

Two things make it less simple. A token may begin or end inside a character; it is given the
whole character (rule F2). And where the vocabulary lacks a byte or a character, that is dropped
without moving the tokens behind it, or is overtaken by them, as Hugging Face adds up the lengths
of tokens, in the string that its model sees. There a byte may be two or three (rules M5, F3): in
the byte-level alphabet, or a space that stands for "▁".
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from tokcy._bitmap cimport is_set, next_set
from tokcy._job cimport Job
from tokcy._merges cimport Merges, first_characters
from tokcy._prepare cimport Prepared, Span
from tokcy._spelling cimport BYTES
from tokcy._status cimport OUT_OF_MEMORY
from tokcy._vocab cimport Vocabulary

cdef struct Walker:         # a byte of the text, and where it is in what the model sees
    size_t at
    size_t mapped


cdef int locate(Vocabulary vocabulary, bint ignore_merges, const Merges* merges, const Job* job,
                const uint32_t* ids, int64_t* ranges, uint8_t* is_added, int64_t* words,
                bint spans_are_words) noexcept nogil:
    """Of each id of an encoded job: its raw byte range, and whether it is an added token.

    ranges has room for [n][2]; is_added for [n], and holds zeros. words may be NULL, or has room
    for [n]: the places of each id's piece among all pieces and added tokens, or among all spans.
    Returns 0 or OUT_OF_MEMORY.
    """
    cdef const Span* span
    cdef size_t s, at, end, n = 0
    cdef int64_t found, word = 0, i
    for s in range(job.prepared.n_spans):
        span = job.prepared.spans + s
        if span.token >= 0:
            ranges[2 * n] = span.begin
            ranges[2 * n + 1] = span.end
            is_added[n] = 1
            if words != NULL:
                words[n] = word
            word += 1
            n += 1
            continue
        at = span.begin
        while at < span.end:
            end = next_set(job.starts, at + 1, span.end)
            if job.text.skips == NULL or not is_set(job.text.skips, at):
                if merges.lacks_characters:
                    found = _locate_characters(vocabulary, ignore_merges, merges, job, at, end,
                                               ids + n, ranges + 2 * n)
                else:
                    found = _locate_piece(vocabulary, ignore_merges, job, at, end, ids + n,
                                          ranges + 2 * n)
                if found < 0:
                    return OUT_OF_MEMORY
                if words != NULL:
                    for i in range(found):
                        words[n + i] = word
                n += found
                word += not spans_are_words
            at = end
        word += spans_are_words
    return 0


cdef void to_characters(const uint8_t* raw, int64_t* ranges, size_t n) noexcept nogil:
    """Turn n byte ranges of a text into ranges of its characters, in place (rule F1).

    Every end is on a character's edge. Ends mostly rise, so the way from one to the next is
    short.
    """
    cdef int64_t at = 0, character = 0
    cdef size_t i
    for i in range(2 * n):
        while at < ranges[i]:
            character += not _continues(raw[at])
            at += 1
        while at > ranges[i]:
            at -= 1
            character -= not _continues(raw[at])
        ranges[i] = character


cdef int64_t _locate_piece(Vocabulary vocabulary, bint ignore_merges, const Job* job,
                           size_t begin, size_t end, const uint32_t* ids,
                           int64_t* ranges) noexcept nogil:
    """The ranges of one piece's ids; how many ids it has."""
    cdef const uint8_t* text = job.prepared.text
    cdef size_t size = end - begin, kept = 0, used = 0, mapped = 0, n = 0, i
    cdef Walker walker
    cdef size_t first, last
    for i in range(begin, end):
        kept += vocabulary.byte_id[text[i]] >= 0
    if kept < size and ignore_merges and vocabulary.find(text + begin, size, 1) >= 0:
        kept = size
    walker.at = begin
    walker.mapped = 0
    while used < kept:
        if kept == size:
            first = begin + used
            last = first + _length(vocabulary, ids[n]) - 1
        else:
            first = _byte_at(vocabulary, text, &walker, mapped)
            mapped += _mapped_length(vocabulary, ids[n])
            last = _byte_at(vocabulary, text, &walker, mapped - 1)
        ranges[2 * n] = _raw_begin(&job.prepared, first)
        ranges[2 * n + 1] = _raw_end(&job.prepared, last)
        used += _length(vocabulary, ids[n])
        n += 1
    return n


cdef int64_t _locate_characters(Vocabulary vocabulary, bint ignore_merges, const Merges* merges,
                                const Job* job, size_t begin, size_t end, const uint32_t* ids,
                                int64_t* ranges) noexcept nogil:
    """The same for a model that lacks characters, by what its merging begins with; -1 without
    memory.
    """
    cdef const uint8_t* text = job.prepared.text
    cdef size_t size = end - begin, n_symbols, n = 0, s = 0, stop, mapped = 0
    cdef size_t first, last
    cdef Walker walker
    cdef uint32_t* symbols
    cdef uint32_t* lengths
    if ignore_merges and vocabulary.find(text + begin, size, BYTES) >= 0:
        ranges[0] = _raw_begin(&job.prepared, begin)
        ranges[1] = _raw_end(&job.prepared, end - 1)
        return 1
    symbols = <uint32_t*>malloc(2 * size * sizeof(uint32_t))
    if symbols == NULL:
        return -1
    lengths = symbols + size
    n_symbols = first_characters(merges, text + begin, size, symbols, lengths)
    walker.at = begin
    walker.mapped = 0
    while s < n_symbols:
        first = _byte_at(vocabulary, text, &walker, mapped)
        stop = s + _n_symbols(vocabulary, ids[n])
        while s < stop and s < n_symbols:
            mapped += lengths[s]
            s += 1
        last = _byte_at(vocabulary, text, &walker, mapped - 1)
        ranges[2 * n] = _raw_begin(&job.prepared, first)
        ranges[2 * n + 1] = _raw_end(&job.prepared, last)
        n += 1
    free(symbols)
    return n


cdef size_t _n_symbols(Vocabulary vocabulary, uint32_t token) noexcept nogil:
    """Of how many first symbols a token was made: its characters or bytes, or one if special."""
    cdef size_t entry = vocabulary.entry_of_id[token], n = 0, i
    if token == vocabulary.unknown_id or not vocabulary.kinds[entry] & BYTES:
        return 1
    if vocabulary.spelling.byte_level:
        return _length(vocabulary, token)
    for i in range(vocabulary.offsets[entry], vocabulary.offsets[entry + 1]):
        n += not _continues(vocabulary.arena[i])
    return n


cdef inline size_t _length(Vocabulary vocabulary, uint32_t token) noexcept nogil:
    cdef size_t entry = vocabulary.entry_of_id[token]
    return vocabulary.offsets[entry + 1] - vocabulary.offsets[entry]


cdef inline size_t _mapped_width(Vocabulary vocabulary, uint8_t byte) noexcept nogil:
    """Bytes that stand for a byte where the model sees it: for printable ASCII that itself."""
    if vocabulary.spelling.byte_level:
        return 1 if 33 <= byte <= 126 else 2
    return 3 if vocabulary.spelling.folded and byte == b" " else 1


cdef size_t _mapped_length(Vocabulary vocabulary, uint32_t token) noexcept nogil:
    cdef size_t entry = vocabulary.entry_of_id[token], length = 0, i
    for i in range(vocabulary.offsets[entry], vocabulary.offsets[entry + 1]):
        length += _mapped_width(vocabulary, vocabulary.arena[i])
    return length


cdef size_t _byte_at(Vocabulary vocabulary, const uint8_t* text, Walker* walker,
                     size_t mapped) noexcept nogil:
    """The byte of the text that is at a position where the model sees it; never goes back."""
    while walker.mapped + _mapped_width(vocabulary, text[walker.at]) <= mapped:
        walker.mapped += _mapped_width(vocabulary, text[walker.at])
        walker.at += 1
    return walker.at


cdef inline bint _continues(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef size_t _raw_begin(const Prepared* prepared, size_t at) noexcept nogil:
    while _continues(prepared.text[at]):
        at -= 1
    return at if prepared.raw_begin == NULL else prepared.raw_begin[at]


cdef size_t _raw_end(const Prepared* prepared, size_t at) noexcept nogil:
    """Where the character that holds the byte `at` ends in the raw text."""
    while at + 1 < prepared.size and _continues(prepared.text[at + 1]):
        at += 1
    return at + 1 if prepared.raw_end == NULL else prepared.raw_end[at]
