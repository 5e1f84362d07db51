"""Normalizer steps → the compiled normalizer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tokcy import unicode as ucd
from tokcy._normalize import Normalizer
from tokcy.pattern import compile_split, literal_split, single_characters

from .steps import (
    Lowercase,
    NormalForm,
    NormalizerStep,
    Other,
    Prepend,
    Replace,
    Strip,
    StripAccents,
)

__all__ = ["normalizer_of"]

_MAX_CHARACTERS = 1000  # that are told one by one; looking for more of them is left to the scan


@lru_cache(maxsize=8)
def normalizer_of(steps: tuple[NormalizerStep, ...]) -> Normalizer:
    """The compiled form of the steps.

    Raises:
        PatternError: the pattern of a Replace cannot be done exactly.
    """
    return Normalizer([_compiled(step) for step in steps])


def _compiled(step: NormalizerStep) -> tuple[Any, ...]:
    match step:
        case NormalForm(form):
            return "form", form
        case Lowercase():
            return "map", {c: "".join(map(chr, row)) for c, row in ucd.lowercase().items()}
        case StripAccents():
            return "map", dict.fromkeys(_members(ucd.rust_set("mark")), "")
        case Strip(left, right):
            return "strip", left, right
        case Prepend(content):
            return "prepend", content
        case Replace():
            return _replacement(step)
        case Other():
            raise AssertionError(step)


def _replacement(step: Replace) -> tuple[Any, ...]:
    """A map of characters where that is all; to look for them costs less than a scan."""
    if not step.is_regex and len(step.pattern) == 1:
        return "map", {ord(step.pattern): step.content}
    characters = single_characters(step.pattern) if step.is_regex else None
    if characters is not None and np.sum(np.diff(characters)) + len(characters) < _MAX_CHARACTERS:
        return "map", dict.fromkeys(_members(characters), step.content)
    compiler = compile_split if step.is_regex else literal_split
    matches = compiler(step.pattern, behavior="Removed", invert=False)
    return "replace", matches, step.content


def _members(ranges: ucd.Int32Array) -> Iterator[int]:
    return (c for first, last in ranges.tolist() for c in range(first, last + 1))
