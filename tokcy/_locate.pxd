"""Where in the raw text each id comes from."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from tokcy._bpe cimport Bpe
from tokcy._job cimport Job


cdef void locate(Bpe model, const Job* job, const uint32_t* ids, int64_t* ranges,
                 uint8_t* is_added) noexcept nogil
