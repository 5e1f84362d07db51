# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Texts → ids: the engine of one tokenizer, for one text (see _text) and for many.

The short texts of a batch are joined in groups. A group goes the way of one text, on one thread,
each of its texts a unit, and the groups are spread over the threads. A long text is shared by all.

What is done for each string of a batch needs the GIL; for the rest it is released.
"""

cimport cython
cimport numpy as cnp
from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from tokcy._bpe cimport Tally
from tokcy._cache cimport Cache
from tokcy._job cimport Ids, Job, ids_append, ids_reserve, job_free, job_init, job_join
from tokcy._parallel cimport Raw
from tokcy._prepare cimport Prepared, prepared_init, release
from tokcy._source cimport Source, source_close, source_open
from tokcy._status cimport OUT_OF_MEMORY, check_signals, raise_status
from tokcy._team cimport give_team_back, take_team
from tokcy._text cimport TextEngine, new_array

from tokcy.errors import EncodeTypeError

cnp.import_array()

cdef enum:
    LONG_TEXT_BYTES = 1 << 20       # in a batch: long enough to be shared by all threads
    TEXTS_WITH_GIL = 1024           # strings of a batch between two chances for other threads


cdef struct Group:          # consecutive texts of a batch that one thread encodes
    size_t first
    size_t last             # exclusive
    Ids ids
    size_t begin            # of its ids among all
    int status
    Tally tally


@cython.final
cdef class Engine(TextEngine):
    """Preparer, pre-tokenizer and model of one tokenizer; immutable, shared by threads."""

    def encode_batch(self, texts, bint special, bint added, num_threads=None):
        """The ids of many texts, one after another.

        Returns:
            (values uint32[n], offsets int64[len(texts) + 1]); text i is
            values[offsets[i]:offsets[i + 1]].

        Raises:
            EncodeTypeError: an item is not a str, or not expressible in UTF-8; says which.
        """
        cdef list held = _listed(texts)         # keeps the strings alive
        cdef size_t n_texts = len(held), total = 0, n_groups = 0, i
        cdef cnp.ndarray offsets = new_array(n_texts + 1, cnp.NPY_INT64), values
        cdef int64_t* ends = <int64_t*>cnp.PyArray_DATA(offsets)
        cdef Source* sources = <Source*>calloc(n_texts + 1, sizeof(Source))
        cdef Group* groups = <Group*>calloc(n_texts + 1, sizeof(Group))
        cdef int threads
        cdef uint32_t* out
        try:
            if sources == NULL or groups == NULL:
                raise MemoryError
            total = _open_all(held, sources)
            threads = self.threads_for(total, num_threads)
            with nogil:
                n_groups = _make_groups(sources, n_texts, self.bytes_per_thread, groups)
            ends[0] = 0
            self._encode_groups(sources, groups, n_groups, special, added, threads, ends + 1)
            for i in range(n_texts):
                ends[i + 1] += ends[i]
            values = new_array(ends[n_texts])
            out = <uint32_t*>cnp.PyArray_DATA(values)
            with nogil:
                _gather_groups(groups, n_groups, out, threads)
            return values, offsets
        finally:
            with nogil:
                for i in range(n_groups):
                    free(groups[i].ids.data)
                for i in range(n_texts if sources != NULL else 0):
                    source_close(sources + i)
            free(groups)
            free(sources)

    cdef int _encode_groups(self, const Source* sources, Group* groups, size_t n_groups,
                            bint special, bint added, int threads, int64_t* counts) except -1:
        cdef Cache* cache = self.model.acquire_cache()
        cdef Tally tally
        cdef int status
        memset(&tally, 0, sizeof(Tally))
        try:
            with nogil:
                status = self._encode_all(cache, sources, groups, n_groups, special, added,
                                          threads, counts, &tally)
            return raise_status(status)
        finally:
            self.model.release_cache(cache, &tally)

    cdef int _encode_all(self, Cache* cache, const Source* sources, Group* groups,
                         size_t n_groups, bint special, bint added, int threads,
                         int64_t* counts, Tally* tally) noexcept nogil:
        """Groups of one long text use all threads for it; the others one thread each."""
        cdef Py_ssize_t first = 0, last, g, n = n_groups
        cdef int status = 0
        cdef bint parallel
        while first < n and status == 0:
            last = first
            while last < n and last - first < 64 * threads and not _is_long(groups + last, sources):
                last += 1
            if last == first:
                self._encode_long(cache, sources, groups + first, special, added, threads, counts)
                last = first + 1
            else:
                parallel = take_team(threads)
                if parallel:
                    for g in prange(first, last, schedule="dynamic", num_threads=threads):
                        self._encode_group(cache, sources, groups + g, special, added, counts)
                    give_team_back()
                else:
                    for g in range(first, last):
                        self._encode_group(cache, sources, groups + g, special, added, counts)
            for g in range(first, last):
                status = groups[g].status if groups[g].status else status
                tally.pieces += groups[g].tally.pieces
                tally.misses += groups[g].tally.misses
            first = last
            if status == 0 and first < n:
                status = check_signals()
        return status

    cdef void _encode_long(self, Cache* cache, const Source* sources, Group* group, bint special,
                           bint added, int threads, int64_t* counts) noexcept nogil:
        """Encode the one text of a group by all threads."""
        cdef Raw raw = Raw(<Source*>sources + group.first, added, NULL, False)
        cdef Job job
        job_init(&job)
        if special:
            job.before, job.after = self.prefix.size, self.suffix.size
        group.status = self.encode_job(cache, &raw, &job, threads, True, &group.tally)
        if group.status == 0 and job.room != NULL:
            self._surround(&job, job.room)
            group.ids.data = job.room
            group.ids.size = job.before + job.n_ids + job.after
            counts[group.first] = group.ids.size
            job.room = NULL
        elif group.status == 0:
            group.status = self._take_ids(&job, group, special, counts)
        job_free(&job)

    cdef void _encode_group(self, Cache* cache, const Source* sources, Group* group, bint special,
                            bint added, int64_t* counts) noexcept nogil:
        """Encode the texts of a group as one, on this thread."""
        cdef Job job
        cdef Prepared prepared
        cdef size_t i
        cdef int status = 0
        job_init(&job)
        prepared_init(&prepared)
        job.text_ends = <size_t*>malloc((group.last - group.first) * sizeof(size_t))
        if job.text_ends == NULL:
            status = OUT_OF_MEMORY
        for i in range(group.first, group.last):
            if status == 0:
                status = self.preparer.prepare(sources[i].bytes, sources[i].size, added, False,
                                               &prepared)
            if status == 0:
                status = job_join(&job, &prepared)
        release(&prepared)
        if status == 0:
            status = self.encode_job(cache, NULL, &job, 1, False, &group.tally)
        if status == 0:
            status = self._take_ids(&job, group, special, counts)
        job_free(&job)
        group.status = status

    cdef int _take_ids(self, const Job* job, Group* group, bint special,
                       int64_t* counts) noexcept nogil:
        """Copy the ids of all texts of a group, and what goes around each; a status."""
        cdef Ids* ids = &group.ids
        cdef size_t n_texts = group.last - group.first, t, n, at = 0
        cdef int status = ids_reserve(ids, job.n_ids
                                      + n_texts * (self.prefix.size + self.suffix.size))
        if status:
            return status
        for t in range(n_texts):
            n = job.units[t].n_ids if job.n_texts else job.n_ids
            counts[group.first + t] = n
            if special:
                ids_append(ids, self.prefix.data, self.prefix.size)
                counts[group.first + t] += self.prefix.size + self.suffix.size
            ids_append(ids, job.ids + at, n)
            if special:
                ids_append(ids, self.suffix.data, self.suffix.size)
            at += n
        return 0


cdef list _listed(texts):
    if isinstance(texts, (str, bytes)):
        raise EncodeTypeError(f"texts must be a sequence of str, not {type(texts).__name__}")
    return list(texts)


cdef size_t _open_all(list texts, Source* sources) except? 0:
    """The UTF-8 of each text; how many bytes in all."""
    cdef size_t total = 0, i = 0
    try:
        for i in range(<size_t>len(texts)):
            source_open(texts[i], sources + i)
            total += sources[i].size
            if i % TEXTS_WITH_GIL == TEXTS_WITH_GIL - 1:
                with nogil:
                    pass
    except EncodeTypeError as error:
        raise EncodeTypeError(f"texts[{i}]: {error}") from None
    return total


cdef size_t _make_groups(const Source* sources, size_t n_texts, size_t group_bytes,
                         Group* groups) noexcept nogil:
    """Cut a batch into groups of some group_bytes; how many.

    A long text is a group of its own. `groups` holds zeros, and has room for each text.
    """
    cdef size_t n = 0, used = 0, i
    cdef bint alone, was_alone = True
    for i in range(n_texts):
        alone = sources[i].size >= LONG_TEXT_BYTES
        if alone or was_alone or used >= group_bytes:
            groups[n].first = i
            n += 1
            used = 0
        groups[n - 1].last = i + 1
        was_alone = alone
        used += sources[i].size + 64        # a text costs something however short
    return n


cdef inline bint _is_long(const Group* group, const Source* sources) noexcept nogil:
    return sources[group.first].size >= LONG_TEXT_BYTES


cdef void _gather_groups(Group* groups, size_t n_groups, uint32_t* out, int threads) noexcept nogil:
    """Copy the ids of all groups behind each other, many by all threads, as all pages are new."""
    cdef size_t n = 0, g
    cdef Py_ssize_t i
    cdef bint parallel
    for g in range(n_groups):
        groups[g].begin = n
        n += groups[g].ids.size
    parallel = 4 * n >= LONG_TEXT_BYTES and take_team(threads)
    if parallel:
        for i in prange(<Py_ssize_t>n_groups, schedule="dynamic", num_threads=threads):
            _copy_ids(groups + i, out)
        give_team_back()
    else:
        for g in range(n_groups):
            _copy_ids(groups + g, out)


cdef inline void _copy_ids(const Group* group, uint32_t* out) noexcept nogil:
    memcpy(out + group.begin, group.ids.data, group.ids.size * sizeof(uint32_t))
