"""Normalizer steps, alone and one after another, do what those of ``tokenizers`` do (N1 to N5)."""

from __future__ import annotations

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st
from synthetic import BYTES, normalizer_step
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from tokcy.spec import normalizer_of
from tokcy.spec.steps import (
    Lowercase,
    NormalForm,
    NormalizerStep,
    Prepend,
    Replace,
    Strip,
    StripAccents,
)

VOCAB = {character: byte for byte, character in enumerate(BYTES)}
SCALARS = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
SPACES = "\t \x85\xa0\u2003\u3000\u200b"
LETTERS = [*"aAbBss ▁ééİΣςßẞﬁ①ｶﾞÅᏸ", "e\u0301", "\u0301", "\u0323", "\u0345", "\u1100", "\u1161"]
LETTERS += [*SPACES, "ab", "  ", "\ud55c", "\u1e9b", "\u0344", "\U0001e900", "\U0001f600", "\0"]

texts = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from(LETTERS), max_size=12).map("".join),
    st.lists(st.one_of(st.text(max_size=3), st.sampled_from(LETTERS)), max_size=12).map("".join),
)
contents = st.one_of(
    st.sampled_from(["", " ", "▁", "é", "xy", "e\u0301", "\u0301"]), st.text(max_size=3)
)
literals = st.one_of(st.sampled_from(LETTERS), st.text(min_size=1, max_size=3))
REGEXES = [r"\s+", r"a+b?", r"[ea]", r"\p{Lu}", r"(?i:ab|s)", r" (?! )", r"[^\p{L}\s]+", r"\u0301"]
steps = st.one_of(
    st.builds(NormalForm, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"])),
    st.just(Lowercase()),
    st.just(StripAccents()),
    st.builds(Strip, st.booleans(), st.booleans()),
    st.builds(Prepend, contents.filter(bool)),
    st.builds(Replace, literals, st.just(False), contents),
    st.builds(Replace, st.sampled_from(REGEXES), st.just(True), contents),
)


def check(chain: list[NormalizerStep], text: str) -> None:
    """The text and, through a model of single bytes, where each byte of it comes from."""
    normalizer = normalizer_of(tuple(chain))
    oracle = normalizers.Sequence([normalizer_step(step) for step in chain])
    expected = oracle.normalize_str(text)
    assert normalizer.normalize(text) == expected
    if normalizer.is_settled(text):
        assert expected == text
    tokenizer = Tokenizer(models.BPE(VOCAB, []))
    tokenizer.normalizer = oracle
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    encoding = tokenizer.encode(text)
    content, ranges = normalizer.ranges(text)
    assert list(content) == encoding.ids
    character = [i for i, c in enumerate(text) for _ in c.encode()]
    assert [(character[begin], character[end - 1] + 1) for begin, end in ranges] == encoding.offsets


@given(steps, texts)
def test_one_step(step: NormalizerStep, text: str) -> None:
    check([step], text)


@given(st.lists(steps, max_size=5), texts)
def test_several_steps(chain: list[NormalizerStep], text: str) -> None:
    check(chain, text)


@pytest.mark.parametrize(
    "step", [Lowercase(), StripAccents(), Replace("\\p{L}", True, "")], ids=str
)
@pytest.mark.parametrize("beside", ["", "Σ"])
def test_every_character(step: NormalizerStep, beside: str) -> None:
    normalizer, oracle = normalizer_of((step,)), normalizer_step(step)
    for text in (f"\n{beside}".join(SCALARS), SCALARS[::-1]):
        assert normalizer.normalize(text) == oracle.normalize_str(text)


def test_strip_looks_at_characters() -> None:
    for space in SPACES:
        for text in (f"{space}é{space}", space, f"é{space}é", f"{space}{space}日本{space}"):
            for left, right in ((True, True), (True, False), (False, True), (False, False)):
                check([Strip(left, right)], text)


@pytest.mark.parametrize("content", ["", "▁", "xyz"])
def test_replacing_takes_linear_time(content: str) -> None:
    for pattern in ("a", "aa", "a" * 100 + "b"):
        normalizer = normalizer_of((Replace(pattern, False, content),))
        assert_linear(lambda n: normalizer.normalize("a" * n), 20_000)  # noqa: B023


def test_settled_text_is_told() -> None:
    chain = (NormalForm("NFC"), Replace("▁", False, " "), Lowercase(), Strip(True, True))
    normalizer = normalizer_of(chain)
    assert normalizer.is_settled("plain text, ünïcödé 文字")
    for text in ("A", "a▁", " a", "e\u0301"):
        assert not normalizer.is_settled(text)
    assert not normalizer_of((Prepend("▁"),)).is_settled("a")
    assert normalizer_of((Prepend("▁"),)).is_settled("")
    assert normalizer_of((Replace("ab", False, "c"),)).is_settled("bbb")
    assert not normalizer_of((Replace(r"\s+", True, " "),)).is_settled("a b")
