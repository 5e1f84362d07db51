"""The Unicode tables equal what ``tokenizers`` does, over every code point."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import tokenizers

from tokcy import unicode as ucd

TOOL = Path(__file__).resolve().parent.parent / "tools" / "make_unicode_tables.py"

COMMON = ["L", "N", "M", "P", "S", "Z", "C", "Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Mn", "Cn"]
COMMON += ["Han", "Hiragana", "Hangul", "Latin", "space", "digit", "word"]
ESCAPES = [(r"\w", "word"), (r"\s", "space"), (r"\d", "digit"), (r"\h", "xdigit")]
BRACKETS = [("[[:punct:]]", "posixpunct"), ("[[:alpha:]]", "alpha"), ("[[:space:]]", "space")]


@pytest.fixture(scope="module")
def probes() -> ModuleType:
    """The script that makes the tables, to ask the oracle afresh."""
    spec = importlib.util.spec_from_file_location("make_unicode_tables", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def members(ranges: np.ndarray) -> set[int]:
    return {c for first, last in ranges.tolist() for c in range(first, last + 1)}


@pytest.mark.parametrize("name", COMMON)
def test_onig_set_is_the_oracles(probes: ModuleType, name: str) -> None:
    assert np.array_equal(ucd.onig_set(name), probes.onig_ranges(f"\\p{{{name}}}"))


@pytest.mark.parametrize(("item", "name"), [*ESCAPES, *BRACKETS])
def test_escapes_and_posix_brackets(probes: ModuleType, item: str, name: str) -> None:
    assert np.array_equal(ucd.onig_set(name), probes.onig_ranges(item))


def test_word_in_brackets_lacks_six_numbers(probes: ModuleType) -> None:
    inside = ucd.onig_set("word", in_brackets=True)
    assert np.array_equal(inside, probes.onig_ranges(r"[\w]"))
    assert np.array_equal(inside, probes.onig_ranges(r"[^\W\n]"))
    assert members(ucd.onig_set("word")) - members(inside) == set(map(ord, "²³¹¼½¾"))


def test_rust_sets_are_the_oracles(probes: ModuleType) -> None:
    probed = dict(probes.rust_sets())
    assert len(probed) == 5
    for name, ranges in probed.items():
        assert np.array_equal(ucd.rust_set(name.removeprefix("rust:")), ranges), name


def test_case_tables_are_the_oracles(probes: ModuleType) -> None:
    classes, folds = probes.case_tables()
    assert ucd.case_variants() == {c: tuple(row) for row in classes for c in row}
    assert ucd.multi_char_folds() == {row[0]: tuple(row[1:]) for row in folds}
    assert ucd.case_variants()[ord("k")] == (ord("K"), ord("k"), 0x212A)
    assert ucd.multi_char_folds()[ord("ß")] == (ord("s"), ord("s"))


def test_canonical_tables_are_the_oracles(probes: ModuleType) -> None:
    tables = ucd.canonical_tables()
    decompositions, compositions = probes.canonical_tables()
    assert tables.decompositions.as_dict() == {row[0]: tuple(row[1:]) for row in decompositions}
    assert tables.compositions.tolist() == compositions
    assert dict(tables.combining_classes.tolist()) == probes.combining_classes()


def test_combining_classes_order_marks_as_the_oracle_does(probes: ModuleType) -> None:
    classes = {
        c: ccc
        for c, ccc in ucd.canonical_tables().combining_classes.tolist()
        if c not in ucd.canonical_tables().decompositions.characters
    }
    one_of_each = {ccc: c for c, ccc in classes.items()}
    pairs = [(a, b) for a in one_of_each.values() for b in classes]
    pairs += [(b, a) for a, b in pairs]
    normalized = probes.each_normalized(
        probes.normalizers.NFD(), (f"x{chr(a)}{chr(b)}" for a, b in pairs)
    )
    for (a, b), text in zip(pairs, normalized, strict=True):
        swapped = classes[a] > classes[b]
        assert text == f"x{chr(b)}{chr(a)}" if swapped else text == f"x{chr(a)}{chr(b)}"


def test_names_are_matched_as_oniguruma_does() -> None:
    for spelling in ("Lu", "LU", "uppercase_letter", "Uppercase Letter", "-l_u "):
        assert np.array_equal(ucd.onig_set(spelling), ucd.onig_set("lu"))
    for name in ("", "L&", "Script=Han", "IsHan", "^L", "[word]", "Ｌ", "ſpace"):
        with pytest.raises(KeyError) as error:
            ucd.onig_set(name)
        assert error.value.args == (name,)
    with pytest.raises(KeyError):
        ucd.rust_set("letter")


def test_sets_are_sorted_disjoint_and_read_only() -> None:
    for ranges in (ucd.onig_set("any"), ucd.onig_set("cs"), ucd.onig_set("L")):
        assert ranges.dtype == np.int32
        assert ranges.shape[1] == 2
        assert (ranges[:, 0] <= ranges[:, 1]).all()
        assert (ranges[1:, 0] > ranges[:-1, 1] + 1).all()
        assert not ranges.flags.writeable
    assert ucd.onig_set("any").tolist() == [[0, 0xD7FF], [0xE000, 0x10FFFF]]
    assert ucd.onig_set("cs").shape == (0, 2)


def test_vectors_agree(vectors: Callable[[str], Path]) -> None:
    def read(name: str) -> dict[str, dict[str, list[list[int]]]]:
        data: dict[str, dict[str, list[list[int]]]] = json.loads(
            (vectors("hf_unicode") / name).read_text(encoding="utf-8")
        )
        return data

    for item, ranges in read("onig_sets.json")["sets"].items():
        if item.startswith(r"\p"):
            assert members(ucd.onig_set(item[3:-1])) == members(np.array(ranges)), item
    rust = list(read("rust_sets.json")["sets"].items())
    kinds = ("is_whitespace", "is_numeric", "Punctuation", r"\w")
    for kind, name in zip(kinds, ("whitespace", "numeric", "punctuation", "word"), strict=True):
        (ranges,) = (ranges for key, ranges in rust if kind in key)
        assert members(ucd.rust_set(name)) == members(np.array(ranges)), name


@pytest.mark.sweep
def test_every_table_is_the_oracles(probes: ModuleType) -> None:
    tables = probes.all_tables()
    kept = probes.kept_tables()
    assert sorted(kept) == sorted(tables)
    for name, array in tables.items():
        assert np.array_equal(kept[name], array), name


@pytest.mark.sweep
def test_brackets_change_only_word(probes: ModuleType) -> None:
    # One name of each set: what is the same outside of brackets has one definition.
    names = {ucd.onig_set(name).tobytes(): name for name in probes.onig_names()}
    for name in {*names.values(), "word"}:
        ranges = probes.onig_ranges(f"[\\p{{{name}}}]")
        assert np.array_equal(ucd.onig_set(name, in_brackets=True), ranges), name


@pytest.mark.sweep
def test_rust_word_is_what_single_word_looks_for() -> None:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"unused": 0}, []))
    tokenizer.add_tokens([tokenizers.AddedToken("<a>", single_word=True)])
    words = members(ucd.rust_set("word"))
    for c in range(0x110000):
        if not 0xD800 <= c < 0xE000:
            found = tokenizer.encode(f"{chr(c)}<a>").ids == [1]
            assert found != (c in words), hex(c)
