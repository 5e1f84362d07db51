"""The pickled form of an Encoding, which is Hugging Face's: a JSON object of columns."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tokcy.errors import TokcyError

__all__ = ["columns_of_state", "state_of_columns"]


# ids, type_ids, tokens, words (-1 for none), offsets, special_tokens_mask, attention_mask,
# overflowing (such tuples), sequence_ranges {sequence: (begin, end)}
Columns = tuple[Any, Any, list[str], Any, Any, Any, Any, list[Any], dict[int, tuple[int, int]]]


def state_of_columns(columns: Columns) -> bytes:
    """The JSON of the columns of an Encoding, byte for byte as Hugging Face writes it."""
    return json.dumps(_object(columns), ensure_ascii=False, separators=(",", ":")).encode()


def _object(columns: Columns) -> dict[str, Any]:
    ids, type_ids, tokens, words, offsets, special, attention, parts, ranges = columns
    return {
        "ids": ids.tolist(),
        "type_ids": type_ids.tolist(),
        "tokens": tokens,
        "words": [None if word < 0 else word for word in words.tolist()],
        "offsets": offsets.tolist(),
        "special_tokens_mask": special.tolist(),
        "attention_mask": attention.tolist(),
        "overflowing": [_object(part) for part in parts],
        "sequence_ranges": {
            str(sequence): {"start": begin, "end": end} for sequence, (begin, end) in ranges.items()
        },
    }


def columns_of_state(state: bytes) -> Columns:
    """The columns that such JSON holds.

    Raises:
        TokcyError: it is not that of an Encoding.
    """
    try:
        return _columns(json.loads(state))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        reason = f"missing field `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
        raise TokcyError(f"Error while attempting to unpickle Encoding: {reason}") from error


def _columns(found: dict[str, Any]) -> Columns:
    tokens = list(found["tokens"])
    if not all(type(token) is str for token in tokens):
        raise TypeError("tokens must be strings")
    n = len(tokens)
    words = np.array([0 if word is None else word for word in found["words"]], dtype=np.uint32)
    words = words.astype(np.int64)
    words[[i for i, word in enumerate(found["words"]) if word is None]] = -1
    offsets = np.array(found["offsets"], dtype=np.int64).reshape(-1, 2)
    columns = (
        _array(found["ids"], n, "ids"),
        _array(found["type_ids"], n, "type_ids"),
        tokens,
        words,
        offsets,
        _array(found["special_tokens_mask"], n, "special_tokens_mask"),
        _array(found["attention_mask"], n, "attention_mask"),
    )
    if len(words) != n or len(offsets) != n:
        raise ValueError("the columns differ in length")
    ranges = {
        int(sequence): (int(ends["start"]), int(ends["end"]))
        for sequence, ends in found["sequence_ranges"].items()
    }
    if any(not 0 <= begin <= end <= n for begin, end in ranges.values()):
        raise ValueError("a sequence's range is not within the tokens")
    return (*columns, [_columns(part) for part in found["overflowing"]], ranges)


def _array(items: list[int], n: int, name: str) -> Any:
    if len(items) != n:
        raise ValueError(f"there are {n} tokens and {len(items)} {name}")
    return np.array(items, dtype=np.uint32)
