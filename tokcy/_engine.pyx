# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Text → ids: the way of one prompt through the compiled rooms, over the cores.

One text is prepared (added tokens, normalization), its pieces are found, and the pieces are
encoded, unit by unit: a unit is some tens of kilobytes of consecutive spans. Each unit writes
its ids into its own window of one scratch buffer (a piece never becomes more ids than it has
bytes), so units need no agreement; at the end the windows are copied into one NumPy array.

The GIL is released throughout. Between blocks of units it is taken for a moment to let Python
see signals, so that Ctrl-C stops a long call.
"""

cimport cython
cimport numpy as cnp
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_AsUTF8String
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tokcy._bpe cimport Bpe, Tally
from tokcy._cache cimport Cache
from tokcy._job cimport (
    Ids,
    Job,
    Unit,
    ids_append,
    ids_reserve,
    job_free,
    job_gather,
    job_init,
    job_n_ids,
    job_place_windows,
    job_plan,
)
from tokcy._platform cimport tk_cas64, tk_store_release64
from tokcy._prepare cimport Preparer, Span
from tokcy._locate cimport locate
from tokcy._pretok cimport PreTokenizer

import numpy as np

from tokcy.errors import EncodeTypeError
from tokcy.threads import resolve_num_threads

cdef extern from "Python.h":
    int PyErr_CheckSignals() noexcept       # leaves its exception for _raise_status
    bint PyUnicode_IS_ASCII(object text)

cnp.import_array()

cdef enum:
    OUT_OF_MEMORY = -1
    INTERRUPTED = -2

    SERIAL_UNIT_BYTES = 1 << 20     # a unit where one thread has it all
    BLOCK_BYTES = 4 << 20           # work per thread between two looks for signals
    LONG_TEXT_BYTES = 1 << 20       # in a batch: long enough to be shared by all threads
    CACHED_UTF8_BYTES = 64 << 10    # longer non-ASCII strings must not keep a UTF-8 copy


cdef struct Group:          # consecutive texts of a batch that one thread encodes
    size_t first
    size_t last             # exclusive
    Ids ids
    int status
    Tally tally


# One call at a time uses several threads; calls from other Python threads meanwhile run on their
# own thread alone, as a team for each would oversubscribe the cores.
cdef uint64_t parallel_calls = 0


cdef int _check_signals() noexcept with gil:
    return INTERRUPTED if PyErr_CheckSignals() else 0


cdef int _raise_status(int status) except -1:
    """Turn a status of nogil code into the exception that it means."""
    if status == OUT_OF_MEMORY:
        raise MemoryError
    return -1 if status == INTERRUPTED else 0       # the exception is set already


@cython.final
cdef class Utf8:
    """The UTF-8 bytes of a Python string, alive as long as this object."""

    cdef object owner
    cdef const uint8_t* bytes
    cdef size_t size

    def __cinit__(self, text):
        cdef Py_ssize_t size = 0
        if not isinstance(text, str):
            raise EncodeTypeError(f"text must be str, not {type(text).__name__}")
        try:
            if PyUnicode_IS_ASCII(text) or len(text) < CACHED_UTF8_BYTES:
                self.owner = text
                self.bytes = <const uint8_t*>PyUnicode_AsUTF8AndSize(text, &size)
                self.size = size
            else:
                self.owner = PyUnicode_AsUTF8String(text)
                self.bytes = <const uint8_t*><const char*>(<bytes>self.owner)
                self.size = len(<bytes>self.owner)
        except UnicodeEncodeError as error:
            raise EncodeTypeError(
                f"text holds the lone surrogate {text[error.start]!r} at index {error.start}, "
                "which UTF-8 cannot express"
            ) from None


@cython.final
cdef class Engine:
    """Preparer, pre-tokenizer and model of one tokenizer; immutable, shared by threads.

    Args:
        preparer, pretokenizer, model: the rooms that a text passes.
        prefix, suffix: ids that the post-processor puts around a text.
        unit_bytes: text that a thread takes at a time, where several share one.
        bytes_per_thread: text for which another thread pays.
    """

    cdef Preparer preparer
    cdef PreTokenizer pretokenizer
    cdef readonly Bpe model
    cdef Ids prefix
    cdef Ids suffix
    cdef bint drops
    cdef size_t unit_bytes
    cdef size_t bytes_per_thread

    def __cinit__(self, Preparer preparer, PreTokenizer pretokenizer, Bpe model, prefix=(),
                  suffix=(), *, size_t unit_bytes=32 << 10, size_t bytes_per_thread=64 << 10):
        # 64 KB take about 600 µs; a parallel region costs 2-6 µs hot, 10-17 µs cold, and 6 ms
        # on a busy machine.
        if unit_bytes == 0 or bytes_per_thread == 0:
            raise ValueError("unit_bytes and bytes_per_thread must be at least 1")
        self.preparer = preparer
        self.pretokenizer = pretokenizer
        self.model = model
        self.drops = pretokenizer.drops
        self.unit_bytes = unit_bytes
        self.bytes_per_thread = bytes_per_thread
        _fill(&self.prefix, prefix)
        _fill(&self.suffix, suffix)

    def __dealloc__(self):
        free(self.prefix.data)
        free(self.suffix.data)

    # ---------------------------------------------------------------- one text

    def encode(self, text, bint special, bint added, num_threads=None):
        """The ids of one text.

        Args:
            text: any str without lone surrogates.
            special: put the post-processor's ids around it.
            added: recognise added tokens in it.
            num_threads: at most so many; None for the process's setting.

        Returns:
            uint32[n].

        Raises:
            EncodeTypeError: not a str, or not expressible in UTF-8.
        """
        cdef Utf8 utf8 = Utf8(text)
        cdef Job job
        cdef Tally tally
        cdef size_t n, before = self.prefix.size if special else 0
        cdef int status
        cdef cnp.ndarray ids
        cdef uint32_t* out
        cdef Cache* cache = self.model.acquire_cache()
        job_init(&job)
        memset(&tally, 0, sizeof(Tally))
        try:
            status = self._run(utf8, added, num_threads, cache, &job, &tally)
            _raise_status(status)
            n = job_n_ids(&job)
            ids = _empty(before + n + (self.suffix.size if special else 0))
            out = <uint32_t*>cnp.PyArray_DATA(ids)
            with nogil:
                job_gather(&job, out + before)
            if special:
                memcpy(out, self.prefix.data, 4 * before)
                memcpy(out + before + n, self.suffix.data, 4 * self.suffix.size)
            return ids
        finally:
            job_free(&job)
            self.model.release_cache(cache, &tally)

    def count(self, text, bint special, bint added, num_threads=None):
        """How many ids `encode` would give, without making the array."""
        cdef Utf8 utf8 = Utf8(text)
        cdef Job job
        cdef Tally tally
        cdef Cache* cache = self.model.acquire_cache()
        job_init(&job)
        memset(&tally, 0, sizeof(Tally))
        try:
            _raise_status(self._run(utf8, added, num_threads, cache, &job, &tally))
            return job_n_ids(&job) + (self.prefix.size + self.suffix.size if special else 0)
        finally:
            job_free(&job)
            self.model.release_cache(cache, &tally)

    cdef int _run(self, Utf8 utf8, bint added, num_threads, Cache* cache, Job* job,
                  Tally* tally) except? -3:
        """Take one text through the rooms, the GIL released; a status."""
        cdef int threads = self._threads_for(utf8.size, num_threads), status
        with nogil:
            status = self._encode_text(cache, utf8.bytes, utf8.size, added, threads, True, job,
                                       tally)
        return status

    cdef int _threads_for(self, size_t size, num_threads) except -1:
        """Threads that pay for so many bytes; the setting is asked only where it can matter."""
        if size < 2 * self.bytes_per_thread:
            if num_threads is not None:
                resolve_num_threads(num_threads)        # a bad value is an error on any text
            return 1
        return min(<size_t>resolve_num_threads(num_threads), size // self.bytes_per_thread)

    cdef int _encode_text(self, Cache* cache, const uint8_t* raw, size_t size, bint added,
                          int threads, bint interruptible, Job* job,
                          Tally* tally) noexcept nogil:
        cdef bint parallel = threads > 1 and tk_cas64(&parallel_calls, 0, 1)
        cdef int status
        if not parallel:
            threads = 1
        status = self.preparer.prepare(raw, size, added, False, &job.prepared)
        if status == 0:
            status = job_plan(job, self.unit_bytes if parallel else SERIAL_UNIT_BYTES)
        if status == 0:
            status = self._find_pieces(job, threads)
        if status == 0:
            status = self._encode_units(cache, job, threads, interruptible, tally)
        if parallel:
            tk_store_release64(&parallel_calls, 0)
        return status

    cdef int _find_pieces(self, Job* job, int threads) noexcept nogil:
        job.text.bytes = job.prepared.text
        job.text.size = job.prepared.size
        job.text.starts = job.starts
        job.text.skips = job.skips if self.drops else NULL
        if job.prepared.size == 0:
            return 0
        return self.pretokenizer.find_pieces(job.prepared.text, job.prepared.size, job.starts,
                                             job.skips, threads, 0)

    cdef int _encode_units(self, Cache* cache, Job* job, int threads, bint interruptible,
                           Tally* tally) noexcept nogil:
        cdef Py_ssize_t first = 0, last, n = job.n_units, u
        cdef Py_ssize_t block = BLOCK_BYTES // (self.unit_bytes if threads > 1
                                                else SERIAL_UNIT_BYTES) + 1
        cdef int status = 0
        job_place_windows(job)
        while first < n:
            last = min(first + block * threads, n)
            if threads > 1:
                for u in prange(first, last, schedule="dynamic", num_threads=threads):
                    self._encode_unit(cache, job, job.units + u)
            else:
                for u in range(first, last):
                    self._encode_unit(cache, job, job.units + u)
            first = last
            if interruptible and first < n:
                status = _check_signals()
                if status:
                    return status
        for u in range(n):
            tally.pieces += job.units[u].tally.pieces
            tally.misses += job.units[u].tally.misses
            if job.units[u].status:
                status = job.units[u].status
        return status

    cdef void _encode_unit(self, Cache* cache, const Job* job, Unit* unit) noexcept nogil:
        cdef uint32_t* out = job.ids + unit.out
        cdef const Span* span
        cdef size_t s, begin, end, n = 0, written = 0
        for s in range(unit.first_span, unit.last_span + 1):
            span = job.prepared.spans + s
            if span.token >= 0:
                out[n] = <uint32_t>span.token
                n += 1
                continue
            begin = unit.begin if s == unit.first_span else span.begin
            end = unit.end if s == unit.last_span else span.end
            unit.status = self.model.encode_pieces(cache, &job.text, begin, end, span.end,
                                                   out + n, &written, &unit.tally)
            if unit.status:
                return
            n += written
        unit.n_ids = n

    # -------------------------------------------------------------- many texts

    def encode_batch(self, texts, bint special, bint added, num_threads=None):
        """The ids of many texts, one after another.

        Returns:
            (values uint32[n], offsets int64[len(texts) + 1]); text i is
            values[offsets[i]:offsets[i + 1]].

        Raises:
            EncodeTypeError: an item is not a str, or not expressible in UTF-8; says which.
        """
        cdef list held = _utf8_of_all(texts)
        cdef size_t n_texts = len(held), total = 0, i
        cdef cnp.ndarray offsets = np.zeros(n_texts + 1, dtype=np.int64)
        cdef int64_t* ends = <int64_t*>cnp.PyArray_DATA(offsets) + 1
        cdef size_t n_groups = 0
        cdef Group* groups
        cdef int threads
        cdef cnp.ndarray values
        for i in range(n_texts):
            total += (<Utf8>held[i]).size
        threads = self._threads_for(total, num_threads)
        groups = _groups_of(held, self.bytes_per_thread, &n_groups)
        try:
            self._encode_groups(held, groups, n_groups, special, added, threads, ends)
            np.cumsum(offsets, out=offsets)
            values = _empty(offsets[n_texts])
            _gather_groups(groups, n_groups, <uint32_t*>cnp.PyArray_DATA(values))
            return values, offsets
        finally:
            for i in range(n_groups):
                free(groups[i].ids.data)
            free(groups)

    cdef int _encode_groups(self, list held, Group* groups, size_t n_groups, bint special,
                            bint added, int threads, int64_t* counts) except -1:
        cdef size_t n_texts = len(held), i
        cdef const uint8_t** bytes = <const uint8_t**>malloc((n_texts + 1) * sizeof(void*))
        cdef size_t* sizes = <size_t*>malloc((n_texts + 1) * sizeof(size_t))
        cdef Cache* cache = self.model.acquire_cache()
        cdef Tally tally
        cdef int status = OUT_OF_MEMORY
        memset(&tally, 0, sizeof(Tally))
        try:
            if bytes != NULL and sizes != NULL:
                for i in range(n_texts):
                    bytes[i] = (<Utf8>held[i]).bytes
                    sizes[i] = (<Utf8>held[i]).size
                with nogil:
                    status = self._encode_all(cache, bytes, sizes, groups, n_groups, special,
                                              added, threads, counts, &tally)
            return _raise_status(status)
        finally:
            free(bytes)
            free(sizes)
            self.model.release_cache(cache, &tally)

    cdef int _encode_all(self, Cache* cache, const uint8_t** bytes, const size_t* sizes,
                         Group* groups, size_t n_groups, bint special, bint added, int threads,
                         int64_t* counts, Tally* tally) noexcept nogil:
        """Groups of one long text use all threads for it; the others one thread each."""
        cdef Py_ssize_t first = 0, last, g, n = n_groups
        cdef int status = 0
        cdef bint parallel
        while first < n and status == 0:
            last = first
            while last < n and last - first < 64 * threads and not _is_long(groups + last, sizes):
                last += 1
            if last == first:
                self._encode_group(cache, bytes, sizes, groups + first, special, added, threads,
                                   True, counts)
                last = first + 1
            else:
                parallel = threads > 1 and tk_cas64(&parallel_calls, 0, 1)
                if parallel:
                    for g in prange(first, last, schedule="dynamic", num_threads=threads):
                        self._encode_group(cache, bytes, sizes, groups + g, special, added, 1,
                                           False, counts)
                    tk_store_release64(&parallel_calls, 0)
                else:
                    for g in range(first, last):
                        self._encode_group(cache, bytes, sizes, groups + g, special, added, 1,
                                           False, counts)
            for g in range(first, last):
                status = groups[g].status if groups[g].status else status
                tally.pieces += groups[g].tally.pieces
                tally.misses += groups[g].tally.misses
            first = last
            if status == 0 and first < n:
                status = _check_signals()
        return status

    cdef void _encode_group(self, Cache* cache, const uint8_t** bytes, const size_t* sizes,
                            Group* group, bint special, bint added, int threads,
                            bint interruptible, int64_t* counts) noexcept nogil:
        cdef Job job
        cdef size_t i, n
        cdef Ids* ids = &group.ids
        for i in range(group.first, group.last):
            job_init(&job)
            group.status = self._encode_text(cache, bytes[i], sizes[i], added, threads,
                                             interruptible, &job, &group.tally)
            n = job_n_ids(&job) + (self.prefix.size + self.suffix.size if special else 0)
            if group.status == 0:
                group.status = ids_reserve(ids, n)
            if group.status == 0:
                counts[i] = n
                if special:
                    ids_append(ids, &self.prefix)
                job_gather(&job, ids.data + ids.size)
                ids.size += job_n_ids(&job)
                if special:
                    ids_append(ids, &self.suffix)
            job_free(&job)
            if group.status:
                return

    # ----------------------------------------------------------------- offsets

    def encode_ranges(self, text, bint added):
        """The ids of one text and the bytes of it that each stands for, on one thread.

        Returns:
            (ids uint32[n], ranges int64[n, 2], is_added bool[n]): byte ranges of the text's
            UTF-8, widened to whole characters, and which ids are added tokens found in it;
            nothing of the post-processor.

        Raises:
            EncodeTypeError: not a str, or not expressible in UTF-8.
        """
        cdef Utf8 utf8 = Utf8(text)
        cdef Job job
        cdef Tally tally
        cdef int status
        cdef cnp.ndarray ids, ranges, is_added
        cdef Cache* cache = self.model.acquire_cache()
        job_init(&job)
        memset(&tally, 0, sizeof(Tally))
        try:
            with nogil:
                status = self.preparer.prepare(utf8.bytes, utf8.size, added, True, &job.prepared)
                if status == 0:
                    status = job_plan(&job, SERIAL_UNIT_BYTES)
                if status == 0:
                    status = self._find_pieces(&job, 1)
                if status == 0:
                    status = self._encode_units(cache, &job, 1, True, &tally)
            _raise_status(status)
            ids = _empty(job_n_ids(&job))
            ranges = np.empty((len(ids), 2), dtype=np.int64)
            is_added = np.zeros(len(ids), dtype=np.bool_)
            job_gather(&job, <uint32_t*>cnp.PyArray_DATA(ids))
            locate(self.model, &job, <const uint32_t*>cnp.PyArray_DATA(ids),
                   <int64_t*>cnp.PyArray_DATA(ranges), <uint8_t*>cnp.PyArray_DATA(is_added))
            return ids, ranges, is_added
        finally:
            job_free(&job)
            self.model.release_cache(cache, &tally)


# --------------------------------------------------------------------- helpers

cdef int _fill(Ids* ids, values) except -1:
    """Copy Python ints into a buffer of C ids."""
    values = list(values)
    if ids_reserve(ids, len(values)):
        raise MemoryError
    for value in values:
        ids.data[ids.size] = <uint32_t>value
        ids.size += 1
    return 0


cdef cnp.ndarray _empty(size_t n):
    cdef cnp.npy_intp length = n
    return cnp.PyArray_EMPTY(1, &length, cnp.NPY_UINT32, 0)


cdef list _utf8_of_all(texts):
    cdef list held = []
    if isinstance(texts, (str, bytes)):
        raise EncodeTypeError(f"texts must be a sequence of str, not {type(texts).__name__}")
    for index, text in enumerate(texts):
        try:
            held.append(Utf8(text))
        except EncodeTypeError as error:
            raise EncodeTypeError(f"texts[{index}]: {error}") from None
    return held


cdef Group* _groups_of(list held, size_t group_bytes, size_t* n_groups) except NULL:
    """Cut a batch into groups of some group_bytes; a long text is a group of its own."""
    cdef size_t n_texts = len(held), n = 0, used = 0, i, size
    cdef Group* groups = <Group*>calloc(n_texts + 1, sizeof(Group))
    cdef bint alone, was_alone = True
    if groups == NULL:
        raise MemoryError
    for i in range(n_texts):
        size = (<Utf8>held[i]).size
        alone = size >= LONG_TEXT_BYTES
        if alone or was_alone or used >= group_bytes:
            groups[n].first = i
            n += 1
            used = 0
        groups[n - 1].last = i + 1
        was_alone = alone
        used += size + 64       # a text costs something however short
    n_groups[0] = n
    return groups


cdef inline bint _is_long(const Group* group, const size_t* sizes) noexcept nogil:
    return sizes[group.first] >= LONG_TEXT_BYTES


cdef void _gather_groups(const Group* groups, size_t n_groups, uint32_t* out) noexcept nogil:
    cdef size_t g
    for g in range(n_groups):
        memcpy(out, groups[g].ids.data, groups[g].ids.size * sizeof(uint32_t))
        out += groups[g].ids.size
