# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Added tokens in a text: one matcher is one of Hugging Face's two automata (rules A3, A6, A7).

Matches are leftmost-longest and do not overlap. Nearly no place in a text begins a token, and the
first three bytes tell for almost all of them: three small tables are looked up for many places of
the text at once (_sieve.h), and only where they agree a trie is walked. On most texts that is
little more than reading them. A text of prefixes of a long token makes it walk the same bytes again
and again; where that shows, an automaton of the tokens read backwards tells for many places
at once what begins at each, and the work stays linear (`Backward`).
"""

from collections.abc import Sequence

from tokcy import unicode as ucd
from tokcy._pretok import SIMD as _simd

cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from tokcy._sieve cimport next_place, sieve_contents, tk_places
from tokcy._utf8 cimport utf8_before, utf8_decode, utf8_width

# Inclusive ranges of Rust's \s and \w; written once, with the GIL held.
cdef const int32_t* whitespace = NULL
cdef size_t n_whitespace = 0
cdef const int32_t* word = NULL
cdef size_t n_word = 0
cdef object ranges_in_use = None        # keeps the arrays behind the pointers alive


cdef enum:
    SHORT_TOKEN = 32        # to walk so far from every place is no harm
    TOLD_AT_ONCE = 1 << 14  # places, or the longest token's bytes if more
    STEPS_PER_BYTE = 8      # of walking that are no harm, on average
    NO_MEMORY = -2          # in place of a token


cdef struct Interval:       # of the sorted contents: those that go through one node
    size_t first
    size_t last             # exclusive


cdef int spans_push(SpanList* spans, size_t begin, size_t end, int64_t token) noexcept nogil:
    """Append a span; 0, or -1 without memory."""
    cdef Span* moved
    if spans.size == spans.capacity:
        moved = <Span*>realloc(spans.data, (2 * spans.capacity + 8) * sizeof(Span))
        if moved == NULL:
            return -1
        spans.data = moved
        spans.capacity = 2 * spans.capacity + 8
    spans.data[spans.size].begin = begin
    spans.data[spans.size].end = end
    spans.data[spans.size].token = token
    spans.data[spans.size].ahead = spans.data[spans.size].back = 0
    spans.size += 1
    return 0


@cython.final
cdef class AddedMatcher:
    """The added tokens that are matched in one go; immutable, shared by threads.

    Args:
        tokens: (content as UTF-8, id, lstrip, rstrip, single_word) of each. Empty contents are
            left out; of equal contents the last counts.
        simd: the variant of the filter, "scalar", "avx2" or "avx512", or ValueError where the
            processor lacks it.
    """

    def __cinit__(self, tokens: Sequence[tuple[bytes, int, bool, bool, bool]], str simd=_simd):
        cdef size_t n_nodes = 0, i
        cdef bint classes = False
        by_content = {row[0]: row for row in tokens if row[0]}
        contents = sorted(by_content)
        self.n_tokens = len(contents)
        self.tokens = <Token*>calloc(self.n_tokens + 1, sizeof(Token))
        if self.tokens == NULL:
            raise MemoryError
        for i in range(self.n_tokens):
            content, token_id, lstrip, rstrip, single_word = by_content[contents[i]]
            self.tokens[i].id = token_id
            self.tokens[i].size = len(content)
            self.tokens[i].lstrip = lstrip
            self.tokens[i].rstrip = rstrip
            self.tokens[i].single_word = single_word
            classes = classes or lstrip or rstrip or single_word
        self.nodes = new_trie(contents, &n_nodes)
        for i in range(256):
            self.root_child[i] = child(self.nodes, self.nodes, i)
        sieve_contents(&self.sieve, contents, simd)
        self.longest = max(map(len, contents), default=0)
        if self.longest > SHORT_TOKEN:
            build_backward(&self.backward, contents)
        if classes:
            load_ranges()       # 3 ms that few models need

    def __dealloc__(self):
        free(self.nodes)
        free(self.tokens)
        free(self.backward.nodes)
        free(self.backward.shorter)

    def spans(self, str text) -> list[tuple[int, int, int]]:
        """(begin, end, id) of every span, in bytes; the id is -1 for the text in between."""
        cdef Py_ssize_t size = 0
        cdef const uint8_t* utf8 = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &size)
        cdef SpanList found
        cdef Stretch whole
        cdef Part part
        cdef int status
        memset(&found, 0, sizeof(SpanList))
        part_of_stretch(&part, &whole, 0, size)
        try:
            with nogil:
                status = self.find_spans(utf8, &part, &found)
            if status < 0:
                raise MemoryError
            return [(found.data[i].begin, found.data[i].end, found.data[i].token)
                    for i in range(found.size)]
        finally:
            free(found.data)

    cdef int find_spans(self, const uint8_t* text, const Part* part,
                        SpanList* spans) noexcept nogil:
        """Append the spans of one part of a text; 0, or -1 without memory.

        A token is found where its whole content lies in one trusted stretch, whatever stands
        around that. But the spaces that it takes along, and the word that it must not be within,
        are those of the part.

        Spans of text are in order and do not overlap. Those of tokens may, as the space behind
        an rstrip token is searched again (rule A7).
        """
        return self.find_spans_from(text, part, part.begin, part.begin, spans)

    cdef int find_spans_from(self, const uint8_t* text, const Part* part, size_t at,
                             size_t done, SpanList* spans) noexcept nogil:
        """As `find_spans`, of what follows a token that ends at `at`, and its spaces at `done`."""
        cdef Search search
        cdef Stretch stretch
        cdef size_t i
        cdef int status = 0
        memset(&search, 0, sizeof(Search))
        search.done = search.space_end = done
        for i in range(part.n_trusted):
            stretch = part.trusted[i]
            stretch.begin = max(stretch.begin, at)
            if status == 0 and stretch.begin < stretch.end:
                status = self.search(text, part, &stretch, spans, &search)
        free(search.told.tokens)
        if status == 0 and search.done < part.end:
            status = spans_push(spans, search.done, part.end, -1)
        return status

    cdef int search(self, const uint8_t* text, const Part* part, const Stretch* stretch,
                    SpanList* spans, Search* search) noexcept nogil:
        """Append the tokens of one stretch, and the text before each."""
        cdef size_t at = stretch.begin, end = stretch.end, first, last
        cdef const Token* token
        cdef int32_t index
        cdef tk_places places
        places.end = 0
        search.told.begin = search.told.end = at
        search.told.steps = 0
        while True:
            at = next_place(&self.sieve, text, at, end, &places)
            if at == end:
                break
            index = self.longest_match(text, at, end, &search.told)
            if index < 0:
                if index == NO_MEMORY:
                    return -1
                at += 1
                continue
            token = self.tokens + index
            first = at
            last = at = at + token.size
            if token.single_word and within_word(text, part.begin, first, last, part.end):
                continue
            if token.lstrip:
                while first > search.done and space_before(text, first):
                    first = utf8_before(text, first)
                first = max(first, search.done)
            if token.rstrip:
                # A run of spaces is walked once, however many tokens are found in it.
                search.space_end = max(search.space_end, last)
                while search.space_end < part.end and space_at(text, search.space_end):
                    search.space_end += utf8_width(text[search.space_end])
                last = search.space_end
            if search.done < first and spans_push(spans, search.done, first, -1) < 0:
                return -1
            # A token within the space of the one before can be left with nothing: it is dropped.
            # (Where Hugging Face panics, as that space ends behind the token, so is it here.)
            if first < last:
                if spans_push(spans, first, last, token.id) < 0:
                    return -1
                spans.data[spans.size - 1].back = last - at
                if first < at - token.size:
                    spans.data[spans.size - 1].ahead = at - token.size - first
            search.done = last
        return 0

    cdef int32_t longest_match(self, const uint8_t* text, size_t at, size_t end,
                               Told* told) noexcept nogil:
        """Index of the longest token that begins here, -1 if none does, or NO_MEMORY."""
        cdef int32_t found = -1, node = self.root_child[text[at]]
        if at < told.end:
            return told.tokens[at - told.begin]
        if (told.steps > STEPS_PER_BYTE * (at - told.begin) + TOLD_AT_ONCE
                and self.backward.nodes != NULL):
            return self.tell(text, at, end, told)
        while node >= 0:
            told.steps += 1
            if self.nodes[node].token >= 0:
                found = self.nodes[node].token
            at += 1
            if at == end:
                break
            node = child(self.nodes, self.nodes + node, text[at])
        return found

    cdef int32_t tell(self, const uint8_t* text, size_t begin, size_t end,
                      Told* told) noexcept nogil:
        """Find the longest token at many places from here on; the result is as above.

        No token that begins at one of them ends behind `at`, where it is begun to read backwards.
        """
        cdef size_t told_at_once = max(<size_t>TOLD_AT_ONCE, self.longest), at
        cdef int32_t node = 0
        if told.tokens == NULL:
            told.tokens = <int32_t*>malloc(told_at_once * sizeof(int32_t))
            if told.tokens == NULL:
                return NO_MEMORY
        told.steps = 0
        told.begin = begin
        told.end = begin + min(told_at_once, end - begin)
        at = told.end + min(self.longest, end - told.end)
        while at > begin:
            at -= 1
            node = read_backward(&self.backward, node, text[at])
            if at < told.end:
                told.tokens[at - begin] = self.backward.nodes[node].token
        return told.tokens[0]


cdef void part_of_stretch(Part* part, Stretch* stretch, size_t begin, size_t end) noexcept nogil:
    """Make a part of one trusted stretch."""
    stretch.begin = part.begin = begin
    stretch.end = part.end = end
    part.trusted = stretch
    part.n_trusted = 1


cdef inline int32_t read_backward(const Backward* backward, int32_t node,
                                  uint8_t label) noexcept nogil:
    """The node of what stands from a byte on, of as many bytes as there is one for."""
    cdef int32_t longer = child(backward.nodes, backward.nodes + node, label)
    while longer < 0 and node:
        node = backward.shorter[node]
        longer = child(backward.nodes, backward.nodes + node, label)
    return max(longer, 0)


cdef inline int32_t child(const Node* nodes, const Node* node, uint8_t label) noexcept nogil:
    """The child of a node by that label, or -1."""
    cdef int32_t low = node.first_child, high = low + node.n_children, middle
    while low < high:
        middle = low + (high - low) // 2
        if nodes[middle].label < label:
            low = middle + 1
        else:
            high = middle
    if low < node.first_child + node.n_children and nodes[low].label == label:
        return low
    return -1


cdef bint within_word(const uint8_t* text, size_t begin, size_t first, size_t last,
                      size_t end) noexcept nogil:
    """Whether a word character stands on either side of text[first:last]."""
    cdef size_t before
    if first > begin:
        before = utf8_before(text, first)
        if in_ranges(utf8_decode(text + before, first - before), word, n_word):
            return True
    return last < end and in_ranges(utf8_decode(text + last, utf8_width(text[last])),
                                    word, n_word)


cdef bint space_at(const uint8_t* text, size_t at) noexcept nogil:
    return in_ranges(utf8_decode(text + at, utf8_width(text[at])), whitespace, n_whitespace)


cdef bint space_before(const uint8_t* text, size_t at) noexcept nogil:
    return space_at(text, utf8_before(text, at))


cdef bint in_ranges(uint32_t code, const int32_t* ranges, size_t n) noexcept nogil:
    """Whether a character is in one of n sorted inclusive ranges."""
    cdef size_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if ranges[2 * middle + 1] < <int32_t>code:
            low = middle + 1
        else:
            high = middle
    return low < n and ranges[2 * low] <= <int32_t>code


cdef void load_ranges() except *:
    """Point at the character classes; later calls do nothing."""
    global whitespace, n_whitespace, word, n_word, ranges_in_use
    if ranges_in_use is not None:
        return
    spaces, words = ucd.rust_set("whitespace"), ucd.rust_set("word")
    whitespace = <const int32_t*><size_t>spaces.ctypes.data
    n_whitespace = len(spaces)
    word = <const int32_t*><size_t>words.ctypes.data
    n_word = len(words)
    ranges_in_use = (spaces, words)


cdef int build_backward(Backward* backward, list contents) except -1:
    """Make the automaton of the tokens read backwards (Aho and Corasick's).

    Its node after some bytes is the longest one that they end with, so reading a text from its
    end one byte tells what begins there. Each node has the longest token of those: its own, or
    that of `shorter`, the next node which its bytes end with too.
    """
    cdef size_t n_nodes = 0, node
    cdef int32_t longer, token
    cdef Node* nodes
    order = sorted([(content[::-1], i) for i, content in enumerate(contents)])
    backward.nodes = nodes = new_trie([content for content, _ in order], &n_nodes)
    backward.shorter = <int32_t*>calloc(n_nodes, sizeof(int32_t))
    if backward.shorter == NULL:
        raise MemoryError
    for node in range(n_nodes):
        token = nodes[node].token
        nodes[node].token = order[token][1] if token >= 0 else -1
    with nogil:
        for node in range(n_nodes):
            for longer in range(nodes[node].first_child,
                                nodes[node].first_child + nodes[node].n_children):
                if node:
                    backward.shorter[longer] = read_backward(backward, backward.shorter[node],
                                                             nodes[longer].label)
                if nodes[longer].token < 0:
                    nodes[longer].token = nodes[backward.shorter[longer]].token
    return 0


cdef Node* new_trie(list contents, size_t* n_nodes) except NULL:
    """The trie of sorted, distinct contents, breadth first; made in time linear in their bytes."""
    cdef size_t n = len(contents), i
    cdef Node* nodes = NULL
    cdef Interval* intervals = NULL
    cdef const uint8_t** texts = <const uint8_t**>calloc(n + 1, sizeof(uint8_t*))
    cdef size_t* sizes = <size_t*>calloc(n + 1, sizeof(size_t))
    try:
        if texts == NULL or sizes == NULL:
            raise MemoryError
        for i in range(n):
            texts[i] = <bytes>contents[i]
            sizes[i] = len(<bytes>contents[i])
        n_nodes[0] = 1
        for i in range(n):
            n_nodes[0] += sizes[i]
            if i > 0:
                n_nodes[0] -= common_prefix(texts[i - 1], sizes[i - 1], texts[i], sizes[i])
        nodes = <Node*>calloc(n_nodes[0], sizeof(Node))
        intervals = <Interval*>calloc(n_nodes[0], sizeof(Interval))
        if nodes == NULL or intervals == NULL:
            free(nodes)
            raise MemoryError
        with nogil:
            fill_trie(nodes, intervals, texts, sizes, n)
    finally:
        free(intervals)
        free(texts)
        free(sizes)
    return nodes


cdef void fill_trie(Node* nodes, Interval* intervals, const uint8_t** texts, const size_t* sizes,
                    size_t n_tokens) noexcept nogil:
    """Take the nodes in order; each one's children go behind the last node made so far."""
    cdef size_t made = 1, node = 0, token, first, depth = 0, level_end = 1
    nodes[0].label = 0
    intervals[0].first = 0
    intervals[0].last = n_tokens
    while node < made:
        if node == level_end:
            depth += 1
            level_end = made
        token = intervals[node].first
        nodes[node].token = -1
        if token < intervals[node].last and sizes[token] == depth:
            nodes[node].token = token
            token += 1
        nodes[node].first_child = made
        while token < intervals[node].last:
            first = token
            while token < intervals[node].last and texts[token][depth] == texts[first][depth]:
                token += 1
            nodes[made].label = texts[first][depth]
            intervals[made].first = first
            intervals[made].last = token
            made += 1
        nodes[node].n_children = made - nodes[node].first_child
        node += 1


cdef size_t common_prefix(const uint8_t* one, size_t one_size, const uint8_t* other,
                          size_t other_size) noexcept nogil:
    """How many bytes two contents share from their beginning."""
    cdef size_t n = min(one_size, other_size), i = 0
    while i < n and one[i] == other[i]:
        i += 1
    return i
