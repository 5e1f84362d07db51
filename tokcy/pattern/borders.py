"""A split where no merge reaches across, for models that have no split of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .automaton import DEAD, MATCH, START, Dfa
from .classes import MAX_CLASSES, Classes
from .split import SplitTables, tables_of_dfa

__all__ = ["border_split"]

ASCII = 128


def border_split(joined: NDArray[np.bool_]) -> SplitTables | None:
    """The split between all ASCII characters that are not joined, or None if it is too large.

    A model without a split merges a whole text as one piece. No merge reaches across a border
    between two characters that no merge brings together, so the parts give what the whole gives;
    and parts are words, mostly, which the merge cache knows. Borders beside other characters are
    left to `tokcy._cuts`, which finds them in the pieces of any model.

    Args:
        joined: bool [128, 128], as `Vocabulary.joined_ascii` gives them.
    """
    # The last stands for all characters beyond ASCII.
    square = np.ones((ASCII + 1, ASCII + 1), dtype=np.bool_)
    square[:ASCII, :ASCII] = joined
    alike = np.concatenate((square, square.T), axis=1)
    _, examples, labels = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    n_classes = len(examples)
    if n_classes > MAX_CLASSES:
        return None
    labels = labels.reshape(-1)
    begins = np.flatnonzero(np.diff(labels, prepend=-1))
    classes = Classes(n_classes, begins.astype(np.int32), labels[begins].astype(np.uint8), ())
    ways, states = np.unique(square[np.ix_(examples, examples)], axis=0, return_inverse=True)
    follow = START + 1 + states.reshape(-1)  # the state behind a character of each class
    following = np.full((START + 1 + len(ways), n_classes + 1), DEAD, dtype=np.uint16)
    accept = np.zeros(following.shape, dtype=np.uint8)
    following[START, :-1] = follow
    following[START + 1 :, :-1] = np.where(ways, follow, DEAD)
    accept[START + 1 :] = MATCH
    accept[START + 1 :, :-1][ways] = 0
    return tables_of_dfa("borders", Dfa(classes, following, accept), "Isolated")
