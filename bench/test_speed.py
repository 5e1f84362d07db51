"""One thread, one text: the first call of the process, texts that are new to it, repeated text."""

from __future__ import annotations

import pytest

from bench.library import Library
from bench.measure import Meter, utf8_bytes
from bench.texts import Pieces

REPEATS = 15


@pytest.fixture(scope="module")
def unseen(pieces: Pieces, library: Library) -> list[str]:
    return pieces.unseen[:1] if library.slow else pieces.unseen


def test_first(meter: Meter, library: Library, pieces: Pieces) -> None:
    meter(library.encode, [pieces.first], utf8_bytes([pieces.first]), [meter.expected("first")])


def test_unseen(meter: Meter, library: Library, unseen: list[str], pieces: Pieces) -> None:
    expected = meter.expected("unseen")[: len(unseen)]
    meter(library.encode, unseen, utf8_bytes(unseen), expected)


def test_repeated(meter: Meter, library: Library, unseen: list[str], pieces: Pieces) -> None:
    repeats = 2 if library.slow else REPEATS
    expected = meter.expected("unseen")[:1] * repeats
    meter(library.encode, unseen[:1] * repeats, utf8_bytes(unseen[:1]), expected)
