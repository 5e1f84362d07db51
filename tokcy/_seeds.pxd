"""What the merge cache starts from."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokcy._cache cimport Cache
from tokcy._merges cimport MergeTable
from tokcy._vocab cimport Vocabulary


cdef class Seeds:
    cdef Vocabulary vocabulary
    cdef MergeTable merge_table
    cdef bint ignore_merges
    cdef bytes odd              # entry, number of ids, ids; and so on
    cdef uint8_t* is_plain      # [n_entries] whether an entry is a seed, and not odd

    cdef Cache* make_cache(self) except NULL
    cdef bytes _find_odd(self)
    cdef int _leave_out_odd(self) except -1
    cdef int _leave_out(self, size_t entry, const uint32_t* ids, size_t n_ids) except -1
    cdef size_t _kept(self, size_t entry) noexcept
    cdef bint _fill(self, Cache* cache, int threads) noexcept
    cdef bint _add_odd(self, Cache* cache, size_t entry, const uint32_t* ids, size_t n_ids,
                       uint64_t* n_added) noexcept
