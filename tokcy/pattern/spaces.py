"""Patterns for texts in which ``▁`` is written as a space.

Some models put ``▁`` in place of every space. Then no text has both, and the engine works on the
text with spaces, which mostly is as it came. A pattern is folded with it: where it takes a ``▁``
it takes a space, and what took a space in the pattern takes nothing.
"""

from __future__ import annotations

from .charset import CharSet
from .syntax import Alt, Cat, Chars, Look, Node, Possessive, Repeat

__all__ = ["fold_spaces"]

_SPACE, _MARK = CharSet.of(ord(" ")), CharSet.of(ord("▁"))


def fold_spaces(node: Node) -> Node:
    """The pattern that matches in a folded text what ``node`` matches in the text itself."""
    match node:
        case Chars(charset):
            return Chars(_folded(charset))
        case Look(charset, at_end):
            return Look(_folded(charset), at_end)
        case Cat(items):
            return Cat(tuple(map(fold_spaces, items)))
        case Alt(choices):
            return Alt(tuple(map(fold_spaces, choices)))
        case Repeat(item, low, high, greedy):
            return Repeat(fold_spaces(item), low, high, greedy)
        case Possessive(charset, low, high):
            return Possessive(_folded(charset), low, high)
    return node


def _folded(charset: CharSet) -> CharSet:
    others = charset - (_SPACE | _MARK)
    return others | _SPACE if ord("▁") in charset else others
