"""That a comparison fails where something differs: patches that do one thing wrong each."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hf_models import small
from hf_programs import Program, Step, agree_on
from hf_surface import NEWEST, PANIC, Raised, agree, outcome, outcome_of_several
from tokenizers import Tokenizer

import tokcy

TEXT = "Größe <s>  Hello, world"
original: Any = Tokenizer.encode


class Encoding:
    """One of tokenizers', but for a single attribute or method."""

    def __init__(self, encoding: Any, name: str, change: Callable[[Any], Any]) -> None:
        self._encoding, self._name, self._change = encoding, name, change

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._encoding, name)
        return self._change(value) if name == self._name else value

    def __len__(self) -> int:
        return len(self._encoding)

    def __repr__(self) -> str:
        return repr(self._encoding)


def _one_more(method: Any) -> Any:
    def wrong(*places: int) -> Any:
        told = method(*places)
        return told if places[0] != 4 else told + 1

    return wrong


WRONG: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "an id": ("ids", lambda ids: [*ids[:-1], ids[-1] + 1]),
    "no list": ("ids", tuple),
    "booleans": ("attention_mask", lambda mask: [bool(one) for one in mask]),
    "an offset": ("offsets", lambda pairs: [*pairs[:-1], (pairs[-1][0], pairs[-1][1] - 1)]),
    "lists of offsets": ("offsets", lambda pairs: [list(pair) for pair in pairs]),
    "a word": ("word_ids", lambda words: [*words[:-1], None]),
    "a token": ("tokens", lambda tokens: [*tokens[:-1], tokens[-1].upper()]),
    "a chunk less": ("overflowing", lambda chunks: chunks[:-1]),
    "a map": ("char_to_token", _one_more),
    "a count": ("n_sequences", lambda count: count + 1),
}


@contextlib.contextmanager
def replaced(encode: Any) -> Iterator[None]:
    Tokenizer.encode = encode  # type: ignore[method-assign]
    try:
        yield
    finally:
        Tokenizer.encode = original  # type: ignore[method-assign]


def case() -> Any:
    tokenizer = small("start")
    tokenizer.enable_truncation(9)
    return tokenizer.encode(TEXT)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_encoding(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(self: Tokenizer, *arguments: Any, **options: Any) -> Any:
        return Encoding(original(self, *arguments, **options), *WRONG[wrong])

    agree(case)
    monkeypatch.setattr(tokcy, "patched_hf", lambda: replaced(encode))
    with pytest.raises(AssertionError, match="with the patch: "):
        agree(case)


def test_another_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(self: Tokenizer, *arguments: Any, **options: Any) -> Any:
        raise ValueError("TextInputSequence must be str")

    monkeypatch.setattr(tokcy, "patched_hf", lambda: replaced(encode))
    with pytest.raises(AssertionError, match="ValueError"):
        agree(case)


@pytest.mark.skipif(not NEWEST, reason="older releases are not asked for them")
def test_no_native_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokcy, "patched_hf", lambda: replaced(original))
    agree(case)
    with pytest.raises(AssertionError):
        agree(case, native=True)


def test_a_program_is_told_by_the_steps_that_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    def encode(self: Tokenizer, *arguments: Any, **options: Any) -> Any:
        wrong = self.truncation is not None
        encoding = original(self, *arguments, **options)
        return Encoding(encoding, *WRONG["an id"]) if wrong else encoding

    step: Step = ("encode", {"text": TEXT, "special": True})
    cut: Step = ("truncate", {"max_length": 9})
    program: Program = [step, ("decode", {"ids": [5], "skip": True}), step, cut, step]
    monkeypatch.setattr(tokcy, "patched_hf", lambda: replaced(encode))
    with pytest.raises(AssertionError) as raised:
        agree_on([program], lambda: small("start"))
    assert str(raised.value).splitlines()[1:] == [repr(cut), repr(step)]


def test_several_texts_that_fail() -> None:
    tokenizer = small("start")
    tokenizer.enable_truncation(9, stride=3, strategy="only_first")
    cut_too_far = ("a", TEXT * 3)
    panics = next(
        pair
        for pair in ((TEXT * 3, "a" * n) for n in range(9))
        if outcome(tokenizer.encode, *pair) == PANIC
    )
    error = outcome(tokenizer.encode, *cut_too_far)
    assert isinstance(error, Raised)
    assert error != PANIC
    batch = [cut_too_far] * 3 + [panics] * 3
    told = [outcome_of_several(tokenizer.encode_batch, batch) for _ in range(20)]
    assert all(one == sorted({error, PANIC}, key=repr) for one in told)
    assert outcome_of_several(tokenizer.encode_batch, [panics]) == [PANIC]
    assert isinstance(outcome_of_several(tokenizer.encode_batch, ["a"]), list)
