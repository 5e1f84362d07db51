"""Vocabulary and merges as arrays: what each token stands for, and what is refused."""

from __future__ import annotations

import pytest
import synthetic

from tokcy._vocab import Vocabulary, byte_level_alphabet, token_text_to_bytes
from tokcy.errors import ModelFileError


def test_alphabet_is_that_of_the_oracle() -> None:
    assert byte_level_alphabet() == synthetic.BYTES


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
    """A pair may hold a space or leave the alphabet; a #version line takes no rank (M1)."""
    vocab = {"a": 0, "b": 1, "ab": 2, "｜": 3, "a｜": 4, " ": 5, " a": 6}
    assert Vocabulary(vocab, [["a", "b"], ["a", "｜"], [" ", "a"]]).n_merges == 3
    assert Vocabulary(vocab, ["#version: 0.2", "a b"]).n_merges == 1
