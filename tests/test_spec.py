"""The reader of tokenizer.json: what it accepts, and what it makes of it."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest
import synthetic
from spec_files import (
    BERT,
    BYTE_LEVEL,
    CTC,
    METASPACE,
    REPLACE,
    ROBERTA,
    SPLIT,
    STRIP,
    TEMPLATE,
    TOKEN,
    VOCABULARY,
    file_with,
    model_with,
    read,
    refused,
    without,
)

from tokcy._vocab import Vocabulary
from tokcy.spec import read_tokenizer_json
from tokcy.spec.model import AddedToken, BpeModel
from tokcy.spec.steps import (
    BertProcessing,
    BpeDecoder,
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
    WordPiece,
)


def test_model() -> None:
    fields = {
        "dropout": 0,
        "unk_token": "",
        "continuing_subword_prefix": "#",
        "end_of_word_suffix": "</w>",
        "fuse_unk": True,
        "byte_fallback": True,
        "ignore_merges": True,
        "not_a_field": [1],
    }
    spec = read(model_with(**fields))
    vocabulary = Vocabulary({"a": 0, "b": 1, "ab": 2}, ["a b"], prefix="#")  # "b" loses its byte
    assert spec.model == BpeModel(vocabulary, None, 0.0, "", "#", "</w>", True, True, True)
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
        (
            "decoder",
            {"type": "WordPiece", "prefix": "##", "cleanup": False},
            (WordPiece("##", False),),
        ),
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
