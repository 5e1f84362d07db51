"""Texts of which no added token is to be recognised: a twin of the tokenizer that has none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from tokcy.backend import Ids
from tokcy.errors import ModelFileError
from tokcy.spec import AddedToken, may_meet_unknown, read_tokenizer_json

from .calls import hugging_face_errors, leave_alone
from .next import AnyTokenizer

__all__ = ["PlainTwin", "plain_twin"]

# What a Tokenizer does apart from its model and its added tokens.
_PIPELINE = (
    "truncation",
    "padding",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
)


class PlainTwin(NamedTuple):
    """The twin, and the ids of control tokens that the model may make of a text by itself."""

    tokenizer: Tokenizer
    control_ids: Ids


def plain_twin(
    tokenizer: Tokenizer, added: Iterable[AddedToken], content: dict[str, Any], data: bytes
) -> PlainTwin:
    """The twin of a tokenizer with these added tokens, made of that model file.

    It has the same model object, and the file's other sections word for word: post-processors and
    padding bring their ids along and need no added token.

    Args:
        tokenizer, added: which it is.
        content: the file, of whose model the vocabulary is not asked for.
        data: all of it.
    """
    pipeline = {name: content.get(name) for name in _PIPELINE}
    no_model = {"type": "BPE", "vocab": {}, "merges": []}
    with hugging_face_errors():
        twin = leave_alone(AnyTokenizer.from_str(json.dumps({**pipeline, "model": no_model})))
        twin.model = tokenizer.model
    return PlainTwin(twin, _control_ids(twin, added, content["model"], data))


def _control_ids(
    twin: Tokenizer, added: Iterable[AddedToken], model: dict[str, Any], data: bytes
) -> Ids:
    """Ids of control tokens that the model may produce by itself.

    Not that of its unknown token, which any text may become; unless no text has anything unknown,
    so that only the spelling of the token could become it.
    """
    unknown = model.get("unk_id")
    if model.get("unk_token") is not None and _may_meet_unknown(data):
        unknown = twin.token_to_id(model["unk_token"])
    # By id, as a token that is no entry may have the id of another that is (rule A1).
    ids = [token.id for token in added if token.special and token.id != unknown]
    return np.array([i for i in ids if twin.id_to_token(i) is not None], dtype=np.uint32)


def _may_meet_unknown(data: bytes) -> bool:
    with suppress(ModelFileError):  # what Hugging Face alone can read
        return may_meet_unknown(read_tokenizer_json(data))
    return True
