"""The figures of one run, by what was asked of whom."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from bench.processes import Row

OURS = "tokcy"
#: A peer that is slower than this part of the best one is not measured again: the noise of a
#: machine that is shared is less.
CONTENDER = 0.6


def is_ours(library: str) -> bool:
    return library.partition(",")[0] == OURS


class Results:
    """Rows of all rounds. Of several rounds the best speed counts, or the median of seconds."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, rows: Iterable[Row], **where: object) -> None:
        self.rows += [{**where, **row} for row in rows]

    def _matching(self, **wanted: str) -> list[Row]:
        """A row matches what it does not say, as one of a process that died says no name."""
        return [
            row
            for row in self.rows
            if all(row.get(key, wanted[key]) == wanted[key] for key in wanted)
        ]

    def value(self, key: str = "value", /, **wanted: str) -> float | None:
        """The figure, or what was noted beside it; None if there is none or a round failed."""
        rows = self._matching(**wanted)
        values: list[float] = [row[key] for row in rows if key in row]
        if not values or any("problem" in row for row in rows):
            return None
        return statistics.median(values) if rows[0]["seconds"] or key != "value" else max(values)

    def problem(self, **wanted: str) -> str | None:
        return next((row["problem"] for row in self._matching(**wanted) if "problem" in row), None)

    def distinct(self, key: str, **wanted: str) -> list[str]:
        """The values that a key takes, in the order in which they came."""
        return list(dict.fromkeys(row[key] for row in self._matching(**wanted) if key in row))

    def peers(self, **wanted: str) -> dict[str, float]:
        """The figures of the other libraries."""
        found = {
            library: self.value(library=library, **wanted)
            for library in self.distinct("library", **wanted)
            if not is_ours(library)
        }
        return {library: value for library, value in found.items() if value is not None}

    def to_best_peer(self, peer: str = "", /, **wanted: str) -> float | None:
        """How many times faster tokcy is than the best peer, or than the one that is named.

        0 if tokcy failed, None if there is nothing to compare.
        """
        peers = self.peers(**wanted)
        if peer:
            peers = {library: value for library, value in peers.items() if library == peer}
        if not peers or OURS not in self.distinct("library", **wanted):
            return None
        ours = self.value(library=OURS, **wanted)
        if ours is None:
            return 0.0
        seconds = self._matching(**wanted)[0]["seconds"]
        return min(peers.values()) / ours if seconds else ours / max(peers.values())

    def contenders(self, libraries: list[str], **wanted: str) -> list[str]:
        """tokcy, and the peers that may be the best one in any of these figures."""
        chosen = {library for library in libraries if is_ours(library)}
        seconds = any(row["seconds"] for row in self._matching(**wanted))
        for name in self.distinct("name", **wanted):
            for text in self.distinct("text", **{**wanted, "name": name}):
                peers = self.peers(**{**wanted, "name": name, "text": text})
                speeds = {peer: 1 / v if seconds else v for peer, v in peers.items()}
                limit = CONTENDER * max(speeds.values(), default=0)
                chosen |= {peer for peer, speed in speeds.items() if speed >= limit}
        return [library for library in libraries if library in chosen]
