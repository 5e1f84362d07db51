"""Strings of every kind to UTF-8: seen through the ids of a model that has bytes only."""

from __future__ import annotations

import json

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from tokcy import EncodeTypeError, Tokenizer

tok = Tokenizer.from_json(json.dumps(synthetic.model_from_merges([])))

# CPython keeps a string in one, two or four bytes a character, as its greatest character needs.
ALPHABETS = ["ab\x7f\0", "aé\x80ÿ", "aéĀ߿ࠀ中\ud7ff\ue000\uffff", "aé中🙂\U00010000\U0010ffff"]


def utf8_of(text: str) -> bytes:
    return tok.decode_bytes(tok.encode(text))


@given(
    st.sampled_from(ALPHABETS).flatmap(
        lambda letters: st.lists(
            st.one_of(st.text(alphabet=letters, max_size=40), st.integers(0, 40).map("a".__mul__))
        ).map("".join)
    )
)
def test_every_width(text: str) -> None:
    assert utf8_of(text) == text.encode()


@pytest.mark.parametrize("letters", ALPHABETS)
def test_long_texts(letters: str) -> None:
    for n in (4095, 4096, 4097, 100_003):
        text = ("abcdefghijklmnopqrstuvwxyz" * 3 + letters) * (n // 80)
        assert utf8_of(text) == text.encode()


@pytest.mark.parametrize("at", [0, 1, 15, 16, 17, 4095, 5000, 9999])
@pytest.mark.parametrize("rest", ["a", "é", "中", "🙂"])
def test_surrogates_are_named(at: int, rest: str) -> None:
    text = (rest * 10_000)[:at] + "\ud800" + rest * (10_000 - at)
    with pytest.raises(EncodeTypeError, match=rf"surrogate '\\ud800' at index {at},"):
        tok.encode(text)
    with pytest.raises(EncodeTypeError, match=rf"texts\[2\]: .*'\\ud800' at index {at},"):
        tok.encode_batch(["a", rest, text])
