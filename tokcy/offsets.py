"""Offsets without spaces, as Hugging Face's ByteLevel post-processor gives them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

__all__ = ["SpaceTrimmer"]

_BYTE_LEVEL_SPACE = "Ġ"


class SpaceTrimmer:
    """Takes the spaces at a token's edges out of its offsets (rule O3).

    Args:
        tokens: the bytes of each model token by id; empty where there is none.
        add_prefix_space: the post-processor's flag: one leading space of the first token stays.
        matches: id → the text that is matched, of added tokens for which that is always the same
            but the raw text need not be; of others the raw text shows the spaces.
    """

    def __init__(
        self, tokens: list[bytes], add_prefix_space: bool, matches: Mapping[int, str]
    ) -> None:
        sizes = np.array([len(token) for token in tokens], dtype=np.int64)
        self._leading = sizes - [len(token.lstrip(b" ")) for token in tokens]
        self._trailing = sizes - [len(token.rstrip(b" ")) for token in tokens]
        self._add_prefix_space = add_prefix_space
        self._matches = matches

    def trim(
        self,
        text: str,
        ids: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        is_added: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """The offsets without the spaces of each token.

        Args:
            text: the text that was encoded.
            ids: uint32[n], without the post-processor's own.
            offsets: int64[n, 2], characters of ``text``.
            is_added: bool[n]: the id is that of an added token found in the text, whose
                spaces are those of the matched text.
        """
        last = len(self._leading) - 1
        in_model = np.minimum(ids, last)
        leading = self._leading[in_model]
        trailing = self._trailing[in_model]
        for i in np.flatnonzero(is_added):
            matched = self._matches.get(int(ids[i])) or text[offsets[i, 0] : offsets[i, 1]]
            leading[i] = _edge_spaces(matched)
            trailing[i] = _edge_spaces(matched[::-1])
        if self._add_prefix_space:
            first = offsets[:, 0] == 0
            first[:1] = True
            leading[first & (leading == 1)] = 0
        begin, end = offsets[:, 0], offsets[:, 1]
        begin = np.minimum(begin + leading, end)
        end = np.where(end >= trailing, np.maximum(end - trailing, begin), end)
        return np.stack([begin, end], axis=1)


def _edge_spaces(text: str) -> int:
    # str.isspace also holds for U+001C–U+001F, which are no White_Space.
    n = 0
    for character in text:
        if character != _BYTE_LEVEL_SPACE and (
            not character.isspace() or "\x1c" <= character <= "\x1f"
        ):
            break
        n += 1
    return n
