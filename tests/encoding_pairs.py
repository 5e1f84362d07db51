"""Encodings of both kinds side by side: every field, map and change of one against the other's."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import tokenizers

import tokcy
from tokcy._encoding import Encoding
from tokcy.dropin.encoding import Encoder
from tokcy.native import NativeBackend

FIELDS = (
    *("ids", "type_ids", "attention_mask", "special_tokens_mask", "tokens", "offsets"),
    *("word_ids", "sequence_ids", "n_sequences"),
)
DIRECTIONS = ["left", "right"]
Outcome = tuple[str, Any]


def encoder_of(file: str, oracle: tokenizers.Tokenizer) -> Encoder | None:
    """The Encoder of the content of a tokenizer.json, which the oracle has loaded as well."""
    backend = tokcy.Tokenizer.from_json(file)._backend
    if not isinstance(backend, NativeBackend):
        return None
    processor = oracle.post_processor
    section = None if processor is None else json.loads(processor.__getstate__())
    plain = tokenizers.Tokenizer.from_str(file)
    plain.no_truncation()
    plain.no_padding()
    return Encoder(backend, section, lambda text: plain.encode(text, add_special_tokens=False))


def outcome(call: Callable[..., Any], *arguments: Any, **options: Any) -> Outcome:
    """What a call gives, or that it fails: what panics there is an error of ours."""
    try:
        return "value", call(*arguments, **options)
    except Exception as error:
        return "error", "failed" if isinstance(error, tokcy.TokcyError) else type(error).__name__
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "error", "failed"


def assert_same(ours: Encoding, theirs: tokenizers.Encoding, choose: Random | None = None) -> None:
    """All fields, in a random order, as each may be what first asks where the ids come from."""
    names = list(FIELDS)
    if choose is not None:
        choose.shuffle(names)
    assert len(ours) == len(theirs)
    for name in names:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert repr(ours) == repr(theirs)
    parts, their_parts = ours.overflowing, theirs.overflowing
    assert len(parts) == len(their_parts)
    for part, their_part in zip(parts, their_parts, strict=True):
        assert_same(part, their_part, choose)
    assert json.loads(ours.__getstate__()) == json.loads(theirs.__getstate__())


def assert_same_maps(ours: Encoding, theirs: tokenizers.Encoding, n_characters: int) -> None:
    """Every map at every place there is, and some beyond."""
    beyond = [-1, 2**31, 2**32, 2**63, 2**64, True]
    n_words = max((word for word in theirs.word_ids if word is not None), default=0) + 1
    for name, n in (
        ("token_to_sequence", len(theirs)),
        ("token_to_chars", len(theirs)),
        ("token_to_word", len(theirs)),
        ("word_to_tokens", n_words),
        ("word_to_chars", n_words),
        ("char_to_token", n_characters),
        ("char_to_word", n_characters),
    ):
        for place in [*range(n + 3), *beyond]:
            mine, other = getattr(ours, name), getattr(theirs, name)
            assert outcome(mine, place) == outcome(other, place), (name, place)
            if not name.startswith("token"):
                for sequence in (0, 1, -1):
                    assert outcome(mine, place, sequence) == outcome(
                        other, place, sequence_index=sequence
                    ), (name, place, sequence)


def random_options(choose: Random) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Arguments of enable_truncation and enable_padding, each or None."""
    truncation = {
        "max_length": choose.choice([0, 1, 2, 3, 4, 5, 8, 20]),
        "stride": choose.choice([0, 0, 1, 2, 3]),
        "strategy": choose.choice(["longest_first", "longest_first", "only_first", "only_second"]),
        "direction": choose.choice(DIRECTIONS),
    }
    padding = {
        "length": choose.choice([None, 0, 1, 7, 24]),
        "pad_to_multiple_of": choose.choice([None, None, 0, 1, 3, 8]),
        "pad_id": choose.choice([0, 5, 2**32 - 1]),
        "pad_type_id": choose.choice([0, 3]),
        "pad_token": choose.choice(["[PAD]", "", "é"]),
        "direction": choose.choice(DIRECTIONS),
    }
    return choose.choice([None, truncation]), choose.choice([None, padding])


def set_options(
    oracle: tokenizers.Tokenizer, truncation: dict[str, Any] | None, padding: dict[str, Any] | None
) -> None:
    """Raises what the oracle raises of options that cannot be."""
    oracle.no_truncation()
    oracle.no_padding()
    if truncation is not None:
        oracle.enable_truncation(**truncation)
    if padding is not None:
        oracle.enable_padding(**padding)


def random_change(choose: Random) -> Callable[[Any], Any]:
    """A call that changes an Encoding, of either kind."""
    direction = choose.choice(DIRECTIONS)
    length, stride, number = choose.randint(0, 12), choose.randint(0, 3), choose.randint(0, 9)
    growing = choose.random() < 0.5
    return choose.choice(
        [
            lambda encoding: encoding.truncate(length, stride, direction),
            lambda encoding: encoding.truncate(max_length=length),
            lambda encoding: encoding.pad(length, direction=direction, pad_id=number),
            lambda encoding: encoding.pad(length=2 * length, pad_type_id=number, pad_token="é"),
            lambda encoding: encoding.set_sequence_id(0),
            lambda encoding: double(encoding, growing),
        ]
    )


def double(encoding: Any, growing: bool) -> None:
    """Merge an Encoding with itself, unless it has parts, of which there are squares then."""
    if len(encoding.overflowing) < 3 and all(not part.overflowing for part in encoding.overflowing):
        encoding.__setstate__(type(encoding).merge([encoding, encoding], growing).__getstate__())
