"""Writes the table of all models: who runs each, why, and how fast.

    python -m bench.models [FOLDER]... > docs/models.md

Each folder holds one model; by default those of the test data (``TOKCY_DATA``). The ids are
compared with those of tokenizers before anything is timed. The speed is MB of UTF-8 text a second,
on one core and in CPU time: English text that is new to the tokenizer, the median of three calls.
It takes a few minutes.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

import tokcy
from bench.libraries import ONE_THREAD
from bench.texts import Data, Pieces
from tokcy import TokcyError, Tokenizer

FIRST_LINES = """# Models

Written by `python -m bench.models` with tokcy {tokcy} and tokenizers {tokenizers}: what it makes of
each model of the test data. Native is what tokcy's own engine does, with the ids of the reference,
which were compared. The speed is MB of English text a second that is new to the tokenizer, on one
core, in CPU time; it moves by a third with the load of the machine.

| model | what it is | runs on | why not natively | tokcy, MB/s | tokenizers, MB/s |
|:---|:---|:---|:---|---:|---:|"""

CALLS = 3
#: Characters of a call to tokenizers, which is slow.
SOME_CHARS = 60_000


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", nargs="*", type=Path, help="a folder with a model")
    arguments = parser.parse_args(argv)
    os.environ.update(ONE_THREAD)
    logging.getLogger("tokcy").setLevel(logging.ERROR)  # the table says why
    with tempfile.TemporaryDirectory() as scratch:
        data = Data(Path(scratch))
        pieces = Pieces.read(data.pieces(data.texts()[0], ""))
        print(FIRST_LINES.format(tokcy=tokcy.__version__, tokenizers=tokenizers.__version__))
        for folder in arguments.folder or data.folders():
            print(f"{folder.name} …", file=sys.stderr)
            print(f"| {' | '.join(_row(folder, pieces))} |", flush=True)
    return 0


def _row(folder: Path, pieces: Pieces) -> Iterator[str]:
    yield folder.name
    try:
        subject = Tokenizer.from_pretrained(folder)
    except TokcyError as error:
        yield from ("-", "error", _in_a_cell(str(error).replace(f"{folder}{os.sep}", "")), "-", "-")
        return
    yield _kind(subject)
    yield {"tokcy": "native", "huggingface": "tokenizers"}.get(subject.backend, subject.backend)
    yield _in_a_cell(subject.fallback_reason or "-")
    reference = _reference(folder)
    if reference is not None and not _same(subject, reference, pieces):
        yield from ("other ids", "-")
        return
    texts = pieces.unseen[:CALLS]
    yield _speed(lambda text: subject.encode(text), texts)
    some = [text[:SOME_CHARS] for text in texts]
    yield "-" if reference is None else _speed(lambda text: reference.encode(text), some)


def _kind(subject: Tokenizer) -> str:
    """The model, and the size of its vocabulary."""
    model = subject.describe()["pipeline"].get("model", [subject.backend])[0]
    return f"{model.partition('(')[0]}, {len(subject):,}"


def _reference(folder: Path) -> tokenizers.Tokenizer | None:
    """The model in tokenizers, which cannot load tiktoken's formats."""
    file = folder / "tokenizer.json"
    return tokenizers.Tokenizer.from_file(str(file)) if file.exists() else None


def _same(subject: Tokenizer, reference: tokenizers.Tokenizer, pieces: Pieces) -> bool:
    texts = [pieces.first, *pieces.short[:1000]]
    expected = reference.encode_batch(texts)
    return all(
        np.array_equal(subject.encode(text), encoding.ids)
        for text, encoding in zip(texts, expected, strict=True)
    )


def _speed(encode: Callable[[str], Any], texts: list[str]) -> str:
    speeds = []
    for text in texts:
        began = time.process_time()
        encode(text)
        speeds.append(len(text.encode()) / (time.process_time() - began) / 1e6)
    return f"{statistics.median(speeds):.1f}"


def _in_a_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.exit(main())
