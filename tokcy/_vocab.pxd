"""Vocabulary and merges as C arrays: what the engine is built from."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tokcy._spelling cimport Spelling
from tokcy._strings cimport Strings


cdef enum:                  # what Vocabulary.take returns in place of a merge's index
    SOUND = -1
    REPEATED = -2           # an entry stands twice


cdef struct EntrySlot:
    uint32_t tag            # bits of the hash
    uint32_t number         # entry + 1; 0 where the slot is free


cdef class Vocabulary:
    # Entries, in the order of the model file: the fields of a Strings, and ids.
    cdef readonly size_t n_entries
    cdef uint8_t* arena
    cdef uint32_t* offsets
    cdef uint32_t* ids           # [n_entries]
    cdef uint8_t* kinds
    cdef Spelling spelling
    cdef readonly bytes prefix
    cdef readonly bytes suffix
    cdef uint8_t marks           # the forms that are marked: CONTINUES, ENDS
    cdef size_t lost             # bytes that the right part of a merge loses, as the file has it
    cdef readonly int64_t unknown_id     # -1: there is none
    cdef readonly bint fuses_unknown
    # Ids.
    cdef readonly uint32_t max_id
    cdef readonly bint ids_are_dense
    cdef readonly bint ids_are_distinct
    cdef int32_t* entry_of_id    # [max_id + 1], -1 where no entry has the id; NULL unless dense
    # Id of the entry that is just this byte, or the ASCII character that it is, or that stands for
    # it as a byte of a character; -1 where there is none.
    cdef int64_t[256] byte_id
    # Merges, in order of rank.
    cdef readonly size_t n_merges
    cdef uint32_t* left
    cdef uint32_t* right
    cdef uint32_t* merged
    # Hash table of entries by (kind, bytes).
    cdef EntrySlot* slots
    cdef uint64_t slot_mask

    cdef int64_t find(self, const uint8_t* key, size_t size, uint8_t kind) noexcept nogil
    cdef size_t spell(self, size_t entry, uint8_t* out) noexcept
    cdef int64_t take(self, Strings* entries, uint32_t** ids, Strings* parts) except -4
    cdef int _index_entries(self) except -1
    cdef int _index_ids(self) except -1
    cdef int64_t _link(self, const Strings* parts) except -4
    cdef int64_t _link_one(self, const Strings* parts, size_t rank, const uint64_t* hashes,
                           int64_t near) noexcept nogil
    cdef bint _is_entry(self, size_t entry, const uint8_t* key, size_t size,
                        uint8_t kind) noexcept nogil
    cdef int64_t _find_joined(self, const Strings* parts, size_t rank) noexcept nogil
    cdef int64_t _find_hashed(self, const uint8_t* key, size_t size, uint8_t kind,
                              uint64_t hash) noexcept nogil
    cdef int64_t _entry_of(self, object token) except -2
    cdef str _text(self, size_t entry)
    cdef tuple _alphabet(self)
    cdef bint is_piece(self, int byte) noexcept nogil
    cdef int _write(self, bint byte_level, bint folded, bint byte_fallback, str prefix,
                    str suffix) except -1
    cdef Vocabulary _respell(self, Vocabulary byte_level, unk_token, bint fuse_unk)
    cdef _unknown_part(self, size_t index, object item, str first, str second, str source)
    cdef void _free(self) noexcept
    cdef int _link_all(self) except -1
