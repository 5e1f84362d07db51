"""Vocabulary and merges as C arrays: what the engine is built from."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t


cdef class Vocabulary:
    # Entries, in the order of the model file.
    cdef readonly size_t n_entries
    cdef uint8_t* arena          # the bytes of all entries, one after another
    cdef uint32_t* offsets       # [n_entries + 1] into arena
    cdef uint32_t* ids           # [n_entries]
    cdef uint8_t* is_bytes       # [n_entries] 1: the entry stands for bytes; 0: for UTF-8 text
    # Ids.
    cdef readonly uint32_t max_id
    cdef int32_t* entry_of_id    # [max_id + 1], -1 where no entry has the id
    cdef int64_t[256] byte_id    # id of the entry that is just this byte, -1 where there is none
    # Merges, in order of rank.
    cdef readonly size_t n_merges
    cdef uint32_t* left
    cdef uint32_t* right
    cdef uint32_t* merged
    # Hash table of entries by (is_bytes, bytes); slot holds entry + 1.
    cdef uint32_t* slots
    cdef uint64_t slot_mask

    cdef int64_t find(self, const uint8_t* key, size_t size, uint8_t is_bytes) noexcept nogil
    cdef int _read_vocab(self, dict vocab) except -1
    cdef int _read_merges(self, list merges, str source) except -1
    cdef int64_t _find_text(self, str token) except -2
