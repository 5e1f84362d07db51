"""What can be asked of an Encoding and done to it, in any order, with the patch and without."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hf_models import NATIVE, small
from hf_surface import ATTRIBUTES, OF_CHARS, OF_TOKENS, OF_WORDS, Raised, agree, outcome
from tokenizers import Encoding, Tokenizer

MODELS = pytest.mark.parametrize("name", NATIVE)
TEXT = "  Größe: <s> Hello,  world! 👩‍👩‍👧 e\u0301 Word<tool> "
#: What may be given in place of a number, and of a direction.
ODD: tuple[Any, ...] = (-1, 2**31, 2**64, True, 1.0, "1", None, b"x", [1])
DIRECTIONS = ("left", "right", "up", "")


def encoded(tokenizer: Tokenizer) -> list[Any]:
    """Encodings of every kind: plain, empty, a pair, of words, cut, padded."""
    plain = [tokenizer.encode(TEXT), tokenizer.encode(TEXT, add_special_tokens=False)]
    others = [tokenizer.encode(""), tokenizer.encode("a b", TEXT)]
    words = [tokenizer.encode(["Hello", " Größe <s>"], is_pretokenized=True)]
    tokenizer.enable_truncation(12, stride=1)
    tokenizer.enable_padding(length=14)
    cut = [
        tokenizer.encode(TEXT),
        *tokenizer.encode_batch(["a", TEXT]),
        tokenizer.encode("a", TEXT),
    ]
    return [*plain, *others, *words, *cut, *tokenizer.encode_batch_fast([TEXT])]


def kind_of(call: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """What a call returns, or the name of what it raises; the words are not Hugging Face's own."""
    told = outcome(call, *arguments, **options)
    return told.kind if isinstance(told, Raised) else told


def set_sequence(encoding: Any, sequence: Any) -> None:
    """Not where tokens have another number already: which one tokenizers tells is then random."""
    if sequence not in (0, 1) or set(encoding.sequence_ids) <= {None, sequence}:
        encoding.set_sequence_id(sequence)


@MODELS
def test_every_attribute_first(name: str) -> None:
    """None of them relies on another one's having been asked for."""

    def case() -> Any:
        tokenizer = small(name)
        told = [outcome(getattr, tokenizer.encode(TEXT), a) for a in ATTRIBUTES]
        told += [outcome(getattr(tokenizer.encode(TEXT), m), 3) for m in OF_TOKENS]
        return told, [
            outcome(getattr(tokenizer.encode(TEXT), m), 3, *sequence)
            for m in (*OF_CHARS, *OF_WORDS)
            for sequence in ((), (0,), (1,))
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        agree(case, name in NATIVE)


def test_the_warning_of_words() -> None:
    def case() -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            words = small("start").encode(TEXT).words
        return words, [(warning.category.__name__, str(warning.message)) for warning in caught]

    agree(case)


@pytest.mark.parametrize("name", ["start", "llama"])
def test_places_that_are_none(name: str) -> None:
    def case() -> Any:
        encoding = small(name).encode(TEXT)
        told = []
        for method in (*OF_TOKENS, *OF_CHARS, *OF_WORDS):
            ask = getattr(encoding, method)
            told += [kind_of(ask, odd) for odd in ODD]
            told += [kind_of(ask, 1, odd) for odd in ODD]
            told += [kind_of(ask), kind_of(ask, 1, 2, 3, 4)]
        return told

    assert "OverflowError" in agree(case)


@pytest.mark.parametrize("name", ["start", "both ends", "llama"])
def test_changes_with_odd_arguments(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        told = []

        def change(call: Callable[[Any], Any]) -> None:
            encoding = tokenizer.encode(TEXT)
            told.append((kind_of(call, encoding), outcome(lambda: encoding)))

        for odd in ODD[:1] + ODD[3:]:
            change(lambda e: set_sequence(e, odd))  # noqa: B023
            change(lambda e: e.truncate(odd))  # noqa: B023
            change(lambda e: e.truncate(3, stride=odd))  # noqa: B023
            change(lambda e: e.truncate(3, 0, odd))  # noqa: B023
            change(lambda e: e.pad(odd))  # noqa: B023
            for option in ("direction", "pad_id", "pad_type_id", "pad_token", "unknown"):
                change(lambda e: e.pad(40, **{option: odd}))  # noqa: B023
        for direction in DIRECTIONS:
            change(lambda e: e.truncate(4, 1, direction))  # noqa: B023
            change(lambda e: e.pad(40, direction=direction))  # noqa: B023
        for length, stride in ((0, 0), (1, 0), (3, 3), (2, 5), (5, 4), (1000, 2000)):
            change(lambda e: e.truncate(length, stride))  # noqa: B023
            change(lambda e: e.truncate(max_length=length, stride=stride, direction="left"))  # noqa: B023
        change(lambda e: e.truncate())
        change(lambda e: e.pad())
        change(lambda e: e.pad(length=3, pad_id=2**32 - 1))
        return told

    agree(case, name in NATIVE)


@MODELS
def test_merge(name: str) -> None:
    def case() -> Any:
        some = encoded(small(name))
        made = Encoding.merge([some[4], some[2]], growing_offsets=True)
        return (
            made,
            [
                outcome(type(some[0]).merge, pair, growing)
                for pair in itertools.pairwise(some)
                if few_chunks(*pair)
                for growing in (True, False)
            ],
            outcome(Encoding.merge, [some[2]] * 5),
            outcome(Encoding.merge, []),
            outcome(Encoding.merge, [made, some[2]], False),
            outcome(made.merge, [some[2], some[4]]),
            outcome(Encoding.merge, some[0]),
            outcome(Encoding.merge, [None]),
        )

    agree(case, name in NATIVE)


@MODELS
def test_copies_and_pickles(name: str) -> None:
    def case() -> Any:
        told = []
        for encoding in encoded(small(name)):
            for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                told.append(pickle.loads(pickle.dumps(encoding, protocol)))
            told += [copy.copy(encoding), copy.deepcopy(encoding), copy.deepcopy([encoding] * 2)]
            new = Encoding()
            new.__setstate__(encoding.__getstate__())
            told.append(new)
        return told

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "llama"])
def test_as_an_object(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        one: Any = tokenizer.encode(TEXT)
        same = tokenizer.encode(TEXT)
        one.note = "kept"
        return (
            (one == same, one != same, one == one, one == None, one in [same, one]),  # noqa: E711
            (bool(one), bool(tokenizer.encode("", add_special_tokens=False))),
            len({one, same, one}),
            one.note,
            type(one).__name__,
            one.ids is one.ids,
            outcome(lambda: one.nothing).kind,
            [outcome(setattr, one, a, []).kind for a in ("ids", "tokens", "overflowing")],
            isinstance(one, Encoding),
            outcome(lambda: one < same).kind,
            outcome(list, one).kind,
            outcome(lambda: one[0]).kind,
            sorted(set(dir(Encoding)) - set(dir(type(one))) - {"__module__"}),
        )

    agree(case, name in NATIVE)


def test_results_are_new_lists() -> None:
    """A caller may change what it got."""

    def case() -> Any:
        encoding = small("start").encode(TEXT)
        for attribute in ("ids", "tokens", "offsets", "type_ids", "attention_mask", "overflowing"):
            getattr(encoding, attribute).append(7)
            getattr(encoding, attribute).clear()
        return encoding

    agree(case)


def few_chunks(*encodings: Any) -> bool:
    """Merged ones have the product of the chunks, each with chunks in turn."""
    return math.prod(1 + len(encoding.overflowing) for encoding in encodings) <= 8


def change_at_random(encoding: Any, others: list[Any], choose: random.Random) -> tuple[Any, Any]:
    """One thing that is done to an Encoding: what it returned, and what to go on with."""
    direction = choose.choice(DIRECTIONS[:2])
    length, stride = choose.randrange(1, 25), choose.randrange(4)
    place, sequence = choose.randrange(30), choose.randrange(2)
    attribute = choose.choice([a for a in ATTRIBUTES if a != "words"])
    method = choose.choice((*OF_CHARS, *OF_WORDS))
    other = choose.choice(others)
    padding = {"direction": direction, "pad_id": place, "pad_type_id": sequence, "pad_token": "·"}
    actions: list[Callable[[], Any]] = [
        lambda: getattr(encoding, attribute),
        lambda: getattr(encoding, attribute),
        lambda: getattr(encoding, method)(place, sequence),
        lambda: getattr(encoding, choose.choice(OF_TOKENS))(place),
        lambda: encoding.truncate(length, min(stride, length - 1), direction),
        lambda: encoding.pad(length, **padding),
        lambda: set_sequence(encoding, sequence),
    ]
    successors: list[Callable[[], Any]] = [
        lambda: copy.deepcopy(encoding),
        lambda: pickle.loads(pickle.dumps(encoding)),
        lambda: (encoding.overflowing or [encoding])[0],
    ]
    if few_chunks(encoding, other):
        successors += [
            lambda: Encoding.merge([encoding, other], growing_offsets=bool(sequence)),
            lambda: Encoding.merge([other, encoding], growing_offsets=not sequence),
        ]
    if choose.random() < 0.3:
        encoding = choose.choice(successors)()
        return len(encoding), encoding
    return outcome(choose.choice(actions)), encoding


@MODELS
def test_changes_in_any_order(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        told = []
        for seed in range(40):
            choose = random.Random(f"{name} {seed}")
            kinds = encoded(tokenizer)
            tokenizer.no_truncation()
            tokenizer.no_padding()
            encoding = choose.choice(kinds)
            for _ in range(choose.randrange(1, 9)):
                answer, encoding = change_at_random(encoding, kinds, choose)
                told.append((seed, answer))
            told.append((seed, outcome(lambda: encoding)))  # noqa: B023
        return told

    agree(case, name in NATIVE)
