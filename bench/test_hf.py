"""Through `transformers`: as it is, and with the methods of tokenizers replaced by a library's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from bench.library import Library
from bench.measure import Meter, digest
from bench.texts import Pieces

REPEATS = 15


@pytest.fixture(scope="session")
def tokenizer(library_class: type[Library], model: Path) -> Any:
    return library_class.in_transformers(model)


def test_batch(meter: Meter, tokenizer: Any, pieces: Pieces) -> None:
    measure(meter, "batch", pieces, lambda batch: lists_of(tokenizer, batch), tokenizer)


def test_long(meter: Meter, tokenizer: Any, pieces: Pieces) -> None:
    measure(meter, "long", pieces, lambda batch: [list_of(tokenizer, batch[0])], tokenizer)


def test_tiny(meter: Meter, tokenizer: Any, pieces: Pieces) -> None:
    def encode(batch: list[str]) -> list[list[int]]:
        return [list_of(tokenizer, text) for text in batch]

    measure(meter, "tiny", pieces, encode, tokenizer, REPEATS)


def lists_of(tokenizer: Any, batch: list[str]) -> list[list[int]]:
    ids: list[list[int]] = tokenizer(batch, add_special_tokens=False)["input_ids"]
    return ids


def list_of(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def measure(
    meter: Meter,
    use: str,
    pieces: Pieces,
    encode: Callable[[list[str]], list[list[int]]],
    tokenizer: Any,
    repeats: int = 1,
) -> None:
    """Time all batches of a use, in a process that has seen other text."""
    lists_of(tokenizer, [pieces.first])
    batches = pieces.for_transformers()[use] * repeats
    expected = meter.expected(use) * repeats
    meter(encode, batches, 0, expected, lambda lists: digest(list(chain.from_iterable(lists))))
