"""The character tables of Hugging Face ``tokenizers``, code point for code point.

Its parts follow different versions of Unicode: split patterns see Oniguruma's 16, NFC is that of
Unicode 9, digits and whitespace are those of Rust's standard library (17). The arrays in
``tables`` hold what each of them was observed to do; ``tools/make_unicode_tables.py`` makes them.
Each is a file that is not compressed: of an archive it took 4 ms to read those that NFC needs.

Sets are int32 arrays of shape [n, 2]: inclusive ranges of code points, sorted, disjoint, without
surrogates. All arrays are read-only; everything is loaded on first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Becoming",
    "CanonicalTables",
    "Int32Array",
    "canonical_tables",
    "case_variants",
    "compatibility_decompositions",
    "lowercase",
    "multi_char_folds",
    "onig_set",
    "rust_set",
]

Int32Array = NDArray[np.int32]


@dataclass(frozen=True)
class Becoming:
    """Characters and what each becomes, one or several; sorted.

    Attributes:
        characters: [n].
        values: what they become, end to end.
        ends: [n], where that of each character ends.
    """

    characters: Int32Array
    values: Int32Array
    ends: Int32Array

    def as_dict(self) -> dict[int, tuple[int, ...]]:
        """Character → what it becomes."""
        values, ends = self.values.tolist(), self.ends.tolist()
        rows = zip(self.characters.tolist(), [0, *ends], ends, strict=False)
        return {c: tuple(values[begin:end]) for c, begin, end in rows}


@dataclass(frozen=True)
class CanonicalTables:
    """What NFC needs, as of Unicode 9. Hangul syllables are left to arithmetic.

    Attributes:
        combining_classes: [n, 2] of character and its combining class, where that is not 0.
        decompositions: the full canonical decomposition of each character that has one.
        compositions: [n, 3] of first character, second character and what they compose to.
    """

    combining_classes: Int32Array
    decompositions: Becoming
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
            ``"punctuation"`` (the Punctuation pre-tokenizer), ``"word"`` (Rust's ``\w``, which
            ``single_word`` tokens look for at their sides) or ``"mark"`` (what StripAccents
            removes).

    Raises:
        KeyError: any other name.
    """
    return _named_set("rust", name, name)


@cache
def case_variants() -> dict[int, tuple[int, ...]]:
    """Character → all single characters that ``(?i:…)`` takes for it, itself included.

    Characters that stand for themselves only are left out.
    """
    return {c: tuple(row) for row in _FILES.rows("case_classes") for c in row}


@cache
def multi_char_folds() -> dict[int, tuple[int, ...]]:
    """Character → the several characters it folds to: ``(?i:ß)`` and ``(?i:ss)`` match each other.

    Every case variant of the fold matches as well.
    """
    return _FILES.becoming("case_folds").as_dict()


def canonical_tables() -> CanonicalTables:
    """The tables of canonical decomposition, ordering and composition."""
    return CanonicalTables(
        _FILES.array("combining_classes"),
        _FILES.becoming("decompositions"),
        _FILES.array("compositions"),
    )


def compatibility_decompositions() -> Becoming:
    """The full compatibility decompositions, where they are not the canonical ones."""
    return _FILES.becoming("compatibility_decompositions")


def lowercase() -> dict[int, tuple[int, ...]]:
    """Character → what Lowercase makes of it, where that is not itself."""
    return _FILES.becoming("lowercase").as_dict()


_IGNORED = str.maketrans("", "", " -_")


def _named_set(kind: str, key: str, name: str) -> Int32Array:
    try:
        return _FILES.named_set(f"{kind}:{key}")
    except KeyError:
        raise KeyError(name) from None


class _Tables:
    """The folder of tables; what is asked for is read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.arrays: dict[str, Int32Array] = {}
        self.sets: dict[str, Int32Array] = {}

    def array(self, name: str) -> Int32Array:
        found = self.arrays.get(name)
        if found is None:
            found = self.arrays[name] = np.load(self.folder / f"{name}.npy", allow_pickle=False)
            found.flags.writeable = False
        return found

    def rows(self, name: str) -> list[list[int]]:
        """Rows of unequal length, kept as the values end to end and the lengths."""
        values = self.array(name).tolist()
        ends = np.cumsum(self.array(f"{name}_lengths")).tolist()
        return [values[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def becoming(self, name: str) -> Becoming:
        """Rows of a character and what it becomes."""
        values, lengths = self.array(name), self.array(f"{name}_lengths")
        ends = np.cumsum(lengths, dtype=np.int32)
        begins = ends - lengths
        numbers = np.arange(1, len(ends) + 1, dtype=np.int32)
        return Becoming(values[begins], np.delete(values, begins), ends - numbers)

    @cached_property
    def set_places(self) -> dict[str, tuple[int, int]]:
        """Name of a set → where its edges lie in ``sets``."""
        names = self.array("set_names").tobytes().decode("ascii").split("\n")
        lengths, ids = self.array("sets_lengths"), self.array("set_ids")
        ends = np.cumsum(lengths)
        places = zip((ends - lengths)[ids].tolist(), ends[ids].tolist(), strict=True)
        return dict(zip(names, places, strict=True))

    def named_set(self, name: str) -> Int32Array:
        found = self.sets.get(name)
        if found is None:
            begin, end = self.set_places[name]
            # The files hold the distances from one edge to the next.
            edges = np.cumsum(self.array("sets")[begin:end], dtype=np.int32)
            found = edges.reshape(-1, 2) - np.array([0, 1], dtype=np.int32)
            found.flags.writeable = False
            self.sets[name] = found
        return found


_FILES = _Tables(Path(__file__).with_name("tables"))
