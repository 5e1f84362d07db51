"""Ids to bytes to text: equal to joining the tokens and to Python's own lossy decoding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from simd import variants

from tokcy._decode import Decoder, text_of
from tokcy._spelling import token_text_to_bytes
from tokcy._vocab import Vocabulary
from tokcy.spec import DecoderPlan

BORDERS = [0, 1, 2, 15, 16, 31, 32, 33, 47, 48, 60, 61, 62, 63, 64, 65, 66, 67, 126, 127, 128]
VARIANTS = variants(lambda name: text_of(b"", name))
FILLERS = ["a", "é", "ÿ", "Ā", "中", "\uffff", "🙂"]


def lossy(content: bytes) -> str:
    return content.decode("utf-8", "replace")


characters = st.one_of(st.text(max_size=8), st.sampled_from(FILLERS), st.sampled_from("a\0\x7f"))
pieces = st.one_of(
    st.tuples(characters, st.integers(0, 140)).map(lambda pair: (pair[0] * pair[1]).encode()),
    st.text().map(str.encode),
)


@given(st.lists(pieces, max_size=6).map(b"".join))
def test_valid_text(content: bytes) -> None:
    for simd in VARIANTS:
        assert text_of(content, simd) == lossy(content)


@given(
    st.lists(pieces, max_size=6).map(b"".join),
    st.lists(st.tuples(st.integers(0, 1000), st.binary(max_size=4)), min_size=1, max_size=3),
)
def test_broken_text(content: bytes, faults: list[tuple[int, bytes]]) -> None:
    for at, fault in faults:
        at %= len(content) + 1
        content = content[:at] + fault + content[at + len(fault) // 2 :]
    for simd in VARIANTS:
        assert text_of(content, simd) == lossy(content)


def test_every_pair_of_bytes(simd: str) -> None:
    """All ways to begin a character, and to go wrong, within a block and across its end."""
    for first in range(256):
        for second in range(256):
            for rest in (b"", b"\x80", b"\x80\x80"):
                sequence = bytes([first, second]) + rest
                for before in (b"a" * 70, b"a" * 62):
                    content = before + sequence + b"a" * 8
                    assert text_of(content, simd) == lossy(content)


def test_every_character(simd: str) -> None:
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for last in (0x80, 0x100, 0x10000, 0x110000):
        text = "".join(map(chr, codes[: codes.index(last - 1) + 1]))
        assert text_of(text.encode(), simd) == text


def test_characters_at_block_borders(simd: str) -> None:
    for filler in FILLERS:
        for other in FILLERS:
            for n in BORDERS:
                for text in (filler * n + other, filler * n + other * 70, other + filler * n):
                    content = text.encode()
                    assert text_of(content, simd) == text
                    # Cut within its last character, and the rest of one at the front.
                    assert text_of(content[:-1], simd) == lossy(content[:-1])
                    assert text_of(content[1:], simd) == lossy(content[1:])


def test_a_text_is_as_narrow_as_it_can_be(simd: str) -> None:
    """CPython compares strings by their width first."""
    for greatest in ("\x7f", "\x80", "\xff", "\u0100", "\uffff", "\U00010000", "\U0010ffff"):
        text = "a" * 100 + greatest
        assert {text: 1}[text_of(text.encode(), simd)] == 1


def test_a_variant_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="'mmx'"):
        text_of(b"", "mmx")


LONG = ["b" * n for n in (14, 15, 16, 17, 100)]
ADDED = {0: "<s>", 300: "ŁA", 301: "<a long special token>", 302: "plain", 303: "ł中"}
SPECIAL = [0, 301]


@pytest.fixture(scope="module")
def decoder() -> Decoder:
    model = synthetic.model_from_merges([("a", "b"), ("ab", "c")], extra_tokens=LONG)
    plan = DecoderPlan(byte_level=True)
    return Decoder(Vocabulary(model["model"]["vocab"], []), ADDED, SPECIAL, plan)


def token_bytes(token: int, *, skip: bool) -> bytes:
    """The slow twin."""
    if token in ADDED:
        return b"" if skip and token in SPECIAL else token_text_to_bytes(ADDED[token])
    if token < 256:
        return bytes([token])
    return {256: b"ab", 257: b"abc", **{258 + i: t.encode() for i, t in enumerate(LONG)}}.get(
        token, b""
    )


@given(
    st.lists(
        st.one_of(
            st.integers(0, 310),
            st.sampled_from([*ADDED, *range(256, 263), 97, 2**31, 2**32 - 1]),
            st.integers(0xB0, 0xF0),
        )
    ),
    st.booleans(),
    st.sampled_from([1, 1, 3, 40]),
)
def test_ids_become_their_bytes(
    decoder: Decoder, ids: list[int], skip: bool, repeated: int
) -> None:
    array = np.array(ids * repeated, dtype=np.uint32)
    expected = b"".join(token_bytes(token, skip=skip) for token in ids) * repeated
    assert decoder.decode_bytes(array, skip) == expected
    assert decoder.decode(array, skip) == lossy(expected)


@pytest.mark.parametrize("n", [0, 1, 1023, 1024, 1025, 5000, 300_000])
def test_long_lists(decoder: Decoder, n: int) -> None:
    rng = np.random.default_rng(n)
    for ids in (
        rng.integers(0, 310, n),
        np.full(n, 262),  # 100 bytes each
        np.full(n, 259),  # 15 bytes
        np.full(n, 9999),  # unknown
    ):
        expected = b"".join(token_bytes(token, skip=False) for token in ids.tolist())
        array = ids.astype(np.uint32)
        assert decoder.decode_bytes(array, False) == expected
        assert decoder.decode(array, False) == lossy(expected)


def test_other_arrays_are_refused(decoder: Decoder) -> None:
    arrays: list[Any] = [np.zeros(4, np.int64), np.zeros((2, 2), np.uint32)]
    for ids in (*arrays, np.zeros(8, np.uint32)[::2]):
        with pytest.raises(ValueError, match="contiguous"):
            decoder.decode(ids, False)
