"""A prompt of 1 MB and one of 4 MB, both new to a process that has served a short one."""

from __future__ import annotations

import pytest

from bench.library import Library
from bench.measure import Meter, utf8_bytes
from bench.texts import Pieces


@pytest.fixture(scope="module", autouse=True)
def _warm(library: Library, pieces: Pieces) -> None:
    library.encode(pieces.first)


def test_1mb(meter: Meter, library: Library, pieces: Pieces) -> None:
    measure(meter, library, pieces, 0)


def test_4mb(meter: Meter, library: Library, pieces: Pieces) -> None:
    measure(meter, library, pieces, 1)


def measure(meter: Meter, library: Library, pieces: Pieces, number: int) -> None:
    if number >= len(pieces.prompts):
        pytest.skip("the text is too short")
    prompts = pieces.prompts[number : number + 1]
    meter(library.encode, prompts, utf8_bytes(prompts), [meter.expected("prompts")[number]])
