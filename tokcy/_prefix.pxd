"""Texts that were encoded before, as a tree: the C interface that the engine calls."""

from libc.stdint cimport uint8_t, uint64_t

from tokcy._idbuffer cimport IdBuffer
from tokcy._nodes cimport Cut, Found, Growth, Node, Step
from tokcy._runs cimport Run, Stream


cdef enum:
    KEY_BYTES = 16


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
    cdef void begin(self, Found* found) noexcept nogil
    cdef void follow_stream(self, const Stream* stream, Found* found, bint locked) noexcept nogil
    cdef bint follow_run(self, const Run* run, Found* found, bint locked) noexcept nogil
    cdef size_t follow(self, const uint8_t* bytes, size_t size, Found* found,
                       bint locked) noexcept nogil
    cdef bint follow_wide(self, const Run* run, Found* found, bint locked) noexcept nogil
    cdef bint step_down(self, uint8_t byte, Found* found, bint locked) noexcept nogil
    cdef bint try_lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil
    cdef void find_again(self, const Stream* stream, Found* found) noexcept nogil
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
