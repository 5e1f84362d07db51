"""Before anything is timed: the library gives the reference's ids, for every piece.

This runs in a process of its own, because it fills the caches that the timing must find empty.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from bench.libraries import Library
from bench.texts import Pieces


def test_ids(
    pytestconfig: pytest.Config, library_class: type[Library], model: Path, pieces: Pieces
) -> None:
    library = library_class(model)
    texts = [pieces.first, *pieces.unseen, *(text for batch in pieces.batches for text in batch)]
    digests = [hashlib.sha256(library.encode(text).tobytes()).hexdigest() for text in texts]
    reference: Path = pytestconfig.getoption("--reference")
    if reference.exists():
        assert digests == json.loads(reference.read_text())
    else:
        reference.write_text(json.dumps(digests))
