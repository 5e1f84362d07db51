"""Added tokens in a text: the C interface that _prepare calls."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from tokcy._sieve cimport Sieve


cdef struct Span:
    size_t begin
    size_t end
    int64_t token
    size_t ahead            # of a token: spaces before its content
    size_t back             # and behind, where tokens are searched again


cdef struct SpanList:
    Span* data
    size_t size
    size_t capacity


cdef struct Stretch:        # text in which added tokens may stand
    size_t begin
    size_t end


cdef struct Part:           # a text by itself, next to whose borders nothing is seen
    size_t begin
    size_t end
    const Stretch* trusted  # in order, apart from each other
    size_t n_trusted


cdef int spans_push(SpanList* spans, size_t begin, size_t end, int64_t token) noexcept nogil


cdef void part_of_stretch(Part* part, Stretch* stretch, size_t begin, size_t end) noexcept nogil


cdef void load_ranges() except *
cdef bint space_at(const uint8_t* text, size_t at) noexcept nogil
cdef bint space_before(const uint8_t* text, size_t at) noexcept nogil


cdef struct Node:           # of the trie; children lie side by side, by label
    int32_t token           # index of the token that ends here, or -1
    int32_t first_child
    uint16_t n_children
    uint8_t label


cdef struct Token:
    int64_t id
    size_t size
    bint lstrip
    bint rstrip
    bint single_word


cdef struct Backward:       # the automaton of the tokens read backwards; no nodes: it is not needed
    Node* nodes
    int32_t* shorter        # of each node


cdef struct Told:           # the longest token at each place of a piece of a text
    size_t begin
    size_t end
    int32_t* tokens         # indices, or -1
    size_t steps            # walked through the trie since then


cdef struct Search:         # of a part
    size_t done             # up to where spans are known
    size_t space_end        # up to where the space behind a token was walked
    Told told


cdef class AddedMatcher:
    cdef Node* nodes
    cdef Token* tokens
    cdef size_t n_tokens
    cdef size_t longest         # bytes of a token
    cdef Backward backward
    cdef int32_t root_child[256]
    cdef Sieve sieve            # the places that may begin a token
    cdef int find_spans(self, const uint8_t* text, const Part* part,
                        SpanList* spans) noexcept nogil
    cdef int find_spans_from(self, const uint8_t* text, const Part* part, size_t at,
                             size_t done, SpanList* spans) noexcept nogil
    cdef int search(self, const uint8_t* text, const Part* part, const Stretch* stretch,
                    SpanList* spans, Search* search) noexcept nogil
    cdef int32_t longest_match(self, const uint8_t* text, size_t at, size_t end,
                               Told* told) noexcept nogil
    cdef int32_t tell(self, const uint8_t* text, size_t begin, size_t end,
                      Told* told) noexcept nogil
