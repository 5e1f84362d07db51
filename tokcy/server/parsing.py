"""The body of a request: JSON in UTF-8, read without holding up other requests."""

from __future__ import annotations

import json
import re
from typing import Any

from tokcy._json import lift

__all__ = ["MAX_DEPTH", "BadJsonError", "parse_json"]

#: Brackets within brackets; what conversations and JSON schemas have is far below.
MAX_DEPTH = 100
#: Bytes of a string or a list of ids that are read without the GIL.
LEAST_LIFTED = 4096

_HALF_PAIR = re.compile("[\ud800-\udfff]")


class BadJsonError(ValueError):
    """A body is no JSON in UTF-8; says where."""


def parse_json(body: bytes, least: int = LEAST_LIFTED) -> Any:
    """What a JSON text says. A long list of ids is uint32[n] in place of a list.

    Python's parser does the small and the broken: what `lift` cannot take out, and the whole text
    once more where it has no sense without it, for the sake of the message.

    Args:
        body: the text, in UTF-8.
        least: bytes from which strings and lists of ids are read by `lift`.

    Raises:
        BadJsonError: no JSON (with ``NaN`` and ``Infinity`` neither), no UTF-8, a string with half
            of a surrogate pair, or nested deeper than ``MAX_DEPTH``.
    """
    try:
        rest, lifted, depth = lift(body, least)
        if depth > MAX_DEPTH:
            raise BadJsonError(f"nested more than {MAX_DEPTH} deep")
        values = iter(lifted)
        decoded = rest.decode()
        value = json.loads(decoded, parse_constant=lambda word: next(values))
    except BadJsonError:
        raise
    except (ValueError, RecursionError):
        value = _parse_slowly(body)
        decoded = body.decode()
    if "\\u" in decoded:
        _refuse_half_pairs(value)
    return value


def _parse_slowly(body: bytes) -> Any:
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise BadJsonError(f"invalid UTF-8 at byte {error.start}: {error.reason}") from None
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        raise BadJsonError(f"invalid JSON: {error.msg} at byte {at}") from None
    except RecursionError:
        raise BadJsonError(f"nested more than {MAX_DEPTH} deep") from None
    except BadJsonError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise BadJsonError(f"invalid JSON: {error}") from None


def _refuse_constant(word: str) -> Any:
    raise BadJsonError(f"invalid JSON: {word} is none of its values")


def _refuse_half_pairs(value: Any) -> None:
    if isinstance(value, str):
        found = _HALF_PAIR.search(value)
        if found:
            raise BadJsonError(
                f"a string has half of a surrogate pair, \\u{ord(found[0]):04x}, "
                "which no text in UTF-8 can have"
            )
    elif isinstance(value, list):
        for item in value:
            _refuse_half_pairs(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_half_pairs(key)
            _refuse_half_pairs(item)
