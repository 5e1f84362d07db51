"""Split pattern + behaviour → the arrays that the scanner runs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .automaton import DEAD, GAP, MATCH, SPLIT_GAP, Dfa, build_dfa
from .cascade import Cutter, FusedMachine, common_classes, make_cutter
from .charset import MAX_CODE_POINT, CharSet
from .classes import MAX_CLASSES, Classes
from .parser import parse
from .reader import Dialect
from .spaces import fold_spaces
from .syntax import Alt, Cat, Chars, Empty, Node, Repeat, nullable
from .tokens import TokenMachine
from .transducer import Machine, Transducer, build_transducer

__all__ = [
    "BEHAVIORS",
    "GPT2_PATTERN",
    "SplitTables",
    "charset_split",
    "class_arrays",
    "compile_split",
    "fixed_length_split",
    "fuse_splits",
    "literal_split",
    "may_be_empty",
    "single_characters",
    "word_split",
]

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern of ByteLevel with ``use_regex`` (rule P2); its behaviour is Isolated."""

MAX_FOLLOWED_STATES = 256  # of a DFA; a larger one is run token by token

LEADS = slice(0xC2, 0xF5)  # the bytes that a character of several can begin with

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
            for the first byte of longer characters their class, if all that begin with it have
            one (as most Chinese ones have); ``n_classes`` for other bytes of longer characters.
        page_index, pages: uint16 [8704] and uint8 [n, 128], the class of code point ``c`` is
            ``pages[page_index[c >> 7], c & 127]``.
        dfa: the automaton; that of the last split where several are fused.
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
    dfa: Dfa
    has_gaps: bool
    transducer: Transducer | None

    def __post_init__(self) -> None:
        tables = (self.byte_class, self.page_index, self.pages, self.dfa.next, self.dfa.accept)
        for array in tables:
            array.setflags(write=False)

    @property
    def cuts_nothing(self) -> bool:
        """Whether every text stays in one piece, as the pattern matches nowhere."""
        matches = np.isin(self.dfa.accept, (MATCH, SPLIT_GAP)).any()
        return not matches and not (self.behavior == "Removed" and self.invert)


def compile_split(
    pattern: str,
    *,
    behavior: str,
    invert: bool,
    byte_level: bool = False,
    folded: bool = False,
    dialect: Dialect = Dialect.ONIGURUMA,
) -> SplitTables:
    """Compile a Hugging Face ``Split`` with a Regex pattern.

    With ``byte_level`` the split comes after ByteLevel: it sees every byte as the character
    that ByteLevel makes of it (rule R9). With ``folded`` it sees a text in which every "▁" is
    written as a space (see ``spaces``). Raises PatternError for what cannot be done exactly, and
    ValueError for an unknown behaviour.
    """
    return _tables(pattern, parse(pattern, dialect), behavior, invert, byte_level, folded)


def literal_split(
    text: str, *, behavior: str, invert: bool, byte_level: bool = False, folded: bool = False
) -> SplitTables:
    """Compile a ``Split`` with a String pattern. "" matches between all characters (rule P1)."""
    characters = tuple(Chars(CharSet.of(ord(c))) for c in text)
    node = Cat(characters) if characters else Empty()
    return _tables(repr(text), node, behavior, invert, byte_level, folded)


def charset_split(
    ranges: npt.NDArray[np.int32],
    *,
    behavior: str,
    invert: bool = False,
    byte_level: bool = False,
    folded: bool = False,
    name: str = "set",
) -> SplitTables:
    """Compile a split whose every match is one character of a set: Digits, Punctuation (P4).

    ``ranges`` are inclusive code points, int32 [n, 2], sorted and disjoint.
    """
    node = Chars(CharSet.from_sorted_ranges(ranges))
    return _tables(name, node, behavior, invert, byte_level, folded)


def word_split(
    words: npt.NDArray[np.int32],
    spaces: npt.NDArray[np.int32],
    *,
    byte_level: bool = False,
    folded: bool = False,
) -> SplitTables:
    """Compile Whitespace: runs of words' characters, runs of others, and no spaces (rule P4)."""
    inside = CharSet.from_sorted_ranges(words)
    others = ~(inside | CharSet.from_sorted_ranges(spaces))
    node = Alt((Repeat(Chars(inside), 1, None), Repeat(Chars(others), 1, None)))
    return _tables("words", node, "Removed", True, byte_level, folded)


def fixed_length_split(
    length: int, *, byte_level: bool = False, folded: bool = False
) -> SplitTables:
    """Compile FixedLength: pieces of so many characters, and what is left."""
    node = Repeat(Chars(CharSet.everything()), 1, length)
    return _tables(f"{length} characters", node, "Isolated", False, byte_level, folded)


def may_be_empty(pattern: str) -> bool:
    """Whether a pattern may match the empty text somewhere, be it at the end of a text alone."""
    return nullable(parse(pattern))


def single_characters(pattern: str) -> npt.NDArray[np.int32] | None:
    """The characters that a pattern matches, if it only ever matches one; inclusive ranges."""
    node = parse(pattern)
    return node.charset.ranges() if isinstance(node, Chars) else None


def _tables(
    pattern: str, node: Node, behavior: str, invert: bool, byte_level: bool, folded: bool
) -> SplitTables:
    if folded:
        node = fold_spaces(node)
    if behavior not in BEHAVIORS:
        raise ValueError(f"unknown split behavior {behavior!r}, expected one of {BEHAVIORS}")
    dfa = build_dfa(node, pattern)
    has_gaps = _leaves_gaps(dfa)
    return SplitTables(
        pattern,
        behavior,
        invert,
        byte_level,
        *class_arrays(dfa.classes, byte_level),
        dfa=dfa,
        has_gaps=has_gaps,
        transducer=build_transducer(TokenMachine(dfa, has_gaps)) if _is_followable(dfa) else None,
    )


def _is_followable(dfa: Dfa) -> bool:
    return len(dfa.next) <= MAX_FOLLOWED_STATES and not (dfa.accept == SPLIT_GAP).any()


def class_arrays(
    classes: Classes, byte_level: bool
) -> tuple[int, npt.NDArray[np.uint8], npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """n_classes, byte_class, page_index and pages of SplitTables."""
    page_index, pages = classes.pages()
    if byte_level:
        byte_class = classes.of(_byte_characters())
    else:
        byte_class = classes.of(np.arange(256, dtype=np.int32))
        byte_class[0x80:] = classes.count
        runs = np.searchsorted(classes.begins, _code_points_by_lead(), side="right")
        in_one = runs[:, 0] == runs[:, 1]
        byte_class[LEADS][in_one] = classes.labels[runs[in_one, 0] - 1]
    return classes.count, byte_class, page_index, pages


def fuse_splits(stages: Sequence[SplitTables]) -> list[SplitTables]:
    """A cascade in as few passes over the text as it can be done in, with the same pieces."""
    groups: list[list[SplitTables]] = []
    for tables in reversed(stages):
        last = groups[0][-1] if groups else None
        if last is not None and _can_precede(tables, last):
            groups[0].insert(0, tables)
        else:
            groups.insert(0, [tables])
    return [tables for group in groups for tables in _fuse(group)]


def _can_precede(tables: SplitTables, last: SplitTables) -> bool:
    return (
        last.behavior == "Isolated"
        and last.transducer is not None
        and tables.byte_level == last.byte_level
        and _cutter_of(tables) is not None
    )


def _cutter_of(tables: SplitTables) -> Cutter | None:
    if tables.transducer is None or tables.behavior not in ("Isolated", "Contiguous"):
        return None
    machine = TokenMachine(tables.dfa, tables.has_gaps)
    return make_cutter(machine, contiguous=tables.behavior == "Contiguous")


def _fuse(group: list[SplitTables]) -> list[SplitTables]:
    """One split for all of ``group``, or ``group`` itself where that would be too big."""
    *earlier, last = group
    if not earlier:
        return group
    machine: Machine = TokenMachine(last.dfa, last.has_gaps)
    classes = last.dfa.classes
    for tables in reversed(earlier):
        cutter = _cutter_of(tables)
        assert cutter is not None
        classes, to_cutter, to_inner = common_classes(tables.dfa.classes, classes)
        if classes.count > MAX_CLASSES:
            return group
        machine = FusedMachine(cutter, to_cutter, machine, to_inner, last.has_gaps)
    transducer = build_transducer(machine)
    if transducer is None:
        return group
    n_classes, byte_class, page_index, pages = class_arrays(classes, last.byte_level)
    return [
        replace(
            last,
            pattern=" then ".join(tables.pattern for tables in group),
            n_classes=n_classes,
            byte_class=byte_class,
            page_index=page_index,
            pages=pages,
            transducer=transducer,
        )
    ]


@lru_cache(maxsize=1)
def _code_points_by_lead() -> npt.NDArray[np.int32]:
    """The first and the last code point that begins with each byte of ``LEADS``: int32 [51, 2]."""
    firsts = [
        *range(0x80, 0x800, 0x40),  # two bytes
        *(0x800, *range(0x1000, 0x10000, 0x1000)),  # three
        *(0x10000, *range(0x40000, MAX_CODE_POINT, 0x40000)),  # four
    ]
    lasts = [first - 1 for first in firsts[1:]] + [MAX_CODE_POINT]
    return np.stack((firsts, lasts), axis=1).astype(np.int32)


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
