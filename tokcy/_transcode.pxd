"""Python's characters to UTF-8 and back (see _transcode.h)."""

from libc.stdint cimport uint8_t


cdef extern from "_transcode.h" nogil:
    ctypedef struct tk_transcode_ops:
        const char* name
        size_t (*encode)(int width, const void* text, size_t length, uint8_t* out,
                         size_t* size) noexcept nogil
        size_t (*measure)(int width, const void* text, size_t length) noexcept nogil
        size_t (*agree)(int width, const void* text, size_t length, const uint8_t* bytes,
                        size_t size, size_t* agreed) noexcept nogil
        bint (*check)(const uint8_t* text, size_t size, size_t* length,
                      uint8_t* greatest) noexcept nogil
        void (*decode)(const uint8_t* text, size_t size, int width, void* out) noexcept nogil
    const tk_transcode_ops* tk_find_transcode(const char* name)
    enum:
        TK_TRANSCODE_SLACK


cdef inline const tk_transcode_ops* transcode_by(const tk_transcode_ops* usual,
                                                 str simd) except NULL:
    """The SIMD variant of that name, or the usual one for None; ValueError if it is not here."""
    cdef const tk_transcode_ops* found
    if simd is None:
        return usual
    found = tk_find_transcode(simd.encode())
    if found.name != simd.encode():
        raise ValueError(f"no SIMD variant {simd!r} on this processor")
    return found
