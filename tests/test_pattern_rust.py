"""Patterns in tiktoken's syntax: the same pieces as tiktoken, or a refusal."""

from __future__ import annotations

import functools

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from random_patterns import random_patterns
from split_oracle import our_pieces, texts

from tokcy._pretok import PreTokenizer
from tokcy.errors import PatternError
from tokcy.pattern import Dialect, compile_split
from tokcy.ranks.known import ENCODINGS, RANKS

KNOWN = sorted({model.pattern for model in (*ENCODINGS.values(), *RANKS.values())})
TEKKEN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

SETS = (
    *("a", "b", "c", " ", "1", "é", ".", r"\n", r"\s", r"\S", r"\d", r"\w", r"\W", r"\h", r"\pL"),
    *("[ab]", "[^a]", r"[^\s1]", r"[\sb]", "[a-c&&[^b]]", r"[^\w]", r"[\p{L}\p{M}&&[^\p{Han}]]"),
    *("(?i:a)", "(?i:[^s])", "(?i:[ks])", "(?i:ß)", "(?s:.)", "(?s-i:.)", r"[\w&&\S--]", "[+--a]"),
    *(r"\p{L}", r"\P{L}", r"\p{^N}", r"\p{Greek}", r"\p{word}", r"\p{InGreek}", "[[:alpha:]]"),
    *(r"\x41", r"\x{e9}", r"\u00E9", r"\<", r"\0", "[a~~b]", "[1-3-5]", "a{", "}", "^"),
)
GREEDY = ("*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{1,3}")
LAZY = ("*?", "+?", "??", "{0,2}?", "{2,3}?", "{2}?")
POSSESSIVE = ("*+", "++", "?+", "{1,2}+", "{2}+", "{1,}+", "{0,2}+", "{1,3}+")
TEXTS = st.text(st.sampled_from("aabbcc1 \n\t²é\u2028ſAsKßẞ\u212a中~-}"), max_size=12)
PATTERNS = random_patterns(
    SETS, GREEDY, GREEDY + LAZY + POSSESSIVE, POSSESSIVE, wrappers=("(?i:{})",)
)


def encoding(pattern: str, tokens: set[bytes]) -> tiktoken.Encoding:
    ranks = {token: rank for rank, token in enumerate([*map(bytes, zip(range(256))), *tokens])}
    return tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def tiktoken_pieces(pattern: str, text: str) -> list[str]:
    """The pieces of a text, each of which is a token."""
    n = len(text)
    parts = {text[i:j].encode() for i in range(n) for j in range(i + 1, n + 1)}
    model = encoding(pattern, {part for part in parts if len(part) > 1})
    return [token.decode() for token in model.decode_tokens_bytes(model.encode_ordinary(text))]


def check(pattern: str, texts: list[str]) -> None:
    try:
        tables = compile_split(pattern, behavior="Removed", invert=True, dialect=Dialect.RUST)
    except PatternError:
        return
    try:
        encoding(pattern, set())
    except ValueError:  # what we understand, fancy-regex may still not like
        return
    fast, slow = PreTokenizer([tables]), PreTokenizer([tables], use_transducer=False)
    for text in texts:
        expected = tiktoken_pieces(pattern, text)
        assert our_pieces(fast, text) == expected
        assert our_pieces(slow, text) == expected


@settings(max_examples=600)
@given(PATTERNS, st.lists(TEXTS, min_size=3, max_size=8))
def test_random_patterns(pattern: str, texts: list[str]) -> None:
    check(pattern, texts)


@pytest.mark.sweep
@settings(max_examples=20_000)
@given(PATTERNS, st.lists(TEXTS, min_size=3, max_size=8))
def test_many_random_patterns(pattern: str, texts: list[str]) -> None:
    check(pattern, texts)


@pytest.mark.parametrize("pattern", SETS)
def test_every_set_is_the_same_or_refused(pattern: str) -> None:
    check(pattern, ["aabbcc1 \n\t²é\u2028ſAsKßẞ\u212a中~-}", "kKſs", "+,-.a"])


@pytest.mark.parametrize("examples", [20, pytest.param(200, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("pattern", [*KNOWN, TEKKEN])
def test_known_patterns(pattern: str, examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(texts([pattern], max_size=8), min_size=1, max_size=4))
    def same(texts: list[str]) -> None:
        check(pattern, texts)

    compile_split(pattern, behavior="Removed", invert=True, dialect=Dialect.RUST)
    same()


@functools.cache
def bytes_only(pattern: str) -> tiktoken.Encoding:
    return encoding(pattern, set())


@pytest.mark.parametrize(
    "name",
    [
        *(r"\w", r"\s", r"\d", r"\h", r"\p{L}", r"\p{N}", r"\p{M}", r"\p{Lu}", r"\p{Ll}"),
        *(r"\p{Lt}", r"\p{Lm}", r"\p{Lo}", r"\p{Han}", r"\p{P}", r"\p{S}", r"\p{Nd}"),
        *(r"\p{alpha}", r"(?i:s)", r"(?i:k)", r"(?i:[a-z])", r"(?i:[^a-z])", r"(?i:ß)"),
    ],
)
def test_classes_over_all_code_points(name: str) -> None:
    text = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    tables = compile_split(f"{name}+", behavior="Removed", invert=True, dialect=Dialect.RUST)
    expected = bytes(bytes_only(f"{name}+").encode_ordinary(text)).decode()
    assert "".join(our_pieces(PreTokenizer([tables]), text)) == expected


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("a|", 0),
        ("a{,3}", 1),
        ("a**", 0),
        (r"[a\p{word}]", 2),
        ("[a--b]", 2),
        ("(?i:[a&&[b]])", 6),
        ("x(?i:[[a]])", 6),
        ("(?m:a)", 0),
        ("a(?<=a)b", 1),
    ],
)
def test_refusals_say_where(pattern: str, position: int) -> None:
    with pytest.raises(PatternError) as caught:
        compile_split(pattern, behavior="Removed", invert=True, dialect=Dialect.RUST)
    assert caught.value.position == position
