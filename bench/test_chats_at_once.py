"""New chats of 10,000 tokens that come at once, each in a Python thread: until all have ids."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from bench.chat import AT_ONCE, WARM_UP, Material
from bench.library import Ids, Library
from bench.measure import Meter, digest


@pytest.mark.parametrize("size", [size.name for size in AT_ONCE])
def test_chat(meter: Meter, library: Library, material: Material, size: str) -> None:
    position = [one.name for one in AT_ONCE].index(size)
    chats = list(material.chats(AT_ONCE[position], WARM_UP, *AT_ONCE[:position]))
    together = int(size)
    if library.slow:
        del chats[together:]
    starts = range(0, len(chats), together)
    expected = meter.expected("chat")
    with ThreadPoolExecutor(together) as pool:
        # So that the threads are there.
        list(pool.map(library.encode_segments, list(material.chats(WARM_UP)) * together))
        meter(
            lambda some: list(pool.map(library.encode_segments, some)),
            [chats[start : start + together] for start in starts],
            AT_ONCE[position].chars * together,
            ["".join(expected[start : start + together]) for start in starts],
            digests,
        )


def digests(chats: list[Ids]) -> str:
    return "".join(map(digest, chats))
