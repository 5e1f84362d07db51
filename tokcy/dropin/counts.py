"""How many calls went which way."""

from __future__ import annotations

__all__ = ["Counts", "counts"]

# A reason may name a token, so there is no end of them.
_MOST_REASONS = 100


class Counts:
    """Calls since the process began.

    Attributes:
        native: how many tokcy's engine did.
        delegated: reason → how many encoding calls Hugging Face's code did.
    """

    def __init__(self) -> None:
        self.native = 0
        self.delegated: dict[str, int] = {}

    def delegate(self, reason: str) -> None:
        """Count a call that Hugging Face's code does."""
        try:
            self.delegated[reason] += 1
        except KeyError:
            if len(self.delegated) >= _MOST_REASONS:
                reason = "other reasons"
            self.delegated[reason] = self.delegated.get(reason, 0) + 1


counts = Counts()
