"""A split where no merge reaches across, for models that have no split of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .automaton import DEAD, MATCH, START, Dfa
from .classes import MAX_CLASSES, Classes
from .split import SplitTables, class_arrays
from .transducer import Transducer

__all__ = ["border_split", "is_border_split"]

ASCII = 128
_NAME = "borders"


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
    states = states.reshape(-1)  # that which a character of each class leads to
    return SplitTables(
        _NAME,
        "Isolated",
        False,
        False,
        *class_arrays(classes, byte_level=False),
        dfa=_dfa(classes, ways, states),
        has_gaps=False,
        transducer=_transducer(ways, states),
    )


def is_border_split(split: SplitTables) -> bool:
    """Whether a split is one of tokcy's own; one that a file names so leaves text unmatched."""
    return split.pattern == _NAME and not split.has_gaps


def _dfa(classes: Classes, ways: NDArray[np.bool_], states: NDArray[np.intp]) -> Dfa:
    """``ways`` says of each state and class whether a token goes on, and ``states`` to where."""
    following = np.full((START + 1 + len(ways), classes.count + 1), DEAD, dtype=np.uint16)
    accept = np.zeros(following.shape, dtype=np.uint8)
    following[START, :-1] = START + 1 + states
    following[START + 1 :, :-1] = np.where(ways, START + 1 + states, DEAD)
    accept[START + 1 :] = MATCH
    accept[START + 1 :, :-1][ways] = 0
    return Dfa(classes, following, accept)


def _transducer(ways: NDArray[np.bool_], states: NDArray[np.intp]) -> Transducer:
    """What `build_transducer` would make of the DFA, in 1 ms in place of 35."""
    n_states, n_classes = ways.shape
    n = 1 + n_states  # the start is before all of them
    follow = np.zeros((n, 2, n_classes + 2), dtype=np.uint16)
    codes = np.zeros(follow.shape, dtype=np.uint8)
    follow[:, :, :-2] = 1 + states
    codes[1:, 0, :-2][~ways] = 1
    codes[:, 1, :-2] = 1  # a segment begins with a piece
    follow[:, :, -2] = np.arange(n)[:, None]  # a character goes on
    codes[:, :, -1] = 1  # what is not to be split
    others = np.zeros((0, 4), dtype=np.uint8)
    return Transducer(
        follow.reshape(n, -1), codes.reshape(n, -1), others, np.ones(n, dtype=np.uint8)
    )
