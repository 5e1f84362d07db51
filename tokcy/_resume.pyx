# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Encoding that goes on where a stored text ends: what stands between the engine and the store.

The text becomes a stream (see _prefix). The store tells how many of its bytes are known, and which
cuts are among them. The engine's own search for added tokens goes on from the last of these that
certainly holds; each cut behind it that the search arrives at again in the same state holds, too.
The sections from the last of them on are what is left to encode. Some of the places behind their
tokens, and behind their parts, become new cuts: a span that ends a unit is put there (`BREAK`), so
that the units tell how many ids stand before it.

What a cut is good for decides which are kept: the last few, as there the text will go on, and
elsewhere one for some kilobytes, as there other texts may branch off, and so many bytes are encoded
faster than one could tell.
"""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memset

from tokcy._added cimport Part, Span, SpanList, spans_push
from tokcy._idbuffer cimport buffer_release, view_of
from tokcy._job cimport BREAK, Job
from tokcy._nodes cimport (
    Cut,
    Found,
    buffer_for,
    copy_ids,
    cut_at,
    n_characters,
    rest_of,
    stored_end,
)
from tokcy._prefix cimport KEY_BYTES, PrefixStore, PrefixView
from tokcy._prepare cimport Prepared, Preparer, prepared_init, release
from tokcy._runs cimport Run
from tokcy._segments cimport MAY_BE_CUT, Segments, listed, segments_close, segments_open
from tokcy._source cimport ascii_bytes, utf8_size, wide_open, wide_unit
from tokcy._status cimport OUT_OF_MEMORY, raise_status

import numpy as np

cdef enum:
    CHARACTER = 8           # bytes of a character and of what may stand between it and a cut
    LAST_CUTS = 4           # that are kept however near to each other

cdef enum Mark:             # before a run; none is a byte of UTF-8
    KEY = 0xFF
    TRUSTED = 0xFE          # a part begins
    PLAIN = 0xFD
    TRUSTED_ON = 0xFC       # it goes on
    PLAIN_ON = 0xFB

# In place of Cut.back: a part ends here.
cdef size_t PART_END = <size_t>-1


cdef void resume_begin(PrefixStore store, Preparer preparer, const uint8_t* key,
                       Resume* resume) noexcept nogil:
    """Begin to look a text up; `resume_open` or `resume_open_wide` is to follow.

    Whatever comes of these, `resume_close` is to follow, too.
    """
    cdef Run run
    memset(resume, 0, sizeof(Resume))
    resume.apart = store.apart
    resume.reach = CHARACTER
    if preparer.raw_tokens is not None:
        resume.reach += preparer.raw_tokens.longest
    resume.key = key
    resume.stream.size = 1 + KEY_BYTES
    store.begin(&resume.found)
    key_run(key, &run)
    store.follow_run(&run, &resume.found, False)


cdef int resume_open(PrefixStore store, const uint8_t* raw, const Part* parts, size_t n_parts,
                     Resume* resume) noexcept nogil:
    """Look up what is there of the text; a status.

    Args:
        parts: of the text, each with a byte at least; all is to stay alive.
    """
    cdef size_t i, n = 0
    for i in range(n_parts):
        n += 2 * parts[i].n_trusted + 1
    if not have_runs(n, resume):
        return OUT_OF_MEMORY
    resume.raw = raw
    resume.parts = parts
    resume.n_parts = n_parts
    for i in range(n_parts):
        add_part(resume, i)
    return look_up(store, resume)


cdef int resume_open_wide(PrefixStore store, Wide* wide, bint trusted,
                          Resume* resume) noexcept nogil:
    """Do so with a string of which no more is converted than is compared; a status.

    `resume_settle` is to follow, with the bytes that `resume_needs` tells.
    """
    if not have_runs(1, resume):
        return OUT_OF_MEMORY
    add_run(resume, 0, 0, 0, 0, trusted)
    resume.places[1].last = True
    resume.stream.runs[1].wide = wide
    return look_up(store, resume)


cdef void resume_needs(const Resume* resume, size_t* first, size_t* begin) noexcept nogil:
    """How many characters of the string will not be looked at, and their bytes.

    What is looked at begins with the one before that where it goes on.
    """
    cdef const Run* run = resume.stream.runs + 1
    cdef uint8_t unit[4]
    first[0] = begin[0] = 0
    if resume.at:
        first[0] = run.wide.n - 1 - n_characters(&resume.found, run.begin + resume.at,
                                                 run.begin + run.wide.at)
        begin[0] = resume.at - wide_unit(run.wide, first[0], unit)


cdef void resume_settle(Resume* resume, const uint8_t* raw, const Part* part) noexcept nogil:
    """Tell where the string is, and how long; `part` is all of it, and to stay alive."""
    cdef Run* run = resume.stream.runs + 1
    if resume.stream.n_runs < 2:        # without memory
        return
    resume.raw = run.bytes = raw
    resume.parts = part
    resume.n_parts = 1
    run.size = part.end
    resume.stream.size = run.begin + run.size


cdef bint have_runs(size_t n, Resume* resume) noexcept nogil:
    """Have room for n runs behind the key; False without memory."""
    resume.stream.runs = <Run*>calloc(n + 1, sizeof(Run))
    resume.places = <Place*>calloc(n + 1, sizeof(Place))
    if resume.stream.runs == NULL or resume.places == NULL:
        return False
    key_run(resume.key, resume.stream.runs)
    resume.stream.n_runs = 1
    return True


cdef inline void key_run(const uint8_t* key, Run* run) noexcept nogil:
    run[0] = Run(key, KEY_BYTES, 1, KEY, NULL)


cdef int look_up(PrefixStore store, Resume* resume) noexcept nogil:
    """Find out how much is known, and where to go on; a status."""
    store.follow_stream(&resume.stream, &resume.found, False)
    if resume.found.status == 0 and last_cut(resume, &resume.base):
        go_on_from(resume)
    return resume.found.status


cdef bint last_cut(const Resume* resume, Cut* cut) noexcept nogil:
    """Find the last cut that certainly holds; whether there is one."""
    return resume.found.common > resume.reach and cut_at(
        &resume.found, resume.found.common - resume.reach, cut)


cdef void add_part(Resume* resume, size_t part) noexcept nogil:
    """Append the runs of a part to the stream."""
    cdef const Part* now = resume.parts + part
    cdef size_t i, at = now.begin
    for i in range(now.n_trusted):
        if at < now.trusted[i].begin:
            add_run(resume, part, now.begin, at, now.trusted[i].begin, False)
        add_run(resume, part, now.begin, now.trusted[i].begin, now.trusted[i].end, True)
        at = now.trusted[i].end
    if at < now.end:
        add_run(resume, part, now.begin, at, now.end, False)
    resume.places[resume.stream.n_runs - 1].last = True


cdef void add_run(Resume* resume, size_t part, size_t part_begin, size_t begin, size_t end,
                  bint trusted) noexcept nogil:
    cdef Run* run = resume.stream.runs + resume.stream.n_runs
    cdef Place* place = resume.places + resume.stream.n_runs
    place.begin = begin
    place.part = part
    run.bytes = resume.raw + begin
    run.size = end - begin
    run.begin = resume.stream.size + 1
    if begin == part_begin:
        run.mark = TRUSTED if trusted else PLAIN
    else:
        run.mark = TRUSTED_ON if trusted else PLAIN_ON
    resume.stream.size = run.begin + run.size
    resume.stream.n_runs += 1


cdef size_t run_of(const Resume* resume, size_t at) noexcept nogil:
    """The run that has the byte before a place of the stream."""
    cdef size_t low = 0, high = resume.stream.n_runs, middle
    while high - low > 1:
        middle = (low + high) // 2
        if resume.stream.runs[middle].begin < at:
            low = middle
        else:
            high = middle
    return low


cdef void go_on_from(Resume* resume) noexcept nogil:
    """Set where in the text `base` is."""
    cdef size_t run = run_of(resume, resume.base.at)
    resume.part = resume.places[run].part
    resume.done = resume.at = (resume.places[run].begin
                               + resume.base.at - resume.stream.runs[run].begin)
    if resume.base.back == PART_END:
        resume.part += 1
    else:
        resume.at -= resume.base.back


cdef int resume_sections(Resume* resume, Preparer preparer, Prepared* out) noexcept nogil:
    """Find the sections that are left to encode, with breaks at the new cuts; a status."""
    cdef size_t limit = resume.found.common, first = 0, least = resume.base.at
    cdef Cut cut
    cdef int status = preparer.find_sections_from(
        resume.raw, resume.parts + resume.part, resume.n_parts - resume.part,
        resume.at, resume.done, out)
    while status == 0 and limit > least and cut_at(&resume.found, limit, &cut):
        if cut.at <= least:
            break
        if holds(resume, &out.sections, &cut, &first):
            resume.base = cut
            go_on_from(resume)
            break
        limit = cut.at - 1
    return choose_cuts(resume, &out.sections, first) if status == 0 else status


cdef bint holds(const Resume* resume, const SpanList* sections, const Cut* cut,
                size_t* first) noexcept nogil:
    """Whether the search has come to a cut, too; then also the first section behind it."""
    cdef size_t run = run_of(resume, cut.at), i
    cdef size_t end = resume.places[run].begin + cut.at - resume.stream.runs[run].begin
    cdef const Span* section
    cdef bint found = False
    if cut.back == PART_END and (not resume.places[run].last
                                 or end < resume.parts[resume.places[run].part].end):
        return False
    for i in range(sections.size):
        section = sections.data + i
        if section.begin >= end:
            break
        if cut.back == PART_END or (section.token >= 0 and section.end == end
                                    and section.back == cut.back):
            first[0] = i + 1
            found = True
    return found


cdef int choose_cuts(Resume* resume, SpanList* sections, size_t first) noexcept nogil:
    """Leave out the sections before `first`, and put breaks among the others; a status."""
    cdef size_t n = 0, i, end, last = resume.base.at, run = 1, part = resume.part
    cdef size_t n_sections = sections.size
    cdef SpanList chosen
    cdef Span* section
    cdef Cut* cut
    memset(&chosen, 0, sizeof(SpanList))
    resume.cuts = <Cut*>calloc(n_sections - first + 1, sizeof(Cut))
    if resume.cuts == NULL:
        return OUT_OF_MEMORY
    for i in range(first, n_sections):
        n += may_cut(resume, sections, i, &part) != 0
    part = resume.part
    for i in range(first, n_sections):
        section = sections.data + i
        if spans_push(&chosen, section.begin, section.end, section.token) < 0:
            free(chosen.data)
            return OUT_OF_MEMORY
        end = may_cut(resume, sections, i, &part)
        if end == 0:
            continue
        n -= 1
        while resume.places[run].begin + resume.stream.runs[run].size < end:
            run += 1
        cut = resume.cuts + resume.n_cuts
        cut.at = resume.stream.runs[run].begin + end - resume.places[run].begin
        if n >= LAST_CUTS and cut.at - last < resume.apart:
            continue
        cut.back = PART_END if end == resume.parts[part].end else section.back
        resume.n_cuts += 1
        last = cut.at
        if spans_push(&chosen, end, end, BREAK) < 0:
            free(chosen.data)
            return OUT_OF_MEMORY
    free(sections.data)
    sections[0] = chosen
    return 0


cdef size_t may_cut(const Resume* resume, const SpanList* sections, size_t i,
                    size_t* part) noexcept nogil:
    """Where behind a section a cut may be, or 0; `part` goes on to that of the section."""
    cdef const Span* section = sections.data + i
    cdef const Span* following = section + 1
    while resume.parts[part[0]].end <= section.begin:
        part[0] += 1
    if i + 1 == sections.size or following.begin >= resume.parts[part[0]].end:
        return resume.parts[part[0]].end
    # Where the next token is found in the spaces of this one, its text is not all behind.
    return section.end if section.token >= 0 and following.begin >= section.end else 0


cdef void resume_shift(const Resume* resume, Prepared* prepared) noexcept nogil:
    """Leave what stands before out of the prepared text, unless that is one of its own."""
    cdef Span* spans = <Span*>prepared.spans
    cdef size_t i
    if prepared.owned != NULL or resume.at == 0:
        return
    prepared.text += resume.at
    prepared.size -= resume.at
    for i in range(prepared.n_spans):
        spans[i].begin -= resume.at
        spans[i].end -= resume.at


cdef void resume_count(Resume* resume, const Job* job) noexcept nogil:
    """Write how many ids stand before each new cut."""
    cdef size_t u, n = 0, n_ids = resume.base.n_ids
    for u in range(job.n_units if resume.n_cuts else 0):
        n_ids += job.units[u].n_ids
        if job.prepared.spans[job.units[u].end_span - 1].token == BREAK:
            resume.cuts[n].n_ids = n_ids
            n += 1


cdef void resume_keep(PrefixStore store, Resume* resume, const uint32_t* ids, size_t n_ids,
                      const uint32_t* front, size_t n_front) noexcept nogil:
    """Put the ids behind `base` where those before it are, if the text is to be stored.

    Args:
        front: ids of the post-processor, which `resume.buffer` has before all of the text.
    """
    cdef size_t end = stored_end(&resume.stream, resume.cuts, resume.n_cuts, resume.reach)
    cdef bint stored = store.gains(&resume.found, &resume.base, resume.n_cuts, end)
    resume.buffer = buffer_for(store.max_bytes, store.views, &resume.found, &resume.base, ids,
                               n_ids, stored, front, n_front)
    resume.stored = stored and (resume.buffer != NULL or n_ids == 0)


cdef void resume_copy(const Resume* resume, uint32_t* out) noexcept nogil:
    """Copy the ids before `base`."""
    copy_ids(&resume.found, 0, &resume.base, out)


cdef void resume_close(PrefixStore store, Resume* resume) noexcept nogil:
    """Store the text, if `resume_keep` came to that and there is memory; free all."""
    store.finish(&resume.stream, &resume.found, &resume.base, resume.cuts,
                 resume.n_cuts if resume.stored else 0, resume.buffer, resume.reach)
    buffer_release(resume.buffer)
    free(resume.stream.runs)
    free(resume.places)
    free(resume.cuts)


# ------------------------------------------------------------------------- segments

cdef size_t resume_skip(PrefixStore store, list items, bint chunked, Resume* resume):
    """Look up segments where they are; how many of the first need not be placed.

    What follows is to be placed and looked up by `resume_open`. One that is known takes 30 ns,
    where 60 more were taken to place it and make it a run (16,654 of them that were just made).

    The GIL is kept, so that the list stays as it is. So nothing is waited for: whatever is not
    plain, or would take waiting, ends it.

    Args:
        items: of which each is a text by itself.
        chunked: long ones are cut up.
    """
    cdef Found* found = &resume.found
    cdef Py_ssize_t n = 0
    cdef Wide wide
    cdef Run run
    cdef Cut cut
    run.begin = resume.stream.size + 1
    while n < len(items) and segment_run(items[n], chunked, &run, &wide):
        if run.size or run.wide != NULL:
            if not (run_is_next(&run, found) or follow_segment(store, &run, found)):
                break
            run.begin = found.common + 1
        n += 1
    if not last_cut(resume, &cut):
        return 0
    # The text goes on from the segment that has the byte before the cut.
    while n and cut.at <= run.begin:
        n -= 1
        run.begin -= segment_size(items[n])
    if n:
        resume.stream.first = resume.stream.size = run.begin - 1
    return n


cdef inline bint segment_run(object item, bint chunked, Run* run, Wide* wide):
    """Make a run of a segment, or leave that to others; an empty one has no bytes."""
    cdef object text
    if type(item) is not tuple or len(<tuple>item) != 2:
        return False
    text = (<tuple>item)[0]
    if not isinstance(text, str) or type((<tuple>item)[1]) is not bool:
        return False
    if chunked and <size_t>len(<str>text) > MAY_BE_CUT:
        return False
    run.mark = TRUSTED if (<tuple>item)[1] is True else PLAIN
    run.bytes = ascii_bytes(text, &run.size)
    run.wide = NULL
    if run.bytes == NULL:
        wide_open(text, wide)
        run.wide = wide
    return True


cdef inline size_t segment_size(tuple item):
    """Bytes of the stream that it takes."""
    cdef size_t size = utf8_size(item[0])
    return 1 + size if size else 0


cdef inline bint run_is_next(const Run* run, Found* found) noexcept nogil:
    """Go on by a run that is wholly in the node that was reached, and there; else do nothing."""
    cdef size_t left = 0
    cdef const uint8_t* stored = rest_of(found, &left)
    if (run.wide != NULL or run.size >= left or stored[0] != run.mark
            or memcmp(stored + 1, run.bytes, run.size) != 0):
        return False
    found.common += 1 + run.size
    return True


cdef bint follow_segment(PrefixStore store, const Run* run, Found* found) noexcept nogil:
    """Go on by a run; whether all of it is known. The lock is for those that may leave the node."""
    cdef size_t left = 0, most = run.size if run.wide == NULL else 4 * run.wide.length
    cdef bint there
    rest_of(found, &left)
    if 1 + most <= left:
        return store.follow_run(run, found, True)
    if not store.try_lock():
        return False
    there = store.follow_run(run, found, True)
    store.unlock()
    return there


cdef int resume_open_segments(PrefixView known, Preparer preparer, object segments, bint joined,
                              bint chunked, Segments* opened, Resume* resume) except? -3:
    """Look segments up, and place those that are to be looked at; a status.

    Both are to be closed, unless something is raised.

    Args, Raises: as `segments_look`, `segments_open`.
    """
    cdef PrefixStore store = known.store
    cdef const uint8_t* key = known.key
    cdef list items = segments if type(segments) is list else listed(segments)
    cdef size_t first = 0
    with nogil:
        resume_begin(store, preparer, key, resume)
    try:
        if not joined:
            first = resume_skip(store, items, chunked, resume)
        segments_open(items[first:], first, joined, chunked, opened)
    except BaseException:
        with nogil:
            resume_close(store, resume)
        raise
    with nogil:
        return resume_open(store, opened.bytes, opened.parts, opened.n_parts, resume)


# ------------------------------------------------------- for others than the engine

def encode_in_pieces(PrefixView known, Preparer preparer, list sections, encode):
    """Encode texts in a row piece by piece, from cut to cut, but for what is known.

    Args:
        known: where they are looked up and stored.
        preparer: finds the added tokens of those that are trusted. What follows one must encode
            as it does by itself.
        sections: (text, trusted) pairs; each is encoded by itself.
        encode: a list of sections, or of parts of them → a uint32 array for each.

    Returns:
        uint32[n].

    Raises:
        EncodeTypeError: not a str, or not expressible in UTF-8.
    """
    cdef Segments opened
    cdef Resume resume
    cdef Prepared prepared
    cdef int status
    cdef PrefixStore store = known.store
    cdef uint32_t[::1] new_ids, all_ids
    cdef size_t n_ids, n_known
    cdef list pieces = [], ends = []
    status = resume_open_segments(known, preparer, sections, False, False, &opened, &resume)
    prepared_init(&prepared)
    with nogil:
        if status == 0:
            status = resume_sections(&resume, preparer, &prepared)
    try:
        raise_status(OUT_OF_MEMORY if status else 0)
        _find_pieces(&resume, &prepared, pieces, ends)
        rows = encode(pieces) if pieces else []
        new_ids = np.concatenate(rows) if rows else np.empty(0, dtype=np.uint32)
        n_ids, n_known = len(new_ids), resume.base.n_ids
        if len(ends) == <Py_ssize_t>resume.n_cuts and ends and ends[len(ends) - 1] == len(pieces):
            _set_counts(&resume, rows, ends)
            resume_keep(store, &resume, &new_ids[0] if n_ids else NULL, n_ids, NULL, 0)
        known.count(n_known, n_ids)
        if store.views and resume.buffer != NULL and resume.buffer.begin == 0:
            return view_of(resume.buffer, 0, n_known + n_ids)
        ids = np.empty(n_known + n_ids, dtype=np.uint32)
        all_ids = ids
        if n_known:
            resume_copy(&resume, &all_ids[0])
        all_ids[n_known:] = new_ids
        return ids
    finally:
        with nogil:
            resume_close(store, &resume)
            release(&prepared)
            segments_close(&opened)


cdef int _find_pieces(const Resume* resume, const Prepared* prepared, list pieces,
                      list ends) except -1:
    """Append what is to be encoded, and for each new cut how many pieces stand before."""
    cdef const SpanList* sections = &prepared.sections
    cdef size_t part = resume.part, at = resume.done, i
    for i in range(sections.size):
        if sections.data[i].token == BREAK:
            _add_pieces(resume, &part, &at, sections.data[i].end, pieces)
            ends.append(len(pieces))
    _add_pieces(resume, &part, &at, resume_size(resume), pieces)
    return 0


cdef int _add_pieces(const Resume* resume, size_t* part, size_t* at, size_t end,
                     list pieces) except -1:
    cdef const Part* now
    cdef size_t stop
    while at[0] < end:
        now = resume.parts + part[0]
        stop = min(end, now.end)
        if at[0] < stop:
            pieces.append((resume.raw[at[0]:stop].decode(), now.n_trusted > 0))
            at[0] = stop
        if stop == now.end:
            part[0] += 1
    return 0


cdef int _set_counts(Resume* resume, list rows, list ends) except -1:
    cdef size_t i, k = 0, n_ids = resume.base.n_ids
    for i in range(resume.n_cuts):
        while k < <size_t>ends[i]:
            n_ids += len(rows[k])
            k += 1
        resume.cuts[i].n_ids = n_ids
    return 0
