"""One library, one model, one text, in an order in which no test spoils the next one's caches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.libraries import Library
from bench.texts import Pieces

REPEATS = 15


@pytest.fixture(scope="module")
def loaded() -> dict[str, Library]:
    """Holds the library's tokenizer once ``test_load`` has made it."""
    return {}


def measure(benchmark: BenchmarkFixture, call: Any, inputs: list[Any]) -> None:
    """Time the call once for each of the inputs, and note their size in bytes of UTF-8."""
    sizes = [sum(map(len, map(str.encode, [x] if isinstance(x, str) else x))) for x in inputs]
    benchmark.extra_info["bytes"] = sum(sizes) / len(sizes)
    remaining = iter(inputs)
    benchmark.pedantic(call, setup=lambda: ((next(remaining),), {}), rounds=len(inputs))


def test_load(
    benchmark: BenchmarkFixture,
    loaded: dict[str, Library],
    library_class: type[Library],
    model: Path,
) -> None:
    def load() -> None:
        loaded["it"] = library_class(model)

    benchmark.pedantic(load, rounds=1)


def test_first(benchmark: BenchmarkFixture, loaded: dict[str, Library], pieces: Pieces) -> None:
    measure(benchmark, loaded["it"].encode, [pieces.first])


def test_unseen(benchmark: BenchmarkFixture, loaded: dict[str, Library], pieces: Pieces) -> None:
    measure(benchmark, loaded["it"].encode, pieces.unseen)


def test_batch(benchmark: BenchmarkFixture, loaded: dict[str, Library], pieces: Pieces) -> None:
    measure(benchmark, loaded["it"].encode_batch, pieces.batches)


def test_repeated(benchmark: BenchmarkFixture, loaded: dict[str, Library], pieces: Pieces) -> None:
    measure(benchmark, loaded["it"].encode, pieces.unseen[:1] * REPEATS)
