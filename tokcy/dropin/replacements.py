"""Attributes of types that are replaced all together, and put back as they were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["Replacement", "Replacements"]

Replacement = tuple[type, str, Any]
"""A type, the name of one of its own attributes, and what takes its place."""


class Replacements:
    """What was replaced and by what; not for several threads at once."""

    def __init__(self) -> None:
        self._saved: list[Replacement] = []

    def put(self, replacements: Iterable[Replacement]) -> None:
        """Replace these attributes, or none of them if one cannot be."""
        n = len(self._saved)
        try:
            for owner, name, new in list(replacements):
                original = vars(owner)[name]
                setattr(owner, name, new)
                self._saved.append((owner, name, original))
        except BaseException:
            self._undo(n)
            raise

    def undo(self) -> None:
        """Put the very objects back that were there before."""
        self._undo(0)

    def _undo(self, n: int) -> None:
        while len(self._saved) > n:
            owner, name, original = self._saved.pop()
            setattr(owner, name, original)
