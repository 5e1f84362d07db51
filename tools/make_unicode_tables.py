"""Write tokcy/unicode/tables: the Unicode tables of Hugging Face ``tokenizers``, by asking it.

The parts of ``tokenizers`` follow different Unicode versions (Oniguruma 16, NFC 9, Rust's own 17),
so no table from elsewhere is right for all of them. Every table here is found by running a part
over a text that holds all 1,112,064 scalar values and looking at what comes out.

    python tools/make_unicode_tables.py [--check]

takes about two minutes. The same release of ``tokenizers`` gives the same arrays; ``--check``
compares them with the files instead of writing them.
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, normalizers, pre_tokenizers

Ranges = NDArray[np.int32]

ROOT = Path(__file__).resolve().parent.parent
NAMES_FILE = Path(__file__).with_name("oniguruma_names.txt")
FOLDER = ROOT / "tokcy" / "unicode" / "tables"

SCALARS = "".join(map(chr, chain(range(0xD800), range(0xE000, 0x110000))))
HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)


def code_points(text: str) -> NDArray[np.int32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.int32)


def as_ranges(text: str) -> Ranges:
    """Characters → inclusive code point ranges, int32 [n, 2], sorted and disjoint."""
    present = np.zeros(0x110000 + 2, dtype=np.int8)
    present[code_points(text) + 1] = 1
    edges = np.flatnonzero(np.diff(present)).astype(np.int32)
    return edges.reshape(-1, 2) - np.array([0, 1], dtype=np.int32)


def all_but(text: str) -> str:
    """The scalar values that do not occur in ``text``."""
    absent = np.ones(0x110000, dtype=bool)
    absent[code_points(text)] = False
    absent[0xD800:0xE000] = False
    return np.flatnonzero(absent).astype("<i4").tobytes().decode("utf-32-le")


def onig_ranges(item: str) -> Ranges:
    """The scalar values that a pattern of one character, such as ``\\p{L}``, matches."""
    return as_ranges(all_but(normalizers.Replace(Regex(f"(?:{item})+"), "").normalize_str(SCALARS)))


def onig_names() -> list[str]:
    lines = NAMES_FILE.read_text(encoding="ascii").splitlines()
    return sorted({name for line in lines if not line.startswith("#") for name in line.split()})


def onig_sets() -> Iterator[tuple[str, Ranges]]:
    for name in onig_names():
        yield f"onig:{name}", onig_ranges(f"\\p{{{name}}}")
    # Six Latin-1 numbers are \w alone but not within brackets; no other class has such a split.
    yield "onig_in_brackets:word", onig_ranges(r"[\w]")


def rust_sets() -> Iterator[tuple[str, Ranges]]:
    """The classes that the parts of ``tokenizers`` written without Oniguruma use."""
    whitespace, digits, punctuation = (
        pre_tokenizers.WhitespaceSplit(),
        pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Punctuation("removed"),
    )
    kept = whitespace.pre_tokenize_str(SCALARS)
    yield "rust:whitespace", as_ranges(all_but("".join(piece for piece, _ in kept)))
    # Runs of digits alternate with runs of others, and U+0000, the first scalar, is no digit.
    runs = digits.pre_tokenize_str(SCALARS)
    yield "rust:numeric", as_ranges("".join(run for run, _ in runs[1::2]))
    kept = punctuation.pre_tokenize_str(SCALARS)
    yield "rust:punctuation", as_ranges(all_but("".join(piece for piece, _ in kept)))
    # Whitespace is \w+|[^\w\s]+: between exclamation marks a \w stands as a piece of its own.
    pieces = pre_tokenizers.Whitespace().pre_tokenize_str("!" + "!".join(SCALARS))
    yield "rust:word", as_ranges("".join(word for word, _ in pieces if not word.startswith("!")))
    yield "rust:mark", as_ranges(all_but(normalizers.StripAccents().normalize_str(SCALARS)))


def lowercase() -> list[list[int]]:
    """[[c, its lower case…]] of every character that Lowercase changes."""
    others = SCALARS.replace("\n", "")
    lowered = each_normalized(normalizers.Lowercase(), others)
    return [
        [ord(c), *map(ord, lower)] for c, lower in zip(others, lowered, strict=True) if lower != c
    ]


def case_tables() -> tuple[list[list[int]], list[list[int]]]:
    """Case-fold classes [[c, …]] and multi-character folds [[c, its fold…]] of ``(?i:…)``."""
    cased = onig_ranges(r"(?i:[\p{CWCF}\p{CWCM}])")
    candidates = [chr(c) for first, last in cased for c in range(first, last + 1)]
    apart = "\0".join(candidates)
    classes, folds = set(), []
    for c in candidates:
        same = f"(?i:\\x{{{ord(c):X}}})"
        split = pre_tokenizers.Split(Regex(same), "removed", invert=True)
        variants = frozenset(ord(piece) for piece, _ in split.pre_tokenize_str(apart))
        if len(variants) > 1:
            classes.add(variants)
        fold = c.casefold()
        if len(fold) > 1 and split.pre_tokenize_str(fold) == [(fold, (0, len(fold)))]:
            folds.append([ord(c), *map(ord, fold)])
    if len(set(chain(*classes))) != sum(map(len, classes)):
        raise SystemExit("case variants are not classes: some character is in two of them")
    return sorted(sorted(members) for members in classes), folds


def each_normalized(form: normalizers.Normalizer, texts: Iterable[str]) -> list[str]:
    """Normalize many texts in one call; a newline is inert in every form."""
    return form.normalize_str("\n".join(texts)).split("\n")


def combining_classes() -> dict[int, int]:
    """Characters that canonical reordering moves, each with its class."""
    # 240 is the highest class and U+0345 its only member: whatever has a class moves before it.
    nfd = normalizers.NFD()
    others = SCALARS.replace("\n", "")
    moved = each_normalized(nfd, (f"\u0345{c}" for c in others))
    # A class never changes once it is assigned, so the number may come from any Unicode version.
    return {
        ord(c): unicodedata.combining(c)
        for c, text in zip(others, moved, strict=True)
        if c == "\u0345" or text == f"{c}\u0345"
    }


def canonical_tables() -> tuple[list[list[int]], list[list[int]]]:
    """Full decompositions [[c, …]] and composition pairs [[first, second, c]], without Hangul."""
    nfc, nfd = normalizers.NFC(), normalizers.NFD()
    plain = [c for c in SCALARS if ord(c) not in HANGUL_SYLLABLES and c != "\n"]
    decomposed = {
        c: full for c, full in zip(plain, each_normalized(nfd, plain), strict=True) if full != c
    }
    firsts = each_normalized(nfc, (full[:-1] for full in decomposed.values()))
    pairs = [
        (first, full[-1], c)
        for (c, full), first in zip(decomposed.items(), firsts, strict=True)
        if len(first) == 1
    ]
    composed = each_normalized(nfc, (first + second for first, second, _ in pairs))
    primary = [pair for pair, text in zip(pairs, composed, strict=True) if text == pair[2]]
    return (
        [[ord(c), *map(ord, full)] for c, full in decomposed.items()],
        [[ord(c) for c in pair] for pair in primary],
    )


def compatibility_decompositions() -> list[list[int]]:
    """Full compatibility decompositions [[c, …]], where they are not the canonical ones."""
    plain = [c for c in SCALARS if ord(c) not in HANGUL_SYLLABLES and c != "\n"]
    canonical = each_normalized(normalizers.NFD(), plain)
    full = each_normalized(normalizers.NFKD(), plain)
    return [
        [ord(c), *map(ord, compatible)]
        for c, compatible, plainer in zip(plain, full, canonical, strict=True)
        if compatible != plainer
    ]


def ragged(rows: Iterable[Iterable[int]], name: str) -> dict[str, NDArray[np.int32]]:
    """Rows of code points as two arrays: the values end to end, and each row's length."""
    lists = [list(row) for row in rows]
    return {
        name: np.fromiter(chain(*lists), dtype=np.int32),
        f"{name}_lengths": np.array([len(row) for row in lists], dtype=np.int32),
    }


def all_tables() -> dict[str, NDArray[np.generic]]:
    """Everything in the folder, by name: see ``tokcy/unicode/__init__.py`` for the reading side."""
    ids: dict[bytes, int] = {}
    distinct: list[list[int]] = []
    names: dict[str, int] = {}
    for name, ranges in chain(onig_sets(), rust_sets()):
        key = ranges.tobytes()
        if key not in ids:
            ids[key] = len(distinct)
            # Distances from one edge to the next are small numbers, which deflate well in a wheel.
            edges = (ranges + np.array([0, 1], dtype=np.int32)).ravel()
            distinct.append(np.diff(edges, prepend=0).tolist())
        names[name] = ids[key]
    classes, folds = case_tables()
    decompositions, pairs = canonical_tables()
    ccc = combining_classes()
    return {
        "set_names": np.frombuffer("\n".join(names).encode("ascii"), dtype=np.uint8),
        "set_ids": np.array(list(names.values()), dtype=np.int32),
        **ragged(distinct, "sets"),
        **ragged(classes, "case_classes"),
        **ragged(folds, "case_folds"),
        **ragged(decompositions, "decompositions"),
        **ragged(compatibility_decompositions(), "compatibility_decompositions"),
        **ragged(lowercase(), "lowercase"),
        "compositions": np.array(pairs, dtype=np.int32),
        "combining_classes": np.array(sorted(ccc.items()), dtype=np.int32),
    }


def kept_tables() -> dict[str, NDArray[np.generic]]:
    """What the folder holds, by name."""
    return {path.stem: np.load(path) for path in FOLDER.glob("*.npy")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the files, do not write")
    arguments = parser.parse_args()
    tables = all_tables()
    if not arguments.check:
        for name, table in tables.items():
            np.save(FOLDER / f"{name}.npy", table, allow_pickle=False)
        return 0
    kept = kept_tables()
    different = [
        name
        for name in sorted({*kept, *tables})
        if name not in kept or name not in tables or not np.array_equal(kept[name], tables[name])
    ]
    print(f"different: {', '.join(different)}" if different else "all tables are equal")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
