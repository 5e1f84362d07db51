"""The parsed form of a split pattern, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .charset import CharSet

__all__ = [
    "Alt",
    "Cat",
    "Chars",
    "Empty",
    "Look",
    "Node",
    "Possessive",
    "Repeat",
    "always_matches",
    "nullable",
]


@dataclass(frozen=True)
class Empty:
    """Matches the empty string."""


@dataclass(frozen=True)
class Chars:
    """One character of ``charset``. ``literal`` is the character as written under ``(?i:…)``."""

    charset: CharSet
    literal: int | None = None


@dataclass(frozen=True)
class Cat:
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Alt:
    """Ordered choice: the first alternative that leads to a match wins."""

    choices: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """``item`` at least ``low`` and at most ``high`` times (None: no limit)."""

    item: Node
    low: int
    high: int | None
    greedy: bool = True


@dataclass(frozen=True)
class Possessive:
    """As many of ``charset`` as there are, at most ``high``, and never fewer."""

    charset: CharSet
    low: int
    high: int | None

    def exact(self) -> Node:
        """The same with an assertion that no more could be taken."""
        chars, stop = Chars(self.charset), Look(~self.charset, at_end=True)
        if self.high is None:
            return Cat((Repeat(chars, self.low, None), stop))
        if self.low == self.high:
            return self.greedy()
        fewer = Cat((Repeat(chars, self.low, self.high - 1), stop))
        return Alt((Repeat(chars, self.high, self.high), fewer))

    def greedy(self) -> Node:
        return Repeat(Chars(self.charset), self.low, self.high)

    def is_greedy_before(self, rest: Sequence[Node]) -> bool:
        """Whether giving characters back could never help what comes up to the match's end."""
        if all(map(always_matches, rest)):
            return True
        first = _first(rest)
        return first is not None and first.isdisjoint(self.charset)


@dataclass(frozen=True)
class Look:
    """Holds where the next character is in ``charset``, or, if ``at_end``, where there is none."""

    charset: CharSet
    at_end: bool


Node = Empty | Chars | Cat | Alt | Repeat | Possessive | Look


def nullable(node: Node) -> bool:
    """Whether ``node`` can match without consuming a character."""
    match node:
        case Chars():
            return False
        case Cat(items):
            return all(map(nullable, items))
        case Alt(choices):
            return any(map(nullable, choices))
        case Repeat(item, low, _):
            return low == 0 or nullable(item)
        case Possessive(_, low, _):
            return low == 0
        case _:
            return True


def always_matches(node: Node) -> bool:
    """Whether ``node`` matches at any place, if need be the empty string."""
    return isinstance(node, Empty) or (isinstance(node, Repeat | Possessive) and node.low == 0)


def _first(items: Sequence[Node]) -> CharSet | None:
    """The characters that a sequence can begin with; None where that is not a plain set."""
    found = CharSet.of()
    for item in items:
        match item:
            case Chars(charset):
                return found | charset
            case Repeat(Chars(charset), low) | Possessive(charset, low):
                found = found | charset
                if low:
                    return found
            case _:
                return None
    return None
