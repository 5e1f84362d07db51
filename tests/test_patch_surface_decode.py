"""Decoding and every kind of wrong input, with the patch and without."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hf_models import ADDED, HARD, MAKERS, NATIVE, hard_texts, small
from hf_surface import NEWEST, Raised, agree, outcome
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

import tokcy

MODELS = pytest.mark.parametrize("name", MAKERS)
BOTH = (True, False)


def random_ids(tokenizer: Tokenizer, seed: int) -> list[list[int]]:
    """Lists of ids that no text has: any order, repeated, unknown ones among them."""
    choose = random.Random(seed)
    size = tokenizer.get_vocab_size()
    lists = [[choose.randrange(size) for _ in range(choose.randrange(12))] for _ in range(40)]
    return [
        *lists,
        [size],
        [0, size + 5, 1],
        [2**32 - 1],
        [size - 1] * 5,
        list(range(size - 9, size)),
    ]


@MODELS
@pytest.mark.parametrize("skip", BOTH)
def test_ids_of_texts(name: str, skip: bool) -> None:
    def case() -> Any:
        tokenizer = small(name)
        texts = hard_texts([token.content for token in ADDED])
        lists = [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)]
        singles = [tokenizer.decode(ids, skip_special_tokens=skip) for ids in lists]
        return singles, tokenizer.decode_batch(lists, skip_special_tokens=skip)

    agree(case, name in NATIVE)


@MODELS
def test_any_ids(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        lists = random_ids(tokenizer, 0)
        return (
            [outcome(tokenizer.decode, ids) for ids in lists],
            [outcome(tokenizer.decode, ids, False) for ids in lists],
            outcome(tokenizer.decode_batch, lists),
            outcome(tokenizer.decode_batch, sequences=lists, skip_special_tokens=False),
            [tokenizer.decode_batch([]), tokenizer.decode_batch([[], [0]]), tokenizer.decode([])],
        )

    agree(case, name in NATIVE)


def arrays() -> list[Any]:
    """What may stand in place of a list of ids, and what may not."""
    kinds = [np.array([1, 5, 40], dtype=kind) for kind in ("int64", "int32", "uint32", "uint8")]
    odd = [np.array([1.0, 2.0]), np.array([[1, 5]]), np.array(3), np.array([1, -1])]
    lists: list[Any] = [(1, 5), [np.int64(5)], [True, False], [1.0], [-1], [2**32], [2**64], ["1"]]
    others: list[Any] = [
        None,
        5,
        "15",
        b"15",
        {1: 2},
        {1},
        range(4),
        iter([1]),
        [None],
        [[1]],
        bytearray(b"a"),
    ]
    return [*kinds, *odd, *lists, *others]


@pytest.mark.parametrize("name", ["start", "both ends", "llama", "suffix"])
def test_other_kinds_of_ids(name: str) -> None:
    def case() -> Any:
        tokenizer: Any = small(name)
        return (
            [outcome(tokenizer.decode, ids) for ids in arrays()],
            [outcome(tokenizer.decode_batch, [ids, [1]]) for ids in arrays()],
            [outcome(tokenizer.decode_batch, ids) for ids in arrays()],
            [outcome(tokenizer.decode, [1], odd) for odd in (1, 0, None, "yes")],
            outcome(tokenizer.decode).kind,  # the words are those of the interpreter
            outcome(tokenizer.decode, [1], True, 3).kind,
            outcome(tokenizer.decode, [1], skip=True).kind,
        )

    assert sum(isinstance(answer, Raised) for answer in agree(case)[0]) > 5


@MODELS
@pytest.mark.parametrize("skip", BOTH)
def test_streams(name: str, skip: bool) -> None:
    def case() -> Any:
        tokenizer = small(name)
        told = []
        for text in ("Größe <s> 👩‍👩‍👧 e\u0301", "Hello, world!", "分词器 Word"):
            ids = tokenizer.encode(text).ids
            stream = DecodeStream(skip_special_tokens=skip)
            told.append([outcome(stream.step, tokenizer, i) for i in ids])
            if not NEWEST:  # streams can neither be filled nor copied in all of them
                continue
            filled = DecodeStream(ids=ids[:3], skip_special_tokens=skip)
            copied = copy.deepcopy(filled)
            told.append([outcome(filled.step, tokenizer, i) for i in ids[3:]])
            told.append([outcome(copied.step, tokenizer, ids[3:])])
        return told

    agree(case)


class Text(str):
    """A text of a class of one's own."""


def wrong_inputs() -> Iterator[Any]:
    yield from (None, b"x", 1, 1.5, True, object, {"a": 1}, {"a"}, iter(["a"]), range(2))
    yield from ("\ud800", "a\udfffb", Text("own"), np.str_("numpy"), bytearray(b"a"))
    yield from (
        [],
        (),
        ["a"],
        ["a", "b"],
        ("a",),
        ("a", "b"),
        ("a", "b", "c"),
        [["a"]],
        [("a", "b")],
    )
    yield from ([None], ["a", None], ["a", 1], [["a"], None], ["a", "\ud800"], [b"a", "b"])
    yield from (np.array(["a", "b"]), np.array([1]), np.array(["a"], dtype=object), [np.str_("n")])
    yield from ([Text("own"), "a"], [("a", None)], [(None, "a")], [("a", ["b"])], [[], []], [""])


def told_of(call: Any, make: Any = wrong_inputs) -> list[Any]:
    return [outcome(call, value) for value in make()]


@pytest.mark.parametrize("name", ["start", "llama", "word piece", "cutting"])
def test_wrong_inputs(name: str) -> None:
    def case() -> Any:
        tokenizer: Any = small(name)
        return (
            told_of(tokenizer.encode),
            told_of(lambda value: tokenizer.encode("a", value)),
            told_of(lambda value: tokenizer.encode(value, "b")),
            told_of(lambda value: tokenizer.encode(value, is_pretokenized=True)),
            told_of(lambda value: tokenizer.encode(["a"], value, is_pretokenized=True)),
            told_of(tokenizer.encode_batch),
            told_of(lambda value: tokenizer.encode_batch([value])),
            told_of(lambda value: tokenizer.encode_batch(["a", value])),
            told_of(lambda value: tokenizer.encode_batch(value, is_pretokenized=True)),
            told_of(tokenizer.encode_batch_fast),
            told_of(lambda value: tokenizer.encode_batch_fast(["a", value])),
        )

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "llama"])
def test_wrong_arguments(name: str) -> None:
    def case() -> Any:
        tokenizer: Any = small(name)
        told = []
        for method, value in (
            ("encode", "a"),
            ("encode_batch", ["a"]),
            ("encode_batch_fast", ["a"]),
        ):
            call = getattr(tokenizer, method)
            told.append(outcome(call).kind)
            told.append(outcome(call, value, None, None, None, None, None).kind)
            told.append(outcome(call, value, nothing=True).kind)
            odds: list[Any] = [None, 1, "no", [], 0.0]
            for odd in odds:
                told.append(outcome(call, value, add_special_tokens=odd))
                told.append(outcome(call, value, is_pretokenized=odd))
        told.append(outcome(tokenizer.encode, "a", sequence="b").kind)
        told.append(outcome(lambda: tokenizer.nothing))
        told.append(outcome(Tokenizer.encode, "a", "b").kind)
        return told

    agree(case)


def test_wrong_settings() -> None:
    def case() -> Any:
        tokenizer: Any = small("start")
        told = []
        for value in (-1, None, "5", 1.0, 2**70, True, 0):
            told.append(outcome(tokenizer.enable_truncation, value))
            told.append(outcome(tokenizer.enable_truncation, 4, stride=value))
            told.append(outcome(tokenizer.enable_padding, pad_id=value))
            told.append(outcome(tokenizer.enable_padding, pad_to_multiple_of=value))
            told += [tokenizer.truncation, tokenizer.padding, tokenizer.encode("a b c d e f")]
        told.append(outcome(tokenizer.enable_truncation, 4, strategy="all"))
        told.append(outcome(tokenizer.enable_truncation, 4, direction="up"))
        told.append(outcome(tokenizer.enable_padding, direction="up"))
        for attribute in ("truncation", "padding", "normalizer", "model", "encode_special_tokens"):
            told.append(outcome(setattr, tokenizer, attribute, 5).kind)
            told.append(outcome(delattr, tokenizer, attribute).kind)
        told.append(outcome(tokenizer.add_tokens, [1]))
        told.append(outcome(tokenizer.add_tokens, "ab"))
        return told, tokenizer.encode("ab c")

    agree(case)


@pytest.mark.parametrize("name", ["start", "llama", "word piece"])
def test_an_error_changes_nothing(name: str) -> None:
    def case() -> Any:
        tokenizer: Any = small(name)
        told = []
        for text in HARD[:12]:
            told.append(outcome(tokenizer.encode_batch, [text, None]))
            told.append(outcome(tokenizer.decode, [-1]))
            told.append(tokenizer.encode(text))
        return told

    agree(case, name in NATIVE)


def test_the_patch_leaves_nothing_behind() -> None:
    def attributes() -> dict[str, Any]:
        import tokenizers
        from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

        owners: list[Any] = [tokenizers, Tokenizer, tokenizers.Encoding, DecodeStream]
        for module in (decoders, models, normalizers, pre_tokenizers, processors):
            owners += [module, *(part for part in vars(module).values() if isinstance(part, type))]
        return {f"{o.__name__}.{name}": value for o in owners for name, value in vars(o).items()}

    before = attributes()
    for _ in range(3):
        with tokcy.patched_hf():
            small("start").encode("a")
            changed = attributes()
        after = attributes()
        assert list(after) == list(before)
        assert [name for name in before if after[name] is not before[name]] == []
    assert any(changed[name] is not before[name] for name in before)
    tokcy.patch_hf()
    tokcy.patch_hf()
    with tokcy.patched_hf():
        pass
    assert all(attributes()[name] is changed[name] or name in changed for name in before)
    tokcy.unpatch_hf()
    tokcy.unpatch_hf()
    after = attributes()
    assert [name for name in before if after[name] is not before[name]] == []
