"""All requests of a conversation, one after the other, without and with a new cache of prefixes.

What the tokenizer itself remembers of words is in the same state for both: it has seen the whole
conversation, or, in the first pass of a process, nothing but the first request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bench.conversation import Conversation
from bench.library import Ids, Library
from bench.measure import Meter, digest

REPEATS = 5
WAYS = pytest.mark.parametrize("size", ["text", "segments"])

#: Encodes the requests.
Pass = Callable[[list[Any]], list[Ids]]


# Those with a cache come last: some libraries keep it from then on.


@WAYS
def test_alone(meter: Meter, library: Library, conversation: Conversation, size: str) -> None:
    measure(meter, conversation, without_cache(library, size), 1 if library.slow else REPEATS)


@WAYS
def test_cached(meter: Meter, library: Library, conversation: Conversation, size: str) -> None:
    measure(meter, conversation, with_cache(library, size), REPEATS)


@WAYS
def test_first_alone(meter: Meter, library: Library, conversation: Conversation, size: str) -> None:
    measure_first(meter, conversation, without_cache(library, size))


@WAYS
def test_first_cached(
    meter: Meter, library: Library, conversation: Conversation, size: str
) -> None:
    measure_first(meter, conversation, with_cache(library, size))


def without_cache(library: Library, way: str) -> Pass:
    encode = library.encode if way == "text" else library.encode_uncut
    return lambda requests: [encode(request) for request in requests]


def with_cache(library: Library, way: str) -> Pass:
    encode = library.encode_cached if way == "text" else library.encode_segments_cached

    def encode_all(requests: list[Any]) -> list[Ids]:
        cache = library.new_prefix_cache()
        return [encode(request, cache) for request in requests]

    return encode_all


def measure(meter: Meter, conversation: Conversation, encode: Pass, repeats: int) -> None:
    requests = conversation.ways[meter.text]
    encode(requests)
    time_passes(meter, encode, requests, repeats)


def measure_first(meter: Meter, conversation: Conversation, encode: Pass) -> None:
    requests = conversation.ways[meter.text]
    encode(requests[:1])
    time_passes(meter, encode, requests, 1)


def time_passes(meter: Meter, encode: Pass, requests: list[Any], repeats: int) -> None:
    size = sum(map(len, requests))
    expected = [meter.expected("requests")] * repeats
    meter(encode, [requests] * repeats, size, expected, lambda ids: digest(np.concatenate(ids)))
