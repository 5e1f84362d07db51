"""Truncation and padding that a model file sets: how many ids a text comes to in the end.

Hugging Face cuts the ids of the text, puts the post-processor's around what is left, and fills up
(rules O5, O6). The engine gives a text's ids with the post-processor's around them, so here the
text's are cut out of the middle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokcy.backend import Ids, Offsets
from tokcy.errors import TokcyError
from tokcy.spec import Padding, Truncation

__all__ = ["Lengths"]

_NO_LIMIT = 2**64


class Lengths:
    """Cuts and fills the ids of one text, or of each text of a batch.

    Args:
        truncation, padding: what the file sets; None for neither.
        n_before, n_after: how many ids the post-processor puts before and behind those of a text,
            where special tokens are asked for; ``special`` says below whether they are.
    """

    def __init__(
        self, truncation: Truncation | None, padding: Padding | None, n_before: int, n_after: int
    ) -> None:
        self.truncation = truncation
        self.padding = padding
        self._around = {True: (n_before, n_after), False: (0, 0)}

    def kept(self, n: int, special: bool) -> slice:
        """Which are kept of the n ids of a text, without the post-processor's.

        Raises:
            TokcyError: there are too many, and Hugging Face fails to cut them: the stride is too
                long, or only the second text of a pair may be cut.
        """
        limit = self._limit(special)
        if n <= limit:
            return slice(0, n)
        self._check(limit)
        return slice(n - limit, n) if self._cuts_beginning else slice(0, limit)

    def n_padding(self, n: int) -> tuple[int, int]:
        """How many padding ids go before and behind n ids, the post-processor's among them."""
        missing = max(self._padded(n) - n, 0)
        return (missing, 0) if self._pads_beginning else (0, missing)

    def fit(self, ids: Ids, special: bool) -> Ids:
        """The ids of one text, cut and filled."""
        before, after = self._around[special]
        end = len(ids) - after
        kept = self.kept(end - before, special)
        if kept != slice(0, end - before):
            ids = np.concatenate([ids[:before], ids[before:end][kept], ids[end:]])
        return self.fill(ids)

    def fill(self, ids: Ids) -> Ids:
        """The ids of one text, filled."""
        if self.padding is None:
            return ids
        return np.pad(ids, self.n_padding(len(ids)), constant_values=self.padding.pad_id)

    def count(self, n: int, special: bool) -> int:
        """How many ids `fit` makes of n."""
        added = sum(self._around[special])
        kept = self.kept(n - added, special)
        n = kept.stop - kept.start + added
        return n + sum(self.n_padding(n))

    def fit_batch(self, values: Ids, offsets: Offsets, special: bool) -> tuple[Ids, Offsets]:
        """The ids of all texts and the offsets of each text's, cut and filled."""
        lengths = np.diff(offsets)
        before, after = self._around[special]
        limit = self._limit(special)
        if len(lengths) and lengths.max() - before - after > limit:
            self._check(limit)
            surplus = np.maximum(lengths - (before + after + limit), 0)
            first = offsets[:-1] + before + (0 if self._cuts_beginning else limit)
            values = values[~_covered(first, surplus, len(values))]
            lengths = lengths - surplus
        if self.padding is not None and len(lengths):
            widths = np.maximum(lengths, self._padded(int(lengths.max())))
            first = np.cumsum(widths) - (lengths if self._pads_beginning else widths)
            filled = np.full(int(widths.sum()), self.padding.pad_id, dtype=np.uint32)
            filled[_covered(first, lengths, len(filled))] = values
            values, lengths = filled, widths
        return values, np.concatenate([offsets[:1], np.cumsum(lengths)])

    def _limit(self, special: bool) -> int:
        """Most ids of a text; where the post-processor alone adds more, Hugging Face's wraps."""
        if self.truncation is None:
            return _NO_LIMIT
        return (self.truncation.max_length - sum(self._around[special])) % _NO_LIMIT

    def _check(self, limit: int) -> None:
        """Raise TokcyError if a longer text cannot be cut to this limit."""
        assert self.truncation is not None
        if limit and self.truncation.strategy == "OnlySecond":
            raise TokcyError("truncation: only a second text may be cut, and there is none")
        if limit and self.truncation.stride >= limit:
            raise TokcyError(
                f"truncation: the stride, {self.truncation.stride}, must be less than the length "
                f"that is left for the text, {limit}"
            )

    def _padded(self, n: int) -> int:
        """The length to which texts are filled of which the longest has n ids."""
        if self.padding is None:
            return 0
        length = n if self.padding.length is None else self.padding.length
        return length + -length % self.padding.multiple

    @property
    def _cuts_beginning(self) -> bool:
        return self.truncation is not None and self.truncation.direction == "Left"

    @property
    def _pads_beginning(self) -> bool:
        return self.padding is not None and self.padding.direction == "Left"


def _covered(first: Offsets, lengths: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """bool[n]: whether a place is in one of the stretches of these lengths, which are in order."""
    holds = lengths > 0
    steps = np.zeros(n + 1, dtype=np.int8)
    steps[first[holds]] += 1
    steps[(first + lengths)[holds]] -= 1
    return np.cumsum(steps[:-1], dtype=np.int8).view(np.bool_)
