"""The character tables of Hugging Face ``tokenizers``, code point for code point.

Its parts follow different versions of Unicode: split patterns see Oniguruma's 16, NFC is that of
Unicode 9, digits and whitespace are those of Rust's standard library (17). ``tables.npz`` beside
this file holds what each of them was observed to do; ``tools/make_unicode_tables.py`` makes it.

Sets are int32 arrays of shape [n, 2]: inclusive ranges of code points, sorted, disjoint, without
surrogates. All arrays are read-only; everything is loaded on first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CanonicalTables",
    "canonical_tables",
    "case_variants",
    "multi_char_folds",
    "onig_set",
    "rust_set",
]

Int32Array = NDArray[np.int32]

_FILE = Path(__file__).with_name("tables.npz")


@dataclass(frozen=True)
class CanonicalTables:
    """What NFC needs, as of Unicode 9. Hangul syllables are left to arithmetic.

    Attributes:
        combining_classes: [n, 2] of character and its combining class, where that is not 0.
        decompositions: character → its full canonical decomposition.
        compositions: [n, 3] of first character, second character and what they compose to.
    """

    combining_classes: Int32Array
    decompositions: dict[int, tuple[int, ...]]
    compositions: Int32Array


def onig_set(name: str, *, in_brackets: bool = False) -> Int32Array:
    r"""The characters of ``\p{name}`` in a split pattern.

    Names are those of Oniguruma (general categories, scripts, blocks written ``In…``, binary
    properties, POSIX classes), matched as it does: case, spaces, ``-`` and ``_`` do not count.
    ``\w``, ``\s``, ``\d`` and ``\h`` are ``word``, ``space``, ``digit`` and ``xdigit``;
    ``[[:name:]]`` is ``name``, but for ``[[:punct:]]``, which is ``posixpunct``.

    Args:
        name: the property, without negation.
        in_brackets: whether it stands in ``[…]``: there ``word`` lacks the six characters
            ``²³¹¼½¾``. No other class depends on it.

    Raises:
        KeyError: Oniguruma knows no such property.
    """
    key = name.translate(_IGNORED).lower() if name.isascii() else name
    kind = "onig_in_brackets" if in_brackets and key == "word" else "onig"
    return _named_set(kind, key, name)


def rust_set(name: str) -> Int32Array:
    r"""The classes of the parts that do not use Oniguruma.

    Args:
        name: ``"whitespace"`` (Rust's ``\s``), ``"numeric"`` (the Digits pre-tokenizer),
            ``"punctuation"`` (the Punctuation pre-tokenizer) or ``"word"`` (Rust's ``\w``, which
            ``single_word`` tokens look for at their sides).

    Raises:
        KeyError: any other name.
    """
    return _named_set("rust", name, name)


@cache
def case_variants() -> dict[int, tuple[int, ...]]:
    """Character → all single characters that ``(?i:…)`` takes for it, itself included.

    Characters that stand for themselves only are left out.
    """
    rows = _ragged("case_classes")
    return {c: tuple(row) for row in rows for c in row}


@cache
def multi_char_folds() -> dict[int, tuple[int, ...]]:
    """Character → the several characters it folds to: ``(?i:ß)`` and ``(?i:ss)`` match each other.

    Every case variant of the fold matches as well.
    """
    return {row[0]: tuple(row[1:]) for row in _ragged("case_folds")}


@cache
def canonical_tables() -> CanonicalTables:
    """The tables of canonical decomposition, ordering and composition."""
    decompositions = {row[0]: tuple(row[1:]) for row in _ragged("decompositions")}
    return CanonicalTables(_array("combining_classes"), decompositions, _array("compositions"))


_IGNORED = str.maketrans("", "", " -_")


@cache
def _tables() -> dict[str, Int32Array]:
    with np.load(_FILE, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _array(name: str) -> Int32Array:
    array = _tables()[name]
    array.flags.writeable = False
    return array


def _ragged(name: str) -> list[list[int]]:
    """Rows of unequal length, kept as the values end to end and the lengths."""
    values = _array(name).tolist()
    ends = np.cumsum(_array(f"{name}_lengths")).tolist()
    return [values[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


@cache
def _set_index() -> dict[str, tuple[int, int]]:
    """Name of a set → where its edges lie in ``sets``."""
    names = _array("set_names").tobytes().decode("ascii").split("\n")
    ends = np.cumsum(_array("sets_lengths"))
    begins = ends - _array("sets_lengths")
    ids = _array("set_ids")
    places = zip(begins[ids].tolist(), ends[ids].tolist(), strict=True)
    return dict(zip(names, places, strict=True))


@cache
def _named_set(kind: str, key: str, name: str) -> Int32Array:
    place = _set_index().get(f"{kind}:{key}")
    if place is None:
        raise KeyError(name)
    edges = np.cumsum(_array("sets")[slice(*place)], dtype=np.int32)
    ranges: Int32Array = edges.reshape(-1, 2) - np.array([0, 1], dtype=np.int32)
    ranges.flags.writeable = False
    return ranges
