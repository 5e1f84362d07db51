"""Splits that follow each other, as one machine.

Where an earlier split knows on reading a character whether it begins a piece there, it can walk
in step with the next split: its cuts are the ends of text that the next one sees. The texts are
then read once in place of once per split.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from .charset import distinct
from .classes import Classes
from .tokens import Event, TokenMachine, Tokens
from .transducer import Machine

__all__ = ["Cutter", "FusedMachine", "common_classes", "make_cutter"]

MAX_CUTTER_STATES = 64

State = tuple[int, Hashable]


class Cutter:
    """A split whose pieces are known as they begin.

    ``rows[state][c]`` is (whether a piece begins at a character of class c, next state);
    ``firsts[c]`` the state after such a character where a segment begins. State 0 has read nothing.
    """

    def __init__(self, rows: list[list[tuple[bool, int]]], firsts: list[int]) -> None:
        self.rows = rows
        self.firsts = firsts


def make_cutter(machine: TokenMachine, *, contiguous: bool) -> Cutter | None:
    """The cutter of a split whose behaviour is Contiguous or Isolated; None if it has to wait."""
    order: list[tuple[Tokens, bool]] = [(machine.start, False)]
    numbers = {order[0]: 0}
    rows: list[list[tuple[bool, int]]] = []

    def number(state: Tokens, in_gap: bool) -> int:
        key = (state, in_gap)
        if key not in numbers:
            numbers[key] = len(order)
            order.append(key)
        return numbers[key]

    firsts = []
    for character in range(machine.n_classes):
        state, event = machine.enter(machine.start, character)
        firsts.append(number(state, bool(event.gaps)))
    for state, in_gap in order:  # grows as states are found
        if machine.leave(state) != Event(borders=1) or len(order) > MAX_CUTTER_STATES:
            return None
        row = []
        for character in range(machine.n_classes):
            follow, event = machine.step(state, character)
            if event.undo or event.borders > 1 or event.gaps > 1:
                return None
            begins = event.borders or not state
            now = bool(event.gaps) if begins else in_gap
            joined = now == in_gap if contiguous else now and in_gap
            row.append((bool(event.borders) and not joined, number(follow, now)))
        rows.append(row)
    return Cutter(rows, firsts)


class FusedMachine:
    """``cutter`` and behind it ``inner``; classes are common to both.

    ``tell_cuts``: whether events must name the cuts, as gaps are not joined across them.
    """

    def __init__(
        self,
        cutter: Cutter,
        to_cutter: list[int],
        inner: Machine,
        to_inner: list[int],
        tell_cuts: bool,
    ) -> None:
        self.n_classes = len(to_inner)
        self.inner = inner
        self.tell_cuts = int(tell_cuts)
        self.to_inner = to_inner
        self.rows = [[row[c] for c in to_cutter] for row in cutter.rows]
        self.firsts = [cutter.firsts[c] for c in to_cutter]
        self.start: State = (0, inner.start)
        inner_firsts = inner.first_alike()
        self.inner_firsts = [inner_firsts[c] for c in to_inner]

    def alike(self, state: State) -> Sequence[Hashable]:
        inner = self.inner.alike(state[1])
        ways = [inner[c] for c in self.to_inner]
        return list(zip(self.rows[state[0]], ways, self.inner_firsts, strict=True))

    def first_alike(self) -> Sequence[Hashable]:
        return list(zip(self.firsts, self.inner_firsts, strict=True))

    def step(self, state: State, character: int) -> tuple[State, Event]:
        cuts, outer = self.rows[state[0]][character]
        if cuts:
            inner, event = self.inner.enter(state[1], self.to_inner[character])
            return (outer, inner), event._replace(cut=self.tell_cuts)
        inner, event = self.inner.step(state[1], self.to_inner[character])
        return (outer, inner), event

    def enter(self, state: State, character: int) -> tuple[State, Event]:
        inner, event = self.inner.enter(state[1], self.to_inner[character])
        return (self.firsts[character], inner), event

    def leave(self, state: State) -> Event:
        return self.inner.leave(state[1])

    def settled(self, state: State) -> bool:
        return self.inner.settled(state[1])


def common_classes(first: Classes, second: Classes) -> tuple[Classes, list[int], list[int]]:
    """(the coarsest classes that both agree with, class of the first for each, of the second)."""
    begins = distinct(np.concatenate((first.begins, second.begins)))
    pairs = first.of(begins).astype(np.int64) * second.count + second.of(begins)
    found = distinct(pairs)
    labels = np.searchsorted(found, pairs).astype(np.uint8)
    keep = np.append(True, pairs[1:] != pairs[:-1])
    classes = Classes(len(found), begins[keep], labels[keep], ())
    return classes, (found // second.count).tolist(), (found % second.count).tolist()
