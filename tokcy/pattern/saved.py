"""Split tables as named arrays, and back; these are checked, as the scanner checks nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .automaton import DEAD, SPLIT_GAP, START, Dfa
from .charset import MAX_CODE_POINT
from .classes import MAX_CLASSES, PAGE_BITS, Classes
from .split import BEHAVIORS, SplitTables
from .transducer import MAX_STATES, OTHER, Transducer

__all__ = ["split_from_arrays", "split_to_arrays"]

Arrays = dict[str, NDArray[Any]]


def split_to_arrays(split: SplitTables) -> tuple[dict[str, Any], Arrays]:
    """(what a split is but for arrays, as JSON has it; its arrays by name).

    Of the DFA's classes only their number is kept, as only compiling asks for more.
    """
    described = {
        "pattern": split.pattern,
        "behavior": split.behavior,
        "invert": split.invert,
        "byte_level": split.byte_level,
        "n_classes": split.n_classes,
        "has_gaps": split.has_gaps,
    }
    arrays: Arrays = {
        "byte_class": split.byte_class,
        "page_index": split.page_index,
        "pages": split.pages,
        "next": split.dfa.next,
        "accept": split.dfa.accept,
    }
    if split.transducer is not None:
        arrays |= {name: getattr(split.transducer, name) for name in _OF_TRANSDUCER}
    return described, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def split_from_arrays(described: Mapping[str, Any], arrays: Arrays) -> SplitTables:
    """The split that `split_to_arrays` gave this of.

    Raises:
        ValueError: there is no such split; says what is wrong.
    """
    copies = {name: array.copy() for name, array in arrays.items()}  # as small, and aligned
    transducer = None
    if "follow" in copies:
        transducer = Transducer(**{name: copies[name] for name in _OF_TRANSDUCER})
    n_columns = copies["next"].shape[-1] if copies["next"].ndim else 0
    nowhere = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint8)
    split = SplitTables(
        **{name: described[name] for name in _DESCRIBED},
        **{name: copies[name] for name in ("byte_class", "page_index", "pages")},
        dfa=Dfa(Classes(n_columns - 1, *nowhere, ()), copies["next"], copies["accept"]),
        transducer=transducer,
    )
    _check_classes(split)
    _check_dfa(split.dfa)
    if transducer is not None:
        _check_transducer(transducer, split.n_classes)
    elif split.n_classes != split.dfa.classes.count:
        raise ValueError("n_classes: not those of the DFA")
    return split


_DESCRIBED = ("pattern", "behavior", "invert", "byte_level", "n_classes", "has_gaps")
_OF_TRANSDUCER = ("follow", "codes", "others", "settled")


def _check(sound: Any, what: str) -> None:
    if not sound:
        raise ValueError(f"{what}: not what a split has")


def _is(array: NDArray[Any], dtype: type[np.generic], *shape: int) -> bool:
    return array.dtype == dtype and array.shape == shape


def _check_classes(split: SplitTables) -> None:
    n = split.n_classes
    _check(type(n) is int and 0 < n <= MAX_CLASSES, "n_classes")
    _check(split.behavior in BEHAVIORS and isinstance(split.pattern, str), "behavior")
    flags = (split.invert, split.byte_level, split.has_gaps)
    _check(all(type(flag) is bool for flag in flags), "flags")
    n_pages = (MAX_CODE_POINT + 1) >> PAGE_BITS
    _check(_is(split.byte_class, np.uint8, 256) and split.byte_class.max() <= n, "byte_class")
    _check(_is(split.pages, np.uint8, len(split.pages), 1 << PAGE_BITS), "pages")
    _check(len(split.pages) and split.pages.max() < n, "pages")
    _check(_is(split.page_index, np.uint16, n_pages), "page_index")
    _check(split.page_index.max() < len(split.pages), "page_index")


def _check_dfa(dfa: Dfa) -> None:
    """The DFA stays within its states, and finds the end of a token behind its first character."""
    n, width = len(dfa.next), dfa.classes.count + 1
    _check(width > 1 and n > START and _is(dfa.next, np.uint16, n, width), "next")
    _check(_is(dfa.accept, np.uint8, n, width) and dfa.accept.max() <= SPLIT_GAP, "accept")
    _check(dfa.next.max() < n and (dfa.next[:, -1] == DEAD).all(), "next")
    _check((dfa.next[START, :-1] != DEAD).all(), "next")
    reached = np.zeros(n, dtype=np.bool_)  # without a match yet
    reached[dfa.next[START, :-1]] = True
    while True:
        follow = dfa.next[(dfa.accept == 0) & reached[:, None]]
        _check((follow != DEAD).all(), "accept")
        if reached[follow].all():
            return
        reached[follow] = True


def _check_transducer(transducer: Transducer, n_classes: int) -> None:
    """Every step leads to a state, and every code is that of an event."""
    follow, codes = transducer.follow, transducer.codes
    n = len(follow) if follow.ndim else 0
    _check(0 < n <= MAX_STATES and _is(follow, np.uint16, n, 2 * (n_classes + 2)), "follow")
    _check(follow.max() < n, "follow")
    _check(_is(codes, np.uint8, *follow.shape), "codes")
    _check((codes[codes >= OTHER] < OTHER + 4 * len(transducer.others)).all(), "others")
    _check(_is(transducer.others, np.uint8, len(transducer.others), 4), "others")
    _check(_is(transducer.settled, np.uint8, n), "settled")
