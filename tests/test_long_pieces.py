"""Pieces so long that they are merged window by window, against the oracle's model."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from real_models import NATIVE
from test_bpe import LETTERS, bpe_of, lists_of_all_cuts, oracle_ids

from tokcy import Tokenizer

WINDOW = 256
merge_lists = synthetic.merge_lists(letters=LETTERS) | lists_of_all_cuts()
lengths = (
    st.integers(30, 60)
    | st.integers(WINDOW - 20, WINDOW + 20)
    | st.integers(2 * WINDOW - 20, 2 * WINDOW + 20)
    | st.integers(1000, 3000)
)


def random_piece(letters: str, size: int, seed: int) -> bytes:
    return "".join(random.Random(seed).choices(letters, k=size)).encode()


@given(merge_lists, st.sampled_from(["ab", "abc ", "aaaaab", "a"]), lengths, st.integers(0, 99))
def test_random_letters(merges: list[tuple[str, str]], letters: str, size: int, seed: int) -> None:
    model = synthetic.model_from_merges(merges)
    piece = random_piece(letters, size, seed)
    assert bpe_of(model).merge(piece) == oracle_ids(synthetic.load(model), piece)


@given(merge_lists, st.text(alphabet="abc ", min_size=1, max_size=9), lengths, lengths)
def test_what_repeats_itself(
    merges: list[tuple[str, str]], unit: str, first: int, second: int
) -> None:
    model = synthetic.model_from_merges(merges)
    piece = ((unit * first)[:first] + "b" + (unit * second)[:second]).encode()
    assert bpe_of(model).merge(piece) == oracle_ids(synthetic.load(model), piece)


@given(merge_lists, lengths, st.integers(0, 99))
def test_missing_bytes(merges: list[tuple[str, str]], size: int, seed: int) -> None:
    model = synthetic.model_from_merges(merges)
    for letter in "xyz":
        del model["model"]["vocab"][letter]
    piece = random_piece("aabbcxyz", size, seed)
    assert bpe_of(model).merge(piece) == oracle_ids(synthetic.load(model), piece)


def test_characters_of_several_bytes() -> None:
    model = synthetic.trained_model()
    bpe, oracle = bpe_of(model), synthetic.load(model)
    for seed in range(20):
        piece = random_piece("分词器把文本变成数字é🙂текст ab", 700, seed)
        assert bpe.merge(piece) == oracle_ids(oracle, piece)


@pytest.mark.parametrize("n", [1, 2, 3, 255, 256, 257, 258, 511, 512, 513, 5000, 5001])
def test_an_odd_letter_out(n: int) -> None:
    """Of a run in twos the last one tells whether three letters were left at its end."""
    model = synthetic.model_from_merges([("a", "a"), ("aa", "a"), ("aaa", "b")])
    bpe, oracle = bpe_of(model), synthetic.load(model)
    for piece in (b"a" * n, b"a" * n + b"b", b"b" + b"a" * n, b"ab" * n, (b"a" * n + b"b") * 3):
        assert bpe.merge(piece) == oracle_ids(oracle, piece)


@pytest.mark.parametrize("doublings", [7, 8, 9, 10])
def test_tokens_longer_than_a_window(doublings: int) -> None:
    merges = [("a" * 2**i, "a" * 2**i) for i in range(doublings)]
    model = synthetic.model_from_merges([*merges, ("a" * 2**doublings, "b")])
    bpe, oracle = bpe_of(model), synthetic.load(model)
    for n in (255, 256, 257, 1000, 1024, 1025, 2047, 5000):
        for piece in (b"a" * n, b"a" * n + b"b", (b"a" * n + b"b") * 4, b"b" + b"a" * n):
            assert bpe.merge(piece) == oracle_ids(oracle, piece)
    begin = time.process_time()
    bpe.merge((b"a" * 4095 + b"ba") * 250)
    assert time.process_time() - begin < 1


def chain_of_pairs(letters: str) -> str:
    """A text in which each pair of letters stands once (a de Bruijn sequence)."""
    pairs, at, chain = set(itertools.product(letters, repeat=2)), letters[0], letters[0]
    stack, path = [at], []
    while stack:
        following = [letter for letter in letters if (stack[-1], letter) in pairs]
        if following:
            pairs.remove((stack[-1], following[-1]))
            stack.append(following[-1])
        else:
            path.append(stack.pop())
    chain = "".join(reversed(path))
    assert len(chain) == len(letters) ** 2 + 1
    return chain


def test_what_the_end_decides() -> None:
    """Each pair has a lower rank than the one before: the last one tells how all are paired.

    So what stands in a window is not known before the end, however far that is.
    """
    chain = chain_of_pairs("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ")
    model = synthetic.model_from_merges(reversed(list(itertools.pairwise(chain))))
    bpe, oracle = bpe_of(model), synthetic.load(model)
    for n in (100, 255, 256, 257, 258, 511, 512, 700, 701, 1296, 1297):
        piece = chain[:n].encode()
        assert bpe.merge(piece) == oracle_ids(oracle, piece)
    for text in (chain * 5, chain[:701] * 7, chain[:1001] + chain[:600], chain[::-1] * 3):
        assert bpe.merge(text.encode()) == oracle_ids(oracle, text.encode())
    begin = time.process_time()
    assert len(bpe.merge((chain[:-1] * 800).encode())) == 1296 * 400 + 1
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    "sizes",
    [(256, 4001), pytest.param((40, 255, 257, 1023), marks=pytest.mark.sweep)],
    ids=["some", "more"],
)
@pytest.mark.parametrize("name", NATIVE)
def test_real_models(
    name: str,
    sizes: tuple[int, ...],
    model_path: Callable[[str], Path],
    oracle: Callable[[str], tokenizers.Tokenizer],
    corpus: Callable[..., str],
) -> None:
    tok, hf = Tokenizer.from_file(model_path(name)), oracle(name)
    letters = [random_piece(chosen, 3000, 1).decode() for chosen in ("ab", "abcdef", "#=-*_/.")]
    words = "".join(filter(str.isalpha, corpus("english_prose", 20_000)))
    han = "".join(filter(str.isalpha, corpus("zh", 4_000)))
    units = ("a", "A", " ", "\n", "\t", "=", "-=", "ab", "abc", "的", "é", "🙂", " \n", "\r\n", "_")
    runs = [(unit * 4001)[:n] for unit in units for n in sizes]
    for text in [*letters, words, han, words[:1000] + "e" * 1000 + words[:1000], *runs]:
        assert tok.encode(text).tolist() == hf.encode(text).ids
