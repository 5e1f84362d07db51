"""Text that knows of each of its characters whether the template or a message brought it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, SupportsIndex

import numpy as np

__all__ = ["DATA", "LOST", "TEMPLATE", "TracedStr", "as_text", "is_data", "join", "marks_of"]

DATA, TEMPLATE, LOST = b"\x00", b"\x01", b"\x02"
"""Marks: a message (or tool, document, argument) brought the character; the template wrote it;
nobody knows, as some processing gave a new ``str``."""

_PLAIN_FIELDS = re.compile(r"%[s%]")


class TracedStr(str):
    """A ``str`` with a mark per character, which its operations keep where they can.

    It compares, hashes and behaves as the same ``str``. What an operation makes without saying
    which character came from where is an ordinary ``str``, and counts as `LOST`: an operation that
    is missing here can make text useless, but never trusted.
    """

    __slots__ = ("_marks",)
    _marks: bytes  # the sandbox hides what begins with an underscore from templates

    def __new__(cls, text: str = "", marks: bytes | None = None) -> TracedStr:
        """Mark a text.

        Args:
            text: any str.
            marks: one mark for all characters, or one for each; by default those of ``text``.
        """
        if marks is None:
            marks = marks_of(text)
        elif len(marks) == 1:
            marks = marks * len(text)
        made = str.__new__(cls, text)
        made._marks = marks
        if len(marks) != len(made):
            raise ValueError(f"{len(marks)} marks for {len(made)} characters")
        return made

    def __str__(self) -> TracedStr:
        return self

    # ------------------------------------------------------------ putting together

    def __add__(self, other: str) -> TracedStr:
        if not isinstance(other, str):
            return NotImplemented
        return TracedStr(str.__add__(self, other), self._marks + marks_of(other))

    def __radd__(self, other: str) -> TracedStr:
        if not isinstance(other, str):
            return NotImplemented
        return TracedStr(str.__add__(other, self), marks_of(other) + self._marks)

    def __mul__(self, times: SupportsIndex) -> TracedStr:
        return TracedStr(str.__mul__(self, times), self._marks * times)

    __rmul__ = __mul__

    def join(self, parts: Iterable[str]) -> TracedStr:
        items = list(parts)
        return TracedStr(str.join(self, items), self._marks.join(map(marks_of, items)))

    def replace(self, old: str, new: str, count: SupportsIndex = -1) -> TracedStr:
        if old:
            return TracedStr(new).join(self.split(old, count))
        text = str.replace(self, old, new, count)
        # The new text stands before each character, up to the count, and behind the last.
        limit = int(count) if int(count) >= 0 else len(self) + 1
        pieces: list[str] = []
        for i, character in enumerate(self):
            pieces += [TracedStr(new), character] if i < limit else [character]
        if len(self) < limit:
            pieces.append(new)
        marks = b"".join(map(marks_of, pieces))
        return TracedStr(text, marks if len(marks) == len(text) else LOST)

    def __mod__(self, values: Any) -> TracedStr:
        text = str.__mod__(self, values)
        fields = _PLAIN_FIELDS.findall(self)
        if len(fields) != str.count(self, "%") - fields.count("%%"):
            return TracedStr(text, _common(self, values))
        left = iter(values if isinstance(values, tuple) else (values,))
        pieces: list[str] = []
        end = 0
        for field in _PLAIN_FIELDS.finditer(self):
            pieces.append(self[end : field.start()])
            end = field.end()
            pieces.append(self[end - 1 : end] if field[0] == "%%" else as_text(next(left)))
        return join([*pieces, self[end:]])

    def __rmod__(self, form: str) -> TracedStr:
        return TracedStr(str.__mod__(form, str.__str__(self)), LOST)

    # -------------------------------------------------------------- taking apart

    def __getitem__(self, key: SupportsIndex | slice) -> TracedStr:
        if isinstance(key, slice):
            return TracedStr(str.__getitem__(self, key), self._marks[key])
        index = key.__index__()
        text = str.__getitem__(self, index)
        return TracedStr(text, self._marks[index : index + 1 or None])

    def __iter__(self) -> Iterator[TracedStr]:
        for i, character in enumerate(str.__iter__(self)):
            yield TracedStr(character, self._marks[i : i + 1])

    def strip(self, chars: str | None = None) -> TracedStr:
        return self.lstrip(chars).rstrip(chars)

    def lstrip(self, chars: str | None = None) -> TracedStr:
        return self[len(self) - len(str.lstrip(self, chars)) :]

    def rstrip(self, chars: str | None = None) -> TracedStr:
        return self[: len(str.rstrip(self, chars))]

    def removeprefix(self, prefix: str) -> TracedStr:
        return self[len(prefix) :] if self.startswith(prefix) else self

    def removesuffix(self, suffix: str) -> TracedStr:
        return self[: len(self) - len(suffix)] if self.endswith(suffix) else self

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[TracedStr]:  # type: ignore[override]
        parts = str.split(self, sep, maxsplit)
        if sep is not None:
            return self._parted(parts, len(sep))
        found, end = [], 0
        for part in parts:  # it begins behind whitespace, and so where it is first found
            begin = str.index(self, part, end)
            end = begin + len(part)
            found.append(self[begin:end])
        return found

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[TracedStr]:  # type: ignore[override]
        parts = str.rsplit(self, sep, maxsplit)
        if sep is not None:
            return self._parted(parts, len(sep))
        found, begin = [], len(self)
        for part in reversed(parts):
            begin = str.rindex(self, part, 0, begin)
            found.append(self[begin : begin + len(part)])
        return found[::-1]

    def splitlines(self, keepends: bool = False) -> list[TracedStr]:  # type: ignore[override]
        whole = self._parted(str.splitlines(self, keepends=True), 0)
        if keepends:
            return whole
        return [w[: len(line)] for w, line in zip(whole, str.splitlines(self), strict=True)]

    def partition(self, sep: str) -> tuple[TracedStr, TracedStr, TracedStr]:
        return self._in_three(list(map(len, str.partition(self, sep))))

    def rpartition(self, sep: str) -> tuple[TracedStr, TracedStr, TracedStr]:
        return self._in_three(list(map(len, str.rpartition(self, sep))))

    def _in_three(self, lengths: list[int]) -> tuple[TracedStr, TracedStr, TracedStr]:
        first, second = lengths[0], lengths[0] + lengths[1]
        return self[:first], self[first:second], self[second:]

    def _parted(self, parts: list[str], gap: int) -> list[TracedStr]:
        """The parts, which stand in the text with so many characters between them."""
        found, begin = [], 0
        for part in parts:
            found.append(self[begin : begin + len(part)])
            begin += len(part) + gap
        return found

    # ------------------------------------------------------------------ changing

    def upper(self) -> TracedStr:
        return self._by_character(str.upper)

    def lower(self) -> TracedStr:
        return self._by_character(str.lower)

    def swapcase(self) -> TracedStr:
        return self._by_character(str.swapcase)

    def casefold(self) -> TracedStr:
        return self._by_character(str.casefold)

    def title(self) -> TracedStr:
        return self._by_character(str.title)

    def capitalize(self) -> TracedStr:
        return self._by_character(str.capitalize)

    def _by_character(self, change: Callable[[str], str]) -> TracedStr:
        """A change of case: what becomes of a character stands at the character's place."""
        text = change(str.__str__(self))
        if str.isascii(self):
            return TracedStr(text, self._marks)
        lengths = [len(change(character)) for character in str.__iter__(self)]
        if lengths.count(1) == len(lengths) == len(text):
            return TracedStr(text, self._marks)
        return TracedStr(text, _common(self))

    def center(self, width: SupportsIndex, fillchar: str = " ") -> TracedStr:
        return TracedStr(str.center(self, width, fillchar), _common(self, fillchar))

    def ljust(self, width: SupportsIndex, fillchar: str = " ") -> TracedStr:
        filling = len(str.ljust(self, width, fillchar)) - len(self)
        return self + TracedStr(fillchar) * filling

    def rjust(self, width: SupportsIndex, fillchar: str = " ") -> TracedStr:
        filling = len(str.rjust(self, width, fillchar)) - len(self)
        return TracedStr(fillchar) * filling + self

    def zfill(self, width: SupportsIndex) -> TracedStr:
        return TracedStr(str.zfill(self, width), _common(self))

    def expandtabs(self, tabsize: SupportsIndex = 8) -> TracedStr:
        return TracedStr(str.expandtabs(self, tabsize), _common(self))

    # ------------------------------------------------------------------- reading

    def segments(self) -> Iterator[tuple[str, bytes]]:
        """The longest stretches of one mark, with it."""
        marks = np.frombuffer(self._marks, dtype=np.uint8)
        ends = [*(np.flatnonzero(marks[1:] != marks[:-1]) + 1).tolist(), len(self)]
        begin = 0
        for end in ends:
            if end > begin:
                yield str.__getitem__(self, slice(begin, end)), self._marks[begin : begin + 1]
            begin = end


def marks_of(text: str) -> bytes:
    """The marks of a text, which are `LOST` unless it is traced."""
    return text._marks if isinstance(text, TracedStr) else LOST * len(text)


def join(parts: Iterable[str]) -> TracedStr:
    """``"".join(parts)``, traced."""
    items = list(parts)
    return TracedStr("".join(items), b"".join(map(marks_of, items)))


def is_data(value: Any) -> bool:
    """Whether all text in a value is known to be of messages; numbers are no text."""
    if isinstance(value, str):
        return value == "" or not marks_of(value).strip(DATA)
    if isinstance(value, Mapping):
        return all(is_data(key) and is_data(item) for key, item in value.items())
    if isinstance(value, list | tuple):
        return all(map(is_data, value))
    return value is None or isinstance(value, bool | int | float)


def as_text(value: Any) -> str:
    """``str(value)``; of a list or dict of nothing but data it is data, brackets and all."""
    if isinstance(value, str):
        return value
    text = str(value)
    return (
        TracedStr(text, DATA) if isinstance(value, list | tuple | dict) and is_data(value) else text
    )


def _common(*values: Any) -> bytes:
    """The mark of text made of these in an untraced way."""
    return DATA if is_data(values) else LOST
