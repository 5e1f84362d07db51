"""Files for the tests of the reader of tokenizer.json, and what it makes of them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import synthetic
import tokenizers

from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError
from tokcy.spec import read_tokenizer_json

VOCABULARY = Vocabulary({"a": 0, "b": 1, "ab": 2}, ["a b"])
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
SPLIT = {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Removed", "invert": True}
BERT = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
ROBERTA = {**BERT, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
CTC = {"pad_token": "", "word_delimiter_token": "|", "cleanup": True}
STRIP = {"type": "Strip", "content": "é", "start": 1, "stop": 0}
REPLACE = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
METASPACE = {"type": "Metaspace", "replacement": "▁"}
TEXT_A = {"Sequence": {"id": "A", "type_id": 0}}
TEXT_B = {"Sequence": {"id": "B", "type_id": 1}}
START = {"SpecialToken": {"id": "<s>", "type_id": 0}}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [START, TEXT_A],
    "pair": [START, TEXT_A, TEXT_B],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [7, 8], "tokens": ["<s>", "<t>"]}},
}
TOKEN = synthetic.added_token("<x>") | {"id": 3}


def without(item: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != key}


def file_with(**sections: Any) -> dict[str, Any]:
    return synthetic.model_from_merges([("a", "b")]) | sections


def model_with(**fields: Any) -> dict[str, Any]:
    small = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    return {"version": "1.0", "model": {**small, **fields}}


def read(content: Any) -> Any:
    text = json.dumps(content)
    spec = read_tokenizer_json(text, source="m.json")
    same = read_tokenizer_json(text.encode(), source="m.json")
    assert repr(same) == repr(spec)  # errors have no equality
    assert getattr(same.model, "vocabulary", None) == getattr(spec.model, "vocabulary", None)
    return spec


def refused(content: Any) -> ModelFileError:
    """The error for ``content``, which the oracle must refuse too."""
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - a Rust panic is a BaseException
        tokenizers.Tokenizer.from_str(text if isinstance(text, str) else text.decode("utf-8"))
    with pytest.raises(ModelFileError) as caught:
        read_tokenizer_json(text, source="m.json")
    if isinstance(text, str):
        with pytest.raises(ModelFileError, match=f"^{re.escape(str(caught.value))}$"):
            read_tokenizer_json(text.encode(), source="m.json")
    return caught.value
