# cython: language_level=3
"""A file in memory of large pages, of which tables can be used where they are.

Each of the small pages that `read` makes its bytes of takes the system 1 to 2 µs: 8 MB took 6 ms,
and 4 into large ones.
"""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo

from tokcy._platform cimport tk_alloc_table, tk_free_table


@cython.final
cdef class Pages:
    """Zeroed memory of a size in bytes, as a buffer that can be written to."""

    cdef void* data
    cdef size_t size

    def __cinit__(self, size_t size):
        self.size = size
        self.data = tk_alloc_table(size)
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        tk_free_table(self.data)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.size, 0, flags)


def read_pages(file, size_t size):
    """What a file still holds, at most `size` bytes; read-only.

    Args:
        file: unbuffered, in binary mode.
    """
    whole = memoryview(Pages(size))
    done = 0
    while done < size:
        n = file.readinto(whole[done:])
        if not n:
            break
        done += n
    return whole[:done].toreadonly()
