"""Strings of every kind to UTF-8: seen through the ids of a model that has bytes only."""

from __future__ import annotations

import json
import random

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from simd import variants

from tokcy import EncodeTypeError, Tokenizer
from tokcy._source import agreement, measured, utf8

VARIANTS = variants(lambda name: utf8("", name))
tok = Tokenizer.from_json(json.dumps(synthetic.model_from_merges([])))

#: Characters of a part that one thread converts at a time.
PART = 16 << 10

# CPython keeps a string in one, two or four bytes a character, as its greatest character needs.
ALPHABETS = ["ab\x7f\0", "aé\x80ÿ", "aéĀ߿ࠀ中\ud7ff\ue000\uffff", "aé中🙂\U00010000\U0010ffff"]
# Around the borders of blocks of 8, 16, 32 and 64 characters.
BORDERS = [n + d for n in (0, 8, 16, 32, 64, 128) for d in (-1, 0, 1) if n + d >= 0]


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


@given(
    st.sampled_from(ALPHABETS).flatmap(
        lambda letters: st.lists(
            st.tuples(st.text(alphabet=letters, max_size=5), st.sampled_from(BORDERS)), max_size=8
        )
    )
)
def test_simd_variants_agree(parts: list[tuple[str, int]]) -> None:
    text = "".join(part + "a" * n for part, n in parts)
    for simd in VARIANTS:
        assert utf8(text, simd) == text.encode()
        assert measured(text, simd) == len(text.encode())


def agreement_of(text: str, data: bytes) -> tuple[int, int]:
    """The same, one character after the other."""
    at = 0
    for n, character in enumerate(text):
        if "\ud800" <= character <= "\udfff" or not data.startswith(character.encode(), at):
            return n, at
        at += len(character.encode())
    return len(text), at


@given(
    st.sampled_from(ALPHABETS).flatmap(
        lambda letters: st.tuples(
            st.lists(
                st.tuples(
                    st.text(alphabet=letters + "\ud800", max_size=3), st.sampled_from(BORDERS)
                ),
                max_size=5,
            ),
            st.one_of(st.none(), st.integers(0, 10**6)),
            st.binary(max_size=3),
        )
    )
)
def test_agreement_with_bytes(case: tuple[list[tuple[str, int]], int | None, bytes]) -> None:
    parts, changed, behind = case
    text = "".join(part + "a" * n for part, n in parts)
    data = bytearray(text.encode(errors="replace") + behind)
    if changed is not None and data:
        data[changed % len(data)] ^= 1 << changed % 7
    for view in (bytes(data), bytes(data[: (changed or 0) % (len(data) + 1)])):
        for simd in VARIANTS:
            assert agreement(text, view, simd) == agreement_of(text, view)


@pytest.mark.parametrize("simd", VARIANTS)
def test_agreement_stops_at_any_difference(simd: str) -> None:
    for rest in ("a", "é", "中", "🙂"):
        text = "🙂" + rest * 200
        data = text.encode()
        for at in range(len(data)):
            other = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
            expected = len(data[:at].decode(errors="ignore"))
            assert agreement(text, other, simd)[0] == expected
            assert agreement(text, data[:at], simd)[0] == expected


@pytest.mark.parametrize("simd", VARIANTS)
def test_characters_of_all_lengths_at_block_borders(simd: str) -> None:
    for widest in ("é", "中", "🙂"):
        for rest in ("a", "\0", "é", "ࠀ", "中", "\ue000", "\uffff", "🙂"):
            for n in BORDERS:
                for text in (rest * n + widest, widest + rest * n, widest * n + rest):
                    assert utf8(text, simd) == text.encode()


@pytest.mark.parametrize("simd", VARIANTS)
def test_every_character(simd: str) -> None:
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for last in (0x100, 0x10000, 0x110000):
        text = "".join(map(chr, codes[: codes.index(last - 1) + 1]))
        assert utf8(text, simd) == text.encode()


@pytest.mark.parametrize("simd", VARIANTS)
@pytest.mark.parametrize("rest", ["a", "é", "中", "🙂"])
def test_surrogates_stop_every_variant(simd: str, rest: str) -> None:
    for n in BORDERS:
        for surrogate in ("\ud800", "\udbff", "\udc00", "\udfff"):
            for behind in (0, 1, 20, 100):
                with pytest.raises(EncodeTypeError, match=rf"at index {n},"):
                    utf8(rest * n + surrogate + rest * behind + surrogate, simd)


def test_a_variant_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="'mmx'"):
        utf8("é", "mmx")


@pytest.mark.parametrize("letters", ALPHABETS)
def test_several_threads_convert_a_text(letters: str) -> None:
    """They write side by side, where characters of every width are at the end of a part."""
    choose = random.Random(len(letters))
    for n in (2 * PART - 1, 2 * PART, 2 * PART + 1, 3 * PART + 67, 9 * PART + 68):
        few = "".join(choose.choices("ab" * 40 + letters, k=n - 1)) + letters[-1]
        many = "".join(choose.choices(letters, k=n - 1)) + letters[-1]
        for text in (few, many):
            for threads in (2, 3, 5):
                assert tok.decode_bytes(tok.encode(text, num_threads=threads)) == text.encode()


@pytest.mark.parametrize("at", [0, PART - 1, PART, 2 * PART + PART - 68, 5 * PART - 1])
@pytest.mark.parametrize("rest", ["é\u0100", "中", "🙂"])
def test_the_first_surrogate_is_named_whoever_comes_to_it(at: int, rest: str) -> None:
    text = (rest * 5 * PART)[: 5 * PART]
    text = text[:at] + "\udc00" + text[at + 1 :]
    for later in (None, 4 * PART, 5 * PART - 1):
        if later is not None and later > at:
            text = text[:later] + "\ud800" + text[later + 1 :]
        with pytest.raises(EncodeTypeError, match=rf"surrogate '\\udc00' at index {at},"):
            tok.encode(text, num_threads=3)
