"""All requests of a conversation, one after the other, without and with a new cache of prefixes.

What the tokenizer itself remembers of words is in the same state for both: it has seen the whole
conversation, or, in the first pass of a process, nothing but the first request.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from bench.conversation import Arriving, Conversation
from bench.library import Ids, Library
from bench.measure import Meter

REPEATS = 5
WAYS = pytest.mark.parametrize("size", ["text", "segments"])

Encode = Callable[[Any], Ids]


# Those with a cache come last: some libraries keep it from then on.


@WAYS
def test_alone(meter: Meter, library: Library, conversation: Conversation, size: str) -> None:
    encode = without_cache(library, size)
    measure(meter, encode, conversation.ways[size], 1 if library.slow else REPEATS)


@WAYS
def test_cached(meter: Meter, library: Library, conversation: Conversation, size: str) -> None:
    requests = conversation.ways[size]
    measure(meter, with_cache(library, size, len(requests)), requests, REPEATS)


@WAYS
def test_first_alone(meter: Meter, library: Library, conversation: Conversation, size: str) -> None:
    measure_first(meter, without_cache(library, size), conversation.ways[size])


@WAYS
def test_first_cached(
    meter: Meter, library: Library, conversation: Conversation, size: str
) -> None:
    requests = conversation.ways[size]
    measure_first(meter, with_cache(library, size, len(requests)), requests)


def without_cache(library: Library, way: str) -> Encode:
    return library.encode if way == "text" else library.encode_uncut


def with_cache(library: Library, way: str, n: int) -> Encode:
    """The cache is empty again before the first of n requests."""
    encode = library.encode_cached if way == "text" else library.encode_segments_cached
    calls = itertools.count()
    cache: Any = None

    def encode_next(request: Any) -> Ids:
        nonlocal cache
        if next(calls) % n == 0:
            cache = library.new_prefix_cache()
        return encode(request, cache)

    return encode_next


def measure(meter: Meter, encode: Encode, requests: list[Any], repeats: int) -> None:
    for request in requests:
        encode(request)
    time_passes(meter, encode, requests, repeats)


def measure_first(meter: Meter, encode: Encode, requests: list[Any]) -> None:
    """Only of the first request are the words known. Behind n calls the cache is empty again."""
    for request in requests[:1] * len(requests):
        encode(request)
    time_passes(meter, encode, requests, 1)


def time_passes(meter: Meter, encode: Encode, requests: list[Any], repeats: int) -> None:
    expected = meter.expected("requests") * repeats
    meter(encode, Arriving(requests * repeats), 0, expected)
    meter.note("together", len(requests))
