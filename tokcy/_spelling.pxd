"""How tokens are written in a model file, and what they stand for."""

from libc.stdint cimport uint8_t


cdef enum:                  # kinds of tokens, by what they stand for
    TEXT = 0                # a text that no piece holds: it leaves the alphabet
    BYTES = 1               # bytes of a piece; all odd kinds are some
    BYTE_NAME = 2           # a byte of a character that is no entry; written as <0x0A>
    CONTINUING = 3          # bytes that do not begin the piece; written with the prefix
    WORD_END = 5            # bytes that end it; written with the suffix
    CONTINUING_END = 7      # both


cdef enum:                  # the form of bytes of a piece, which is half of their kind
    CONTINUES = 1
    ENDS = 2
    FORMS = 4


cdef struct Spelling:       # how a model writes its tokens
    bint byte_level         # with one character per byte
    bint folded             # with "▁" for a space
    bint byte_fallback      # with <0x0A> for a byte of a character that is no entry
    const uint8_t* prefix   # what it writes before tokens that do not begin a piece
    size_t prefix_size
    const uint8_t* suffix   # what it writes behind tokens that end one
    size_t suffix_size


cdef const uint8_t* translate(const uint8_t* text, const uint8_t* end, uint8_t** out,
                              bint in_json) noexcept nogil
cdef uint8_t read_token(const Spelling* spelling, uint8_t* text, size_t* size) noexcept nogil
cdef uint8_t read_byte_level(uint8_t* text, size_t* size) noexcept nogil
cdef uint8_t read_text(uint8_t* text, size_t* size, bint folded, bint byte_fallback) noexcept nogil
cdef str byte_level_text(const uint8_t* token, size_t size, uint8_t kind)
cdef size_t spell_token(const Spelling* spelling, const uint8_t* token, size_t size, uint8_t kind,
                        uint8_t* out) noexcept nogil
cdef size_t spell_byte_level(const uint8_t* token, size_t size, uint8_t kind,
                             uint8_t* out) noexcept nogil
cdef size_t spell_text(const uint8_t* token, size_t size, uint8_t kind, bint folded,
                       uint8_t* out) noexcept nogil
