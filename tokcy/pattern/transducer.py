"""A machine that tells where pieces start → a table that needs one step for two bytes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .tokens import Event, TooDeepError

__all__ = ["Machine", "Steps", "Transducer", "build_transducer"]

MAX_STATES = 1_000
ROW_UNIT = 8  # bytes in which an entry of `Steps` names the row to go to
MAX_PAIRED = 512 << 10  # bytes of a table with pairs; what of it is in use stays in L1 and L2

# Codes of events. Bit d, d < 4: a piece starts d characters back.
GAP_HERE, GAP_BACK, CUT = 0x10, 0x20, 0x40  # a gap starts here, one character back; a cut
OTHER, MAX_OTHERS = 0x80, 32  # what else there is: OTHER + 4 * the row of `Transducer.others`


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
    """States, with what reading a character in each does and tells. State 0 is the first.

    ``follow``, uint16 [n_states, n_columns], is the state to go to, and ``codes``, uint8 of the
    same shape, the event told on the way. Columns: the classes, then CONTINUATION (no change;
    the bytes of a character behind its first) and SKIP (a segment that is not to be split); then
    all of it again for a character at which a segment begins.

    A code below ``OTHER`` has one bit for each thing told. ``OTHER`` + 4 * i stands for row i of
    ``others``, uint8 [n, 4]: borders, gaps, undo and cut (see ``tokens.Event``).

    ``settled``, uint8 [n_states], says that what was announced before the last character read
    is final.
    """

    follow: npt.NDArray[np.uint16]
    codes: npt.NDArray[np.uint8]
    others: npt.NDArray[np.uint8]
    settled: npt.NDArray[np.uint8]

    @property
    def n_classes(self) -> int:
        n_columns: int = self.follow.shape[1]
        return n_columns // 2 - 2

    def steps(self) -> Steps:
        """The table that the scanner runs on."""
        n_states, n_columns = self.follow.shape
        plain = self.n_classes + 1
        n_pairs = plain * plain
        if n_states * (n_pairs + n_columns) * 4 > MAX_PAIRED:
            n_pairs = 0
        width = -(-(n_pairs + n_columns) * 4 // ROW_UNIT)  # in units
        told = self.codes.astype(np.uint32)
        single = self.follow.astype(np.uint32) * width | told << 16 | told << 24
        table = np.zeros((n_states, width * ROW_UNIT // 4), dtype=np.uint32)
        table[:, n_pairs : n_pairs + n_columns] = single
        if n_pairs:
            second = single[self.follow[:, :plain], :plain] & 0xFF00FFFF
            pairs = second | (told[:, :plain] << 16)[:, :, None]
            table[:, :n_pairs] = pairs.transpose(0, 2, 1).reshape(n_states, n_pairs)
        return Steps(table, n_pairs, width)


@dataclass(frozen=True, eq=False)
class Steps:
    """A transducer as the scanner reads it: ``table``, uint32 [n_states, row_width * 2].

    Bits 0 to 15 of an entry are the row to go to, as its offset in units of ``ROW_UNIT`` bytes.
    The first ``n_pairs`` columns, which small transducers have, read two characters at once:
    column a + b * (n_classes + 1) the classes a and b, of those that are in no upper column; bits
    16 to 23 are the code of the first, bits 24 to 31 of the second. The other columns are those
    of the transducer, with the code of the one character in both places.
    """

    table: npt.NDArray[np.uint32]
    n_pairs: int
    row_width: int


def _code_of(event: Event) -> int | None:
    """The code that has a bit for each thing that an event tells; None if it takes back."""
    borders, gaps, undo, cut = event
    if undo or borders > 0xF or gaps > 3:
        return None
    return borders | gaps << 4 | cut << 6


class _States:
    """The states found so far, and for each the state and the code that each column leads to."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.numbers: dict[Any, int] = {}
        self.order: list[Any] = []
        self.others: dict[Event, int] = {}
        self.first_alike = machine.first_alike()
        self.number(machine.start)
        self.leads = [self.targets(state) for state in self.order]  # grows as states are found

    def number(self, state: Any) -> int:
        if (found := self.numbers.get(state)) is None:
            if len(self.order) >= MAX_STATES:
                raise TooDeepError
            found = self.numbers[state] = len(self.order)
            self.order.append(state)
        return found

    def lead(self, state: Any, event: Event) -> tuple[int, int]:
        code = _code_of(event)
        if code is None:
            code = OTHER + 4 * self.others.setdefault(event, len(self.others))
            if len(self.others) > MAX_OTHERS:
                raise TooDeepError
        return self.number(state), code

    def targets(self, state: Any) -> list[tuple[int, int]]:
        machine = self.machine
        stay = self.number(state), 0
        nothing = self.lead(machine.start, machine.leave(state))
        alike = machine.alike(state)
        steps = {way: c for c, way in enumerate(alike)}
        leads = {way: self.lead(*machine.step(state, c)) for way, c in steps.items()}
        entries = {way: c for c, way in enumerate(self.first_alike)}
        firsts = {way: self.lead(*machine.enter(state, c)) for way, c in entries.items()}
        inside = [leads[way] for way in alike]
        behind = [firsts[way] for way in self.first_alike]
        return [*inside, stay, nothing, *behind, stay, nothing]


def build_transducer(machine: Machine) -> Transducer | None:
    """The transducer of ``machine``, or None if it would be too big."""
    try:
        states = _States(machine)
    except TooDeepError:
        return None
    leads = np.array(states.leads)
    n_states, n_columns, _ = leads.shape
    if n_states * (n_columns * 4 + ROW_UNIT) > 0xFFFF * ROW_UNIT:
        return None
    return Transducer(
        leads[:, :, 0].astype(np.uint16),
        leads[:, :, 1].astype(np.uint8),
        np.array(list(states.others), dtype=np.uint8).reshape(-1, 4),
        np.array([machine.settled(state) for state in states.order], dtype=np.uint8),
    )
