"""Sets of code points.

A set is kept as the sorted positions at which membership flips: ``[a, b + 1, c, d + 1, …]``
for the inclusive ranges ``a–b`` and ``c–d``. All algebra is then one sweep over merged flips.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["MAX_CODE_POINT", "CharSet", "distinct"]

MAX_CODE_POINT = 0x10FFFF

Flips = npt.NDArray[np.int32]
Integer = TypeVar("Integer", bound=np.integer[Any])


def distinct(numbers: npt.NDArray[Integer]) -> npt.NDArray[Integer]:
    """As `np.unique`, which imports `numpy.ma`: that takes longer than most patterns."""
    ordered = np.sort(numbers)
    found: npt.NDArray[Integer] = ordered[
        np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    ]
    return found


@dataclass(frozen=True, eq=False)
class CharSet:
    """An immutable set of code points; ``flips`` is int32, strictly increasing, even length."""

    flips: Flips

    @staticmethod
    def of(*code_points: int) -> CharSet:
        return CharSet.from_ranges([(c, c) for c in code_points])

    @staticmethod
    def everything() -> CharSet:
        return CharSet.from_ranges([(0, MAX_CODE_POINT)])

    @staticmethod
    def from_ranges(ranges: Iterable[tuple[int, int]] | npt.NDArray[np.int32]) -> CharSet:
        """Inclusive ranges, in any order, overlapping or not."""
        pairs = np.array(sorted(map(tuple, ranges)), dtype=np.int32).reshape(-1, 2)
        if not len(pairs):
            return CharSet(np.empty(0, dtype=np.int32))
        ends = np.maximum.accumulate(pairs[:, 1] + 1)
        gap_before = np.concatenate(([True], pairs[1:, 0] > ends[:-1]))
        gap_after = np.concatenate((gap_before[1:], [True]))
        flips = np.empty(2 * int(gap_before.sum()), dtype=np.int32)
        flips[0::2] = pairs[gap_before, 0]
        flips[1::2] = ends[gap_after]
        return CharSet(flips)

    @staticmethod
    def from_sorted_ranges(ranges: npt.NDArray[np.int32]) -> CharSet:
        """Inclusive ``[n, 2]`` ranges that are sorted and disjoint; touching ones are joined."""
        flips = np.ascontiguousarray(ranges, dtype=np.int32).reshape(-1).copy()
        flips[1::2] += 1
        touching = np.flatnonzero(flips[1:] == flips[:-1])
        return CharSet(np.delete(flips, np.concatenate((touching, touching + 1))))

    def contains(self, code_points: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        return (np.searchsorted(self.flips, code_points, side="right") & 1).astype(np.bool_)

    def _combine(self, other: CharSet, wanted: tuple[bool, bool, bool]) -> CharSet:
        """Keep points in (only self, only other, both) as ``wanted`` says; never those in none."""
        at = np.concatenate((self.flips, other.flips))
        at.sort()
        mine, theirs = self.contains(at), other.contains(at)
        only_mine, only_theirs, both = wanted
        inside = (
            (mine & ~theirs & only_mine) | (theirs & ~mine & only_theirs) | (mine & theirs & both)
        )
        # A point that flips both sets is there twice, with the same answer: the second is no flip.
        flips = inside.copy()
        flips[1:] ^= inside[:-1]
        return CharSet(at[flips])

    def __or__(self, other: CharSet) -> CharSet:
        return self._combine(other, (True, True, True))

    def __and__(self, other: CharSet) -> CharSet:
        return self._combine(other, (False, False, True))

    def __sub__(self, other: CharSet) -> CharSet:
        return self._combine(other, (True, False, False))

    def __invert__(self) -> CharSet:
        return CharSet.everything() - self

    def __bool__(self) -> bool:
        return len(self.flips) > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CharSet) and np.array_equal(self.flips, other.flips)

    def __hash__(self) -> int:
        return hash(self.flips.tobytes())

    def __contains__(self, code_point: int) -> bool:
        return bool(np.searchsorted(self.flips, code_point, side="right") & 1)

    def isdisjoint(self, other: CharSet) -> bool:
        return not self & other

    def ranges(self) -> npt.NDArray[np.int32]:
        """Inclusive ranges, int32 ``[n, 2]``, sorted, neither overlapping nor touching."""
        return self.flips.reshape(-1, 2) - np.array([0, 1], dtype=np.int32)
