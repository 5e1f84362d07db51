# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One text → ids: what a caller gives and gets, and between the two a job (see _parallel).

The ids of a long text are written to memory that the NumPy array takes over, cut to size unless
several threads wrote so many that to give pages back would interrupt the other cores (see _job).

The GIL is released throughout, but for a short text, which would take longer. Between blocks of
units the main thread takes it for a moment to see signals, so that Ctrl-C stops a long call.
"""

cimport numpy as cnp
from cpython.list cimport PyList_New
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from tokcy._added cimport Part, Stretch, part_of_stretch
from tokcy._bpe cimport Tally
from tokcy._cache cimport Cache
from tokcy._idbuffer cimport view_of
from tokcy._job cimport Ids, Job, ids_reserve, job_free, job_init
from tokcy._lists cimport fill_list
from tokcy._locate cimport locate, to_characters
from tokcy._parallel cimport JobEngine, Raw
from tokcy._prefix cimport PrefixStore, PrefixView
from tokcy._resume cimport (
    Resume,
    resume_begin,
    resume_close,
    resume_copy,
    resume_count,
    resume_keep,
    resume_needs,
    resume_open,
    resume_open_segments,
    resume_open_wide,
    resume_sections,
    resume_settle,
    resume_shift,
    resume_size,
)
from tokcy._segments cimport (
    Segments,
    listed,
    segments_close,
    segments_look,
    segments_refuse,
)
from tokcy._source cimport (
    Source,
    Wide,
    is_wide,
    source_close,
    source_look,
    source_open,
    source_open_from,
    source_refuse,
    wide_open,
)
from tokcy._status cimport INTERRUPTED, NOT_UTF8, raise_status

import numpy as np

cnp.import_array()

cdef enum:
    SHORT_TEXT = 4096               # ids; releasing the GIL takes 50 ns, and more to get it
    LONG_TEXT_BYTES = 1 << 20       # to give back its memory takes milliseconds
    MANY_IDS = 1 << 18              # 1 MB: of less malloc mostly keeps what is cut off


cdef class TextEngine(JobEngine):
    """What makes a text the ids that a caller wants; immutable, shared by threads.

    Args:
        preparer, pretokenizer, model, unit_bytes, bytes_per_thread: as of JobEngine.
        prefix, suffix: ids that the post-processor puts around a text.
    """

    def __cinit__(self, _preparer, _pretokenizer, _model, prefix=(), suffix=(), **_sizes):
        _fill(&self.prefix, prefix)
        _fill(&self.suffix, suffix)

    def __dealloc__(self):
        free(self.prefix.data)
        free(self.suffix.data)

    # ---------------------------------------------------------------- one text

    def encode(self, text, bint special, bint added, num_threads=None, PrefixView known=None):
        """The ids of one text.

        Args:
            text: any str without lone surrogates.
            special: put the post-processor's ids around it.
            added: recognise added tokens in it.
            num_threads: at most so many threads; None for the process's setting.
            known: where texts are looked up and stored, with the key of this engine.

        Returns:
            uint32[n].

        Raises:
            EncodeTypeError: not a str, or not expressible in UTF-8.
        """
        return self._encode(text, special, added, num_threads, known, ARRAY)

    def encode_to_list(self, text, bint special, bint added, num_threads=None,
                       PrefixView known=None):
        """What `encode` gives as a list of Python integers, made without an array."""
        return self._encode(text, special, added, num_threads, known, LIST)

    def count(self, text, bint special, bint added, num_threads=None, PrefixView known=None):
        """How many ids `encode` would give."""
        return self._encode(text, special, added, num_threads, known, COUNT)

    cdef object _encode(self, text, bint special, bint added, num_threads, PrefixView known,
                        Form form):
        cdef Source source
        cdef Raw raw = Raw(&source, added, NULL, False)
        cdef Job job
        cdef Tally tally
        cdef Cache* cache
        if known is not None:
            return self._encode_known(text, special, added, num_threads, known, form)
        source_look(text, &source)
        cache = self.model.acquire_cache()
        job_init(&job)
        if form == ARRAY and special:
            job.before, job.after = self.prefix.size, self.suffix.size
        memset(&tally, 0, sizeof(Tally))
        try:
            if self.run(&raw, num_threads, cache, &job, &tally) == NOT_UTF8:
                source_refuse(text, &source)
            if form == COUNT:
                return job.n_ids + (self.prefix.size + self.suffix.size if special else 0)
            return self._list(&job, special) if form == LIST else self._array(&job, special)
        finally:
            _dispose(&job, &source)
            self.model.release_cache(cache, &tally)

    cdef cnp.ndarray _array(self, Job* job, bint special):
        """The ids of an encoded text, uint32[n]."""
        cdef size_t n = job.before + job.n_ids + job.after
        cdef uint32_t* out
        cdef cnp.ndarray ids
        if job.room != NULL:
            ids = _array_of(job, n)
            out = <uint32_t*>cnp.PyArray_DATA(ids)
        else:
            ids = new_array(n)
            out = <uint32_t*>cnp.PyArray_DATA(ids)
            if n < SHORT_TEXT:
                memcpy(out + job.before, job.ids, 4 * job.n_ids)
            else:
                with nogil:
                    memcpy(out + job.before, job.ids, 4 * job.n_ids)
        self._surround(job, out)
        return ids

    cdef void _surround(self, const Job* job, uint32_t* out) noexcept nogil:
        """Write the post-processor's ids before and behind those of the text."""
        memcpy(out, self.prefix.data, 4 * job.before)
        memcpy(out + job.before + job.n_ids, self.suffix.data, 4 * job.after)

    cdef list _list(self, const Job* job, bint special):
        """The ids of an encoded text, list[int]."""
        cdef size_t before = self.prefix.size if special else 0
        cdef size_t after = self.suffix.size if special else 0
        cdef list ids = PyList_New(before + job.n_ids + after)
        fill_list(ids, 0, self.prefix.data, before)
        fill_list(ids, before, job.ids, job.n_ids)
        fill_list(ids, before + job.n_ids, self.suffix.data, after)
        return ids

    # ----------------------------------------------------- texts with known beginnings

    cdef object _encode_known(self, text, bint special, bint added, num_threads,
                              PrefixView known, Form form):
        """As `_encode`, of a text whose beginning may be stored."""
        cdef Source source
        cdef Stretch whole
        cdef Part part
        cdef Resume resume
        cdef Wide wide
        cdef size_t first = 0, begin = 0
        cdef int status
        cdef const uint8_t* key = known.key
        cdef PrefixStore store = known.store
        if not is_wide(text, store.wide_from):
            source_open(text, &source)
            part_of_stretch(&part, &whole, 0, source.size)
            part.n_trusted = added
            try:
                with nogil:     # short texts, too: the store may have to be waited for
                    resume_begin(store, self.preparer, key, &resume)
                    status = resume_open(store, source.bytes, &part, source.size > 0, &resume)
                return self._encode_behind(status, &resume, special, num_threads, known, form)
            finally:
                source_close(&source)
        wide_open(text, &wide)
        with nogil:
            resume_begin(store, self.preparer, key, &resume)
            status = resume_open_wide(store, &wide, added, &resume)
            resume_needs(&resume, &first, &begin)
        try:
            source_open_from(text, first, begin, &source)
        except BaseException:
            with nogil:
                resume_close(store, &resume)
            raise
        part_of_stretch(&part, &whole, 0, source.size)
        part.n_trusted = added
        resume_settle(&resume, source.bytes, &part)
        try:
            return self._encode_behind(status, &resume, special, num_threads, known, form)
        finally:
            source_close(&source)

    cdef object _encode_behind(self, int status, Resume* resume, bint special, num_threads,
                               PrefixView known, Form form):
        """Encode what follows the known beginning, and close `resume`.

        Args:
            status: that with which it was opened.
        """
        cdef Job job
        cdef Tally tally
        cdef Cache* cache = NULL
        cdef int threads
        cdef cnp.ndarray ids = None
        cdef PrefixStore store = known.store
        job_init(&job)
        memset(&tally, 0, sizeof(Tally))
        try:
            raise_status(status)
            cache = self.model.acquire_cache()
            threads = self.threads_for(resume_size(resume) - resume.at, num_threads)
            status = INTERRUPTED
            with nogil:
                status = self._go_on(cache, store, resume, threads, &job, &tally)
            raise_status(status)
            if form != COUNT:
                ids = self._array_behind(&job, resume, special, store.views)
            known.count(resume.base.n_ids, job.n_ids)
            if form == COUNT:
                return resume.base.n_ids + job.n_ids + (
                    self.prefix.size + self.suffix.size if special else 0)
            return ids.tolist() if form == LIST else ids
        finally:
            with nogil:
                resume_close(store, resume)
                job_free(&job)
            if cache != NULL:
                self.model.release_cache(cache, &tally)

    cdef cnp.ndarray _array_behind(self, const Job* job, const Resume* resume, bint special,
                                   bint views):
        """The ids of a text whose beginning may be stored, uint32[n].

        Copies of those that are known took a quarter of the time of 40 requests that grow to
        200,000 tokens.
        """
        cdef size_t n = resume.base.n_ids + job.n_ids
        cdef size_t before = self.prefix.size if special else 0
        cdef size_t after = self.suffix.size if special else 0
        cdef cnp.ndarray ids
        cdef uint32_t* out
        if views and after == 0 and resume.buffer != NULL and resume.buffer.begin == 0:
            return view_of(resume.buffer, before, n)
        ids = new_array(before + n + after)
        out = <uint32_t*>cnp.PyArray_DATA(ids)
        with nogil:
            memcpy(out, self.prefix.data, 4 * before)
            resume_copy(resume, out + before)
            memcpy(out + before + resume.base.n_ids, job.ids, 4 * job.n_ids)
            memcpy(out + before + n, self.suffix.data, 4 * after)
        return ids

    cdef int _go_on(self, Cache* cache, PrefixStore store, Resume* resume, int threads, Job* job,
                    Tally* tally) noexcept nogil:
        """Encode what follows, and put the ids where they are to be kept; a status."""
        cdef int status = resume_sections(resume, self.preparer, &job.prepared)
        if status == 0:
            status = self.preparer.settle_sections(
                resume.raw, resume_size(resume), resume.parts + resume.part,
                resume.n_parts - resume.part, False, &job.prepared)
        if status:
            return status
        resume_shift(resume, &job.prepared)
        job.n_breaks = resume.n_cuts
        threads = <int>max(<size_t>1, min(<size_t>threads,
                                          job.prepared.size // self.bytes_per_thread))
        status = self.encode_job(cache, NULL, job, threads, True, tally)
        if status == 0:
            resume_count(resume, job)
            resume_keep(store, resume, job.ids, job.n_ids, self.prefix.data, self.prefix.size)
        return status

    # ---------------------------------------------------------------- segments

    def encode_segments(self, segments, bint special, bint joined, bint chunked,
                        num_threads=None, *, bint plain_only=False, PrefixView known=None):
        """The ids of typed segments.

        Args:
            segments: (text, allow_special) pairs.
            special: put the post-processor's ids around all of them.
            joined: they are one text, in which added tokens are only found in what is trusted;
                else each is a text by itself.
            chunked: long texts of these are cut up as Kimi's own code does it.
            num_threads: as in `encode`.
            plain_only: leave out the ids of added tokens.
            known: as in `encode`; not with `plain_only`.

        Returns:
            uint32[n].

        Raises:
            EncodeTypeError: an item is no pair, or its text no str that UTF-8 can express.
        """
        cdef Segments opened
        cdef Raw raw = Raw(NULL, False, &opened, plain_only)
        cdef list items
        cdef Job job
        cdef Resume resume
        cdef Tally tally
        cdef Cache* cache
        cdef int status
        if known is not None:
            status = resume_open_segments(known, self.preparer, segments, joined, chunked, &opened,
                                          &resume)
            try:
                return self._encode_behind(status, &resume, special, num_threads, known, ARRAY)
            finally:
                with nogil:
                    segments_close(&opened)
        items = listed(segments)
        segments_look(items, 0, joined, chunked, &opened)
        cache = self.model.acquire_cache()
        job_init(&job)
        if special:
            job.before, job.after = self.prefix.size, self.suffix.size
        memset(&tally, 0, sizeof(Tally))
        try:
            if self.run(&raw, num_threads, cache, &job, &tally) == NOT_UTF8:
                segments_refuse(items, &opened)
            return self._array(&job, special)
        finally:
            with nogil:
                job_free(&job)
                segments_close(&opened)
            self.model.release_cache(cache, &tally)

    # ----------------------------------------------------------------- offsets

    def encode_offsets(self, text, bint added):
        """The ids of one text and where in it each comes from, on one thread.

        Returns:
            (ids uint32[n], offsets int64[n, 2], is_added bool[n]): offsets in characters, and
            which ids are added tokens found in the text; nothing of the post-processor.

        Raises:
            EncodeTypeError: not a str, or not expressible in UTF-8.
        """
        return self._located(text, added, False, False)

    def encode_words(self, text, bint added, *, bint spans_are_words=False):
        """What `encode_offsets` gives, and the word of each id.

        Args:
            spans_are_words: the text between two added tokens is one word, as where the pieces
                are not the pre-tokenizer's but the engine's own; else each piece is one, and
                so is each added token.

        Returns:
            (ids, offsets, is_added, words int64[n]): words are counted from 0.

        Raises:
            EncodeTypeError: not a str, or not expressible in UTF-8.
        """
        return self._located(text, added, True, spans_are_words)

    cdef tuple _located(self, text, bint added, bint wants_words, bint spans_are_words):
        cdef Source source
        cdef Job job
        cdef Tally tally
        cdef int status
        cdef cnp.ndarray ids, offsets, is_added, words
        cdef uint32_t* id_data
        cdef int64_t* offset_data
        cdef uint8_t* added_data
        cdef int64_t* word_data
        cdef Cache* cache
        source_open(text, &source)
        cache = self.model.acquire_cache()
        job_init(&job)
        memset(&tally, 0, sizeof(Tally))
        try:
            with nogil:
                status = self._encode_with_alignment(cache, &source, added, &job, &tally)
            raise_status(status)
            ids = new_array(job.n_ids)
            offsets = np.empty((len(ids), 2), dtype=np.int64)
            is_added = np.zeros(len(ids), dtype=np.bool_)
            words = new_array(len(ids) if wants_words else 0, cnp.NPY_INT64)
            id_data = <uint32_t*>cnp.PyArray_DATA(ids)
            offset_data = <int64_t*>cnp.PyArray_DATA(offsets)
            added_data = <uint8_t*>cnp.PyArray_DATA(is_added)
            word_data = <int64_t*>cnp.PyArray_DATA(words) if wants_words else NULL
            with nogil:
                memcpy(id_data, job.ids, 4 * job.n_ids)
                status = locate(self.model.vocabulary, self.model.ignore_merges,
                                &self.model.merge_table.merges, &job, id_data, offset_data,
                                added_data, word_data, spans_are_words)
                if status == 0 and source.data != NULL:         # not ASCII
                    to_characters(source.bytes, offset_data, job.n_ids)
            raise_status(status)
            return (ids, offsets, is_added, words) if wants_words else (ids, offsets, is_added)
        finally:
            _dispose(&job, &source)
            self.model.release_cache(cache, &tally)

    cdef int _encode_with_alignment(self, Cache* cache, const Source* source, bint added,
                                    Job* job, Tally* tally) noexcept nogil:
        cdef int status = self.preparer.prepare(source.bytes, source.size, added, True,
                                                &job.prepared)
        if status == 0:
            status = self.encode_job(cache, NULL, job, 1, True, tally)
        return status


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


cdef void _dispose(Job* job, Source* source) noexcept:
    """Free what a text took; of a long one that is many pages."""
    if source.size < LONG_TEXT_BYTES:
        job_free(job)
        source_close(source)
    else:
        with nogil:
            job_free(job)
            source_close(source)


cdef cnp.ndarray new_array(size_t n, int dtype=cnp.NPY_UINT32):
    cdef cnp.npy_intp length = n
    return cnp.PyArray_EMPTY(1, &length, dtype, 0)


cdef cnp.ndarray _array_of(Job* job, size_t n):
    """An array that takes over the room of a job, whose first n are ids."""
    cdef cnp.npy_intp length = n
    cdef void* data = NULL
    cdef cnp.ndarray array
    if job.threads == 0 or job.room_ids < MANY_IDS:
        data = realloc(job.room, max(n, <size_t>1) * sizeof(uint32_t))
    if data == NULL:        # or it could not be cut
        data = job.room
    job.room = NULL
    owner = PyCapsule_New(data, NULL, _free_ids)
    array = cnp.PyArray_SimpleNewFromData(1, &length, cnp.NPY_UINT32, data)
    cnp.set_array_base(array, owner)
    return array


cdef void _free_ids(object owner) noexcept:
    free(PyCapsule_GetPointer(owner, NULL))
