"""Vocabulary and merges as arrays: what each token stands for, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import synthetic

from tokcy._spelling import token_text_to_bytes
from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError


def test_token_text_to_bytes() -> None:
    for byte, character in enumerate(synthetic.BYTES):
        assert token_text_to_bytes(character) == bytes([byte])
    assert token_text_to_bytes("Ġthe") == b" the"
    assert token_text_to_bytes("<｜end｜>") == "<｜end｜>".encode()  # ｜ stands for no byte
    assert token_text_to_bytes("Ġ｜") == "Ġ｜".encode()
    assert token_text_to_bytes("\u0144") == "\u0144".encode()  # first beyond the alphabet
    assert token_text_to_bytes("") == b""


def test_entries() -> None:
    vocab = {"a": 3, "b": 1, "ab": 7, "Ġ": 0, "｜a": 9, "": 12}
    vocabulary = Vocabulary(vocab, ["a b"])
    assert (vocabulary.n_entries, vocabulary.n_merges, vocabulary.max_id) == (6, 1, 12)
    expected = {3: b"a", 1: b"b", 7: b"ab", 0: b" ", 9: "｜a".encode(), 12: b""}
    for token_id in [*range(15), 2**31]:
        assert vocabulary.token_bytes(token_id) == expected.get(token_id)
    assert not vocabulary.has_all_bytes()
    assert Vocabulary({c: i for i, c in enumerate(synthetic.BYTES)}, []).has_all_bytes()


def test_empty() -> None:
    vocabulary = Vocabulary({}, [])
    assert (vocabulary.n_entries, vocabulary.n_merges) == (0, 0)
    assert vocabulary.token_bytes(0) is None


def test_many_long_tokens() -> None:
    """Long tokens, four bytes a character among them, outgrow the first guess of memory."""
    vocab = {"🙂" * n: n for n in range(1, 300)} | {"x" * n: 1000 + n for n in range(1, 300)}
    vocabulary = Vocabulary(vocab, [])
    for token, token_id in vocab.items():
        assert vocabulary.token_bytes(token_id) == token.encode()


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        (["a b", "a b c"], "model.merges[1]: 'a b c' does not have exactly two parts"),
        (["ab"], "model.merges[0]: 'ab' does not have exactly two parts"),
        (["x b"], "model.merges[0]: 'x b' needs the token 'x', which is not in model.vocab"),
        (["a x"], "model.merges[0]: 'a x' needs the token 'x', which is not in model.vocab"),
        (["b a"], "model.merges[0]: 'b a' needs the token 'ba', which is not in model.vocab"),
        ([["b", "a"]], "['b', 'a'] needs the token 'ba', which is not in model.vocab"),
        ([["｜", "a"]], "needs the token '｜', which is not in model.vocab"),
        (["a " + "x" * 99], "needs the token '" + "x" * 57 + "...', which is not"),
    ],
)
def test_bad_merges(merges: list[object], message: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        Vocabulary({"a": 0, "b": 1, "ab": 2}, merges, "model.json")
    assert str(caught.value).startswith("model.json: model.merges[")
    assert message in str(caught.value)


def test_merges_beside_bytes() -> None:
    """A pair may hold a space or leave the alphabet."""
    vocab = {"a": 0, "b": 1, "ab": 2, "｜": 3, "a｜": 4, " ": 5, " a": 6, "é": 7, "é｜": 8, "": 9}
    merges = [["a", "b"], ["a", "｜"], [" ", "a"], ["é", "｜"], ["", "a"]]
    tables = Vocabulary(vocab, merges).tables()
    assert np.frombuffer(tables["left"], np.uint32).tolist() == [0, 0, 5, 7, 9]
    assert np.frombuffer(tables["right"], np.uint32).tolist() == [1, 3, 0, 3, 0]
    assert np.frombuffer(tables["merged"], np.uint32).tolist() == [2, 4, 6, 8, 0]


def test_look_ups_by_string() -> None:
    vocab = {"a": 3, "Ġthe": 1, "｜é": 9, "": 12, " ": 4, "é": 5}
    vocabulary = Vocabulary(vocab, [])
    assert list(vocabulary.as_dict().items()) == list(vocab.items())
    for token, token_id in vocab.items():
        assert vocabulary.token_to_id(token) == token_id
        assert vocabulary.id_to_token(token_id) == token
    absent: list[Any] = ["b", " the", "｜", "\ud800", b"a", None, 3]
    for token in absent:
        assert vocabulary.token_to_id(token) is None
    for token_id in (0, 13, -1, 2**32, 2**70):
        assert vocabulary.id_to_token(token_id) is None
        assert not vocabulary.has_id(token_id)


def test_ids() -> None:
    """Ids far beyond the number of entries are known, but have no index."""
    assert Vocabulary({"a": 2**20 - 1}, []).ids_are_dense
    assert Vocabulary({"a": 0, "b": 0}, []).ids_are_dense
    assert not Vocabulary({"a": 0, "b": 0}, []).ids_are_distinct
    sparse = Vocabulary({"a": 2**32 - 1, "b": 5}, [])
    assert not sparse.ids_are_dense
    assert sparse.max_id == sparse.token_to_id("a") == 2**32 - 1
    assert sparse.token_bytes(5) is None
    assert sparse.id_to_token(5) is None


def test_equality() -> None:
    vocabulary = Vocabulary({"a": 0, "b": 1, "ab": 2}, ["a b"])
    assert vocabulary == Vocabulary({"a": 0, "b": 1, "ab": 2}, [["a", "b"]])
    assert vocabulary != Vocabulary({"b": 1, "a": 0, "ab": 2}, ["a b"])
    assert vocabulary != Vocabulary({"a": 0, "b": 1, "ab": 3}, ["a b"])
    assert vocabulary != Vocabulary({"a": 0, "b": 1, "ab": 2}, [])
    assert vocabulary != {"a": 0, "b": 1, "ab": 2}
