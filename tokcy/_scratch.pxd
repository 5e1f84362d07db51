"""Memory that a text needs while it is encoded: the C interface."""


cdef struct Scratch:
    void* data              # or NULL
    size_t size             # what there is room for, 0 where it is malloc's
    size_t touched          # bytes of the pages of it that were written to
    bint is_new             # whether the system is yet to clear its pages
    bint is_large           # whether these are of 2 MB, where it can have such


cdef void scratch_init(Scratch* scratch) noexcept nogil
cdef int scratch_take(Scratch* scratch, size_t size, size_t likely) noexcept nogil
cdef void scratch_give(Scratch* scratch, size_t used) noexcept nogil
