"""Texts that are cut up before they are encoded (see `_segments.pyx` for the cuts)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np

from tokcy._prefix import PrefixView
from tokcy.backend import Backend, Ids, Offsets
from tokcy.errors import TokcyError

__all__ = ["encode_batch_in_chunks", "encode_in_chunks", "is_chunked"]

_LONGEST_WHOLE = 25_000
"""Characters of a text that has no cuts, whatever it is."""


def is_chunked(chunking: str | None) -> bool:
    """Whether ``chunking`` asks for cuts; ValueError if it asks for what there is not."""
    if chunking not in (None, "kimi"):
        raise ValueError(f'chunking must be None or "kimi", not {chunking!r}')
    return chunking is not None


def encode_in_chunks(
    backend: Backend,
    text: str,
    chunking: str,
    add_special_tokens: bool,
    allow_special: bool,
    num_threads: SupportsIndex | None,
    known: PrefixView | None = None,
) -> Ids:
    """As `Backend.encode`, the text cut up; ValueError if there is no such way to cut."""
    chunked = is_chunked(chunking)
    if not _may_be_cut(text):
        return backend.encode(text, add_special_tokens, allow_special, num_threads, known)
    segments = [(text, allow_special)]
    try:
        return backend.encode_segments(
            segments, add_special_tokens, False, chunked, num_threads, known
        )
    except TokcyError as error:
        raise type(error)(str(error).removeprefix("segments[0]: ")) from None


def encode_batch_in_chunks(
    backend: Backend,
    texts: Iterable[str],
    chunking: str,
    add_special_tokens: bool,
    allow_special: bool,
    num_threads: SupportsIndex | None,
) -> tuple[Ids, Offsets]:
    """As `Backend.encode_batch`, each text cut up; if any may be cut, they go one by one.

    Raises:
        ValueError: there is no such way to cut.
        TokcyError: as in `Tokenizer.encode_batch`; or the model file fills texts up to the longest
            of a batch, which is not done for texts that are cut.
    """
    is_chunked(chunking)
    held = texts if isinstance(texts, str | bytes) else list(texts)
    if isinstance(held, str | bytes) or not any(map(_may_be_cut, held)):
        return backend.encode_batch(held, add_special_tokens, allow_special, num_threads)
    if backend.pads:
        raise TokcyError("chunking is not for batches of a model whose file sets padding")
    rows = []
    for index, text in enumerate(held):
        try:
            rows.append(
                encode_in_chunks(
                    backend, text, chunking, add_special_tokens, allow_special, num_threads
                )
            )
        except TokcyError as error:
            raise type(error)(f"texts[{index}]: {error}") from None
    return np.concatenate(rows), np.cumsum([0, *map(len, rows)], dtype=np.int64)


def _may_be_cut(text: object) -> bool:
    return isinstance(text, str) and len(text) > _LONGEST_WHOLE
