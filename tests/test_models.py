"""Every real model against the oracle: ids, offsets, text, with special tokens and without."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tokenizers
from numpy.typing import NDArray
from real_models import FALLBACK, NATIVE

from tokcy import ModelFileError, Tokenizer

Oracle = Callable[[str], tokenizers.Tokenizer]
Corpus = Callable[..., str]

BROKEN = {
    "added_tokens_toy": "model.merges",
    "llama2": "model.merges[18917]",
}
CORPORA = [
    "agent_chatml",
    "agent_kimi_k3",
    "agent_messages",
    "all_unicode_scalars",
    "ar",
    "c",
    "csv",
    "diffs",
    "emoji",
    "english_prose",
    "hi",
    "ja",
    "js_ts",
    "json",
    "ko",
    "latex",
    "logs",
    "mixed_all_languages",
    "python",
    "ru",
    "rust_go_java",
    "th",
    "zh",
]


@pytest.fixture(scope="module")
def tok(model_path: Callable[[str], Path]) -> Callable[[str], Tokenizer]:
    loaded: dict[str, Tokenizer] = {}

    def load(name: str) -> Tokenizer:
        if name not in loaded:
            loaded.clear()
            loaded[name] = Tokenizer.from_file(model_path(name))
        return loaded[name]

    return load


def excerpts(corpus: Corpus, characters: int) -> Iterator[tuple[str, str]]:
    """A part of each corpus, from its middle."""
    for name in CORPORA:
        text = corpus(name)
        begin = max(0, len(text) // 2 - characters // 2)
        yield name, text[begin : begin + characters]


def with_added_tokens(text: str, oracle: tokenizers.Tokenizer, seed: int) -> str:
    """The text with added tokens of the model, whole and broken, put in at random."""
    rng = random.Random(seed)
    contents = [token.content for token in oracle.get_added_tokens_decoder().values()]
    lines = text.splitlines(keepends=True)
    for _ in range(len(lines) // 4 + 4):
        content = rng.choice(contents)
        content = rng.choice([content, content, content * 2, content[:-1], f" {content}\n "])
        at = rng.randrange(len(lines) + 1)
        lines.insert(at, content)
    return "".join(lines)


def first_difference(got: NDArray[np.uint32], expected: NDArray[np.uint32]) -> str:
    n = min(len(got), len(expected))
    where = np.flatnonzero(got[:n] != expected[:n])
    at = int(where[0]) if len(where) else n
    part = slice(at, at + 5)
    return f"{len(got)} ids, {len(expected)} expected; at {at}: {got[part]}, {expected[part]}"


def assert_same_ids(tok: Tokenizer, oracle: tokenizers.Tokenizer, text: str, label: str) -> None:
    for special in (True, False):
        (encoding,) = oracle.encode_batch_fast([text], add_special_tokens=special)
        expected = np.array(encoding.ids, dtype=np.uint32)
        got = tok.encode(text, add_special_tokens=special)
        assert np.array_equal(got, expected), f"{label}: {first_difference(got, expected)}"
        assert tok.encode_to_list(text, add_special_tokens=special) == encoding.ids
    assert tok.count(text) == len(oracle.encode(text).ids)


@pytest.mark.parametrize("name", NATIVE, scope="module")
def test_ids_of_excerpts(
    name: str, tok: Callable[[str], Tokenizer], oracle: Oracle, corpus: Corpus
) -> None:
    assert tok(name).backend == "tokcy"
    for label, text in excerpts(corpus, 4_000):
        got = tok(name).encode(text)
        expected = np.array(oracle(name).encode(text).ids, dtype=np.uint32)
        assert np.array_equal(got, expected), f"{label}: {first_difference(got, expected)}"


@pytest.mark.parametrize("name", NATIVE, scope="module")
def test_ids_with_added_tokens(
    name: str, tok: Callable[[str], Tokenizer], oracle: Oracle, corpus: Corpus
) -> None:
    for label, text in excerpts(corpus, 1_500):
        mixed = with_added_tokens(text, oracle(name), zlib.crc32(label.encode()))
        assert_same_ids(tok(name), oracle(name), mixed, label)


@pytest.mark.parametrize("name", NATIVE, scope="module")
def test_offsets(
    name: str, tok: Callable[[str], Tokenizer], oracle: Oracle, corpus: Corpus
) -> None:
    for label, text in excerpts(corpus, 1_500):
        for mixed in (text, with_added_tokens(text, oracle(name), len(text))):
            for special in (True, False):
                expected = oracle(name).encode(mixed, add_special_tokens=special)
                ids, offsets = tok(name).encode_with_offsets(mixed, add_special_tokens=special)
                assert ids.tolist() == expected.ids, label
                assert offsets.tolist() == [list(pair) for pair in expected.offsets], label


@pytest.mark.parametrize("name", NATIVE, scope="module")
def test_decode(name: str, tok: Callable[[str], Tokenizer], oracle: Oracle, corpus: Corpus) -> None:
    for label, text in excerpts(corpus, 1_500):
        mixed = with_added_tokens(text, oracle(name), 7)
        ids = tok(name).encode(mixed)
        for skip in (False, True):
            for part in (ids, ids[1:-1], ids[::2]):
                expected = oracle(name).decode(part.tolist(), skip_special_tokens=skip)
                assert tok(name).decode(part, skip_special_tokens=skip) == expected, label


@pytest.mark.parametrize("name", NATIVE, scope="module")
def test_every_id_decodes(name: str, tok: Callable[[str], Tokenizer], oracle: Oracle) -> None:
    """Also ids that are nobody's, which give nothing (D1)."""
    largest = max(oracle(name).get_vocab().values())
    for token_id in [*range(0, largest + 5, 7), *range(largest - 300, largest + 5), 2**32 - 1]:
        for skip in (False, True):
            expected = oracle(name).decode([token_id], skip_special_tokens=skip)
            assert tok(name).decode([token_id], skip_special_tokens=skip) == expected
        assert tok(name).id_to_token(token_id) == oracle(name).id_to_token(token_id)


@pytest.mark.parametrize("name", [*NATIVE, *FALLBACK], scope="module")
def test_vocabulary(name: str, tok: Callable[[str], Tokenizer], oracle: Oracle) -> None:
    assert tok(name).get_vocab() == oracle(name).get_vocab(with_added_tokens=True)
    assert len(tok(name)) == oracle(name).get_vocab_size(with_added_tokens=True)
    assert tok(name).vocab_size == oracle(name).get_vocab_size(with_added_tokens=False)
    added = {token.id: token.content for token in tok(name).added_tokens}
    assert added == {
        token_id: token.content
        for token_id, token in oracle(name).get_added_tokens_decoder().items()
    }
    for token in itertools.islice(tok(name).get_vocab(), 0, None, 997):
        assert tok(name).token_to_id(token) == oracle(name).token_to_id(token)
    assert tok(name).token_to_id("no such token \0") is None


@pytest.mark.parametrize("name", FALLBACK, scope="module")
def test_fallback(
    name: str, tok: Callable[[str], Tokenizer], oracle: Oracle, corpus: Corpus
) -> None:
    assert tok(name).backend == "huggingface"
    assert tok(name).fallback_reason == FALLBACK[name]
    for label, text in excerpts(corpus, 300):
        expected = oracle(name).encode(text)
        ids, offsets = tok(name).encode_with_offsets(text)
        assert ids.tolist() == expected.ids, label
        assert offsets.tolist() == [list(pair) for pair in expected.offsets], label
        assert tok(name).encode(text).tolist() == expected.ids
        assert tok(name).decode(ids) == oracle(name).decode(expected.ids, skip_special_tokens=False)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(name: str, model_path: Callable[[str], Path]) -> None:
    with pytest.raises(ModelFileError) as caught:
        Tokenizer.from_file(model_path(name))
    assert BROKEN[name] in str(caught.value)
    assert str(model_path(name)) in str(caught.value)


@pytest.mark.sweep
@pytest.mark.parametrize("name", NATIVE, scope="module")
def test_ids_of_whole_corpora(
    name: str, tok: Callable[[str], Tokenizer], oracle: Oracle, corpus: Corpus
) -> None:
    for label in CORPORA:
        text = corpus(label)
        (encoding,) = oracle(name).encode_batch_fast([text])
        ids = np.array(encoding.ids, dtype=np.uint32)
        for threads in (1, 2):
            got = tok(name).encode(text, num_threads=threads)
            assert np.array_equal(got, ids), f"{label}: {first_difference(got, ids)}"
        (got,) = tok(name).encode_batch([text])
        assert np.array_equal(got, ids), label
        decoded = oracle(name).decode(encoding.ids)
        assert tok(name).decode(ids, skip_special_tokens=True) == decoded, label


@pytest.mark.sweep
@pytest.mark.parametrize("name", NATIVE, scope="module")
def test_added_tokens_and_offsets_of_long_excerpts(
    name: str, tok: Callable[[str], Tokenizer], oracle: Oracle, corpus: Corpus
) -> None:
    for label, text in excerpts(corpus, 60_000):
        mixed = with_added_tokens(text, oracle(name), zlib.crc32(name.encode()))
        expected = oracle(name).encode(mixed)
        ids, offsets = tok(name).encode_with_offsets(mixed)
        assert ids.tolist() == expected.ids, label
        assert np.array_equal(offsets, np.array(expected.offsets).reshape(-1, 2)), label
        assert np.array_equal(tok(name).encode(mixed), ids)
