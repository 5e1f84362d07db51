"""Texts cut up as some models' own code does it before it calls tiktoken.

The classes that come with Kimi, and with Llama 3 and 4, encode a text in parts: 400,000
characters at most, and cut again where more than 25,000 in a row are whitespace or are not. That
was to spare tiktoken long pieces, and gives other ids at the cuts than the whole text would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import SupportsIndex

import numpy as np

from tokcy.backend import Ids, Offsets
from tokcy.errors import TokcyError

from .plan import TiktokenBackend

__all__ = ["cut_text", "encode_in_chunks"]

MAX_CHARACTERS = 400_000
MAX_RUN = 25_000


def encode_in_chunks(
    backend: object,
    texts: Iterable[str],
    chunking: str,
    allow_special: bool,
    num_threads: SupportsIndex | None,
) -> tuple[Ids, Offsets]:
    """As `Backend.encode_batch`, each text cut up.

    Raises:
        TokcyError: the backend is another than tiktoken's.
        ValueError: there is no such way to cut.
    """
    if chunking != "kimi":
        raise ValueError(f'chunking must be None or "kimi", not {chunking!r}')
    if not isinstance(backend, TiktokenBackend):
        raise TokcyError("chunking is for models in tiktoken's formats")
    chunks: list[str] = []
    ends = [0]
    for text in texts:
        chunks.extend(cut_text(text) if isinstance(text, str) else [text])
        ends.append(len(chunks))
    ids, offsets = backend.encode_batch(chunks, True, allow_special, num_threads)
    return ids, offsets[np.array(ends)]


def cut_text(text: str) -> Iterator[str]:
    """The parts of a text; whitespace is that of ``str.isspace``."""
    for begin in range(0, len(text), MAX_CHARACTERS):
        chunk = text[begin : begin + MAX_CHARACTERS]
        if _may_have_long_run(chunk):
            yield from _cut_runs(chunk)
        else:
            yield chunk


def _may_have_long_run(chunk: str) -> bool:
    """Whether all of some stretch that lies within any long run is alike; quick to tell."""
    step = MAX_RUN // 2
    for begin in range(0, len(chunk) - step, step):
        stretch = chunk[begin : begin + step]
        if " " not in stretch or stretch.isspace():
            return True
    return False


def _cut_runs(chunk: str) -> Iterator[str]:
    """Cut where a run of whitespace, or of anything else, has its 25,001st character, and so on."""
    points = np.frombuffer(chunk.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    is_space = np.isin(points, _SPACES)
    begins = np.flatnonzero(np.diff(is_space, prepend=~is_space[:1]))
    ends = np.append(begins[1:], len(points))
    begin = 0
    for i in np.flatnonzero(ends - begins > MAX_RUN).tolist():
        for cut in range(int(begins[i]) + MAX_RUN, int(ends[i]), MAX_RUN):
            yield chunk[begin:cut]
            begin = cut
    yield chunk[begin:]


_SPACES = np.array([c for c in range(0x3001) if chr(c).isspace()], dtype=np.uint32)
