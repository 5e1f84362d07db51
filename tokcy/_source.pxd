"""A Python string as UTF-8."""

from libc.stdint cimport uint8_t, uint64_t

from tokcy._scratch cimport Scratch


cdef enum:
    SHORT_TEXT = 4096       # characters, some 10 µs; to release the GIL takes 50 ns and more


cdef struct Source:
    const uint8_t* bytes    # the string's own where that is ASCII, and alive as long as it is
    size_t size
    Scratch memory          # of the bytes, if they are not the string's
    const uint8_t* data     # of a string that is not ASCII: the characters that are to be converted
    int width               # bytes of each
    size_t length           # how many characters there are
    size_t done             # and how many of these could be converted


cdef struct Wide:           # a string that is not ASCII, as it is compared with bytes
    const void* data
    int width               # bytes of a character
    size_t length
    size_t n                # characters that were found to agree
    size_t at               # bytes of UTF-8 that they are


cdef enum:
    PART_CHARACTERS = 16 << 10      # of a string that several threads convert


cdef struct Conversion:     # of one string by several threads, part by part
    Source* source
    size_t n_parts
    uint64_t* begins        # 1 + where the bytes of each part begin, and end; 0: not known yet
    size_t* done            # characters of each part that could be converted


cdef int source_look(object text, Source* source) except -1
cdef size_t source_most(const Source* source) noexcept nogil
cdef int source_reserve(Source* source) noexcept nogil
cdef int source_convert(Source* source) noexcept nogil
cdef int source_write(Source* source, uint8_t* out) noexcept nogil
cdef int conversion_open(Source* source, Conversion* conversion) noexcept nogil
cdef void convert_part(void* conversion, size_t i) noexcept nogil
cdef int conversion_close(Conversion* conversion) noexcept nogil
cdef int source_refuse(object text, const Source* source, size_t first=*) except -1
cdef int source_open(object text, Source* source) except -1
cdef int source_open_from(object text, size_t first, size_t begin, Source* source) except -1
cdef void source_close(Source* source) noexcept nogil

cdef const uint8_t* ascii_bytes(object text, size_t* size)
cdef size_t utf8_size(object text)
cdef bint is_wide(object text, size_t length)
cdef void wide_open(object text, Wide* wide)
cdef size_t wide_unit(const Wide* wide, size_t i, uint8_t* unit) noexcept nogil
cdef int wide_byte(const Wide* wide, size_t at) noexcept nogil
cdef size_t wide_shared(Wide* wide, size_t at, const uint8_t* bytes, size_t size) noexcept nogil
