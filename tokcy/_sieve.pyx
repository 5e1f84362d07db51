# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Filling a sieve: which three bytes pass it.

First bytes are dealt into eight buckets, a bit each, and each bucket has a set of second bytes and
one of third bytes. So what begins with one byte also passes with what stands behind the others of
its bucket: first bytes with few bytes behind them, as of the marks of Japanese, are best kept from
those with many, and from those behind which any byte may be third, as characters of two bytes.
"""

from collections.abc import Iterable

import numpy as np

from tokcy._pretok import SIMD as _simd

from libc.stdint cimport uint8_t
from libc.string cimport memset

cdef enum:
    TOLD_BY = 3             # bytes
    N_BUCKETS = 8
    CONTINUATIONS = 64      # bytes that may stand within a character of UTF-8


cdef int sieve_characters(Sieve* sieve, codes, str simd) except -1:
    """Let these characters pass, int [n] of code points; rather few others do."""
    text = "".join(map(chr, codes.tolist()))
    utf8 = np.frombuffer(text.encode("utf-8", "surrogatepass") + bytes(TOLD_BY), dtype=np.uint8)
    begins = np.flatnonzero((utf8[:-TOLD_BY] & 0xC0) != 0x80)
    sizes = np.diff(begins, append=len(utf8) - TOLD_BY)
    return fill(sieve, utf8[begins[:, None] + np.arange(TOLD_BY)], sizes, simd)


cdef int sieve_contents(Sieve* sieve, contents, str simd) except -1:
    """Let what begins with one of these contents pass, bytes that are not empty."""
    beginnings = sorted({content[:TOLD_BY] for content in contents})
    joined = b"".join([beginning.ljust(TOLD_BY, b"\0") for beginning in beginnings])
    sizes = np.array([len(beginning) for beginning in beginnings], dtype=np.int64)
    return fill(sieve, np.frombuffer(joined, dtype=np.uint8).reshape(-1, TOLD_BY), sizes, simd)


cdef int fill(Sieve* sieve, beginnings, sizes, str simd) except -1:
    """Let these pass, uint8 [n, 3]; what is behind the size of each, int [n], may be anything."""
    sieve.simd = tk_find_sieve(simd.encode())
    if sieve.simd == NULL:
        raise ValueError(f"no SIMD variant {simd!r} on this processor")
    first, second, third = beginnings.T
    seconds = np.zeros((256, 256), dtype=bool)      # [first byte, second byte]
    thirds = np.zeros((256, 256), dtype=bool)
    seconds[first, second] = True
    thirds[first, third] = True
    seconds[first[sizes < 2]] = True
    thirds[first[sizes < 3]] = True
    leads = np.flatnonzero(seconds.any(axis=1))
    buckets = deal(seconds[leads], thirds[leads])
    put_sets(&sieve.first, buckets @ np.eye(256, dtype=bool)[leads])
    put_sets(&sieve.second, buckets @ seconds[leads])
    put_sets(&sieve.third, buckets @ thirds[leads])
    return 0


cdef int put_sets(tk_byte_sets* sets, passing) except -1:
    """Bit i of a byte is passing[i, byte], bool [at most 8, 256]."""
    cdef size_t i
    memset(sets, 0, sizeof(tk_byte_sets))
    for i, of in enumerate(np.packbits(passing, axis=0, bitorder="little").ravel().tolist()):
        sets.of[i] = of
    tk_byte_sets_finish(sets)
    return 0


def deal(seconds, thirds):
    """Deal first bytes into buckets by what may stand behind each, bool [n, 256] twice.

    While there are more than eight buckets, those two are joined by which the fewest more second
    and third bytes will pass. That counts for each first byte that they are joined to, and twice if
    it asks for two bytes behind it. So weighed, 0.7% of the places in Japanese pass for NFC; where
    characters that pass are counted it is 5.8%, as texts use but few of those that begin alike.

    Returns: bool [buckets, n].
    """
    n = len(seconds)
    buckets = np.eye(n, dtype=bool)
    # Numbers, of which products count what two have in common.
    seconds, thirds = seconds.astype(np.float32), thirds.astype(np.float32)
    asking = (TOLD_BY - 1) - seconds.all(axis=1) - thirds.all(axis=1).astype(np.float32)
    passing = asking * breadth(seconds.sum(axis=1), thirds.sum(axis=1))
    apart = np.ones(n, dtype=bool)      # not joined to another

    def more(rows):
        """How many more pass when one of these is joined to each bucket, [rows, n]."""
        joined = breadth(count_either(seconds, rows), count_either(thirds, rows))
        growth = (asking[rows, None] + asking) * joined - passing[rows, None] - passing
        growth[:, ~apart] = np.inf
        growth[np.arange(len(rows)), rows] = np.inf
        return growth

    growth = more(np.arange(n))
    for _ in range(n - N_BUCKETS):
        i, j = divmod(int(growth.argmin()), n)
        buckets[i] |= buckets[j]
        for sets in (seconds, thirds):
            np.maximum(sets[i], sets[j], out=sets[i])
        asking[i] += asking[j]
        passing[i] = asking[i] * breadth(seconds[i].sum(), thirds[i].sum())
        apart[j] = False
        growth[j] = growth[:, j] = np.inf
        growth[i] = growth[:, i] = more(np.array([i]))
    return buckets[apart]


cdef object count_either(sets, rows):
    """How many bytes are in one of these rows or another, of all others, [rows, n]."""
    sizes = sets.sum(axis=1)
    return sizes[rows, None] + sizes - sets[rows] @ sets.T


cdef object breadth(n_seconds, n_thirds):
    """How many bytes pass behind the first; all thirds are no more than continuations."""
    return n_seconds + np.minimum(n_thirds, CONTINUATIONS)


def places(text: bytes, contents: Iterable[bytes], simd: str = _simd) -> list[int]:
    """Where one of the contents may begin in a text: the places that pass a sieve of them."""
    cdef Sieve sieve
    cdef tk_places known
    cdef const uint8_t* bytes_of_text = text
    cdef size_t at = 0, end = len(text)
    sieve_contents(&sieve, contents, simd)
    known.end = 0
    found = []
    while True:
        at = next_place(&sieve, bytes_of_text, at, end, &known)
        if at == end:
            return found
        found.append(at)
        at += 1
