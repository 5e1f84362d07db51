"""Split pattern + behaviour → the arrays that the scanner runs on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .automaton import DEAD, GAP, Dfa, build_dfa
from .charset import CharSet
from .parser import parse
from .syntax import Cat, Chars, Empty, Node
from .transducer import Transducer, build_transducer

__all__ = [
    "BEHAVIORS",
    "GPT2_PATTERN",
    "SplitTables",
    "charset_split",
    "compile_split",
    "literal_split",
]

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of ByteLevel with ``use_regex`` (rule P2); its behaviour is Isolated."""

BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")


@dataclass(frozen=True, eq=False)
class SplitTables:
    """One split, compiled. Arrays are read-only and may be shared.

    Attributes:
        pattern: what it was compiled from, for messages.
        behavior, invert: as in Hugging Face ``Split``.
        byte_level: whether each byte is one character (the split follows ByteLevel).
        n_classes: number of character classes; the class after the last means end of text.
        byte_class: uint8 [256], the class of an ASCII byte, or of any byte if ``byte_level``;
            ``n_classes`` for the bytes of longer characters.
        page_index, pages: uint16 [8704] and uint8 [n, 128], the class of code point ``c`` is
            ``pages[page_index[c >> 7], c & 127]``.
        next, accept: uint16 and uint8 [n_states, n_classes + 1], see ``automaton.Dfa``.
        has_gaps: whether there is text that the pattern does not match.
        transducer: the fast form of the DFA, where there is one.
    """

    pattern: str
    behavior: str
    invert: bool
    byte_level: bool
    n_classes: int
    byte_class: npt.NDArray[np.uint8]
    page_index: npt.NDArray[np.uint16]
    pages: npt.NDArray[np.uint8]
    next: npt.NDArray[np.uint16]
    accept: npt.NDArray[np.uint8]
    has_gaps: bool
    transducer: Transducer | None


def compile_split(
    pattern: str, *, behavior: str, invert: bool, byte_level: bool = False
) -> SplitTables:
    """Compile a Hugging Face ``Split`` with a Regex pattern (Oniguruma's Ruby syntax).

    With ``byte_level`` the split comes after ByteLevel: it sees every byte as the character
    that ByteLevel makes of it (rule R9). Raises PatternError for what cannot be done exactly,
    and ValueError for an unknown behaviour.
    """
    return _tables(pattern, parse(pattern), behavior, invert, byte_level)


def literal_split(
    text: str, *, behavior: str, invert: bool, byte_level: bool = False
) -> SplitTables:
    """Compile a ``Split`` with a String pattern. "" matches between all characters (rule P1)."""
    characters = tuple(Chars(CharSet.of(ord(c))) for c in text)
    node = Cat(characters) if characters else Empty()
    return _tables(repr(text), node, behavior, invert, byte_level)


def charset_split(
    ranges: npt.NDArray[np.int32],
    *,
    behavior: str,
    invert: bool = False,
    byte_level: bool = False,
    name: str = "set",
) -> SplitTables:
    """Compile a split whose every match is one character of a set: Digits, Punctuation (P4).

    ``ranges`` are inclusive code points, int32 [n, 2], sorted and disjoint.
    """
    node = Chars(CharSet.from_sorted_ranges(ranges))
    return _tables(name, node, behavior, invert, byte_level)


def _tables(pattern: str, node: Node, behavior: str, invert: bool, byte_level: bool) -> SplitTables:
    if behavior not in BEHAVIORS:
        raise ValueError(f"unknown split behavior {behavior!r}, expected one of {BEHAVIORS}")
    dfa = build_dfa(node, pattern)
    classes = dfa.classes
    page_index, pages = classes.pages()
    if byte_level:
        byte_class = classes.of(_byte_characters())
    else:
        byte_class = classes.of(np.arange(256, dtype=np.int32))
        byte_class[0x80:] = classes.count
    has_gaps = _leaves_gaps(dfa)
    arrays = byte_class, page_index, pages, dfa.next, dfa.accept
    for array in arrays:
        array.setflags(write=False)
    return SplitTables(
        pattern,
        behavior,
        invert,
        byte_level,
        classes.count,
        *arrays,
        has_gaps=has_gaps,
        transducer=build_transducer(dfa, has_gaps=has_gaps),
    )


@lru_cache(maxsize=1)
def _byte_characters() -> npt.NDArray[np.int32]:
    """The character that ByteLevel makes of each byte: itself where printable, else 256 + k."""
    points = np.arange(256, dtype=np.int32)
    shown = ((points > 32) & (points < 127)) | ((points > 160) & (points != 173))
    points[~shown] = 256 + np.arange(np.count_nonzero(~shown), dtype=np.int32)
    return points


def _leaves_gaps(dfa: Dfa) -> bool:
    """Whether a gap, once matched, may stay the last match of its token."""
    reached = np.zeros(len(dfa.next), dtype=np.bool_)
    is_gap, silent = dfa.accept >= GAP, dfa.accept == 0
    if (is_gap & (dfa.next == DEAD)).any():
        return True
    reached[dfa.next[is_gap]] = True
    while True:
        ways = silent & reached[:, None]
        if (ways & (dfa.next == DEAD)).any():
            return True
        wider = reached.copy()
        wider[dfa.next[ways]] = True
        if np.array_equal(wider, reached):
            return False
        reached = wider
