"""Random split patterns on random text: the same pieces as Oniguruma, or a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_patterns import random_patterns
from split_oracle import BEHAVIORS, hf_pieces, hf_split, our_pieces

from tokcy._pretok import PreTokenizer
from tokcy.errors import PatternError
from tokcy.pattern import compile_split

SETS = (
    *("a", "b", "c", " ", "1", "é", ".", r"\n", r"\s", r"\S", r"\d", r"\w", r"\W", r"\h"),
    *(
        "[ab]",
        "[^a]",
        r"[^\s1]",
        r"[\sb]",
        "[a-c&&[^b]]",
        r"[^\w]",
        "(?i:a)",
        "(?i:[^s])",
        "(?m:.)",
    ),
    *(r"\p{L}", r"\P{L}", r"\p{^N}"),
)
GREEDY = ("*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "{1,3}", "{2}?", "{1,2}+")
LAZY = ("*?", "+?", "??", "{0,2}?", "{2,3}?")
TEXTS = st.text(st.sampled_from("aabbcc1 \n\t²é\u2028ſAs"), max_size=16)
PATTERNS = random_patterns(SETS, GREEDY, GREEDY + LAZY, ("*+", "++", "?+"))


def check(pattern: str, behavior: str, invert: bool, texts: list[str]) -> None:
    try:
        tables = compile_split(pattern, behavior=behavior, invert=invert)
    except PatternError:
        return
    try:
        theirs = hf_split(pattern, behavior, invert)
    except Exception:  # what we understand, Oniguruma may still not like
        return
    fast, slow = PreTokenizer([tables]), PreTokenizer([tables], use_transducer=False)
    for text in texts:
        expected = hf_pieces(theirs, text)
        assert our_pieces(fast, text) == expected
        assert our_pieces(slow, text) == expected


BEHAVIOR = st.sampled_from(list(BEHAVIORS))


@settings(max_examples=600)
@given(PATTERNS, BEHAVIOR, st.booleans(), st.lists(TEXTS, min_size=3, max_size=8))
def test_random_patterns(pattern: str, behavior: str, invert: bool, texts: list[str]) -> None:
    check(pattern, behavior, invert, texts)


@pytest.mark.sweep
@settings(max_examples=20_000)
@given(PATTERNS, BEHAVIOR, st.booleans(), st.lists(TEXTS, min_size=3, max_size=8))
def test_many_random_patterns(pattern: str, behavior: str, invert: bool, texts: list[str]) -> None:
    check(pattern, behavior, invert, texts)
