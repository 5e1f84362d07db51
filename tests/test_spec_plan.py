"""Which files are planned natively, with what, and the reason where there is no plan."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from real_models import FALLBACK, NATIVE

from tokcy.errors import ModelFileError
from tokcy.spec import (
    AddedToken,
    NativePlan,
    PostProcessor,
    Truncation,
    Unsupported,
    plan_native,
    read_tokenizer_json,
)
from tokcy.spec.steps import NormalForm, Prepend

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}
SPLIT = {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False}
NFC = {"type": "NFC"}
PREPEND = {"type": "Prepend", "prepend": "▁"}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
START = {"SpecialToken": {"id": "<s>", "type_id": 0}}
END = {"SpecialToken": {"id": "</s>", "type_id": 0}}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [START, END, TEXT, END],
    "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [7, 8], "tokens": ["<s>", "<t>"]},
        "</s>": {"id": "</s>", "ids": [9], "tokens": ["</s>"]},
    },
}
BERT = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
ROBERTA = {**BERT, "trim_offsets": True, "add_prefix_space": True}
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
FUSE = {"type": "Fuse"}
INCOMPLETE = {"vocab": {"a": 0, "b": 1}, "merges": []}


def in_sequence(kind: str, *steps: Any) -> dict[str, Any]:
    return {"type": "Sequence", kind: list(steps)}


def replacing(pattern: Any, content: str = "") -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def planned(content: Any) -> NativePlan | Unsupported:
    return plan_native(read_tokenizer_json(json.dumps(content)))


def native(**sections: Any) -> NativePlan:
    plan = planned(synthetic.model_from_merges([("a", "b")]) | sections)
    assert isinstance(plan, NativePlan), plan
    return plan


def reason(**sections: Any) -> str:
    plan = planned(synthetic.model_from_merges([("a", "b")]) | sections)
    assert isinstance(plan, Unsupported)
    assert plan.problem is None
    return plan.reason


def model(**fields: Any) -> dict[str, Any]:
    return {**synthetic.model_from_merges([("a", "b")])["model"], **fields}


# ----------------------------------------------------------------------------------- real models


@pytest.mark.parametrize("name", NATIVE)
def test_native_models(model_path: Callable[[str], Path], name: str) -> None:
    spec = read_tokenizer_json(model_path(name).read_bytes(), source=name)
    plan = plan_native(spec)
    assert isinstance(plan, NativePlan), plan
    if name in {"clip", "gemma3", "llama2_kit", "mistral03", "phi3_mini"}:
        assert plan.text.folded == (name != "clip")
        assert plan.vocabulary.suffix == (b"</w>" if name == "clip" else b"")
        assert [split.pattern for split in plan.text.splits if name != "clip"] in ([], ["borders"])
        return
    assert plan.vocabulary is spec.model.vocabulary  # type: ignore[union-attr]
    nfc = name in {"gpt_neox", "modernbert", "olmo1", "qwen3"}
    forms = (NormalForm("NFC"),) if nfc else (NormalForm("NFKC"),) if name == "claude_old" else ()
    assert plan.text.normalizer == forms
    assert plan.ignore_merges == (name in {"glm4_5", "gpt_oss", "kimi_k2", "kimi_k3", "llama3"})
    assert (plan.text.span_normalizer, plan.text.prefix, plan.text.folded) == ((), "", False)


@pytest.mark.parametrize(("name", "expected"), FALLBACK.items())
def test_fallback_models(model_path: Callable[[str], Path], name: str, expected: str) -> None:
    plan = plan_native(read_tokenizer_json(model_path(name).read_bytes(), source=name))
    assert isinstance(plan, Unsupported)
    assert plan.reason == expected


@pytest.mark.sweep
@pytest.mark.parametrize("name", NATIVE)
def test_added_token_ids_of_real_models(
    model_path: Callable[[str], Path], oracle: Callable[[str], Any], name: str
) -> None:
    plan = plan_native(read_tokenizer_json(model_path(name).read_bytes()))
    assert isinstance(plan, NativePlan)
    expected = oracle(name).get_added_tokens_decoder()
    assert {token.id: token.content for token in plan.added_tokens} == {
        token_id: token.content for token_id, token in expected.items()
    }


# ------------------------------------------------------------------------------------- the model


def test_defaults() -> None:
    plan = native()
    assert (plan.vocabulary.n_entries, plan.vocabulary.n_merges) == (257, 1)
    assert plan.added_tokens == ()
    assert plan.post_processor == PostProcessor()
    assert (plan.ignore_merges, plan.token_forms) == (False, ())
    assert plan.text.normalizer == plan.text.span_normalizer == ()
    assert (plan.text.prefix, plan.text.byte_level, plan.text.folded) == ("", True, False)


@pytest.mark.parametrize(
    "fields",
    [
        {"dropout": 0.0},
        {"continuing_subword_prefix": "", "end_of_word_suffix": ""},
        {"byte_fallback": True},
        {"unk_token": "<unk>", "fuse_unk": True},
        INCOMPLETE,
    ],
)
def test_model_fields_that_do_not_matter(fields: dict[str, Any]) -> None:
    native(model=model(**fields))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"dropout": 0.5}, "dropout is not supported natively"),
        ({"dropout": 1}, "dropout is not supported natively"),
        (
            {"end_of_word_suffix": "</w>", "ignore_merges": True},
            "end_of_word_suffix with ignore_merges is not supported natively",
        ),
        (
            {**INCOMPLETE, "unk_token": "a"},
            "unk_token with an incomplete byte alphabet is not supported natively",
        ),
        (
            {**INCOMPLETE, "unk_token": "", "byte_fallback": True},
            "byte_fallback with an incomplete byte alphabet is not supported natively",
        ),
        (
            {"vocab": {"a": 0, "b": 2**29}, "merges": []},
            "token id 536870912 in a vocabulary of 2 is not supported natively",
        ),
        (
            {"vocab": {"a": 0, "b": 0}, "merges": []},
            "two vocabulary entries with one id are not supported natively",
        ),
    ],
)
def test_model_fields_that_matter(fields: dict[str, Any], expected: str) -> None:
    assert reason(model=model(**fields)) == expected


def test_merge_of_no_entry() -> None:
    """An error once the model is to run natively, and no concern of another one's."""
    wrong = model(merges=["a b", "a 한"])
    message = re.escape("needs the token '한', which is not in model.vocab")
    with pytest.raises(ModelFileError, match=message) as caught:
        planned(synthetic.model_from_merges([]) | {"model": wrong})
    assert caught.value.field == "model.merges[1]"
    assert reason(model=wrong, normalizer={"type": "Nmt"}) == (
        "normalizer Nmt is not supported natively"
    )


def test_other_models_keep_the_problem() -> None:
    content = {"model": {"vocab": {"a": 0}, "merges": [5]}}
    plan = planned(content)
    assert isinstance(plan, Unsupported)
    assert plan.reason == "model without a type that is no BPE is not supported natively"
    assert str(plan.problem) == ('<string>: model.merges[0]: must be "a b" or ["a", "b"], not 5')


# ---------------------------------------------------------------------------------- the pipeline


@pytest.mark.parametrize(
    ("normalizer", "expected"),
    [
        (None, ()),
        (in_sequence("normalizers"), ()),
        (NFC, (NormalForm("NFC"),)),
        (in_sequence("normalizers", in_sequence("normalizers", NFC)), (NormalForm("NFC"),)),
        (in_sequence("normalizers", PREPEND, NFC), (Prepend("▁"), NormalForm("NFC"))),
    ],
)
def test_normalizers(normalizer: Any, expected: Any) -> None:
    assert native(normalizer=normalizer).text.normalizer == expected


@pytest.mark.parametrize(
    ("normalizer", "expected"),
    [
        (
            in_sequence("normalizers", NFC, {"type": "Nmt"}),
            "normalizer Nmt is not supported natively",
        ),
        ({"normalizers": []}, "normalizer without a type is not supported natively"),
        ({**PREPEND, "prepend": ""}, "a Prepend of nothing is not supported natively"),
        (
            {"type": "Replace", "pattern": {"String": ""}, "content": "a"},
            "a Replace of empty matches is not supported natively",
        ),
        (
            {"type": "Replace", "pattern": {"Regex": "a*"}, "content": "a"},
            "a Replace of empty matches is not supported natively",
        ),
        (
            {"type": "Replace", "pattern": {"Regex": r"\z"}, "content": "a"},
            "a Replace of empty matches is not supported natively",
        ),
        (
            {"type": "Replace", "pattern": {"Regex": "$"}, "content": "a"},
            "a Replace of empty matches is not supported natively",
        ),
        (
            {"type": "Replace", "pattern": {"Regex": "(?=a)"}, "content": "a"},
            "a Replace of empty matches is not supported natively",
        ),
    ],
)
def test_unsupported_normalizers(normalizer: Any, expected: str) -> None:
    assert reason(normalizer=normalizer) == expected


@pytest.mark.parametrize(
    ("steps", "stages"),
    [
        ([BYTE_LEVEL], [False]),  # where no merge reaches across
        ([{**BYTE_LEVEL, "use_regex": True}], [False]),
        ([SPLIT, BYTE_LEVEL], [False]),
        ([{**SPLIT, "pattern": {"String": "a"}}, BYTE_LEVEL, SPLIT], [False, True]),
        (
            [{"type": "Punctuation"}, {**BYTE_LEVEL, "use_regex": True}, SPLIT],
            [False, False, True],
        ),
        (
            [
                {"type": "Digits", "individual_digits": True},
                BYTE_LEVEL,
                {"type": "Digits", "individual_digits": False},
            ],
            [False, True],
        ),
    ],
)
def test_pre_tokenizers(steps: list[Any], stages: list[bool]) -> None:
    plan = native(pre_tokenizer=in_sequence("pretokenizers", *steps))
    assert [split.byte_level for split in plan.text.splits] == stages


def test_split_behaviors() -> None:
    split = {**SPLIT, "behavior": "MergedWithNext", "invert": True}
    punctuation = {"type": "Punctuation", "behavior": "Removed"}
    digits = {"type": "Digits", "individual_digits": False}
    one_by_one = {"type": "Digits", "individual_digits": True}
    steps = in_sequence("pretokenizers", split, punctuation, digits, one_by_one, BYTE_LEVEL)
    assert [
        (stage.behavior, stage.invert) for stage in native(pre_tokenizer=steps).text.splits
    ] == [
        ("MergedWithNext", True),
        ("Removed", False),
        ("Contiguous", False),
        ("Isolated", False),
    ]


def test_prefix_space() -> None:
    prefixing = {**BYTE_LEVEL, "add_prefix_space": True}
    assert native(pre_tokenizer=in_sequence("pretokenizers", prefixing, SPLIT)).text.prefix == " "
    assert reason(pre_tokenizer=in_sequence("pretokenizers", SPLIT, prefixing)) == (
        "add_prefix_space after another pre-tokenizer is not supported natively"
    )


@pytest.mark.parametrize(
    ("pre_tokenizer", "expected"),
    [
        (
            in_sequence("pretokenizers", BYTE_LEVEL, BYTE_LEVEL),
            "more than one ByteLevel pre-tokenizer is not supported natively",
        ),
        (
            in_sequence("pretokenizers", {"type": "UnicodeScripts"}, BYTE_LEVEL),
            "pre-tokenizer UnicodeScripts is not supported natively",
        ),
        (
            in_sequence("pretokenizers", BYTE_LEVEL, {"type": "Metaspace", "replacement": "▁"}),
            "Metaspace after another pre-tokenizer is not supported natively",
        ),
    ],
)
def test_unsupported_pre_tokenizers(pre_tokenizer: Any, expected: str) -> None:
    assert reason(pre_tokenizer=pre_tokenizer) == expected


def test_unsupported_pattern() -> None:
    split = {**SPLIT, "pattern": {"Regex": "(a)\\1"}}
    found = reason(pre_tokenizer=in_sequence("pretokenizers", split, BYTE_LEVEL))
    assert "split pattern" in found
    assert "position 3" in found


TRIMMING = PostProcessor(trim_offsets=True, add_prefix_space=True)


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (None, PostProcessor()),
        (in_sequence("processors"), PostProcessor()),
        ({**BYTE_LEVEL, "trim_offsets": False}, PostProcessor()),
        ({**BYTE_LEVEL, "add_prefix_space": True}, TRIMMING),
        (TEMPLATE, PostProcessor((7, 8, 9), (9,))),
        (BERT, PostProcessor((0,), (2,))),
        (ROBERTA, PostProcessor((0,), (2,), True, True)),
        (
            in_sequence("processors", BYTE_LEVEL, TEMPLATE),
            PostProcessor((7, 8, 9), (9,), True, False),
        ),
    ],
)
def test_post_processors(processor: Any, expected: PostProcessor) -> None:
    assert native(post_processor=processor).post_processor == expected


@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        (
            in_sequence("processors", TEMPLATE, BYTE_LEVEL),
            "trimming offsets after another post-processor is not supported natively",
        ),
        (
            in_sequence("processors", BYTE_LEVEL, ROBERTA),
            "trimming offsets after another post-processor is not supported natively",
        ),
        (
            in_sequence("processors", BERT, TEMPLATE),
            "two post-processors that add tokens are not supported natively",
        ),
        (
            {**TEMPLATE, "single": [START]},
            "a template that does not hold the text once is not supported natively",
        ),
        (
            {**TEMPLATE, "single": [TEXT, TEXT]},
            "a template that does not hold the text once is not supported natively",
        ),
        (
            {**TEMPLATE, "single": [{"Sequence": {"id": "B", "type_id": 0}}]},
            "a template that does not hold the text once is not supported natively",
        ),
        (
            {**TEMPLATE, "special_tokens": {}},
            "the template does not define its special token '<s>'",
        ),
    ],
)
def test_unsupported_post_processors(processor: Any, expected: str) -> None:
    assert reason(post_processor=processor) == expected


def test_post_processor_that_fits_no_form() -> None:
    plan = planned(synthetic.model_from_merges([]) | {"post_processor": {"type": "Sequence"}})
    assert isinstance(plan, Unsupported)
    assert plan.reason == "post-processor Sequence is not supported natively"
    assert str(plan.problem) == "<string>: post_processor: 'processors' is missing"


@pytest.mark.parametrize(
    ("decoder", "expected"),
    [
        ({"type": "CTC"}, "decoder CTC is not supported natively"),
        (
            in_sequence("decoders", BYTE_LEVEL, BYTE_LEVEL),
            "decoder ByteLevel after ByteLevel or Fuse is not supported natively",
        ),
        (
            in_sequence("decoders", FUSE, {"type": "ByteFallback"}),
            "decoder ByteFallback after ByteFallback, ByteLevel or Fuse is not supported natively",
        ),
        ({**STRIP, "stop": 1}, "decoder Strip with a stop other than 0 is not supported natively"),
        (replacing({"Regex": "a"}), "decoder Replace with a regex is not supported natively"),
        (replacing({"String": ""}), "decoder Replace of an empty text is not supported natively"),
        (
            in_sequence("decoders", *[replacing({"String": "a"}, "aaa")] * 2),
            "decoder whose steps make a text 9 times as long is not supported natively",
        ),
        (
            {"type": "BPEDecoder", "suffix": ""},
            "decoder BPEDecoder of an empty text is not supported natively",
        ),
    ],
)
def test_unsupported_decoders(decoder: Any, expected: str) -> None:
    assert reason(decoder=decoder) == expected


@given(st.lists(st.integers(0, 260)), synthetic.texts())
def test_sequences_of_none_or_one_are_transparent(ids: list[int], text: str) -> None:
    wrapped = {
        "decoder": in_sequence("decoders", BYTE_LEVEL),
        "normalizer": in_sequence("normalizers"),
        "post_processor": in_sequence("processors"),
    }
    native(**wrapped)
    plain = synthetic.model_from_merges([("a", "b")]) | {"decoder": BYTE_LEVEL}
    oracle, other = synthetic.load(plain), synthetic.load(plain | wrapped)
    assert oracle.decode(ids) == other.decode(ids)
    assert oracle.encode(text).ids == other.encode(text).ids
    assert oracle.encode(text).offsets == other.encode(text).offsets


def test_truncation_and_padding() -> None:
    truncation = {"max_length": 3, "strategy": "LongestFirst", "stride": 0}
    plan = native(truncation=truncation)
    assert (plan.truncation, plan.padding) == (Truncation(3), None)
    assert reason(truncation=list(truncation.values())) == (
        "truncation as a list is not supported natively"
    )


# ---------------------------------------------------------------------------------- added tokens


def with_tokens(tokens: Iterable[AddedToken], vocab: dict[str, int], **sections: Any) -> Any:
    names = ("content", "id", "single_word", "lstrip", "rstrip", "normalized", "special")
    content = synthetic.model_from_merges([]) | sections
    content["model"]["vocab"] = vocab
    content["added_tokens"] = [{name: getattr(token, name) for name in names} for token in tokens]
    return content


def test_ids_of_the_file_are_ignored() -> None:
    tokens = [
        AddedToken("<x>", 77, lstrip=True),
        AddedToken("b", 50, normalized=True),
        AddedToken("", 5),
        AddedToken("<y>", 1, special=True),
    ]
    plan = planned(with_tokens(tokens, {"a": 0, "b": 9, "c": 5}))
    assert isinstance(plan, NativePlan)
    assert plan.added_tokens == (
        AddedToken("<x>", 3, lstrip=True),
        AddedToken("b", 9, normalized=True),
        AddedToken("<y>", 4, special=True),
    )


@pytest.mark.parametrize(
    ("tokens", "vocab", "expected"),
    [
        (
            [AddedToken("<x>", 0, special=True), AddedToken("<x>", 0)],
            {"a": 0},
            "added token '<x>' is listed again with fewer flags",
        ),
        (
            [AddedToken("<x>", 0, normalized=True), AddedToken("<x>", 0)],
            {"a": 0},
            "added token '<x>' is listed again with fewer flags",
        ),
        (
            [AddedToken("b", 0), AddedToken("<x>", 0)],
            {"a": 0, "b": 2},
            "two added tokens with one id are not supported natively",
        ),
    ],
)
def test_unsupported_added_tokens(
    tokens: list[AddedToken], vocab: dict[str, int], expected: str
) -> None:
    assert planned(with_tokens(tokens, vocab)) == Unsupported(expected)


def test_of_equal_tokens_the_last_counts() -> None:
    tokens = [
        AddedToken("<x>", 0, lstrip=True),
        AddedToken("<y>", 0),
        AddedToken("<x>", 0, normalized=True, special=True),
        AddedToken("<z>", 0),
    ]
    plan = planned(with_tokens(tokens, {"a": 0, "b": 3}))
    assert isinstance(plan, NativePlan)
    assert plan.added_tokens == (
        AddedToken("<x>", 2, normalized=True, special=True),
        AddedToken("<y>", 3),  # which the model's "b" has, too
        AddedToken("<z>", 4),
    )


@pytest.mark.parametrize(
    ("content", "nfc", "normalized", "form"),
    [
        ("e\u0301", True, True, "é"),
        ("e\u0301", False, True, None),
        ("e\u0301", True, False, None),
        ("é한语", True, True, None),
    ],
)
def test_normalized_tokens_under_nfc(
    content: str, nfc: bool, normalized: bool, form: str | None
) -> None:
    token = AddedToken(content, 0, normalized=normalized)
    plan = planned(with_tokens([token], {"a": 0}, normalizer=NFC if nfc else None))
    assert isinstance(plan, NativePlan)
    assert plan.token_forms == (() if form is None else ((1, form),))


def test_normalized_forms_that_cannot_be_told_apart() -> None:
    tokens = [AddedToken(text, 0, normalized=True) for text in ("e\u0301", "é")]
    plan = planned(with_tokens(tokens, {"a": 0}, normalizer=NFC))
    assert plan == Unsupported("the normalizer makes two added tokens 'é'")
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    plan = planned(with_tokens([tokens[0]._replace(content=" ")], {"a": 0}, normalizer=strip))
    assert plan == Unsupported("the normalizer leaves nothing of the added token ' '")


@given(
    st.lists(st.sampled_from(["a", "b", "c", "<x>", "<y>", "<z>", ""]), unique=True),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12)),
)
def test_added_token_ids_are_the_oracles(tokens: list[str], vocab: dict[str, int]) -> None:
    content = with_tokens([AddedToken(token, 0) for token in tokens], vocab)
    oracle = synthetic.load(content)
    plan = planned(content)
    if isinstance(plan, NativePlan):
        expected = oracle.get_added_tokens_decoder()
        assert {token.id: token.content for token in plan.added_tokens} == {
            token_id: token.content for token_id, token in expected.items()
        }
