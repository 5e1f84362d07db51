"""Nodes of the tree of texts, and ways through it: the C interface."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokcy._idbuffer cimport IdBuffer
from tokcy._runs cimport Stream


cdef struct Cut:
    size_t at               # place in the stream: what follows is encoded by itself
    size_t back             # bytes before it where the search for added tokens goes on
    size_t n_ids            # of all that stands before


cdef struct Node:           # some bytes of streams, and the cuts that came with them
    Node* parent
    Node* child             # the first of its children
    Node* sibling           # the next child of its parent; no two begin with the same byte
    Node* newer             # in the order of use
    Node* older
    size_t refs             # one of the tree, and one of each call that reads it
    bint linked             # whether it is in the tree
    size_t memory
    size_t size             # of its bytes
    size_t n_cuts
    Cut base                # the last cut before its own: its ids go on from there
    Cut* cuts
    IdBuffer* buffer        # with the ids between `base` and the last cut; or NULL
    uint8_t* bytes


cdef struct Step:           # of the way of a stream from the root
    Node* node
    size_t begin            # place in the stream of the node's first byte
    size_t n_cuts           # of the node's cuts that hold for what comes below it
    bint leaf               # nothing was below it


cdef struct Found:
    Step* steps
    size_t n_steps
    size_t capacity
    size_t common           # bytes that the stream shares with a stored one
    uint64_t version        # of the tree
    int status              # OUT_OF_MEMORY where the way could not be gone on


cdef struct Growth:         # how the tree is to grow: a node from `begin` on
    size_t begin
    Cut base
    size_t n_joined         # steps at the end whose nodes go into it
    size_t n_cuts           # that these bring
    size_t memory           # that is taken
    size_t kept             # memory of the nodes of the way but for those, with their buffers
    size_t joined           # and of those, with buffers that nobody else has


cdef struct Halves:         # of a node that is split
    size_t n_cuts           # of the upper one
    Cut middle              # that the lower one goes on from
    bint upper_keeps        # whether its ids stay in the buffer of the node
    bint lower_keeps


cdef Node* new_node(size_t size, size_t n_cuts, IdBuffer* buffer, const Cut* base) noexcept nogil
cdef void free_node(Node* node) noexcept nogil
cdef void release_node(Node* node) noexcept nogil
cdef Node* child_of(Node* parent, uint8_t byte) noexcept nogil
cdef bint split_node(Node* node, size_t begin, size_t size, Node** upper,
                     Node** lower) noexcept nogil

cdef const uint8_t* rest_of(const Found* found, size_t* size) noexcept nogil
cdef void leave_out(Found* found, size_t n_steps, size_t limit) noexcept nogil
cdef bint has_cut(const Found* found, const Cut* cut) noexcept nogil
cdef size_t n_characters(const Found* found, size_t begin, size_t end) noexcept nogil
cdef bint cut_at(const Found* found, size_t limit, Cut* out) noexcept nogil
cdef void copy_ids(const Found* found, size_t begin, const Cut* cut, uint32_t* out) noexcept nogil
cdef size_t stored_end(const Stream* stream, const Cut* cuts, size_t n_cuts,
                       size_t reach) noexcept nogil
cdef IdBuffer* buffer_for(size_t max_bytes, bint views, const Found* found, const Cut* base,
                          const uint32_t* ids, size_t n_ids, bint stored, const uint32_t* front,
                          size_t n_front) noexcept nogil
cdef bint is_behind(const Cut* cut, const Step* step) noexcept nogil
cdef void plan_growth(const Found* found, const Cut* base, size_t end, size_t n_cuts,
                      const IdBuffer* buffer, Growth* growth) noexcept nogil
cdef void fill_node(Node* node, const Found* found, size_t n_kept, const Cut* base,
                    const Cut* cuts, size_t n_cuts) noexcept nogil
