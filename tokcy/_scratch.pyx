# cython: boundscheck=False, wraparound=False, cdivision=True
"""Memory that a text needs while it is encoded, kept for the next long one.

The system clears each page that it gives, 2 MB in 0.3 ms; on a virtual machine 6 were seen where
the memory had not been used before. So what long texts have used (their UTF-8, bitmaps and units)
is not given back, up to a number of bytes in all, whatever becomes of the tokenizers. It is
everybody's: of two calls at a time each has blocks of its own.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from tokcy._platform cimport tk_alloc_large, tk_cas64, tk_is_new, tk_store_release64
from tokcy._status cimport OUT_OF_MEMORY

cdef enum:
    MOST_BLOCKS = 8
    LONG_BYTES = 768 << 10      # malloc keeps what is smaller itself
    MAX_BYTES = 32 << 20
    PAGE_BYTES = 2 << 20

cdef Scratch[MOST_BLOCKS] kept
cdef size_t n_kept = 0
cdef uint64_t in_use = 0        # whether some thread is about the blocks that are kept


cdef void scratch_init(Scratch* scratch) noexcept nogil:
    memset(scratch, 0, sizeof(Scratch))


cdef int scratch_take(Scratch* scratch, size_t size, size_t likely) noexcept nogil:
    """Have memory of a size, until `scratch_give`; 0, or OUT_OF_MEMORY.

    Args:
        likely: how much of it will be written to, or so.
    """
    scratch_init(scratch)
    if likely < LONG_BYTES:
        scratch.data = malloc(size)
        scratch.is_new = tk_is_new(scratch.data, likely)
        return 0 if scratch.data != NULL else OUT_OF_MEMORY
    # Who finds it in use does without: another thread may have been in here when a process forked.
    if tk_cas64(&in_use, 0, 1):
        _choose(scratch, size)
        tk_store_release64(&in_use, 0)
    if scratch.data == NULL:
        scratch.data = tk_alloc_large(size, likely)
        scratch.size = size
        scratch.is_new = tk_is_new(scratch.data, likely)
        scratch.is_large = likely >= PAGE_BYTES
    return 0 if scratch.data != NULL else OUT_OF_MEMORY


cdef void scratch_give(Scratch* scratch, size_t used) noexcept nogil:
    """Give memory back, if there is any, of which so many bytes were written to."""
    used = (used + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
    scratch.touched = max(scratch.touched, used)
    if scratch.size and tk_cas64(&in_use, 0, 1):
        _keep(scratch)
        tk_store_release64(&in_use, 0)
    free(scratch.data)
    scratch.data = NULL


cdef void _choose(Scratch* scratch, size_t size) noexcept nogil:
    """Take the smallest block that has room."""
    global n_kept
    cdef size_t i, best = MOST_BLOCKS
    for i in range(n_kept):
        if kept[i].size >= size and (best == MOST_BLOCKS or kept[i].size < kept[best].size):
            best = i
    if best < MOST_BLOCKS:
        scratch[0] = kept[best]
        scratch.is_new = False
        n_kept -= 1
        kept[best] = kept[n_kept]


cdef void _keep(Scratch* scratch) noexcept nogil:
    """Keep a block, and let smaller ones go for it; or leave it to the caller."""
    global n_kept
    cdef size_t i, least
    while n_kept == MOST_BLOCKS or _bytes_kept() + scratch.touched > MAX_BYTES:
        least = 0
        for i in range(n_kept):
            if kept[i].size < kept[least].size:
                least = i
        if n_kept == 0 or kept[least].size >= scratch.size or scratch.touched > MAX_BYTES:
            return
        free(kept[least].data)
        n_kept -= 1
        kept[least] = kept[n_kept]
    kept[n_kept] = scratch[0]
    n_kept += 1
    scratch.data = NULL


cdef size_t _bytes_kept() noexcept nogil:
    cdef size_t i, n = 0
    for i in range(n_kept):
        n += kept[i].touched
    return n


def scratch_info():
    """Memory that is kept for the next long texts of any tokenizer of this process.

    Returns:
        ``bytes``, of up to 8 blocks in all, and ``max_bytes``, which they never exceed.
    """
    return {"bytes": _bytes_kept(), "max_bytes": MAX_BYTES}
