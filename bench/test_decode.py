"""A million ids, equal shares of all texts, back to one ``str``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.library import Library
from bench.measure import Meter, digest_text

REPEATS = 7


def test_decode(meter: Meter, library: Library, reference: Path) -> None:
    ids = np.load(reference / "ids.npy")
    repeats = 3 if library.slow else REPEATS
    inputs = [library.decode_input(ids)] * repeats
    size = meter.expected("bytes", text="decode")
    expected = [meter.expected("text", text="decode")] * repeats
    meter(library.decode, inputs, size, expected, digest_text)
