"""Readers for the sections ``truncation`` and ``padding`` (rules O5, O6)."""

from __future__ import annotations

from typing import Any

from .fields import Node, shown
from .model import Direction, Padding, Strategy, Truncation
from .steps import Other

__all__ = ["read_padding", "read_truncation"]

_STRATEGIES: tuple[Strategy, ...] = ("LongestFirst", "OnlyFirst", "OnlySecond")
_DIRECTIONS: tuple[Direction, ...] = ("Left", "Right")


def read_truncation(node: Node) -> Truncation | Other | None:
    """The section ``truncation``; ``None`` for null, `Other` for serde's positional spelling."""
    if node.value is None:
        return None
    if type(node.value) is list:
        return Other("as a list")
    node.object()
    direction: Direction | None = "Right"
    if "direction" in node.value:
        direction = node.child("direction").variant(_DIRECTIONS)
    max_length = node.child("max_length").usize()
    strategy = node.child("strategy").variant(_STRATEGIES)
    stride = node.child("stride").usize()
    if direction is None or strategy is None:
        return Other("with an object for a name")
    return Truncation(max_length, strategy, stride, direction)


def read_padding(node: Node) -> Padding | Other | None:
    """The section ``padding``; ``None`` for null, `Other` for serde's positional spelling."""
    if node.value is None:
        return None
    if type(node.value) is list:
        return Other("as a list")
    node.object()
    strategy: Any = node.child("strategy")
    length = None
    if type(strategy.value) is dict and list(strategy.value) == ["Fixed"]:
        length = strategy.child("Fixed").usize()
    elif strategy.value not in ("BatchLongest", {"BatchLongest": None}):
        raise strategy.error(
            f'must be "BatchLongest" or {{"Fixed": …}}, not {shown(strategy.value)}'
        )
    direction = node.child("direction").variant(_DIRECTIONS)
    multiple = None
    if node.value.get("pad_to_multiple_of") is not None:
        multiple = node.child("pad_to_multiple_of").usize()
    pad_id = node.child("pad_id").u32()
    node.child("pad_type_id").u32()
    node.child("pad_token").string()
    if direction is None:
        return Other("with an object for a name")
    return Padding(length, multiple or 1, pad_id, direction)
