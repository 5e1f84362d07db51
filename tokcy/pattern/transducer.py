"""A machine that tells where pieces start → a table that needs one step per byte."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .tokens import Event, TooDeepError

__all__ = ["Machine", "Transducer", "build_transducer"]

MAX_ROWS = 2_000
ROW_UNIT = 8  # bytes in which the table addresses its rows

# The events that the scanner takes from a bitmap each; bounds part the rows by them.
_SIMPLE = (
    Event(),
    Event(borders=1),
    Event(borders=1, gaps=1),
    Event(borders=1, cut=1),
    Event(borders=2),
)


class Machine(Protocol):
    """What can be made a transducer of; see ``tokens.TokenMachine``. States are hashable."""

    n_classes: int

    @property
    def start(self) -> Any: ...
    def alike(self, state: Any) -> Sequence[Hashable]: ...
    def first_alike(self) -> Sequence[Hashable]: ...
    def step(self, state: Any, character: int) -> tuple[Any, Event]: ...
    def enter(self, state: Any, character: int) -> tuple[Any, Event]: ...
    def leave(self, state: Any) -> Event: ...
    def settled(self, state: Any) -> bool: ...


@dataclass(frozen=True, eq=False)
class Transducer:
    """One row per (state, event of entering it), ordered by event.

    ``table`` is uint16 [n_rows, n_columns]; an entry is the row to go to, as its offset in units
    of ``ROW_UNIT`` bytes. Columns: the classes, then CONTINUATION (no change; the bytes of a
    character behind its first) and SKIP (a segment that is not to be split); then all of it
    again for a character at which a segment begins.

    ``bounds``, uint16 [5] of row offsets, parts the events: nothing | a piece starts here | a gap
    starts here | a segment starts here | a piece starts one character back | others. ``events``,
    uint8 [4, n_rows], has the borders, gaps, undo and cut of every row (see ``tokens.Event``);
    ``settled``, uint8 [n_rows], says that what was announced before this character is final.

    ``start`` is the offset of the row to start from, ``row_width`` that between two rows.
    """

    table: npt.NDArray[np.uint16]
    bounds: npt.NDArray[np.uint16]
    events: npt.NDArray[np.uint8]
    settled: npt.NDArray[np.uint8]
    start: int
    row_width: int


class _Rows:
    """The rows found so far. Where a row leads depends on its state alone, not on its event."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.numbers: dict[tuple[Any, Event], int] = {}
        self.order: list[tuple[Any, Event]] = []
        self.leads: dict[Any, list[int]] = {}
        self.first_alike = machine.first_alike()
        self.number(machine.start, Event())
        for state, _ in self.order:  # grows as rows are found
            if state not in self.leads:
                self.leads[state] = self.targets(state)

    def number(self, state: Any, event: Event) -> int:
        key = (state, event)
        if (found := self.numbers.get(key)) is None:
            if len(self.order) >= MAX_ROWS:
                raise TooDeepError
            found = self.numbers[key] = len(self.order)
            self.order.append(key)
        return found

    def targets(self, state: Any) -> list[int]:
        """The row that each column leads to."""
        machine = self.machine
        stay = self.number(state, Event())
        nothing = self.number(machine.start, machine.leave(state))
        alike = machine.alike(state)
        steps = {way: c for c, way in enumerate(alike)}
        rows = {way: self.number(*machine.step(state, c)) for way, c in steps.items()}
        entries = {way: c for c, way in enumerate(self.first_alike)}
        firsts = {way: self.number(*machine.enter(state, c)) for way, c in entries.items()}
        inside = [rows[way] for way in alike]
        behind = [firsts[way] for way in self.first_alike]
        return [*inside, stay, nothing, *behind, stay, nothing]


def build_transducer(machine: Machine) -> Transducer | None:
    """The transducer of ``machine``, or None if it would be too big."""
    try:
        rows = _Rows(machine)
    except TooDeepError:
        return None
    states, events = zip(*rows.order, strict=True)
    ranks = np.array([_SIMPLE.index(e) if e in _SIMPLE else len(_SIMPLE) for e in events])
    order = np.argsort(ranks, kind="stable")
    n_columns = 2 * (machine.n_classes + 2)
    width = -(-n_columns * 2 // ROW_UNIT)  # in units
    if len(order) * width > 0xFFFF:
        return None
    offset = np.empty(len(order), dtype=np.uint16)
    offset[order] = np.arange(len(order)) * width
    table = np.zeros((len(order), width * ROW_UNIT // 2), dtype=np.uint16)
    leads = np.array([rows.leads[state] for state in states])
    table[:, :n_columns] = offset[leads[order]]
    settled = np.array([machine.settled(state) for state in states], dtype=np.uint8)
    bounds = np.searchsorted(ranks[order], np.arange(1, len(_SIMPLE) + 1)) * width
    return Transducer(
        table,
        bounds.astype(np.uint16),
        np.ascontiguousarray(np.array(events, dtype=np.uint8)[order].T),
        settled[order],
        int(offset[0]),
        width,
    )
