"""The variants of the wide steps, of which a processor may lack some."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

__all__ = ["variants"]


def variants(make: Callable[[str], object]) -> list[str]:
    """The names for which ``make`` raises no ValueError: those that this processor has."""
    found = []
    for name in ("scalar", "avx2", "avx512"):
        with contextlib.suppress(ValueError):
            make(name)
            found.append(name)
    return found
