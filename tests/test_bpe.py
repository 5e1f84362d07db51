"""Merging against the oracle's model, and the cache against merging."""

from __future__ import annotations

import random
from typing import Any

import pytest
import synthetic
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from tokcy._bpe import Bpe
from tokcy._cuts import CutFilter
from tokcy._engine import Engine
from tokcy._merges import MergeTable
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer
from tokcy._vocab import Vocabulary
from tokcy.pattern import compile_split

LETTERS = "abcĠ"


def bpe_of(model: dict[str, Any]) -> Bpe:
    parts = model["model"]
    return Bpe(Vocabulary(parts["vocab"], parts["merges"]), parts["ignore_merges"])


def table_of(vocab: dict[str, int], merges: list[Any]) -> MergeTable:
    vocabulary = Vocabulary(vocab, merges)
    return MergeTable(vocabulary, CutFilter(vocabulary))


def spelt(piece: bytes) -> str:
    return "".join(synthetic.BYTES[byte] for byte in piece)


def oracle_ids(oracle: tokenizers.Tokenizer, piece: bytes) -> list[int]:
    return [token.id for token in oracle.model.tokenize(spelt(piece))]


pieces = st.one_of(
    st.text(alphabet="abc ", max_size=200).map(str.encode),
    st.binary(max_size=120),
    # Around the borders of what is scanned and what goes through the heap.
    st.integers(40, 60).flatmap(
        lambda n: st.text(alphabet="abc ", min_size=n, max_size=n).map(str.encode)
    ),
)


@given(synthetic.merge_lists(letters=LETTERS), st.lists(pieces, max_size=8))
def test_merge_equals_the_oracle(merges: list[tuple[str, str]], texts: list[bytes]) -> None:
    model = synthetic.model_from_merges(merges)
    bpe, oracle = bpe_of(model), synthetic.load(model)
    for text in texts:
        assert bpe.merge(text) == oracle_ids(oracle, text)


@given(synthetic.merge_lists(letters=LETTERS), st.data())
def test_merge_with_missing_bytes(merges: list[tuple[str, str]], data: st.DataObject) -> None:
    """A byte without an entry is dropped, and its neighbours may merge (M5(c))."""
    model = synthetic.model_from_merges(merges)
    needed = {character for pair in merges for part in pair for character in part}
    for letter in "xyz":
        if letter not in needed:
            del model["model"]["vocab"][letter]
    text = data.draw(st.text(alphabet="abc xyz", max_size=150)).encode()
    assert bpe_of(model).merge(text) == oracle_ids(synthetic.load(model), text)


def test_merges_given_twice_and_in_any_order() -> None:
    """The last of equal merges counts (M2), and a later one may be needed before an earlier."""
    model = synthetic.model_from_merges([("a", "b"), ("b", "c"), ("ab", "c"), ("a", "bc")])
    for merges in (
        ["a b", "b c", "a b"],
        ["b c", "a b", "b c"],
        ["ab c", "a bc", "b c", "a b"],
        ["a bc", "a b", "ab c", "b c"],
    ):
        model["model"]["merges"] = merges
        oracle = synthetic.load(model)
        for text in (b"abc", b"abcabc", b"bcabbc", b"aabbcc", b"abc" * 30):
            assert bpe_of(model).merge(text) == oracle_ids(oracle, text)


@st.composite
def lists_of_all_cuts(draw: st.DrawFn, letters: str = LETTERS) -> list[tuple[str, str]]:
    """Merge lists that, as Llama-3's, have for each token many ways to cut it in two.

    Tokens come in any order, so that parts may be made after what they are part of; now and
    then the merges of one token do not stand together, or one is given twice.
    """
    made = ["".join(pair) for pair in draw(synthetic.merge_lists(letters=letters))]
    tokens = draw(st.permutations(made)) if draw(st.booleans()) else made
    parts = {*letters, *tokens}
    merges = []
    for token in dict.fromkeys(tokens):
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        cuts = [cut for cut in cuts if parts.issuperset(cut)]
        merges += draw(st.permutations(cuts))[: draw(st.integers(1, 9))]
    if draw(st.integers(0, 2)) == 0:
        apart = draw(st.lists(st.integers(0, 3), min_size=len(merges), max_size=len(merges)))
        merges = [
            merge for k in range(4) for merge, at in zip(merges, apart, strict=True) if at == k
        ]
    if merges and draw(st.integers(0, 4)) == 0:
        merges.insert(draw(st.integers(0, len(merges))), draw(st.sampled_from(merges)))
    return merges


@given(lists_of_all_cuts(), st.lists(pieces, max_size=8))
def test_merges_that_never_happen(merges: list[tuple[str, str]], texts: list[bytes]) -> None:
    """The table leaves merges out, and what it makes of a piece stays the same."""
    model = synthetic.model_from_merges(merges)
    bpe, oracle = bpe_of(model), synthetic.load(model)
    for text in [*texts, *("".join(merge).replace("Ġ", " ").encode() for merge in merges)]:
        assert bpe.merge(text) == oracle_ids(oracle, text)


# Letters that make words of up to 80 bytes: of one to four, and parts of those.
LETTERS_OF_WORDS = "abcé中丰仰🙂"
WORDS = st.lists(
    st.text(alphabet=LETTERS_OF_WORDS, min_size=1, max_size=20), min_size=1, max_size=200
).map(lambda words: words + words[::3])
BAR = compile_split(r"\|", behavior="Removed", invert=False)


@given(
    merges=synthetic.merge_lists(
        letters="".join(sorted({synthetic.BYTES[b] for b in LETTERS_OF_WORDS.encode()})),
        max_merges=60,
    ),
    cuts=st.booleans(),
    words=WORDS,
)
def test_unknown_pieces_are_merged_together(
    simd: str, merges: list[tuple[str, str]], cuts: bool, words: list[str]
) -> None:
    """Many at once, some of them many times over, and each as if it were alone."""
    model = synthetic.model_from_merges(merges)["model"]
    if not cuts:  # a byte that no valid text has: nothing is cut, and nothing begins whole
        del model["vocab"][synthetic.BYTES[0x80]]
    bpe = Bpe(Vocabulary(model["vocab"], model["merges"]), False, simd=simd)
    engine = Engine(Preparer(()), PreTokenizer([BAR], simd=simd), bpe)
    expected = [token for word in words for token in bpe.merge(word.encode())]
    for _ in range(2):  # the second time from the cache
        assert engine.encode("|".join(words), False, False).tolist() == expected


@pytest.mark.parametrize("wide", ["é", "中", "🙂", "é中"])
def test_wide_characters_anywhere_among_64_bytes(simd: str, wide: str) -> None:
    """Of words of the bitmap with ASCII alone, and before and behind it, nothing is looked at."""
    merges = [("a", "b"), ("Ã", "©"), ("b", "Ã©"), ("Ã©", "a"), ("ä", "¸")]
    model = synthetic.model_from_merges(merges)["model"]
    bpe = Bpe(Vocabulary(model["vocab"], model["merges"]), False, simd=simd)
    apart = compile_split(r"\|", behavior="Isolated", invert=False)
    engine = Engine(Preparer(()), PreTokenizer([apart], simd=simd), bpe)
    for n in range(200):
        words = ["ab" * 40, "|", ("ab" * n)[:n] + wide + "ab" * 70 + wide, "|", "b" * (n % 67 + 1)]
        expected = [token for word in words for token in bpe.merge(word.encode())]
        assert engine.encode("".join(words), False, False).tolist() == expected


def test_how_many_merges_never_happen() -> None:
    """Each token that merging makes keeps one merge, if its parts come before it."""
    tokens = ["a" * n for n in range(2, 30)] + ["ab", "aab", "abb", "bb", "abab", "babab"]
    parts = {"a", "b", *tokens}
    cuts = [(token[:at], token[at:]) for token in tokens for at in range(1, len(token))]
    model = synthetic.model_from_merges([cut for cut in cuts if parts.issuperset(cut)])
    oracle = synthetic.load(model)
    n_made = sum(len(oracle.model.tokenize(token)) == 1 for token in tokens)
    vocab, merges = model["model"]["vocab"], model["model"]["merges"]
    assert len(merges) > 10 * n_made > 0
    assert table_of(vocab, merges).n_merges == n_made
    twice = [*merges, merges[0]]
    assert table_of(vocab, twice).n_merges == len(merges)


@pytest.mark.parametrize("unit", [b"a", b"ab", b"abc", b" ", b"aab"])
@pytest.mark.parametrize("n", [47, 48, 49, 50, 1000, 30_000])
def test_runs(unit: bytes, n: int) -> None:
    chain = [("a", "a"), ("aa", "aa"), ("aaaa", "aaaa"), ("a", "b"), ("ab", "ab"), ("Ġ", "Ġ")]
    model = synthetic.model_from_merges(chain)
    text = (unit * n)[:n]
    assert bpe_of(model).merge(text) == oracle_ids(synthetic.load(model), text)


def test_ten_million_equal_characters() -> None:
    """A quadratic merge would take hours."""
    chain = [("a" * 2**i, "a" * 2**i) for i in range(6)]
    ids = bpe_of(synthetic.model_from_merges(chain)).merge(b"a" * 10_000_000)
    assert len(ids) == 10_000_000 // 64
    assert len(set(ids)) == 1


def test_ids_too_large() -> None:
    with pytest.raises(ValueError, match="268435456 is not below"):
        Bpe(Vocabulary({"a": 2**28}, []), False)


def test_random_words_through_a_trained_model() -> None:
    model = synthetic.trained_model()
    bpe, oracle = bpe_of(model), synthetic.load(model)
    rng = random.Random(3)
    text = "".join(synthetic.SENTENCES).encode()
    for _ in range(2000):
        n = rng.choice([1, 2, 5, 15, 16, 31, 32, 48, 49, 90])
        begin = rng.randrange(len(text) - n)
        piece = text[begin : begin + n]
        assert bpe.merge(piece) == oracle_ids(oracle, piece)


def test_another_way_to_write_a_character_is_none() -> None:
    """U+0080 as three bytes, which UTF-8 forbids, as a token beside that of its two bytes."""
    right, wrong = (spelt(b) for b in (b"\xc2\x80", b"\xe0\x82\x80"))
    merges = [(right[0], right[1]), (wrong[0], wrong[1]), (wrong[:2], wrong[2])]
    model = synthetic.model_from_merges(merges)
    bpe, oracle = bpe_of(model), synthetic.load(model)
    for piece in (b"\xc2\x80", b"\xe0\x82\x80", b"a\xc2\x80" * 30):
        assert bpe.merge(piece) == oracle_ids(oracle, piece)
