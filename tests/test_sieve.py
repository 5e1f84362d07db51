"""The sieve lets pass what begins as it was told, and little else, in all variants alike."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simd import variants

from tokcy import unicode as ucd
from tokcy._sieve import deal, places

VARIANTS = variants(lambda name: places(b"", [], name))
each_variant = pytest.mark.parametrize("simd", VARIANTS)


def passing(text: bytes, contents: list[bytes]) -> list[int]:
    """What a sieve of at most eight first bytes lets pass: it tells each byte by the first."""
    found = []
    for at in range(len(text)):
        told = [content for content in contents if content[0] == text[at]]
        here = text[at : at + 3].ljust(3, b"\0")
        if told and all(
            any(len(content) <= i or content[i] == here[i] for content in told) for i in (1, 2)
        ):
            found.append(at)
    return found


def beginning(text: bytes, contents: list[bytes]) -> set[int]:
    return {at for at in range(len(text)) if any(text.startswith(c[:3], at) for c in contents)}


few_bytes = st.binary(min_size=1, max_size=3).map(lambda alphabet: sorted({0, *alphabet}))


@st.composite
def few_first_bytes(draw: st.DrawFn) -> tuple[list[bytes], bytes]:
    letters = st.sampled_from(draw(few_bytes))
    content = st.lists(letters, min_size=1, max_size=4).map(bytes)
    text = draw(st.lists(letters | st.integers(0, 255), max_size=150))
    return draw(st.lists(content, max_size=8)), bytes(text)


@given(few_first_bytes())
def test_three_bytes_are_told_by_the_first(case: tuple[list[bytes], bytes]) -> None:
    contents, text = case
    for simd in VARIANTS:
        assert places(text, contents, simd) == passing(text, contents)


@pytest.mark.parametrize("n_first", [1, 8, 9, 30, 256])
@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_variants_agree_over_random_bytes(n_first: int, longest: int) -> None:
    choose = random.Random(n_first * longest)
    firsts = choose.sample(range(256), n_first)
    for size in [*choose.sample(range(140), 10), 5000]:
        contents = [
            bytes([first, *choose.choices(range(256), k=longest - 1)])[: choose.randint(1, 5)]
            for first in firsts
        ]
        text = b"".join(
            choose.choice([choose.choice(contents)[: choose.randint(1, 5)], choose.randbytes(3)])
            for _ in range(size // 3 + 1)
        )[:size]
        found = [places(text, contents, simd) for simd in VARIANTS]
        assert all(other == found[0] for other in found)
        assert beginning(text, contents) <= set(found[0])


@each_variant
@pytest.mark.parametrize("content", [b"a", b"ab", b"abc", b"abcd", b"\0", b"a\0", b"a\0\0"])
def test_the_end_of_a_text(simd: str, content: bytes) -> None:
    for n in range(200):
        text = b"x" * n + content
        assert places(text, [content], simd) == [n]
        # Zeros stand behind the end, in which that of a longer content passes.
        for cut in range(1, len(content)):
            ends_in_zeros = not any(content[cut:3])
            assert places(text[:-cut], [content], simd) == passing(text[:-cut], [content])
            assert (n in places(b"x" * n + content[:cut], [content], simd)) == ends_in_zeros


@each_variant
def test_marks_of_japanese_do_not_stop_at_punctuation(simd: str) -> None:
    marks = [chr(c).encode() for c in (*range(0x302A, 0x3030), 0x3099, 0x309A)]
    assert places("「日本」、そう。".encode() * 20, marks, simd) == []
    assert places("か\u3099「\u302a".encode(), marks, simd) == [3, 9]
    # Nor beside all others that NFC may move or change: those fill more than eight first bytes.
    tables = ucd.canonical_tables()
    codes = {*tables.combining_classes[:, 0].tolist(), *tables.compositions[:, 1].tolist()}
    contents = [chr(c).encode() for c in sorted(codes)]
    assert len({content[0] for content in contents}) > 8
    assert places("「日本」、そう。".encode() * 20, contents, simd) == []


def sets(*of: set[int]) -> np.ndarray:
    return np.array([[byte in passing for byte in range(256)] for passing in of])


def test_first_bytes_are_dealt_into_buckets() -> None:
    everything = set(range(256))
    few = [({128 + i}, {130, 131 + i}) for i in range(7)]
    rows = [*few, ({150, 151}, everything), (everything, everything), ({150, 152}, everything)]
    seconds, thirds = sets(*(row[0] for row in rows)), sets(*(row[1] for row in rows))
    buckets = deal(seconds, thirds)
    assert buckets.shape == (8, len(rows))
    assert buckets.sum(axis=0).tolist() == [1] * len(rows)
    # Those that take any third byte are together, not with those that take few.
    together = {tuple(np.flatnonzero(bucket).tolist()) for bucket in buckets}
    assert {(7, 9), (8,)} < together
    assert len(deal(seconds[:3], thirds[:3])) == 3
    assert len(deal(seconds[:0], thirds[:0])) == 0
