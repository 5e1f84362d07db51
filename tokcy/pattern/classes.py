"""Sets of code points → character classes.

Two characters that no set of the pattern tells apart are one class: the automaton then works on
10 to 30 classes in place of 1,114,112 code points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .charset import MAX_CODE_POINT, CharSet, distinct

__all__ = ["MAX_CLASSES", "PAGE_BITS", "Classes", "partition"]

MAX_CLASSES = 126  # twice as many columns, with four more, are told apart by a byte
PAGE_BITS = 7


@dataclass(frozen=True)
class Classes:
    """The partition of all code points into ``count`` classes.

    ``begins`` (int32 [r]) are the first code points of the maximal runs of one class, ``labels``
    (uint8 [r]) their classes. ``members[i]`` has bit c set where class c belongs to set i.
    """

    count: int
    begins: npt.NDArray[np.int32]
    labels: npt.NDArray[np.uint8]
    members: tuple[int, ...]

    def of(self, code_points: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
        """The class of each code point."""
        return self.labels[np.searchsorted(self.begins, code_points, side="right") - 1]

    def pages(self) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
        """``(index, pages)``: the class of c is ``pages[index[c >> 7], c & 127]``.

        A page inside one run is shared by all pages of that class, so few are stored.
        """
        size = 1 << PAGE_BITS
        n_pages = (MAX_CODE_POINT + 1) >> PAGE_BITS
        split = distinct(self.begins[self.begins % size != 0] >> PAGE_BITS)
        starts = np.arange(n_pages, dtype=np.int32) << PAGE_BITS
        index = self.of(starts).astype(np.uint16)
        index[split] = self.count + np.arange(len(split), dtype=np.uint16)
        uniform = np.repeat(np.arange(self.count, dtype=np.uint8), size).reshape(-1, size)
        mixed = self.of(np.add.outer(starts[split], np.arange(size, dtype=np.int32)))
        return index, np.concatenate((uniform, mixed))


def partition(charsets: Sequence[CharSet]) -> Classes:
    """The coarsest partition in which every set is a union of classes."""
    flips = [np.zeros(1, dtype=np.int32), *(charset.flips for charset in charsets)]
    begins = distinct(np.concatenate(flips))
    begins = begins[begins <= MAX_CODE_POINT]
    inside = np.array([charset.contains(begins) for charset in charsets], dtype=np.uint8)
    signatures = np.packbits(inside.reshape(len(charsets), len(begins)), axis=0)
    keys = [row.tobytes() for row in signatures.T]
    first = {key: at for at, key in reversed(list(enumerate(keys)))}
    order = sorted(first)
    numbers = {key: number for number, key in enumerate(order)}
    labels = np.array([numbers[key] for key in keys])
    examples = inside[:, [first[key] for key in order]]
    members = tuple(sum(1 << int(c) for c in np.flatnonzero(row)) for row in examples)
    keep = np.concatenate(([True], labels[1:] != labels[:-1]))
    return Classes(len(order), begins[keep], labels[keep].astype(np.uint8), members)
