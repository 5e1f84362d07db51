# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A job through the rooms, on one thread or over the cores.

The text becomes UTF-8 and is prepared (added tokens, normalization), its pieces are found, and the
pieces are encoded, unit by unit: a unit is some tens of kilobytes of consecutive spans.

Where several threads share a text, one leads and the others help (see _team). What of it only one
thread can do, the others have the time to wake up in, and to see to the memory.
"""

from cython.parallel cimport parallel, threadid
from libc.stdint cimport uint32_t
from libc.string cimport memset

from tokcy._bpe cimport Bpe, Tally, Unknown
from tokcy._cache cimport Cache
from tokcy._job cimport (
    BREAK,
    HUGE_PAGE,
    Ahead,
    Job,
    Unit,
    ahead_add,
    ahead_have,
    job_have_pages,
    job_open_slots,
    job_place,
    job_plan,
    job_reserve,
    job_take_slot,
)
from tokcy._platform cimport tk_store_release64
from tokcy._prepare cimport Preparer, Span, leave_tokens_out
from tokcy._pretok cimport PreTokenizer
from tokcy._scratch cimport Scratch
from tokcy._segments cimport Segments, segments_place, segments_reserve
from tokcy._source cimport (
    PART_CHARACTERS,
    SHORT_TEXT,
    Conversion,
    Source,
    conversion_close,
    conversion_open,
    convert_part,
    source_convert,
    source_most,
    source_reserve,
)
from tokcy._status cimport OUT_OF_MEMORY, check_signals, raise_status
from tokcy._team cimport (
    Share,
    Team,
    give_team_back,
    take_team,
    team_begin,
    team_cut,
    team_done,
    team_end,
    team_help,
    team_init,
    team_join,
    team_leave,
    team_run,
    team_take,
    team_wait,
)

from tokcy.threads import resolve_num_threads

cdef enum:
    SERIAL_UNIT_BYTES = 1 << 20     # a unit where one thread has it all
    BLOCK_BYTES = 4 << 20           # work per thread between two looks for signals
    LONG_TEXT_BYTES = 1 << 20       # to clear the pages of its memory takes milliseconds
    MOST_AHEAD = 64 << 20           # as what a text can be at most may be more than there is


cdef class JobEngine:
    """Preparer, pre-tokenizer and model of one tokenizer; immutable, shared by threads.

    Args:
        preparer, pretokenizer, model: the rooms that a text passes.
        unit_bytes: text that a thread takes at a time, where several share one.
        bytes_per_thread: text for which another thread pays.
    """

    def __cinit__(self, Preparer preparer, PreTokenizer pretokenizer, Bpe model, *_,
                  size_t unit_bytes=32 << 10, size_t bytes_per_thread=64 << 10):
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

    cdef int run(self, const Raw* raw, num_threads, Cache* cache, Job* job,
                 Tally* tally) except? -3:
        """Take a text through the rooms, the GIL released unless it is short; a status.

        That is 0 or NOT_UTF8; what others mean is raised.
        """
        cdef size_t size = raw.source.length if raw.source != NULL else raw.segments.length
        cdef int threads, status = 0
        if size < SHORT_TEXT:
            threads = self.threads_for(size, num_threads)
            status = self.encode_job(cache, raw, job, threads, True, tally)
        else:
            if size < 4 * self.bytes_per_thread:    # then its bytes tell how many threads pay
                with nogil:
                    status = convert(raw)
                size = raw.source.size if raw.source != NULL else raw.segments.size
            threads = self.threads_for(size, num_threads)
            if status == 0:
                with nogil:
                    status = self.encode_job(cache, raw, job, threads, True, tally)
        raise_status(status)
        return status

    cdef int threads_for(self, size_t size, num_threads) except -1:
        """Threads that pay for so many bytes; the setting is asked only where it can matter."""
        if size < 2 * self.bytes_per_thread:
            if num_threads is not None:
                resolve_num_threads(num_threads)        # a bad value is an error on any text
            return 1
        return min(<size_t>resolve_num_threads(num_threads), size // self.bytes_per_thread)

    cdef int encode_job(self, Cache* cache, const Raw* raw, Job* job, int threads,
                        bint interruptible, Tally* tally) noexcept nogil:
        """Prepare a text and encode it, on so many threads if no other call has several; a status.

        Args:
            raw: NULL if the text is prepared.
        """
        cdef int status
        cdef size_t u
        if take_team(threads):
            status = self._encode_together(cache, raw, job, threads, interruptible)
            give_team_back()
        else:
            status = self._prepare(raw, job)
            if status == 0:
                status = job_plan(job, SERIAL_UNIT_BYTES, NULL)
            if status == 0:
                status = self._encode_pieces(cache, job, NULL, BLOCK_BYTES // SERIAL_UNIT_BYTES,
                                             interruptible)
        for u in range(job.n_units):
            tally.pieces += job.units[u].tally.pieces
            tally.misses += job.units[u].tally.misses
        return status

    cdef int _prepare(self, const Raw* raw, Job* job) noexcept nogil:
        cdef int status
        cdef const Segments* segments
        if raw == NULL:
            return 0
        status = convert(raw)
        if status:
            return status
        if raw.source != NULL:
            return self.preparer.prepare(raw.source.bytes, raw.source.size, raw.added, False,
                                         &job.prepared)
        segments = raw.segments
        status = self.preparer.prepare_parts(segments.bytes, segments.size, segments.parts,
                                             segments.n_parts, False, &job.prepared)
        if raw.plain_only:
            leave_tokens_out(&job.prepared)
        return status

    cdef int _prepare_together(self, const Raw* raw, Job* job, Team* team) noexcept nogil:
        """Prepare, while others have the system clear the pages that will be written to."""
        cdef Ahead ahead
        cdef const Scratch* memory
        cdef size_t length, most
        cdef int status
        if raw == NULL:
            return 0
        ahead.n = 0
        if raw.segments != NULL:
            length, most = raw.segments.length, raw.segments.most
            status = segments_reserve(raw.segments)
            memory = &raw.segments.memory
        else:
            length, most = raw.source.length, source_most(raw.source)
            status = source_reserve(raw.source)
            memory = &raw.source.memory
        if status == 0 and length >= LONG_TEXT_BYTES and most <= MOST_AHEAD:
            status = job_reserve(job, most, self.unit_bytes)
        if status:
            return status
        # Not where this was used before: then 100,000 tokens took 8 ms in place of 2, in half of
        # the processes; presumably as pages that one core gives back come late to the other.
        if memory.is_new:
            ahead_add(&ahead, memory.data, HUGE_PAGE if memory.is_large else 0, length)
        if job.block.is_new:
            ahead_add(&ahead, job.block.data, 0, length // 4)
        if job.room_is_new:
            ahead_add(&ahead, job.room, 0, length // 2)
        # Of new large pages each thread would clear the one that both come to.
        if raw.source != NULL and not (memory.is_new and memory.is_large):
            status = convert_together(raw.source, team)
            if status:
                return status
        team_begin(team, ahead_have, &ahead, ahead.n)
        status = self._prepare(raw, job)
        team_cut(team)
        return status

    cdef int _encode_together(self, Cache* cache, const Raw* raw, Job* job, int threads,
                              bint interruptible) noexcept nogil:
        """Prepare and encode on several threads: this one leads, and the others help.

        They wake while the text is prepared. A block without a loop, as behind each loop everybody
        would wait for everybody.
        """
        cdef Team team
        job.threads = threads
        team_init(&team)
        with parallel(num_threads=threads):
            if threadid() == 0:
                team.status = self._lead(cache, raw, job, &team, threads, interruptible)
                team_end(&team)
            else:
                self._help(cache, job, &team)
        return team.status

    cdef int _lead(self, Cache* cache, const Raw* raw, Job* job, Team* team, int threads,
                   bint interruptible) noexcept nogil:
        cdef Py_ssize_t block = threads * (BLOCK_BYTES // self.unit_bytes + 1)
        cdef int status = self._prepare_together(raw, job, team)
        if status == 0:
            status = job_plan(job, self.unit_bytes, team)
        if status == 0:
            status = job_open_slots(job, min(<size_t>block, job.n_units),
                                    self.unit_bytes)
        if status == 0:
            status = self._encode_pieces(cache, job, team, block, interruptible)
        return status

    cdef void _help(self, Cache* cache, Job* job, Team* team) noexcept nogil:
        cdef Share share
        team_join(team)
        while team_help(team, &share):
            if share.body != NULL:
                share.body(share.context, share.i)
            else:
                self._encode_apart(cache, job, <Unit*>share.context + share.i)
            team_done(team)
        team_leave(team)

    cdef int _encode_pieces(self, Cache* cache, Job* job, Team* team, Py_ssize_t block,
                            bint interruptible) noexcept nogil:
        """Find the pieces of a job and encode its units, a block between two looks for signals."""
        cdef Py_ssize_t first = 0, last, n = job.n_units, u
        cdef int status = self._find_pieces(job, team)
        while first < n and status == 0:
            last = min(first + block, n)
            if team != NULL:
                self._share_units(cache, job, team, job.units + first, last - first)
            else:
                for u in range(first, last):
                    job_have_pages(job, job.units + u)
                    self._encode_unit(cache, job, job.units + u, job.ids + job.n_ids)
                    job.n_ids += job.units[u].n_ids
            for u in range(first, last):
                if job.units[u].status:
                    status = job.units[u].status
            first = last
            if interruptible and first < n and status == 0:
                status = check_signals()
        return status

    cdef int _find_pieces(self, Job* job, Team* team) noexcept nogil:
        job.text.bytes = job.prepared.text
        job.text.size = job.prepared.size
        job.text.starts = job.starts
        job.text.skips = job.skips if self.drops else NULL
        if job.prepared.size == 0:
            return 0
        return self.pretokenizer.find_pieces(job.prepared.text, job.prepared.size, job.starts,
                                             job.skips, team, 0)

    cdef void _share_units(self, Cache* cache, Job* job, Team* team, Unit* units,
                           size_t n) noexcept nogil:
        cdef Share share
        team_begin(team, NULL, units, n)
        while team_take(team, &share):
            self._encode_apart(cache, job, units + share.i)
            team_done(team)
        team_wait(team)
        job_place(job)

    cdef void _encode_apart(self, Cache* cache, Job* job, Unit* unit) noexcept nogil:
        """Encode a unit while other threads encode others."""
        unit.slot = job_take_slot(job, unit)
        if unit.slot == NULL:
            unit.status = OUT_OF_MEMORY
        else:
            self._encode_unit(cache, job, unit, unit.slot.ids)
        tk_store_release64(&unit.done, 1)
        job_place(job)

    cdef void _encode_unit(self, Cache* cache, const Job* job, Unit* unit,
                           uint32_t* out) noexcept nogil:
        cdef const Span* span
        cdef size_t s, begin, end, n = 0
        cdef Unknown unknown        # for all spans: between added tokens few come together
        cdef Tally tally            # not yet the unit's: the next one's thread writes beside it
        unknown.n = unknown.n_holes = 0
        memset(&tally, 0, sizeof(Tally))
        for s in range(unit.first_span, unit.end_span):
            span = job.prepared.spans + s
            if span.token >= 0:
                out[n] = <uint32_t>span.token
                n += span.token != BREAK
                continue
            begin = unit.begin if s == unit.first_span else span.begin
            end = unit.end if s + 1 == unit.end_span else span.end
            unit.status = self.model.encode_pieces(cache, &job.text, begin, end, span.end,
                                                   out, &n, &unknown, &tally)
            if unit.status:
                return
        unit.n_ids = self.model.merge_unknown(cache, &unknown, out, n, &tally)
        unit.tally = tally


cdef int convert_together(Source* source, Team* team) noexcept nogil:
    """Make UTF-8 of a long string that is not yet, with who helps; a status."""
    cdef Conversion conversion
    if source.bytes != NULL or source.length < 2 * PART_CHARACTERS:
        return 0
    if conversion_open(source, &conversion):
        return OUT_OF_MEMORY
    team_run(team, convert_part, &conversion, conversion.n_parts)
    return conversion_close(&conversion)


cdef int convert(const Raw* raw) noexcept nogil:
    """Make UTF-8 of what is not yet; a status."""
    return source_convert(raw.source) if raw.source != NULL else segments_place(raw.segments)
