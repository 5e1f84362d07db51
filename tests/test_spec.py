"""The reader of tokenizer.json: what it accepts, and every error with its field and message."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import synthetic
import tokenizers

from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError
from tokcy.spec import read_tokenizer_json
from tokcy.spec.model import (
    AddedToken,
    BertProcessing,
    BpeDecoder,
    BpeModel,
    ByteFallback,
    ByteLevel,
    Digits,
    Fuse,
    Metaspace,
    NormalForm,
    Other,
    Punctuation,
    Replace,
    RobertaProcessing,
    SpecialTokenPiece,
    Split,
    StripDecoder,
    TemplateProcessing,
    TextPiece,
)

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


# ------------------------------------------------------------------------------------- accepted


def test_model() -> None:
    fields = {
        "dropout": 0,
        "unk_token": "",
        "continuing_subword_prefix": "##",
        "end_of_word_suffix": "</w>",
        "fuse_unk": True,
        "byte_fallback": True,
        "ignore_merges": True,
        "not_a_field": [1],
    }
    spec = read(model_with(**fields))
    assert spec.model == BpeModel(VOCABULARY, None, 0.0, "", "##", "</w>", True, True, True)
    assert spec.source == "m.json"
    assert (spec.added_tokens, spec.normalizer, spec.pre_tokenizer) == ((), (), ())
    assert (spec.post_processor, spec.decoder) == ((), None)
    assert (spec.truncation, spec.padding) == (None, None)


def test_null_model_fields_are_as_left_out() -> None:
    optional = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix")
    flags = ("fuse_unk", "byte_fallback", "ignore_merges")
    expected = BpeModel(VOCABULARY)
    assert read(model_with()).model == expected
    assert read(model_with(**dict.fromkeys(optional + flags))).model == expected


def test_model_without_type_is_bpe() -> None:
    content = model_with()
    del content["model"]["type"]
    assert isinstance(read(content).model, BpeModel)


@pytest.mark.parametrize(
    ("merges", "expected"),
    [
        ([], []),
        ([["a", "b"]], [["a", "b"]]),
        ([["#version", "x y"]], [["#version", "x y"]]),
        (["#version: 0.2", "a b", "#versiona b", "b a"], ["a b", "b a"]),
        (["a b", "\n #version"], ["a b", "\n #version"]),
        (["a\n b", "a \n"], ["a\n b", "a \n"]),
        (["a ", " b", " "], ["a ", " b", " "]),
    ],
)
def test_merges(merges: list[Any], expected: list[Any]) -> None:
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in expected]
    tokens = {part for pair in pairs for part in (*pair, "".join(pair))}
    vocab = {token: i for i, token in enumerate(sorted(tokens))}
    assert read(model_with(vocab=vocab, merges=merges)).model.vocabulary == Vocabulary(
        vocab, expected
    )


def test_last_duplicate_key_wins() -> None:
    text = '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "a": 5}, "merges": []}}'
    assert read_tokenizer_json(text).model == BpeModel(Vocabulary({"a": 5, "b": 1}, []))


def test_bytes_and_str_give_the_same() -> None:
    text = json.dumps(file_with(), ensure_ascii=False)
    assert read_tokenizer_json(text) == read_tokenizer_json(text.encode())
    assert read_tokenizer_json(f" \t\r\n{text} \n") == read_tokenizer_json(text)


def test_escaped_surrogate_pairs_are_characters() -> None:
    text = r'{"model": {"vocab": {"\ud83d\ude00": 0, "\\ud800": 1}, "merges": []}}'
    assert read_tokenizer_json(text).model == BpeModel(Vocabulary({"😀": 0, "\\ud800": 1}, []))


def test_added_tokens_as_declared() -> None:
    token = {**TOKEN, "id": 77, "lstrip": True, "extra": 1}
    assert read(file_with(added_tokens=[token])).added_tokens == (
        AddedToken("<x>", 77, lstrip=True, special=True),
    )


@pytest.mark.parametrize(
    ("section", "value", "expected"),
    [
        ("normalizer", {"type": "NFC", "extra": 1}, (NormalForm("NFC"),)),
        ("normalizer", {"type": "Sequence", "normalizers": []}, ()),
        ("normalizer", {"type": "Nmt"}, (Other("Nmt"),)),
        ("normalizer", {"normalizers": []}, (Other(None),)),
        ("pre_tokenizer", BYTE_LEVEL, (ByteLevel(False, True, True),)),
        ("pre_tokenizer", SPLIT, (Split("a+", True, "Removed", True),)),
        (
            "pre_tokenizer",
            {**SPLIT, "pattern": {"String": "a+"}},
            (Split("a+", False, "Removed", True),),
        ),
        ("pre_tokenizer", {**SPLIT, "behavior": {"Isolated": None}}, (Other("Split"),)),
        ("pre_tokenizer", {"type": "Digits", "individual_digits": True}, (Digits(True),)),
        ("pre_tokenizer", {"type": "Punctuation"}, (Punctuation("Isolated"),)),
        (
            "pre_tokenizer",
            {"type": "Punctuation", "behavior": "Contiguous"},
            (Punctuation("Contiguous"),),
        ),
        (
            "pre_tokenizer",
            {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Sequence", "pretokenizers": [SPLIT, {"type": "UnicodeScripts"}]},
                    {**BYTE_LEVEL, "use_regex": False},
                ],
            },
            (
                Split("a+", True, "Removed", True),
                Other("UnicodeScripts"),
                ByteLevel(False, True, False),
            ),
        ),
        ("post_processor", BYTE_LEVEL, (ByteLevel(False, True, True),)),
        ("post_processor", BERT, (BertProcessing(2, 0),)),
        ("post_processor", ROBERTA, (RobertaProcessing(2, 0, True, False),)),
        # Untagged: the first form that fits is taken, whatever the type says.
        ("post_processor", {**ROBERTA, "type": "Bert"}, (RobertaProcessing(2, 0, True, False),)),
        ("post_processor", without(ROBERTA, "trim_offsets"), (BertProcessing(2, 0),)),
        (
            "post_processor",
            {"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]},
            (
                ByteLevel(False, True, True),
                TemplateProcessing((SpecialTokenPiece("<s>", (7, 8)), TextPiece("A"))),
            ),
        ),
        (
            "post_processor",
            {**TEMPLATE, "special_tokens": {}},
            (TemplateProcessing((SpecialTokenPiece("<s>", None), TextPiece("A"))),),
        ),
        (
            "post_processor",
            {**TEMPLATE, "special_tokens": {"<s>": {"id": "<s>", "ids": [7], "tokens": []}}},
            (TemplateProcessing((SpecialTokenPiece("<s>", None), TextPiece("A"))),),
        ),
        (
            "post_processor",
            {**TEMPLATE, "single": [{"Sequence": ["A", 0]}]},
            (Other("TemplateProcessing"),),
        ),
        ("decoder", None, None),
        ("decoder", BYTE_LEVEL, (ByteLevel(False, True, True),)),
        ("decoder", {**BYTE_LEVEL, "suffix": "x"}, (ByteLevel(False, True, True),)),
        (
            "decoder",
            {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback", "x": 1}]},
            (Fuse(), ByteFallback()),
        ),
        ("decoder", {"type": "CTC", **CTC}, (Other("CTC"),)),
        ("decoder", {**STRIP, "start": 2**64 - 1}, (StripDecoder("é", 2**64 - 1, 0),)),
        ("decoder", REPLACE, (Replace("▁", False, " "),)),
        ("decoder", {**REPLACE, "pattern": {"Regex": "a"}}, (Replace("a", True, " "),)),
        ("decoder", METASPACE, (Metaspace("▁", "always", True),)),
        (
            "decoder",
            {**METASPACE, "add_prefix_space": True, "prepend_scheme": "first", "split": False},
            (Metaspace("▁", "first", False),),
        ),
        (
            "decoder",
            {**METASPACE, "add_prefix_space": False, "prepend_scheme": "never", "split": None},
            (Metaspace("▁", "never", True),),
        ),
        ("decoder", {**METASPACE, "prepend_scheme": {"never": None}}, (Other("Metaspace"),)),
        ("decoder", {"type": "BPEDecoder", "suffix": "</w>"}, (BpeDecoder("</w>"),)),
        ("decoder", {"type": "Foo", "suffix": "</w>"}, (Other("Foo"),)),
        ("decoder", {"type": {"Fuse": None}}, (Other(None),)),
    ],
)
def test_components(section: str, value: Any, expected: Any) -> None:
    synthetic.load(file_with(**{section: value}))
    assert getattr(read(file_with(**{section: value})), section) == expected


@pytest.mark.parametrize(
    ("processor", "problem"),
    [
        (without(BYTE_LEVEL, "trim_offsets"), "post_processor: 'trim_offsets' is missing"),
        (
            {**BERT, "sep": ["</s>", -1]},
            "post_processor.sep[1]: must be an integer from 0 to 4294967295, not an integer: -1",
        ),
        (
            {**ROBERTA, "cls": ["<s>"]},
            'post_processor.cls: must be a token and its id, not ["<s>"]',
        ),
        (without(TEMPLATE, "pair"), "post_processor: 'pair' is missing"),
        (
            {**TEMPLATE, "single": ["$A"]},
            'post_processor.single[0]: must be {"Sequence": …} or {"SpecialToken": …}, not "$A"',
        ),
        (
            {**TEMPLATE, "single": [{"Sequence": {"id": "C", "type_id": 0}}]},
            'post_processor.single[0].Sequence.id: must be "A" or "B", not "C"',
        ),
        ({"type": "Sequence"}, "post_processor: 'processors' is missing"),
    ],
)
def test_post_processors_that_fit_no_form_keep_the_problem(
    processor: dict[str, Any], problem: str
) -> None:
    with pytest.raises(Exception, match="PostProcessorWrapper"):
        synthetic.load(file_with(post_processor=processor))
    (step,) = read(file_with(post_processor=processor)).post_processor
    assert step.kind == processor["type"]
    assert str(step.problem) == f"m.json: {problem}"


def test_deep_sequences_are_left_to_hugging_face() -> None:
    nested: dict[str, Any] = BYTE_LEVEL
    for _ in range(200):
        nested = {"type": "Sequence", "pretokenizers": [nested]}
    assert read(file_with(pre_tokenizer=nested)).pre_tokenizer == (Other("Sequence"),)


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collector_is_left_as_found(enabled: bool) -> None:
    was_enabled = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        read(model_with())
        refused("{")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


# --------------------------------------------------------------------------------------- refused


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
