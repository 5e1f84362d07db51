"""``json.dumps`` that knows which characters of its text come from where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .trace import DATA, LOST, TracedStr, is_data, marks_of

__all__ = ["plain_tojson", "traced_tojson"]


def plain_tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """The filter ``tojson`` of transformers, which escapes nothing for HTML as jinja2's does."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def traced_tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> TracedStr:
    """The same, traced: all of it is data if the value is, else each string is what it was."""
    text = plain_tojson(value, ensure_ascii, indent, separators, sort_keys)
    if is_data(value):
        return TracedStr(text, DATA)
    if any('"' in part for part in (separators or ())) or '"' in str(indent):
        return TracedStr(text, LOST)  # where a string begins can no longer be seen
    marks = bytearray(LOST * len(text))
    end = 0
    for string in _strings(value, sort_keys):
        written = json.dumps(string, ensure_ascii=ensure_ascii)
        begin = text.find(written, end)
        if begin < 0:  # cannot be, but then nothing is known of the rest
            break
        end = begin + len(written)
        marks[begin:end] = _marks_within(string, written, ensure_ascii)
    return TracedStr(text, bytes(marks))


def _strings(value: Any, sort_keys: bool) -> Iterator[str]:
    """The strings of a value in the order in which JSON has them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in sorted(value.items()) if sort_keys else value.items():
            yield key if isinstance(key, str) else next(iter(json.loads(json.dumps({key: 0}))))
            yield from _strings(item, sort_keys)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item, sort_keys)


def _marks_within(string: str, written: str, ensure_ascii: bool) -> bytes:
    """The marks of a string between quotes, with its escapes."""
    marks = marks_of(string)
    if len(written) == len(string) + 2:
        return LOST + marks + LOST
    lengths = (len(json.dumps(c, ensure_ascii=ensure_ascii)) - 2 for c in str.__iter__(string))
    inner = b"".join(marks[i : i + 1] * n for i, n in enumerate(lengths))
    return LOST + inner + LOST
