"""The reader of tokenizer.json: every error, with its field and message."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import synthetic
import tokenizers
from spec_files import (
    BYTE_LEVEL,
    METASPACE,
    REPLACE,
    SPLIT,
    STRIP,
    TOKEN,
    file_with,
    model_with,
    read,
    refused,
    without,
)

from tokcy import Tokenizer
from tokcy.errors import ModelFileError
from tokcy.spec import read_tokenizer_json
from tokcy.spec.model import BpeModel


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\ufeff{"model": 1}', "m.json: not valid JSON: starts with a byte order mark"),
        (
            '{"model": {}} x',
            "m.json: not valid JSON: Extra data at line 1 column 15",
        ),
        ('{"model": NaN}', "m.json: not valid JSON: NaN is not a JSON number"),
        ('{"model": -Infinity}', "m.json: not valid JSON: -Infinity is not a JSON number"),
        ('{"model": 1e999}', "m.json: not valid JSON: number out of range: 1e999"),
        (
            '{"model": "\x01"}',
            "m.json: not valid JSON: Invalid control character at at line 1 column 12",
        ),
        (
            '{"model": {"vocab": {"a": 0, "\\ud800": 1}, "merges": []}}',
            r"m.json: model.vocab: lone surrogate in '\ud800'",
        ),
        (
            '{"model": {"vocab": {}, "merges": ["a \\udc00x"]}}',
            r"m.json: model.merges[0]: lone surrogate in 'a \udc00x'",
        ),
        ('{"model": ' + "[" * 5000 + "]" * 5000 + "}", None),
        ("[]", "m.json: must be an object, not a list: []"),
        ("null", "m.json: must be an object, not null"),
        ("{}", "m.json: 'model' is missing"),
        ('{"version": "2.0"}', 'm.json: version: must be "1.0", not "2.0"'),
        ('{"version": 1.0}', "m.json: version: must be a string, not a number: 1.0"),
        ('{"modle": {}}', 'm.json: unknown section "modle"'),
    ],
)
def test_refused_text(text: str, message: str | None) -> None:
    error = refused(text)
    assert error.source == "m.json"
    assert str(error) == message if message else "not valid JSON" in str(error)


def test_refused_bytes() -> None:
    with pytest.raises(ModelFileError) as caught:
        read_tokenizer_json(b'{"model": "\xff"}', source="m.json")
    assert str(caught.value) == "m.json: not UTF-8: invalid start byte at byte 11"
    with pytest.raises(ModelFileError) as caught:
        read_tokenizer_json('{"model": "\ud800"}', source="m.json")
    assert str(caught.value) == "m.json: lone surrogate at character 11"


U32 = "must be an integer from 0 to 4294967295, not"
MERGE_ITEM = 'must be "a b" or ["a", "b"], not'
MERGE_LINE = "must be two parts with one space between, not"


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"vocab": []}, "model.vocab", "must be an object, not a list: []"),
        ({"vocab": {"a": -1}}, 'model.vocab["a"]', f"{U32} an integer: -1"),
        ({"vocab": {"a": 1.0}}, 'model.vocab["a"]', f"{U32} a number: 1.0"),
        ({"vocab": {"a": 0, "b": 2**32}}, 'model.vocab["b"]', f"{U32} an integer: 4294967296"),
        ({"vocab": {"a": True}}, 'model.vocab["a"]', f"{U32} a boolean: true"),
        ({"vocab": {"a": None}}, 'model.vocab["a"]', f"{U32} null"),
        ({"vocab": {"a": "0"}}, 'model.vocab["a"]', f'{U32} a string: "0"'),
        ({"merges": None}, "model.merges", "must be a list, not null"),
        ({"merges": {}}, "model.merges", "must be a list, not an object: {}"),
        ({"merges": ["a b", "ab"]}, "model.merges[1]", f'{MERGE_LINE} "ab"'),
        ({"merges": ["a b c", "ab"]}, "model.merges[0]", f'{MERGE_LINE} "a b c"'),
        ({"merges": ["#version", "a b", ""]}, "model.merges[2]", f'{MERGE_LINE} ""'),
        ({"merges": ["a\nb"]}, "model.merges[0]", f'{MERGE_LINE} "a\\nb"'),
        ({"merges": ["a b", None]}, "model.merges[1]", f"{MERGE_ITEM} null"),
        ({"merges": [1]}, "model.merges[0]", f"{MERGE_ITEM} 1"),
        (
            {"merges": ["a b", ["a", "b"]]},
            "model.merges[1]",
            '["a", "b"] is not in the form of "a b"',
        ),
        (
            {"merges": [["a", "b"], ["a", "b", "c"]]},
            "model.merges[1]",
            'must be two strings, not ["a", "b", "c"]',
        ),
        ({"merges": [["a", 1]]}, "model.merges[0]", 'must be two strings, not ["a", 1]'),
        ({"dropout": 1.5}, "model.dropout", "must be between 0 and 1, not 1.5"),
        ({"dropout": -1}, "model.dropout", "must be between 0 and 1, not -1"),
        ({"dropout": True}, "model.dropout", "must be a number, not a boolean: true"),
        ({"unk_token": 0}, "model.unk_token", "must be a string, not an integer: 0"),
        ({"fuse_unk": 0}, "model.fuse_unk", "must be true or false, not an integer: 0"),
        (
            {"byte_fallback": "x"},
            "model.byte_fallback",
            'must be true or false, not a string: "x"',
        ),
        (
            {"ignore_merges": "x" * 100},
            "model.ignore_merges",
            f'must be true or false, not a string: "{"x" * 58}…',
        ),
        (
            {"end_of_word_suffix": list(range(100))},
            "model.end_of_word_suffix",
            "must be a string, not a list: a list of 100",
        ),
    ],
)
def test_refused_models(fields: dict[str, Any], field: str, reason: str) -> None:
    error = refused(model_with(**fields))
    assert (error.field, error.reason) == (field, reason)


@pytest.mark.parametrize("name", ["vocab", "merges"])
def test_refused_models_without(name: str) -> None:
    content = model_with()
    del content["model"][name]
    assert str(refused(content)) == f"m.json: model: '{name}' is missing"
    assert str(refused({"model": None})) == "m.json: model: must be an object, not null"


def test_models_without_type_may_be_of_another_kind() -> None:
    vocab = [["<unk>", 0.0], ["a", -1.0]]
    content = {"model": {"unk_id": 0, "vocab": vocab}}
    synthetic.load(content)
    model = read(content).model
    assert model.kind is None
    assert str(model.problem).startswith("m.json: model.vocab: must be an object, not a list: [[")


@pytest.mark.parametrize("key", list(TOKEN))
def test_refused_added_tokens_without(key: str) -> None:
    error = refused(file_with(added_tokens=[TOKEN, without(TOKEN, key)]))
    assert (error.field, error.reason) == ("added_tokens[1]", f"'{key}' is missing")


@pytest.mark.parametrize(
    ("added_tokens", "field", "reason"),
    [
        (None, "added_tokens", "must be a list, not null"),
        ({}, "added_tokens", "must be a list, not an object: {}"),
        (["<x>"], "added_tokens[0]", 'must be an object, not a string: "<x>"'),
        ([{**TOKEN, "id": -1}], "added_tokens[0].id", f"{U32} an integer: -1"),
        ([{**TOKEN, "id": 1.0}], "added_tokens[0].id", f"{U32} a number: 1.0"),
        (
            [{**TOKEN, "content": 5}],
            "added_tokens[0].content",
            "must be a string, not an integer: 5",
        ),
        (
            [{**TOKEN, "special": 1}],
            "added_tokens[0].special",
            "must be true or false, not an integer: 1",
        ),
    ],
)
def test_refused_added_tokens(added_tokens: Any, field: str, reason: str) -> None:
    error = refused(file_with(added_tokens=added_tokens))
    assert (error.field, error.reason) == (field, reason)


BEHAVIORS = "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous"


@pytest.mark.parametrize(
    ("section", "value", "field", "reason"),
    [
        ("normalizer", {"type": "Sequence"}, "", "'normalizers' is missing"),
        (
            "normalizer",
            {"type": "Sequence", "normalizers": None},
            ".normalizers",
            "must be a list, not null",
        ),
        ("pre_tokenizer", without(BYTE_LEVEL, "trim_offsets"), "", "'trim_offsets' is missing"),
        (
            "pre_tokenizer",
            {**BYTE_LEVEL, "use_regex": None},
            ".use_regex",
            "must be true or false, not null",
        ),
        ("pre_tokenizer", without(SPLIT, "invert"), "", "'invert' is missing"),
        (
            "pre_tokenizer",
            {**SPLIT, "behavior": "isolated"},
            ".behavior",
            f'must be one of {BEHAVIORS}, not "isolated"',
        ),
        (
            "pre_tokenizer",
            {**SPLIT, "pattern": "a"},
            ".pattern",
            'must be {"Regex": …} or {"String": …}, not "a"',
        ),
        (
            "pre_tokenizer",
            {**SPLIT, "pattern": {"Regex": 1}},
            ".pattern.Regex",
            "must be a string, not an integer: 1",
        ),
        (
            "pre_tokenizer",
            {"type": "Sequence", "pretokenizers": [SPLIT, {"type": "Digits"}]},
            ".pretokenizers[1]",
            "'individual_digits' is missing",
        ),
        (
            "pre_tokenizer",
            {"type": "Punctuation", "behavior": None},
            ".behavior",
            f"must be one of {BEHAVIORS}, not null",
        ),
        (
            "decoder",
            {**BYTE_LEVEL, "add_prefix_space": 0},
            ".add_prefix_space",
            "must be true or false, not an integer: 0",
        ),
        ("decoder", {**BYTE_LEVEL, "use_regex": 0, "suffix": ""}, ".use_regex", "must be true or"),
        ("decoder", {**STRIP, "content": "e\u0301"}, ".content", "must be one character"),
        ("decoder", {**STRIP, "start": -1}, ".start", "must be an integer from 0 to 1844"),
        ("decoder", {**STRIP, "stop": 2**64}, ".stop", "must be an integer from 0 to 1844"),
        ("decoder", {**STRIP, "stop": 1.0}, ".stop", "must be an integer from 0 to 1844"),
        ("decoder", without(STRIP, "stop"), "", "'stop' is missing"),
        ("decoder", {**REPLACE, "pattern": "a"}, ".pattern", 'must be {"Regex": …} or {"String"'),
        ("decoder", {**REPLACE, "content": None}, ".content", "must be a string, not null"),
        ("decoder", {**METASPACE, "replacement": ""}, ".replacement", "must be one character"),
        ("decoder", {**METASPACE, "split": 1}, ".split", "must be true or false"),
        ("decoder", {**METASPACE, "str_rep": 1}, ".str_rep", "must be a string"),
        (
            "decoder",
            {**METASPACE, "prepend_scheme": "Always"},
            ".prepend_scheme",
            'must be one of always, first, never, not "Always"',
        ),
        (
            "decoder",
            {**METASPACE, "add_prefix_space": False},
            ".add_prefix_space",
            "does not match prepend_scheme 'always'",
        ),
        ("decoder", {"type": "BPEDecoder"}, "", "'suffix' is missing"),
        ("decoder", {"type": "WordPiece", "prefix": "##"}, "", "'cleanup' is missing"),
        (
            "decoder",
            {"type": "Sequence", "decoders": [{"type": "Fuse"}, {**STRIP, "start": None}]},
            ".decoders[1].start",
            "must be an integer from 0 to 1844",
        ),
    ],
)
def test_refused_components(section: str, value: Any, field: str, reason: str) -> None:
    error = refused(file_with(**{section: value}))
    assert error.field == section + field
    assert error.reason.startswith(reason)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("added_tokens_toy", "model.merges: must be a list, not an object: {}"),
        (
            "llama2",
            'model.merges[18917]: must be two parts with one space between, not "   "',
        ),
    ],
)
def test_broken_files(model_path: Callable[[str], Any], name: str, message: str) -> None:
    path = model_path(name)
    with pytest.raises(ModelFileError) as caught:
        read_tokenizer_json(path.read_bytes(), source=str(path))
    assert str(caught.value) == f"{path}: {message}"


REPEATED = {
    "an added token has the field 'content' more than once": (
        '"added_tokens": []',
        '"added_tokens": [{"id": 1, "content": "x", "content": "x"}]',
    ),
    "an added token has the field 'special' more than once": (
        '"added_tokens": []',
        '"added_tokens": [{"id": 1, "special": true, "special": true, "content": "x"}]',
    ),
    "truncation has the field 'stride' more than once": (
        '"truncation": null',
        '"truncation": {"max_length": 1, "stride": 0, "stride": 0, "strategy": "OnlyFirst"}',
    ),
    "padding has the field 'pad_id' more than once": (
        '"padding": null',
        '"padding": {"strategy": "BatchLongest", "direction": "Left", "pad_id": 0, "pad_id": 0, '
        '"pad_type_id": 0, "pad_token": ""}',
    ),
    "the model has the field 'type' more than once": (
        '"type": "BPE"',
        '"type": "BPE", "type": "BPE"',
    ),
}


@pytest.mark.parametrize("message", REPEATED)
def test_repeated_fields_that_the_oracle_refuses(message: str) -> None:
    text = json.dumps(synthetic.model_from_merges([("a", "b")]))
    old, new = REPEATED[message]
    assert old in text
    changed = text.replace(old, new)
    with pytest.raises(Exception):  # noqa: B017, PT011  # a plain Exception is what it raises
        tokenizers.Tokenizer.from_str(changed)
    with pytest.raises(ModelFileError, match=message):
        read_tokenizer_json(changed)


def test_repeated_keys_that_the_oracle_takes() -> None:
    """Of vocabulary entries and other fields given twice the last counts."""
    text = json.dumps(synthetic.model_from_merges([("a", "b")]))
    for old, new in (
        ('"vocab": {', '"vocab": {"ab": 7, '),
        ('"dropout": null', '"dropout": 0.0, "dropout": null'),
        ('"merges": ["a b"]', '"merges": [], "merges": ["a b"]'),
    ):
        assert old in text
        changed = text.replace(old, new)
        assert tokenizers.Tokenizer.from_str(changed).encode("ab").ids == [256]
        spec = read_tokenizer_json(changed)
        assert isinstance(spec.model, BpeModel)
        assert spec.model.vocabulary.token_to_id("ab") == 256
        assert spec.model.vocabulary.n_merges == 1


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(
    ("prefix", "right", "size"),
    [("é", "#", 2), ("#", "é", 1), ("abc", "é中b", 3), ("##", "b", 2)],
)
def test_prefix_that_a_merge_cannot_lose(typed: bool, prefix: str, right: str, size: int) -> None:
    """Hugging Face panics where the right part is too short, and else aborts the process."""
    vocab = {token: i for i, token in enumerate(["a", right, "a" + right, "b"])}
    model: dict[str, Any] = {"vocab": vocab, "merges": [f"a {right}"]}
    model["continuing_subword_prefix"] = prefix
    if typed:
        model["type"] = "BPE"
    message = f'model.merges[0]: its right part "{right}" cannot lose the {size} bytes'
    with pytest.raises(ModelFileError) as caught:
        Tokenizer.from_json(json.dumps({"model": model}))
    assert message in str(caught.value)


@pytest.mark.parametrize(("right", "backend"), [("##b", "tokcy"), ("xxb", "huggingface")])
def test_prefix_that_a_merge_can_lose(right: str, backend: str) -> None:
    vocab = {"a": 0, "##b": 1, "ab": 2, "xxb": 3}
    merges = [f"a {right}"]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "continuing_subword_prefix": "##"}
    tok = Tokenizer.from_json(json.dumps({"model": model}), fallback=True)
    assert tok.backend == backend
    assert tok.encode_to_list("ab") == ([2] if right == "##b" else [0, 1])
