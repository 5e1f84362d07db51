"""Lists of tokens, and what they are filled from."""

from libc.stdint cimport uint8_t, uint32_t


cdef struct Strings:        # a growing list of tokens
    size_t n
    size_t capacity         # of offsets and kinds
    size_t arena_size
    uint8_t* arena          # one after another: the bytes a token stands for, or its UTF-8 text
    uint32_t* offsets       # [n + 1] into arena
    uint8_t* kinds          # [n]


cdef int strings_open(Strings* strings, size_t capacity, size_t arena_size) noexcept nogil
cdef void strings_free(Strings* strings) noexcept nogil
cdef int strings_close(Strings* strings, size_t size, uint8_t kind) noexcept nogil
cdef int strings_close_text(Strings* strings, size_t size) noexcept nogil
cdef int strings_append(Strings* strings, object text) except -1
cdef str strings_text(const Strings* strings, size_t index)
cdef void* resized(void* block, size_t size) except NULL
cdef int read_vocab(dict vocab, uint32_t* ids, Strings* entries) except -1
cdef int read_merges(list merges, Strings* parts, str source) except -1
cdef merge_error(size_t index, object item, str reason, str source)
cdef int fill_entries(dict tables, bint byte_level, uint8_t marks, Strings* entries,
                      uint32_t** ids) except -1
