# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Ids that texts share which go on from one another, in buffers that only grow.

A buffer has the ids of a text from its beginning on, or from some place. Who takes the room behind
the last of them is the only one to write there, and what is written stays as it is. So the next
turn of a conversation puts its ids behind those of the turns before, and arrays can be views of
all of them, which nobody may write to.
"""

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from tokcy._platform cimport tk_cas64, tk_load_acquire64

cnp.import_array()


cdef size_t buffer_memory(size_t n_ids) noexcept nogil:
    """Bytes of a buffer that has room for so many, those of a post-processor included."""
    return sizeof(IdBuffer) + HEAP_BYTES + n_ids * sizeof(uint32_t)


cdef IdBuffer* buffer_new(size_t begin, size_t capacity, const uint32_t* front,
                          size_t n_front) noexcept nogil:
    """An empty buffer for ids behind the first `begin` of a text; NULL without memory.

    Args:
        front: what a post-processor puts before the text; only where begin is 0.
    """
    cdef size_t memory
    cdef IdBuffer* buffer
    if begin:
        n_front = 0
    memory = buffer_memory(n_front + capacity)
    buffer = <IdBuffer*>malloc(memory)
    if buffer == NULL:
        return NULL
    buffer.refs = 1
    buffer.n_ids = buffer.n_nodes = 0
    buffer.begin = begin
    buffer.capacity = capacity
    buffer.n_front = n_front
    buffer.memory = memory
    buffer.ids = <uint32_t*>(buffer + 1) + n_front
    if n_front:
        memcpy(buffer.ids - n_front, front, n_front * sizeof(uint32_t))
    return buffer


cdef IdBuffer* buffer_part(const IdBuffer* buffer, size_t begin, size_t end) noexcept nogil:
    """Another buffer with the ids between two places of the text; NULL without memory."""
    cdef IdBuffer* part = buffer_new(begin, end - begin, buffer.ids - buffer.n_front,
                                     buffer.n_front)
    if part != NULL:
        memcpy(part.ids, buffer_at(buffer, begin), (end - begin) * sizeof(uint32_t))
        part.n_ids = end - begin
    return part


cdef size_t buffer_end(IdBuffer* buffer) noexcept nogil:
    """How many ids of the text stand before those that are not taken."""
    return buffer.begin + tk_load_acquire64(&buffer.n_ids)


cdef bint buffer_take(IdBuffer* buffer, size_t begin, size_t n) noexcept nogil:
    """Take room for n ids behind a place; whether nobody else has, and there is enough."""
    cdef size_t n_before = begin - buffer.begin
    return (n <= buffer.capacity - n_before
            and tk_cas64(&buffer.n_ids, n_before, n_before + n))


cdef void buffer_hold(IdBuffer* buffer) noexcept nogil:
    cdef uint64_t refs = tk_load_acquire64(&buffer.refs)
    while not tk_cas64(&buffer.refs, refs, refs + 1):
        refs = tk_load_acquire64(&buffer.refs)


cdef void buffer_release(IdBuffer* buffer) noexcept nogil:
    cdef uint64_t refs
    if buffer == NULL:
        return
    refs = tk_load_acquire64(&buffer.refs)
    while not tk_cas64(&buffer.refs, refs, refs - 1):
        refs = tk_load_acquire64(&buffer.refs)
    if refs == 1:
        free(buffer)


cdef cnp.ndarray view_of(IdBuffer* buffer, size_t n_front, size_t n):
    """The first n ids of a text, and n_front before them; read-only, uint32[n_front + n]."""
    cdef cnp.npy_intp length = n_front + n
    cdef cnp.ndarray array
    owner = PyCapsule_New(buffer, NULL, _let_go)
    buffer_hold(buffer)
    array = cnp.PyArray_SimpleNewFromData(1, &length, cnp.NPY_UINT32, buffer.ids - n_front)
    cnp.set_array_base(array, owner)
    cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    return array


cdef void _let_go(object owner) noexcept:
    buffer_release(<IdBuffer*>PyCapsule_GetPointer(owner, NULL))
