"""A chat of typed segments to one array, new to a process that has served a small one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.chat import SIZES, WARM_UP, Material, Segment
from bench.library import Ids, Library
from bench.measure import Meter

SLOW_ROUNDS = 2


@pytest.fixture(scope="module", autouse=True)
def _warm(library: Library, material: Material) -> None:
    for segments in material.chats(WARM_UP):
        library.encode_segments(segments)


@pytest.mark.parametrize("size", [size.name for size in SIZES])
def test_chat(meter: Meter, library: Library, material: Material, size: str) -> None:
    measure(meter, library, material, library.encode_segments, "chat")


@pytest.mark.parametrize("size", [size.name for size in SIZES])
def test_uncut(meter: Meter, library: Library, material: Material, size: str) -> None:
    measure(meter, library, material, library.encode_uncut, "uncut")


def measure(
    meter: Meter,
    library: Library,
    material: Material,
    encode: Callable[[list[Segment]], Ids],
    use: str,
) -> None:
    position = [size.name for size in SIZES].index(meter.text)
    size, before = SIZES[position], SIZES[:position]
    chats = list(material.chats(size, WARM_UP, *before))
    if library.slow:
        del chats[SLOW_ROUNDS:]
    meter(encode, chats, size.chars, meter.expected(use)[: len(chats)])
