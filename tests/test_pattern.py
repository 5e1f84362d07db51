"""Split patterns: what is read how, what is refused and where, and how long it takes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from split_oracle import hf_pieces, hf_split, our_pieces
from split_patterns import PATTERNS, UNSUPPORTED

from tokcy._pretok import PreTokenizer
from tokcy.errors import PatternError
from tokcy.pattern import (
    SplitTables,
    charset_split,
    compile_split,
    fuse_splits,
    literal_split,
    transducer,
)
from tokcy.pattern.automaton import build_dfa
from tokcy.pattern.charset import MAX_CODE_POINT, CharSet
from tokcy.pattern.classes import partition
from tokcy.pattern.parser import parse


def isolated(pattern: str) -> SplitTables:
    return compile_split(pattern, behavior="Isolated", invert=False)


# Sets of code points

POINTS = st.integers(0, 40) | st.integers(MAX_CODE_POINT - 3, MAX_CODE_POINT)
RANGES = st.lists(st.tuples(POINTS, POINTS).map(lambda pair: (min(pair), max(pair))), max_size=6)


def as_set(ranges: list[tuple[int, int]]) -> set[int]:
    return {c for first, last in ranges for c in range(first, last + 1)}


@given(RANGES, RANGES)
def test_charset_algebra_is_that_of_sets(left: Any, right: Any) -> None:
    # Points far apart stand for all: between 45 and the last few nothing is tested.
    left, right = ([r for r in side if r[1] - r[0] < 100] for side in (left, right))
    a, b = CharSet.from_ranges(left), CharSet.from_ranges(right)
    points = np.array([*range(45), *range(MAX_CODE_POINT - 3, MAX_CODE_POINT + 1)], dtype=np.int32)

    def members(charset: CharSet) -> set[int]:
        return set(points[charset.contains(points)].tolist())

    in_a, in_b = as_set(left), as_set(right)
    assert members(a | b) == in_a | in_b
    assert members(a & b) == in_a & in_b
    assert members(a - b) == in_a - in_b
    assert members(~a) == set(points.tolist()) - in_a
    assert (~~a, hash(~~a)) == (a, hash(a))
    assert a.isdisjoint(b) == in_a.isdisjoint(in_b)
    assert CharSet.from_sorted_ranges(a.ranges()) == a


@given(st.lists(RANGES, min_size=1, max_size=5))
def test_classes_tell_the_sets_apart(ranges: Any) -> None:
    charsets = [CharSet.from_ranges(each) for each in ranges]
    classes = partition(charsets)
    points = np.array([*range(300), *range(MAX_CODE_POINT - 300, MAX_CODE_POINT + 1)], np.int32)
    found = classes.of(points)
    for charset, members in zip(charsets, classes.members, strict=True):
        expected = charset.contains(points)
        assert ((np.array(members) >> found.astype(np.int64) & 1) == expected).all()
    index, pages = classes.pages()
    assert (pages[index[points >> 7], points & 127] == found).all()
    assert len(set(found.tolist())) <= classes.count <= 2 ** len(charsets)


# Refusals

REFUSED = {
    r"a(?<=b)": ("look-behind", 1),
    r"a(?<!b)c": ("look-behind", 1),
    r"(a)\1": ("back-reference", 3),
    r"(?<x>a)\k<x>": ("back-reference", 7),
    r"a\b": (r"word boundary \b", 1),
    r"a|\B": (r"word boundary \B", 2),
    r"\Aa": (r"anchor \A", 0),
    r"\Ga": (r"anchor \G", 0),
    r"a\Z": (r"anchor \Z", 1),
    r"^a": ("anchor ^", 0),
    r"\Ka": (r"\K", 0),
    r"a\R": (r"line break \R", 1),
    r"\X": (r"grapheme cluster \X", 0),
    r"a(?=bc)": ("lookahead of more than one character", 1),
    r"a(?!b{2})": ("lookahead of more than one character", 1),
    r"(?>a|ab)c": ("atomic group", 0),
    r"(?:ab)++": ("possessive quantifier on more", 0),
    r"a(?:b*)*": ("loop around what can match nothing", 1),
    r"(?=a)*": ("repeated assertion", 0),
    r"(?x)a b": ("group option 'x'", 0),
    r"a(?i)b": ("option for the rest of a group", 1),
    r"(?s:.)": ("group option 's'", 0),
    r"(?i:ss)": ("equal to one character", 5),
    r"(?i:s(?:s))": ("equal to one character", 5),
    r"(?i:f{2})": ("equal to one character", 4),
    r"(?i:ß)": ("equal to several", 4),
    r"(?i:[ß])": ("equal to several", 4),
    r"(?i:\p{Lu})": ("letter case would widen", 4),
    r"\p{Nonsense}": ("property 'Nonsense'", 0),
    r"\p{Script=Han}": ("property 'Script=Han'", 0),
    r"[[:nonsense:]]": ("POSIX bracket 'nonsense'", 1),
    r"\p{L": ("property without its '}'", 3),
    r"a\y": (r"escape \y", 1),
    r"\u12": (r"\u without four hex digits", 0),
    r"\xff": (r"\x that is no character", 0),
    r"\x{110000}": ("U+110000", 0),
    r"\uD800": ("U+D800", 0),
    r"a\\"[:-1]: ("unexpected end", 2),
    r"(a": ("'(' without its ')'", 0),
    r"a)": ("')' without its '('", 1),
    r"[a": ("'[' without its ']'", 0),
    r"[]a]": ("empty class", 0),
    r"[a&&]": ("empty class or operand", 0),
    r"[b-a]": ("does not go upwards", 1),
    r"[a-\d]": ("does not go upwards", 1),
    r"[\d-a]": ("'-' in the middle of a class", 3),
    r"*a": ("quantifier without anything to repeat", 0),
    r"{2}a": ("quantifier without anything to repeat", 0),
    r"a{3,1}": ("upper bound is the smaller", 1),
    r"a{100001}": ("repeat count that is too big", 1),
    r"(?:(?:a{200}){200})": ("too many states", 0),
    "(?:" * 60 + "a" + ")" * 60: ("nested more than 50 deep", 150),
    "[" * 60 + "a" + "]" * 60: ("nested more than 50 deep", 51),
}


@pytest.mark.parametrize("pattern", REFUSED)
def test_refusal_names_the_reason_and_the_place(pattern: str) -> None:
    reason, position = REFUSED[pattern]
    with pytest.raises(PatternError) as caught:
        isolated(pattern)
    assert reason in caught.value.reason
    assert (caught.value.position, caught.value.pattern) == (position, pattern)


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_known_patterns_that_look_further_are_refused(name: str) -> None:
    with pytest.raises(PatternError, match=r"lookahead of more than one|word boundary"):
        isolated(UNSUPPORTED[name])


def test_unknown_behavior() -> None:
    with pytest.raises(ValueError, match="isolated"):
        compile_split("a", behavior="isolated", invert=False)


# Meaning: single constructs against the oracle

MEANINGS = {
    # {n,m}+ repeats the group, {n}? is optional, a broken interval is text (R4)
    r"\p{N}{1,3}+": "12345 1",
    r"a{2}?": "aaaaa",
    r"a{1,2}?": "aaaa",
    r"a{,2}b": "aaab b",
    r"a{,}|x{|y{1|}|]": "a{,} x{ y{1 } ]",
    r"a*+ab|a++|a": "aaab",
    r"\s++$|\s": "  \n x \n",
    # classes
    r"[a-w&&[^c-g]x]+": "abcdefgxyz",
    r"[^\s[.,]]+": "a.b, c",
    r"[-a]+|[b-]+": "a-b-",
    r"[\]\[\\^-]+": "]a[\\^-",
    r"[\b\x41\u0042\t]+": "\x08AB\tC",
    r"\x{1F600}\x41\0?": "\U0001f600A\0",
    r"[[:alpha:]]+|[[:^alpha:]&&[:punct:]]+": "aé1!?$",
    r"[[:punct:]]": "a$!+\u2212\u3002",
    r"\p{^L}+|\P{^L}": "a1 b",
    r"\p{In_Greek And-Coptic}|\p{greek}": "aαβ",
    r"\w+": "a²_\u200d½x",
    r"[\w]+": "a²_\u200d½x",
    r"[^\W]+": "a²_½x",
    r"\h+|\H": "fFg",
    r"\d+": "1\u0663\xb2",
    r"\s": "\x0b\x1c \x85\xa0\u180e\u200b\u3000\ufeff",
    # ends and lines
    r".+": "a\nb\r\x85",
    r"(?m:.+)": "a\nb",
    r"(?m)(?-m:.)|.b": "a\nb",
    r"\s+$": "a \nb \n ",
    r"a$|b\z": "a\nab\nb",
    r"\s+(?!\S)": "a   b  ",
    r"x(?=[ab]|$)|y(?!\z|c)": "xa xc x\nyc y",
    r"(?=a)\w|(?=\d+)\w\w|(?=)_": "ab 1x _",
    # letter case
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)": "'S'\u017f'T'RE'lL'\u212a",
    r"(?i)k|x": "kK\u212aX",
    r"(?i:[a-f]+|[^a])": "aFgA",
    r"(?i:k(?-i:k))": "kk KK Kk",
    r"(?i:\w\s)": "A a",
    # leftmost, first alternative
    r"a|ab|abc": "abc",
    r"ab??|b": "abb",
    r"a+?b|a": "aaab aa",
    r"(?:a|ab)(?:c|bcd)": "abcd",
    # empty matches (R6)
    r"x*": "axxb",
    r"": "aé\u4e2d",
    r"(?=a)": "baab",
    r"a|": "aab",
    r"$": "a\nb",
}


@pytest.mark.parametrize("pattern", MEANINGS)
@pytest.mark.parametrize("behavior", ["Isolated", "Contiguous"])
def test_constructs(pattern: str, behavior: str) -> None:
    text = MEANINGS[pattern]
    ours = PreTokenizer([compile_split(pattern, behavior=behavior, invert=False)])
    theirs = hf_split(pattern, behavior)
    for each in (text, text + "\n", text * 2, text[::-1]):
        assert our_pieces(ours, each) == hf_pieces(theirs, each)


def test_literal_and_charset_splits() -> None:
    text = "a.*b.*.*c"
    tables = literal_split(".*", behavior="Removed", invert=False)
    assert our_pieces(PreTokenizer([tables]), text) == ["a", "b", "c"]
    tables = literal_split("", behavior="Isolated", invert=False)
    assert our_pieces(PreTokenizer([tables]), "aé中") == ["a", "é", "中"]
    digits = np.array([[0x30, 0x39]], dtype=np.int32)
    tables = charset_split(digits, behavior="Contiguous")
    assert our_pieces(PreTokenizer([tables]), "ab12c345") == ["ab", "12", "c", "345"]
    tables = charset_split(digits, behavior="Isolated")
    assert our_pieces(PreTokenizer([tables]), "ab12c") == ["ab", "1", "2", "c"]


# The tables


@pytest.mark.parametrize("name", PATTERNS)
def test_compiles_quickly(name: str) -> None:
    isolated(PATTERNS[name])  # loads the Unicode tables

    def seconds() -> float:
        start = time.process_time()
        isolated(PATTERNS[name])
        return time.process_time() - start

    assert min(seconds() for _ in range(5)) < 0.05


def test_automata_are_as_small_as_they_should_be() -> None:
    states = {
        name: len(build_dfa(parse(PATTERNS[name]), name).next)
        for name in ("gpt2", "llama3", "gpt-4o", "kimi-k2")
    }
    assert all(count <= 60 for count in states.values()), states


@pytest.mark.parametrize("name", ["llama3", "gpt-4o", "kimi-k2", "deepseek-v3-cjk", "any"])
def test_first_bytes_that_tell_the_class(name: str) -> None:
    tables = isolated(PATTERNS[name])
    points = np.array([c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000])
    classes = tables.pages[tables.page_index[points >> 7], points & 127]
    firsts = np.array([chr(c).encode()[0] for c in points.tolist()])
    told = 0
    for first in range(0x80, 0x100):
        found = set(classes[firsts == first].tolist())
        expected = found.pop() if len(found) == 1 else tables.n_classes
        assert tables.byte_class[first] == expected, hex(first)
        told += expected != tables.n_classes
    assert told >= 3  # of Chinese characters, at the least


@pytest.mark.parametrize("name", ["gpt2", "llama3", "clip", "chameleon-image"])
def test_a_pair_is_two_steps(name: str) -> None:
    machine = isolated(PATTERNS[name]).transducer
    assert machine is not None
    steps, plain = machine.steps(), machine.n_classes + 1
    assert steps.n_pairs == plain * plain
    singles = steps.table[:, steps.n_pairs :]
    rows = np.arange(len(machine.follow))
    for first in range(plain):
        middle = machine.follow[rows, first]
        assert (singles[rows, first] & 0xFFFF == middle * steps.row_width).all()
        for second in range(plain):
            pairs = steps.table[rows, first + plain * second]
            assert (pairs & 0xFFFF == machine.follow[middle, second] * steps.row_width).all()
            assert (pairs >> 16 & 0xFF == machine.codes[rows, first]).all()
            assert (pairs >> 24 == machine.codes[middle, second]).all()


def test_more_events_than_have_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isolated(PATTERNS["llama3"]).transducer is not None
    monkeypatch.setattr(transducer, "MAX_OTHERS", 1)
    tables = isolated(PATTERNS["llama3"])
    assert tables.transducer is None
    text = "it's  12345 \n\n   x"
    assert our_pieces(PreTokenizer([tables]), text) == hf_pieces(hf_split(tables.pattern), text)


def test_arrays_are_read_only() -> None:
    tables = isolated(PATTERNS["llama3"])
    assert not tables.has_gaps
    assert isolated(PATTERNS["clip"]).has_gaps
    assert not any(a.flags.writeable for a in (tables.pages, tables.dfa.next, tables.dfa.accept))


FUSED = {
    ("deepseek-v3-numbers", "deepseek-v3-cjk", "deepseek-v3-text"): 1,
    ("deepseek-newlines", "superbpe-numbers", "llama3"): 1,
    ("lines", "gpt2"): 1,
    ("falcon", "gpt2"): 2,  # a digit may be a gap: only the third one tells
    ("gpt2", "llama3"): 2,
    ("deepseek-v3-numbers", "jais2"): 2,
    (): 0,
}


@pytest.mark.parametrize("names", FUSED)
def test_cascades_take_few_passes(names: tuple[str, ...]) -> None:
    tables = [isolated(PATTERNS[name]) for name in names]
    start = time.process_time()
    assert len(fuse_splits(tables)) == FUSED[names]
    assert time.process_time() - start < 0.1


# The patterns of the Hub that tokenizers.js collected

HUB_REFUSED = {
    "hub-004": "lookahead of more than one character",
    "hub-014": "back-reference",
    "hub-018": r"anchor \A",
    "hub-020": r"word boundary \b",
    "hub-033": "lookahead of more than one character",
    "hub-036": "look-behind",
    "hub-044": "lookahead of more than one character",
    "hub-046": "lookahead of more than one character",
    "hub-048": "look-behind",
    "hub-059": r"anchor \A",
    "hub-061": r"word boundary \b",
    "hub-063": "anchor ^",
    "hub-069": r"word boundary \b",
    "hub-074": "look-behind",
    "hub-079": "lookahead of more than one character",
    "hub-083": "anchor ^",
    "problematic-g-anchor": r"anchor \G",
    "edge-ci-full-fold": "case-insensitive string that is equal to one character",
    "edge-Z-anchor": r"anchor \Z",
    "edge-A-anchor": r"anchor \A",
    "edge-g-anchor-digits": r"anchor \G",
    "edge-atomic-group": "atomic group",
}


def test_tokenizers_js(vectors: Callable[[str], Path]) -> None:
    folder = vectors("tokenizers_js")
    cases = json.loads((folder / "splitRegexPatterns.json").read_text(encoding="utf-8"))
    expected = json.loads((folder / "splitRegexOracle.json").read_text(encoding="utf-8"))["tokens"]
    by_id = {case["id"]: case for case in cases["patterns"]}
    extra = [{**by_id[c["patternId"]], **c, "id": c["name"]} for c in cases["additionalCases"]]
    renamed = {"hub-051": "problematic-bloom-split-regex"}
    refused, checked = {}, 0
    for case in [*cases["patterns"], *extra]:
        case = {**cases["defaults"], **case}
        try:
            tables = compile_split(
                case["pattern"], behavior=case["behavior"], invert=case["invert"]
            )
        except PatternError as error:
            refused[case["id"]] = error.reason
            continue
        pre_tokenizer = PreTokenizer([tables])
        answers = expected[renamed.get(case["id"], case["id"])]
        for text, answer in zip(case["inputs"], answers, strict=True):
            assert our_pieces(pre_tokenizer, text) == answer, (case["id"], text)
            checked += 1
    refused = {name: why for name, why in refused.items() if name in by_id}
    assert refused.keys() == HUB_REFUSED.keys()
    assert all(HUB_REFUSED[name] in why for name, why in refused.items())
    assert checked > 1700
