"""Texts that were encoded before, as a tree: the C interface that the engine calls."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokcy._idbuffer cimport IdBuffer
from tokcy._runs cimport Stream


cdef enum:
    KEY_BYTES = 16


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


cdef class PrefixStore:
    cdef object __weakref__
    cdef void* lock
    cdef Node* root
    cdef uint64_t version
    cdef size_t n_bytes
    cdef size_t n_nodes
    cdef size_t n_evicted
    cdef readonly size_t max_bytes
    cdef readonly size_t apart
    cdef readonly bint views
    cdef readonly size_t wide_from
    cdef void drop_all(self) noexcept nogil
    cdef int find(self, const Stream* stream, Found* found) noexcept nogil
    cdef int walk(self, const Stream* stream, Found* found, bint locked) noexcept nogil
    cdef bint step_down(self, Node* node, uint8_t byte, bint locked, Step* step) noexcept nogil
    cdef int find_again(self, const Stream* stream, Found* found) noexcept nogil
    cdef void give_back(self, Found* found) noexcept nogil
    cdef int finish(self, const Stream* stream, Found* found, const Cut* base, const Cut* cuts,
                    size_t n_cuts, IdBuffer* buffer, size_t reach) noexcept nogil
    cdef bint gains(self, const Found* found, const Cut* base, size_t n_cuts,
                    size_t end) noexcept nogil
    cdef int add(self, const Stream* stream, const Found* found, const Cut* base,
                 const Cut* cuts, size_t n_cuts, IdBuffer* buffer, size_t end) noexcept nogil
    cdef Node* split(self, Node* node, size_t begin, size_t size) noexcept nogil
    cdef bint make_room(self, Found* way, const Cut* base, size_t end, size_t n_cuts,
                        const IdBuffer* buffer, Growth* growth) noexcept nogil
    cdef void let_go(self, Node* node) noexcept nogil
    cdef void attach(self, Node* node, Node* parent) noexcept nogil
    cdef void detach(self, Node* node) noexcept nogil
    cdef void touch(self, Node* node) noexcept nogil


cdef class PrefixView:
    cdef readonly PrefixStore store
    cdef readonly bytes key
    cdef readonly size_t hits
    cdef readonly size_t misses
    cdef readonly size_t cached_tokens
    cdef readonly size_t uncached_tokens


cdef size_t n_characters(const Found* found, size_t begin, size_t end) noexcept nogil
cdef bint cut_at(const Found* found, size_t limit, Cut* out) noexcept nogil
cdef void copy_ids(const Found* found, size_t begin, const Cut* cut, uint32_t* out) noexcept nogil
cdef size_t stored_end(const Stream* stream, const Cut* cuts, size_t n_cuts,
                       size_t reach) noexcept nogil
cdef IdBuffer* buffer_for(PrefixStore store, const Found* found, const Cut* base,
                          const uint32_t* ids, size_t n_ids, bint stored, const uint32_t* front,
                          size_t n_front) noexcept nogil
