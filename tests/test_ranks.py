"""Merging by ranks: against the definition, and against tiktoken."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_models import encoding, rank_file

from tokcy import Tokenizer
from tokcy._bpe import Bpe
from tokcy._engine import Engine
from tokcy._prepare import Preparer
from tokcy._pretok import SIMD, PreTokenizer
from tokcy.pattern import Dialect, compile_split
from tokcy.ranks.rankfile import make_vocabulary, read_ranks

WORDS = r"\S+|\s+"
WHOLE = r"(?s:.+)"

RankTable = dict[bytes, int]


def merged(ranks: Mapping[bytes, int], piece: bytes) -> list[int]:
    """The definition: the pair whose bytes together have the lowest rank, leftmost first."""
    parts = [bytes([byte]) for byte in piece]
    while True:
        pairs = (a + b for a, b in pairwise(parts))
        best = min(
            ((ranks[pair], i) for i, pair in enumerate(pairs) if pair in ranks), default=None
        )
        if best is None:
            return [ranks[part] for part in parts]
        parts[best[1] : best[1] + 2] = [parts[best[1]] + parts[best[1] + 1]]


def bpe_of(ranks: RankTable, simd: str = SIMD) -> Bpe:
    return Bpe(make_vocabulary(read_ranks(rank_file(ranks), "test"), "test"), True, simd=simd)


@st.composite
def rank_tables(draw: st.DrawFn, letters: str = "ab", longest: int = 7) -> RankTable:
    """All bytes, and tokens of a few letters whose ranks need not follow how they are made.

    Of so few letters many tokens can be cut in two in several ways, which have one rank.
    """
    tokens = draw(
        st.lists(st.text(letters, min_size=2, max_size=longest), max_size=40, unique=True)
    )
    if draw(st.booleans()):  # as in a trained model: no token before its parts
        tokens.sort(key=len)
    known = [*(bytes([byte]) for byte in range(256)), *(token.encode() for token in tokens)]
    if draw(st.booleans()):
        random.Random(draw(st.integers(0, 9999))).shuffle(known)
    gap = draw(st.integers(1, 3))
    return {token: gap * i for i, token in enumerate(known)}


def pieces(letters: str = "ab") -> st.SearchStrategy[bytes]:
    # Around the borders of what is scanned, what is merged side by side, and windows.
    sizes = st.one_of(st.integers(1, 60), st.integers(240, 300), st.integers(500, 700))
    return sizes.flatmap(lambda n: st.text(letters, min_size=n, max_size=n)).map(str.encode)


def check_merging(ranks: RankTable, texts: list[bytes]) -> None:
    bpe, oracle = bpe_of(ranks), encoding(ranks, WHOLE)
    for text in texts:
        expected = merged(ranks, text)
        assert bpe.merge(text) == expected
        if text not in ranks:
            assert oracle.encode_ordinary(text.decode()) == expected


@settings(max_examples=300)
@given(rank_tables(), st.lists(pieces(), min_size=1, max_size=6))
def test_merging_is_the_definition(ranks: RankTable, texts: list[bytes]) -> None:
    check_merging(ranks, texts)


@pytest.mark.sweep
@settings(max_examples=5000)
@given(
    st.one_of(rank_tables(), rank_tables("abé"), rank_tables("a", 20), rank_tables("abc", 4)),
    st.lists(
        st.one_of(pieces(), pieces("abé"), pieces("a"), pieces("abc")), min_size=1, max_size=6
    ),
)
def test_merging_is_the_definition_at_length(ranks: RankTable, texts: list[bytes]) -> None:
    check_merging(ranks, texts)


def test_tokens_that_can_be_cut_in_several_ways() -> None:
    """``xx`` ``x`` and ``x`` ``xx`` have one rank, that of ``xxx``; but they never meet."""
    known = [*(bytes([byte]) for byte in range(256)), b"xx", b"yx", b"xxx", b"xz", b"xxxx"]
    for order in range(200):
        random.Random(order).shuffle(known)
        ranks = {token: i for i, token in enumerate(known)}
        texts = [text.encode() for text in ("yxxxx", "xxxxxxx", "xxxz", "yxxxxz", "xyxxxxxyxz")]
        check_merging(ranks, texts)


@settings(max_examples=100)
@given(
    st.one_of(rank_tables(), rank_tables("abé", 4)),
    st.lists(st.text("abé", min_size=1, max_size=40), min_size=1, max_size=80),
)
def test_words_in_every_way(simd: str, ranks: RankTable, words: list[str]) -> None:
    """Many words at once, which are merged side by side; the second time they are known."""
    split = compile_split(WORDS, behavior="Isolated", invert=False, dialect=Dialect.RUST)
    bpe = bpe_of(ranks, simd=simd)
    engine = Engine(Preparer(()), PreTokenizer([split], simd=simd), bpe)
    text = " ".join(words)
    expected = encoding(ranks, WORDS).encode_ordinary(text)
    assert engine.encode(text, False, False).tolist() == expected
    assert engine.encode(text, False, False).tolist() == expected


@settings(max_examples=100)
@given(rank_tables(), st.text("ab é", max_size=300))
def test_whole_tokenizers(
    tmp_path_factory: pytest.TempPathFactory, ranks: RankTable, text: str
) -> None:
    """Ids and bytes, and of the saved form the same."""
    path = tmp_path_factory.mktemp("ranks") / "ranks.tiktoken"
    path.write_bytes(rank_file(ranks))
    tok = Tokenizer.from_tiktoken(path, pattern=WORDS)
    expected = encoding(ranks, WORDS).encode_ordinary(text)
    assert tok.encode(text).tolist() == expected
    assert tok.decode(expected) == text
    tok.save(path)
    saved = Tokenizer.from_file(path)
    assert (saved.backend, saved.encode(text).tolist()) == ("tiktoken", expected)


def test_a_large_random_table() -> None:
    """Thousands of tokens in any order, over an alphabet of parts of characters."""
    rng = random.Random(5)
    parts = [c.encode() for c in "ab é中😀"] + [b"\xc3", b"\xa9", b"\xe4\xb8", b"\x98\x80"]
    tokens = {b"".join(rng.choices(parts, k=rng.randint(2, 6))) for _ in range(4000)}
    known = [*(bytes([byte]) for byte in range(256)), *(t for t in tokens if len(t) > 1)]
    rng.shuffle(known)
    ranks = {token: i for i, token in enumerate(known)}
    texts = ["".join(rng.choices("ab é中😀", k=rng.randint(1, 200))) for _ in range(300)]
    oracle: tiktoken.Encoding = encoding(ranks, WHOLE)
    bpe = bpe_of(ranks)
    for text in texts:
        if text.encode() not in ranks:
            assert bpe.merge(text.encode()) == oracle.encode_ordinary(text)
