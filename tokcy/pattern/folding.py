"""Letter case in patterns: what ``(?i:…)`` adds to a set, and where it would join characters.

Oniguruma folds one character to one (``k`` matches U+212A) and several to one (``ss`` matches ß,
rule R5). The first kind widens sets; patterns that the second kind could touch are refused.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tokcy import unicode as ucd

from .charset import CharSet

__all__ = ["close", "folds_to_several", "may_join"]


@lru_cache(maxsize=1)
def _variants() -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Two parallel arrays: a code point and another one of its case."""
    pairs = [(one, other) for one, others in ucd.case_variants().items() for other in others]
    table = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)
    return np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1])


@lru_cache(maxsize=1)
def _multi() -> tuple[CharSet, frozenset[tuple[int, int]]]:
    """Code points that equal several characters, and the neighbours in those strings."""
    folds = ucd.multi_char_folds()
    joints: set[tuple[int, int]] = set()
    for string in folds.values():
        for left, right in pairwise(string):
            joints.update((a, b) for a in _class_of(left) for b in _class_of(right))
    return CharSet.of(*folds), frozenset(joints)


def _class_of(code_point: int) -> tuple[int, ...]:
    return (code_point, *ucd.case_variants().get(code_point, ()))


def close(charset: CharSet) -> CharSet:
    """``charset`` with every case variant of its members."""
    ones, others = _variants()
    return charset | CharSet.of(*others[charset.contains(ones)].tolist())


def folds_to_several(charset: CharSet) -> bool:
    """Whether a member is equal, but for case, to a string of several characters."""
    return bool(charset & _multi()[0])


def may_join(left: int, right: int) -> bool:
    """Whether ``left right`` occurs in a string that is equal to one character but for case."""
    return (left, right) in _multi()[1]
