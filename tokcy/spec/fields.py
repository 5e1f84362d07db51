"""JSON values that know where they stand in their file, so that every error can say it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from tokcy.errors import ModelFileError

__all__ = ["U32_MAX", "Node", "shown"]

_Name = TypeVar("_Name", bound=str)

U32_MAX = 2**32 - 1
_SHOWN_LENGTH = 60
_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}


def shown(value: object) -> str:
    """``value`` as JSON for an error message, cut to 60 characters."""
    if isinstance(value, str):
        value = value[: _SHOWN_LENGTH + 1]
    elif isinstance(value, list | dict) and len(value) > _SHOWN_LENGTH:
        return f"{_KINDS[type(value)]} of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 1] + "…"


class Node:
    """A JSON value and its path; the accessors check types exactly as serde does."""

    __slots__ = ("path", "source", "value")

    def __init__(self, value: Any, source: str, path: str = "") -> None:
        self.value = value
        self.source = source
        self.path = path

    def error(self, reason: str) -> ModelFileError:
        return ModelFileError(reason, source=self.source, field=self.path or None)

    def type_error(self, wanted: str) -> ModelFileError:
        kind = _KINDS[type(self.value)]
        found = kind if self.value is None else f"{kind}: {shown(self.value)}"
        return self.error(f"must be {wanted}, not {found}")

    def child(self, key: str) -> Node:
        """The member ``key`` of an object; an error if it is missing."""
        if key not in self.value:
            raise self.error(f"{key!r} is missing")
        return Node(self.value[key], self.source, f"{self.path}.{key}" if self.path else key)

    def items(self) -> Iterator[Node]:
        """The members of a list."""
        for index, value in enumerate(self.array()):
            yield Node(value, self.source, f"{self.path}[{index}]")

    def array(self) -> list[Any]:
        if type(self.value) is not list:
            raise self.type_error("a list")
        return self.value

    def object(self) -> dict[str, Any]:
        if type(self.value) is not dict:
            raise self.type_error("an object")
        return self.value

    def string(self) -> str:
        if type(self.value) is not str:
            raise self.type_error("a string")
        return self.value

    def boolean(self) -> bool:
        if type(self.value) is not bool:
            raise self.type_error("true or false")
        return self.value

    def u32(self) -> int:
        if type(self.value) is not int or not 0 <= self.value <= U32_MAX:
            raise self.type_error("an integer from 0 to 4294967295")
        return self.value

    def usize(self) -> int:
        if type(self.value) is not int or not 0 <= self.value < 2**64:
            raise self.type_error("an integer from 0 to 18446744073709551615")
        return self.value

    def character(self) -> str:
        text = self.string()
        if len(text) != 1:
            raise self.type_error("one character")
        return text

    def variant(self, names: Sequence[_Name]) -> _Name | None:
        """One of these names, or ``None`` in serde's other spelling, ``{"Left": null}``."""
        if type(self.value) is dict:
            return None
        for name in names:
            if name == self.value:
                return name
        raise self.error(f"must be one of {', '.join(names)}, not {shown(self.value)}")
