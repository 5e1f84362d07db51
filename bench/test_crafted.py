"""Texts that are hard on a tokenizer, each new to the process, beside the normal rate."""

from __future__ import annotations

import pytest

from bench.crafted import crafted_texts
from bench.library import Library
from bench.measure import Meter, utf8_bytes
from bench.texts import Pieces


def test_normal(meter: Meter, library: Library, pieces: Pieces) -> None:
    library.encode(pieces.first)
    unseen = pieces.unseen[:3]
    meter(library.encode, unseen, utf8_bytes(unseen), meter.expected("unseen")[: len(unseen)])


@pytest.mark.parametrize("shape", crafted_texts())
def test_crafted(meter: Meter, library: Library, shape: str) -> None:
    text = crafted_texts()[shape]
    expected = meter.expected(shape, text="crafted")
    meter(library.encode, [text], utf8_bytes([text]), [expected])
    meter.note("cache_bytes", library.cache_bytes())
