"""How many calls went which way."""

from __future__ import annotations

from collections import Counter

__all__ = ["Counts", "counts"]


class Counts:
    """Calls since the process began.

    Attributes:
        native: how many tokcy's engine did.
        delegated: reason → how many encoding calls Hugging Face's code did.
    """

    def __init__(self) -> None:
        self.native = 0
        self.delegated: Counter[str] = Counter()


counts = Counts()
