"""What the tests of the drop-in share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import synthetic
import tokenizers
from tokenizers import AddedToken, processors

import tokcy
from tokcy._encoding import Encoding

TEXTS = [
    "",
    "hello world, it's a test",
    "<s> hello</s>  wörld\n\n 中文 🙂 e\u0301",
    " ".join(synthetic.SENTENCES) * 2,
    "hello 123 <mask>   world <x>!",
]


def small_tokenizer() -> tokenizers.Tokenizer:
    """A tokenizer with added tokens and a template, that runs natively."""
    tokenizer = synthetic.load(synthetic.trained_model())
    tokenizer.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    tokenizer.add_tokens(["<x>"])
    begin, end = (tokenizer.token_to_id(token) for token in ("<s>", "</s>"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> $B:1 </s>:1",
        special_tokens=[("<s>", begin), ("</s>", end)],
    )
    return tokenizer


def word_tokenizer() -> tokenizers.Tokenizer:
    """A tokenizer that does not run natively."""
    model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "hello": 1}, "unk_token": "[UNK]"}
    pre_tokenizer = {"type": "Whitespace"}
    return tokenizers.Tokenizer.from_str(
        json.dumps({"version": "1.0", "model": model, "pre_tokenizer": pre_tokenizer})
    )


def is_native(encoding: Any) -> bool:
    """Whether tokcy made it."""
    return type(encoding) is Encoding


def state(encoding: Any) -> Any:
    """All that an Encoding tells, which may list sequences in any order."""
    return json.loads(encoding.__getstate__())


@contextmanager
def native() -> Iterator[None]:
    """Everything that can be is done natively, from the first call on."""
    with tokcy.patched_hf(strict=True):
        yield


def result(encoded: Any) -> Any:
    """What a call of `transformers` gave."""
    return dict(encoded), [state(encoding) for encoding in encoded.encodings or []]


def work_in_child(tokenizer: Any, patch: bool) -> tuple[Any, bool]:
    """What a process of a pool does, here as a spawned one can import this module."""
    if patch:
        tokcy.patch_hf(strict=True)
    encoded = tokenizer(TEXTS, truncation=True, max_length=9)
    return result(encoded), is_native(encoded.encodings[0])
