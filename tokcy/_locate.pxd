"""Where in the raw text each id comes from."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from tokcy._job cimport Job
from tokcy._merges cimport Merges
from tokcy._vocab cimport Vocabulary


cdef int locate(Vocabulary vocabulary, bint ignore_merges, const Merges* merges, const Job* job,
                const uint32_t* ids, int64_t* ranges, uint8_t* is_added, int64_t* words,
                bint spans_are_words) noexcept nogil
cdef void to_characters(const uint8_t* raw, int64_t* ranges, size_t n) noexcept nogil
