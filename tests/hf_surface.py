"""Compares what code gets from ``tokenizers`` and ``transformers`` with the patch and without.

A case is a function that makes its own objects, does something with them and returns what it saw.
``agree`` runs it twice, first without the patch: that run is the oracle. What is returned may hold
anything of these libraries; ``seen`` turns it into plain values that say everything about it,
every attribute, map and chunk of an Encoding among them, and an exception is a result as well.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, Tokenizer

import tokcy
import tokcy.hf

ATTRIBUTES = (
    "ids",
    "type_ids",
    "attention_mask",
    "special_tokens_mask",
    "tokens",
    "offsets",
    "word_ids",
    "words",
    "sequence_ids",
    "n_sequences",
)
#: The maps from a place to another: of tokens, and of characters and words of a sequence.
OF_TOKENS = ("token_to_chars", "token_to_word", "token_to_sequence")
OF_CHARS = ("char_to_token", "char_to_word")
OF_WORDS = ("word_to_tokens", "word_to_chars")
COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
#: Of longer Encodings only about so many places are asked, as each answer is a search.
SOME_PLACES = 24
#: Before 0.23 some models decode otherwise, and are left to Hugging Face's code.
NEWEST = not tokenizers.__version__.startswith(("0.21", "0.22"))


@dataclass(frozen=True)
class Raised:
    """An exception: the name of its type, and what it says."""

    kind: str
    message: str


#: Where Rust panics, tokcy has an error of its own.
PANIC = Raised("PanicException", "")


def outcome(call: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any:
    """What the call returns, in plain values, or what it raises."""
    try:
        return seen(call(*arguments, **options))
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except tokcy.TokcyError:
        return PANIC
    except BaseException as error:
        panics = type(error).__name__ == "PanicException"  # which is no Exception
        return PANIC if panics else Raised(type(error).__name__, str(error))


def outcome_of_several(call: Callable[..., Any], /, *texts: Any, **options: Any) -> Any:
    """The same of a call with a batch; each time the same where several texts fail.

    Of these `tokenizers` tells of the one that is first in time. (Of one that cannot be cut and
    one that panics, in this order, release 0.23.3 told of the latter in 195 of 200 runs.) So it
    is all that each of the texts by itself fails with.

    Args:
        texts: batches of one length, the first arguments of the call.
    """
    told = outcome(call, *texts, **options)
    if not isinstance(told, Raised):
        return told
    alone = [
        outcome(call, *([text] for text in row), **options) for row in zip(*texts, strict=True)
    ]
    reasons = {one for one in alone if isinstance(one, Raised)}
    return sorted(reasons, key=repr) if told in reasons else told


def fields(encoding: Any, mapped: bool = True) -> dict[str, Any]:
    """Everything that an Encoding tells, its chunks included; of later ones no maps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of `words`
        told = {name: outcome(lambda name=name: getattr(encoding, name)) for name in ATTRIBUTES}
    return {
        **told,
        "len": len(encoding),
        "repr": repr(encoding),
        "str": str(encoding),
        "maps": maps(encoding) if mapped else None,
        "overflowing": [fields(chunk, i < 2) for i, chunk in enumerate(encoding.overflowing)],
    }


def maps(encoding: Any) -> dict[str, Any]:
    """Every map of an Encoding, at every place, or some of many, and beyond the end."""
    tokens = len(encoding)
    chars = max((end for _, end in encoding.offsets), default=0)
    words = max((word + 1 for word in encoding.word_ids if word is not None), default=0)
    asked: dict[str, Any] = {name: _answers(encoding, name, tokens) for name in OF_TOKENS}
    for names, count in ((OF_CHARS, chars), (OF_WORDS, words)):
        for name in names:
            for sequence in range(3):
                asked[f"{name} {sequence}"] = _answers(encoding, name, count, sequence)
    return asked


def _answers(encoding: Any, name: str, count: int, *sequence: int) -> list[Any]:
    ask = getattr(encoding, name)
    step = max(1, count // SOME_PLACES)
    places = [*range(0, count, step), count - 1, count, count + 1, count + 1000]
    if count:
        return [ask(place, *sequence) for place in places]
    below = outcome(ask, -1, *sequence)  # releases say it in other words
    told = below.kind if isinstance(below, Raised) else below
    return [told, *(ask(place, *sequence) for place in places[2:])]


def seen(value: Any) -> Any:
    """Plain values that hold all that can be told from the value."""
    kind = type(value).__name__
    if kind == "Encoding":
        return ("Encoding", fields(value))
    if kind == "BatchEncoding":
        encodings = value.encodings
        return {
            "type": kind,
            "data": seen(value.data),
            "encodings": None if encodings is None else [seen(one) for one in encodings],
            "n_sequences": vars(value).get("_n_sequences"),  # those of pickles have none
            "is_fast": value.is_fast,
        }
    if isinstance(value, AddedToken):
        return ("AddedToken", repr(value), value.special, str(value))
    if isinstance(value, Tokenizer):
        return ("Tokenizer", value.to_str())
    if isinstance(value, np.ndarray):
        return ("ndarray", str(value.dtype), value.shape, seen(value.tolist()))
    if (type(value).__module__, kind) == ("torch", "Tensor"):  # PyTorch need not be there
        return ("Tensor", str(value.dtype), tuple(value.shape), seen(value.tolist()))
    if isinstance(value, Mapping):
        return {key: seen(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(seen(part) for part in value)
    if type(value).__module__.startswith("tokenizers."):
        return (kind, repr(value))
    return value


def difference(found: Any, expected: Any, where: str = "") -> str | None:
    """Where two results differ first, and how; None if nowhere. Types differ as values do."""
    if type(found) is not type(expected):
        return f"{where}: {_short(found)} instead of {_short(expected)}, by its type"
    if isinstance(expected, dict):
        if list(found) != list(expected) and set(found) != set(expected):
            return f"{where}: keys {list(found)} instead of {list(expected)}"
        pairs: Iterable[tuple[Any, Any, Any]] = ((k, found[k], expected[k]) for k in expected)
    elif isinstance(expected, (list, tuple)):
        if len(found) != len(expected):
            return f"{where}: {_short(found)} instead of {_short(expected)}, by its length"
        if not any(isinstance(part, (dict, list, tuple)) for part in expected):
            if list(map(type, found)) == list(map(type, expected)) and found == expected:
                return None
        pairs = ((i, *both) for i, both in enumerate(zip(found, expected, strict=True)))
    elif found == expected or (found != found and expected != expected):
        return None
    else:
        return f"{where}: {_short(found)} instead of {_short(expected)}"
    for key, mine, theirs in pairs:
        told = difference(mine, theirs, f"{where}[{key!r}]")
        if told is not None:
            return told
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"


def ready(tokenizer: Any) -> Any:
    """The same tokenizer; where it is patched its engine is there, which else waits for more text.

    Args:
        tokenizer: of ``tokenizers`` or ``transformers``.
    """
    tokcy.hf.fallback_reason(tokenizer)
    return tokenizer


def native_calls() -> int:
    """How many calls tokcy itself has done: without any, a comparison says nothing."""
    calls: int = tokcy.hf.patch_info()["native_calls"]
    return calls


def agree(case: Callable[[], Any], native: bool = False) -> Any:
    """Fail unless the case sees with the patch what it sees without; returns that.

    Args:
        native: some of its calls are to be done by tokcy, or it fails as well.
    """
    expected = seen(case())
    before = native_calls()
    with tokcy.patched_hf():
        found = outcome(case)
    told = difference(found, expected)
    assert told is None, f"with the patch: {told}"
    assert not native or native_calls() > before or not NEWEST
    return expected


def agree_by_itself(case: Callable[[Callable[[], Any]], Any], native: bool = False) -> None:
    """The same for a case that is given what turns the patch on: for the oracle it does nothing."""
    expected = seen(case(contextlib.nullcontext))
    before = native_calls()
    told = difference(outcome(case, tokcy.patched_hf), expected)
    assert told is None, f"with the patch: {told}"
    assert not native or native_calls() > before or not NEWEST
