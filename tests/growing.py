"""Texts that grow, branch and change, as prompts do: for tests of what is kept between calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

__all__ = ["growing_texts"]


def growing_texts(choose: Random, parts: Sequence[str], n: int) -> Iterator[str]:
    """Texts of the parts: mostly one seen before and something more, or a variant of it."""
    seen = [""]
    for _ in range(n):
        text = choose.choice(seen[-8:])
        kind = choose.random()
        if kind < 0.2:  # another end
            text = text[: choose.randrange(len(text) + 1)]
        elif kind < 0.3:  # something within is changed
            at = choose.randrange(len(text) + 1)
            text = text[:at] + choose.choice(parts) + text[at + choose.randrange(3) :]
        elif kind < 0.35:
            text = ""
        text += "".join(choose.choices(parts, k=choose.randrange(5)))
        text = text[:400]
        seen.append(text)
        yield text
