"""Ten thousand strings of 50 to 200 bytes, one by one and as a batch, to arrays and to lists.

New strings first, in a process that has seen other text, then the same ones again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pytest

from bench.library import Library
from bench.measure import Meter, digest
from bench.texts import SOME, Pieces

REPEATS = 5


@dataclass(frozen=True)
class Case:
    meter: Meter
    strings: list[str]
    use: str
    repeats: int

    def measure(
        self, call: Callable[[list[str]], Any], flat: Callable[[Any], Any], repeated: bool = True
    ) -> None:
        """Time the call on all strings; ``flat`` gives all ids of a result, one after the other."""
        repeats = self.repeats if repeated else 1
        size = sum(len(string.encode()) for string in self.strings)
        expected = [self.meter.expected(self.use)] * repeats
        inputs = [self.strings] * repeats
        self.meter(call, inputs, size, expected, lambda result: digest(flat(result)))


@pytest.fixture
def case(meter: Meter, library: Library, pieces: Pieces) -> Case:
    if library.slow:
        return Case(meter, pieces.short[:SOME], "short, some", 1)
    return Case(meter, pieces.short, "short", REPEATS)


def test_single_new(case: Case, library: Library, pieces: Pieces) -> None:
    library.encode(pieces.first)
    case.measure(each(library.encode), np.concatenate, repeated=False)


def test_single(case: Case, library: Library) -> None:
    case.measure(each(library.encode), np.concatenate)


def test_single_list(case: Case, library: Library) -> None:
    case.measure(each(library.encode_list), joined)


def test_batch_new(case: Case, library: Library, pieces: Pieces) -> None:
    library.encode_batch(pieces.first.splitlines())
    case.measure(library.encode_batch, library.flat, repeated=False)


def test_batch(case: Case, library: Library) -> None:
    case.measure(library.encode_batch, library.flat)


def test_batch_list(case: Case, library: Library) -> None:
    case.measure(library.encode_batch_list, joined)


def each(encode: Callable[[str], Any]) -> Callable[[list[str]], list[Any]]:
    return lambda strings: [encode(string) for string in strings]


def joined(lists: list[list[int]]) -> list[int]:
    return list(chain.from_iterable(lists))
