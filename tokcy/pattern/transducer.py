"""DFA → boundary transducer: one table step per byte that tells where pieces start.

A scan with the DFA alone reads on until no longer match is possible and then goes back to the
end of the last one. The transducer never goes back: while a token may still grow beyond its last
match, it also follows the tokens that would start there. A state is that list of tokens, oldest
first. When the oldest dies, the borders behind it are certain; when it matches again, they are
cancelled. A border waits up to ``DELAY`` characters for certainty and is then announced all the
same; a later cancellation is an ``undo`` of so many borders.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .automaton import DEAD, GAP, MATCH, SPLIT_GAP, START, Dfa

__all__ = ["ROW_UNIT", "Transducer", "build_transducer"]

DELAY = 3
MAX_TOKENS = 12
MAX_DFA_STATES = 256
MAX_ROWS = 2_000
ROW_UNIT = 8  # bytes in which the table addresses its rows


@dataclass(frozen=True, eq=False)
class Transducer:
    """One row per (state, event of entering it), ordered by event.

    ``table`` is uint16 [n_rows, n_columns]; an entry is the row to go to, as its offset in units
    of ``ROW_UNIT`` bytes. Columns: the classes, then CONTINUATION (no change; the bytes of a
    character behind its first) and SKIP (a segment that is not to be split); then all of it
    again for a character at which a segment begins.

    ``bounds``, uint16 [4] of row offsets, parts the events: nothing | a piece starts here | a gap
    starts here | a piece starts one character back | others. For every row, ``borders`` and
    ``gaps`` (uint8) have bit d set where a piece, or a gap, starts d characters back; ``undo``
    is one more than the number of borders to take back before that (0: nothing to take back);
    ``settled`` says that what was announced before this character is final.

    ``start`` is the offset of the row to start from, ``row_width`` that between two rows.
    """

    table: npt.NDArray[np.uint16]
    bounds: npt.NDArray[np.uint16]
    borders: npt.NDArray[np.uint8]
    gaps: npt.NDArray[np.uint8]
    undo: npt.NDArray[np.uint8]
    settled: npt.NDArray[np.uint8]
    start: int
    row_width: int


class _Token(NamedTuple):
    """A token that may still be cancelled, or be longer than its last match.

    ``state`` is its DFA state (DEAD: it cannot grow), ``kind`` that of its last match (0: none
    yet). ``border`` and ``gap`` count the characters from its start, 0 once announced (or,
    for ``gap``, not to be announced).
    """

    state: int
    kind: int
    border: int
    gap: int


State = tuple[_Token, ...]


class _Event(NamedTuple):
    borders: int = 0
    gaps: int = 0
    undo: int = 0

    def rank(self) -> int:
        simple = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 0, 0)]
        return simple.index(self) if self in simple else len(simple)


class _TooDeepError(Exception):
    """The pattern needs more tokens at once, or more rows, than the transducer can hold."""


class _Builder:
    def __init__(self, dfa: Dfa, has_gaps: bool) -> None:
        self.next: list[list[int]] = dfa.next.tolist()
        self.accept: list[list[int]] = dfa.accept.tolist()
        self.end = dfa.classes.count
        self.has_gaps = has_gaps
        only_gap = (dfa.accept == GAP).all(axis=1) & (dfa.next == DEAD).all(axis=1)
        self.only_gap: list[bool] = only_gap.tolist()

    def fresh(self, character: int, border: int) -> _Token:
        """A token that begins with ``character``."""
        state = self.next[START][character]
        return _Token(state, GAP if self.only_gap[state] else 0, border, int(self.has_gaps))

    def sure_gap(self, first: _Token) -> tuple[_Token, int]:
        """Announce the oldest token as a gap where it cannot become anything else."""
        if first.gap and self.only_gap[first.state]:
            return first._replace(gap=0), _bit(first.gap)
        return first, 0

    def read(self, state: State, character: int) -> tuple[list[_Token], int, bool]:
        """(tokens behind ``character``, undo, whether one of them matched before it)."""
        tokens: list[_Token] = []
        for index, token in enumerate(state):
            border, gap = token.border and token.border + 1, token.gap and token.gap + 1
            kind = self.accept[token.state][character] if token.state else 0
            follow = self.next[token.state][character] if token.state else DEAD
            if not kind:
                tokens.append(_Token(follow, token.kind, border, gap))
                continue
            taken_back = sum(not later.border for later in state[index + 1 :])
            gap_announced = self.has_gaps and token.kind == GAP and not gap and kind == MATCH
            tokens.append(_Token(follow, kind, border, gap if kind == GAP else 0))
            return tokens, taken_back + 1 if taken_back or gap_announced else 0, True
        return tokens, 0, False

    def step(self, state: State, character: int) -> tuple[State, _Event]:
        tokens, undo, matched = self.read(state, character)
        borders = gaps = 0
        if matched or not state:
            tokens.append(self.fresh(character, 1 if state else 0))
        while len(tokens) > 1 and not tokens[0].state:
            done, first = tokens.pop(0), tokens[0]
            gaps |= _bit(done.gap) if done.kind == GAP else 0
            borders |= _bit(first.border)
            tokens[0] = first._replace(border=0)
        tokens[0], gap = self.sure_gap(tokens[0])
        gaps |= gap
        alive: set[int] = set()
        for index, token in enumerate(tokens):
            if token.border > DELAY:
                borders |= _bit(token.border)
                token = token._replace(border=0)
            if token.gap > DELAY:
                gaps |= _bit(token.gap) if token.kind == GAP else 0
                token = token._replace(gap=0)
            # An older token in the same state matches or dies with this one, and overrules it.
            if token.state in alive:
                token = token._replace(state=DEAD)
            alive.add(token.state)
            tokens[index] = token
        if len(tokens) > MAX_TOKENS:
            raise _TooDeepError
        return tuple(tokens), _Event(borders, gaps, undo)

    def finish(self, state: State) -> _Event:
        """What the end of a segment makes certain, told to the character behind it."""
        tokens, undo, _ = self.read(state, self.end)
        borders = gaps = 0
        for index, token in enumerate(tokens):
            borders |= _bit(token.border) if index else 0
            gaps |= _bit(token.gap) if token.kind == GAP else 0
        return _Event(borders | 1, gaps, undo)

    def settled(self, state: State) -> bool:
        return (
            all(token.border == 1 for token in state[1:])
            and all(token.gap <= 1 for token in state)
            and not any(t.kind == GAP and t.state and not self.only_gap[t.state] for t in state)
        )


def _bit(distance: int) -> int:
    return 1 << (distance - 1) if distance else 0


class _Rows:
    """The rows found so far. Where a row leads depends on its state alone, not on its event."""

    def __init__(self, builder: _Builder) -> None:
        self.builder = builder
        self.n_classes = n = builder.end
        self.numbers: dict[tuple[State, _Event], int] = {}
        self.order: list[tuple[State, _Event]] = []
        # (match, next state) of every DFA state in one number: classes that a transducer state
        # treats alike are those with equal columns of these.
        rows = zip(builder.accept, builder.next, strict=True)
        self.ways = [[k << 16 | s for k, s in zip(*row, strict=True)][:n] for row in rows]
        self.begins = [builder.sure_gap(builder.fresh(character, 0)) for character in range(n)]

    def number(self, state: State, event: _Event) -> int:
        key = (state, event)
        if (found := self.numbers.get(key)) is None:
            if len(self.order) >= MAX_ROWS:
                raise _TooDeepError
            found = self.numbers[key] = len(self.order)
            self.order.append(key)
        return found

    def targets(self, state: State) -> list[int]:
        """The row that each column leads to."""
        builder = self.builder
        alive = {START, *(token.state for token in state)}
        ways = list(zip(*(self.ways[s] for s in alive), strict=True))
        examples = dict(zip(ways, range(self.n_classes), strict=True))
        rows = {way: self.number(*builder.step(state, c)) for way, c in examples.items()}
        final = builder.finish(state)
        begins = {
            begin: self.number(begin[:1], final._replace(gaps=final.gaps | begin[1]))
            for begin in set(self.begins)
        }
        inside = [rows[way] for way in ways]
        behind = [begins[begin] for begin in self.begins]
        stay, nothing = self.number(state, _Event()), self.number((), final)
        return [*inside, stay, nothing, *behind, stay, nothing]


def build_transducer(dfa: Dfa, *, has_gaps: bool) -> Transducer | None:
    """The transducer of ``dfa``, or None if it would be too big or the pattern matches nothing.

    ``has_gaps``: whether a token may end up as a gap, so that gaps must be announced.
    """
    if len(dfa.next) > MAX_DFA_STATES or (dfa.accept == SPLIT_GAP).any():
        return None
    builder = _Builder(dfa, has_gaps)
    rows = _Rows(builder)
    try:
        start = rows.number((), _Event())
        leads: dict[State, list[int]] = {}
        for state, _ in rows.order:  # grows as rows are found
            if state not in leads:
                leads[state] = rows.targets(state)
    except _TooDeepError:
        return None
    return _arrange(builder, rows, leads, start)


def _arrange(
    builder: _Builder, rows: _Rows, leads: dict[State, list[int]], start: int
) -> Transducer | None:
    """Number the rows by event and turn row numbers into offsets."""
    ranks = np.array([event.rank() for _, event in rows.order])
    order = np.argsort(ranks, kind="stable")
    n_columns = 2 * (builder.end + 2)
    width = -(-n_columns * 2 // ROW_UNIT)  # in units
    if len(order) * width > 0xFFFF:
        return None
    offset = np.empty(len(order), dtype=np.uint16)
    offset[order] = np.arange(len(order)) * width
    table = np.zeros((len(order), width * ROW_UNIT // 2), dtype=np.uint16)
    table[:, :n_columns] = offset[np.array([leads[rows.order[row][0]] for row in order])]
    events = np.array([rows.order[row][1] for row in order], dtype=np.uint8)
    bounds = np.searchsorted(ranks[order], np.arange(1, 5)) * width
    settled = [builder.settled(rows.order[row][0]) for row in order]
    borders, gaps, undo = np.ascontiguousarray(events.T)
    return Transducer(
        table,
        bounds.astype(np.uint16),
        borders,
        gaps,
        undo,
        np.array(settled, dtype=np.uint8),
        int(offset[start]),
        width,
    )
