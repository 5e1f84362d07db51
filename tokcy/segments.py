"""Texts that are cut up before they are encoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np

from tokcy.backend import Backend, Ids, Offsets
from tokcy.errors import TokcyError

__all__ = ["encode_in_chunks", "is_chunked"]


def is_chunked(chunking: str | None) -> bool:
    """Whether ``chunking`` asks for cuts; ValueError if it asks for what there is not."""
    if chunking not in (None, "kimi"):
        raise ValueError(f'chunking must be None or "kimi", not {chunking!r}')
    return chunking is not None


def encode_in_chunks(
    backend: Backend,
    texts: Iterable[str],
    chunking: str,
    add_special_tokens: bool,
    allow_special: bool,
    num_threads: SupportsIndex | None,
) -> tuple[Ids, Offsets]:
    """As `Backend.encode_batch`, each text cut up; texts that may be cut go one by one.

    Raises:
        ValueError: there is no such way to cut.
        TokcyError: as in `Tokenizer.encode_batch`.
    """
    chunked = is_chunked(chunking)
    held = texts if isinstance(texts, str | bytes) else list(texts)
    if isinstance(held, str | bytes) or not any(
        isinstance(text, str) and len(text) > _SHORTEST_CUT for text in held
    ):
        return backend.encode_batch(held, add_special_tokens, allow_special, num_threads)
    rows = []
    for index, text in enumerate(held):
        try:
            rows.append(
                backend.encode_segments(
                    [(text, allow_special)], add_special_tokens, False, chunked, num_threads
                )
            )
        except TokcyError as error:
            message = str(error).removeprefix("segments[0]: ")
            raise type(error)(f"texts[{index}]: {message}") from None
    return np.concatenate(rows), np.cumsum([0, *map(len, rows)], dtype=np.int64)


_SHORTEST_CUT = 25_000
"""Characters of a run that are not cut; see `_segments.pyx`."""
