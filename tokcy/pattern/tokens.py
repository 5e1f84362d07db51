"""The tokens of one split, followed without ever going back.

A scan with the DFA alone reads on until no longer match is possible and then goes back to the
end of the last one. Here, while a token may still grow beyond its last match, the tokens that
would start there are followed as well. A state is that list of tokens, oldest first. When the
oldest dies, the borders behind it are certain; when it matches again, they are cancelled. A
border waits up to ``DELAY`` characters for certainty and is then announced all the same; a later
cancellation is an ``undo`` of so many borders.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from .automaton import DEAD, GAP, MATCH, START, Dfa

__all__ = ["Event", "TokenMachine", "Tokens", "TooDeepError"]

DELAY = 3
MAX_TOKENS = 12


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


Tokens = tuple[_Token, ...]


class Event(NamedTuple):
    """What reading a character tells.

    Bit d of ``borders`` (``gaps``): a piece (a gap) starts d characters back; ``undo``: one more
    than the number of borders to take back before that, 0 for nothing to take back; ``cut``: an
    earlier split of a cascade begins a segment here.
    """

    borders: int = 0
    gaps: int = 0
    undo: int = 0
    cut: int = 0


class TooDeepError(Exception):
    """The pattern needs more tokens at once, or more rows, than the transducer can hold."""


class TokenMachine:
    """The tokens of one split, as a deterministic machine that reads classes.

    ``has_gaps``: whether a token may end up as a gap, so that gaps must be announced.
    """

    start: Tokens = ()

    def __init__(self, dfa: Dfa, has_gaps: bool) -> None:
        self.next: list[list[int]] = dfa.next.tolist()
        self.accept: list[list[int]] = dfa.accept.tolist()
        self.n_classes = dfa.classes.count
        self.has_gaps = has_gaps
        only_gap = (dfa.accept == GAP).all(axis=1) & (dfa.next == DEAD).all(axis=1)
        self.only_gap: list[bool] = only_gap.tolist()
        # (match, next state) of every DFA state in one number.
        rows = zip(self.accept, self.next, strict=True)
        self.ways = [[k << 16 | s for k, s in zip(*row, strict=True)][:-1] for row in rows]
        self.fresh = [[self._fresh(c, border) for c in range(self.n_classes)] for border in (0, 1)]
        self.firsts = [self.sure_gap(token) for token in self.fresh[0]]
        self.leaves: dict[Tokens, Event] = {}

    def alike(self, state: Tokens) -> Sequence[Hashable]:
        """For each class what decides its step: classes that a state treats alike have one."""
        alive = {START, *(token.state for token in state)}
        return list(zip(*(self.ways[s] for s in alive), strict=True))

    def first_alike(self) -> Sequence[Hashable]:
        """The same for characters at which a segment begins."""
        return self.firsts

    def _fresh(self, character: int, border: int) -> _Token:
        """A token that begins with ``character``."""
        state = self.next[START][character]
        return _Token(state, GAP if self.only_gap[state] else 0, border, int(self.has_gaps))

    def sure_gap(self, first: _Token) -> tuple[_Token, int]:
        """Announce the oldest token as a gap where it cannot become anything else."""
        if first.gap and self.only_gap[first.state]:
            return first._replace(gap=0), _bit(first.gap)
        return first, 0

    def read(self, state: Tokens, character: int) -> tuple[list[_Token], int, bool]:
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

    def step(self, state: Tokens, character: int) -> tuple[Tokens, Event]:
        tokens, undo, matched = self.read(state, character)
        borders = gaps = 0
        if matched or not state:
            tokens.append(self.fresh[1 if state else 0][character])
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
            raise TooDeepError
        return tuple(tokens), Event(borders, gaps, undo)

    def enter(self, state: Tokens, character: int) -> tuple[Tokens, Event]:
        """A step on a character at which a new segment begins."""
        first, gaps = self.firsts[character]
        event = self.leave(state)
        return (first,), event._replace(gaps=event.gaps | gaps)

    def leave(self, state: Tokens) -> Event:
        """What the end of a segment makes certain, told to the character behind it."""
        if (known := self.leaves.get(state)) is not None:  # asked for each class that may follow
            return known
        tokens, undo, _ = self.read(state, self.n_classes)
        borders = gaps = 0
        for index, token in enumerate(tokens):
            borders |= _bit(token.border) if index else 0
            gaps |= _bit(token.gap) if token.kind == GAP else 0
        event = self.leaves[state] = Event(borders | 1, gaps, undo)
        return event

    def settled(self, state: Tokens) -> bool:
        """Whether all that was announced before the last character is final."""
        return (
            all(token.border == 1 for token in state[1:])
            and all(token.gap <= 1 for token in state)
            and not any(t.kind == GAP and t.state and not self.only_gap[t.state] for t in state)
        )


def _bit(distance: int) -> int:
    return 1 << (distance - 1) if distance else 0
