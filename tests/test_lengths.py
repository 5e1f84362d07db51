"""Truncation and padding that a file sets: as Hugging Face does it (rules O5, O6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from tokcy import TokcyError, Tokenizer
from tokcy.spec import Padding, Truncation, read_tokenizer_json
from tokcy.spec.steps import Other

SIZES = st.integers(0, 6)
DIRECTIONS = st.sampled_from(["Left", "Right"])
TRUNCATIONS = st.fixed_dictionaries(
    {
        "max_length": SIZES,
        "stride": st.integers(0, 2),
        "strategy": st.sampled_from(["LongestFirst", "OnlyFirst", "OnlySecond"]),
        "direction": DIRECTIONS,
    }
)
PADDINGS = st.fixed_dictionaries(
    {
        "strategy": st.just("BatchLongest") | st.builds(lambda n: {"Fixed": n}, SIZES),
        "direction": DIRECTIONS,
        "pad_to_multiple_of": st.none() | st.integers(0, 4),
        "pad_id": st.sampled_from([0, 7, 2**32 - 1]),
        "pad_type_id": st.just(0),
        "pad_token": st.just(""),
    }
)
TEXTS = st.lists(st.text(alphabet="ab <é", max_size=9), max_size=5)
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
START, END = ({"SpecialToken": {"id": name, "type_id": 0}} for name in ("<s>", "</s>"))
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [START, TEXT, END],
    "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [7, 8], "tokens": ["<s>", "<t>"]},
        "</s>": {"id": "</s>", "ids": [9], "tokens": ["</s>"]},
    },
}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
TRUNCATION = {"max_length": 4, "stride": 1, "strategy": "LongestFirst", "direction": "Left"}
PADDING = {
    "strategy": {"Fixed": 5},
    "direction": "Left",
    "pad_to_multiple_of": 3,
    "pad_id": 9,
    "pad_type_id": 0,
    "pad_token": "x",
}


def model(**sections: Any) -> dict[str, Any]:
    tokens = [synthetic.added_token("<", rstrip=True)]
    return synthetic.model_from_merges([("a", "b"), ("Ġ", "a")], added_tokens=tokens) | sections


@given(
    truncation=st.none() | TRUNCATIONS,
    padding=st.none() | PADDINGS,
    post=st.sampled_from(
        [None, TEMPLATE, {"type": "Sequence", "processors": [BYTE_LEVEL, TEMPLATE]}]
    ),
    texts=TEXTS,
    special=st.booleans(),
)
def test_as_hugging_face(
    truncation: Any, padding: Any, post: Any, texts: list[str], special: bool
) -> None:
    content = model(truncation=truncation, padding=padding, post_processor=post)
    oracle, tok = synthetic.load(content), Tokenizer.from_json(json.dumps(content))
    assert tok.backend == "tokcy"
    failed = False
    for text in texts:
        try:
            expected = oracle.encode(text, add_special_tokens=special)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            for call in (tok.encode, tok.count, tok.encode_with_offsets):
                with pytest.raises(TokcyError, match=r"^truncation: "):
                    call(text, add_special_tokens=special)
            failed = True
            continue
        assert tok.encode(text, add_special_tokens=special).tolist() == expected.ids
        assert tok.count(text, add_special_tokens=special) == len(expected.ids)
        ids, offsets = tok.encode_with_offsets(text, add_special_tokens=special)
        assert ids.tolist() == expected.ids
        assert list(map(tuple, offsets.tolist())) == expected.offsets
    if failed:
        with pytest.raises(TokcyError, match=r"^truncation: "):
            tok.encode_batch(texts, add_special_tokens=special)
        return
    batch = tok.encode_batch(texts, add_special_tokens=special)
    rows = [encoding.ids for encoding in oracle.encode_batch(texts, add_special_tokens=special)]
    assert batch.to_list() == rows
    assert tok.count_batch(texts, add_special_tokens=special).tolist() == list(map(len, rows))


def spec_of(**sections: Any) -> tuple[Any, Any]:
    spec = read_tokenizer_json(json.dumps(model(**sections)))
    return spec.truncation, spec.padding


def test_sections() -> None:
    assert spec_of() == (None, None)
    assert spec_of(truncation=TRUNCATION, padding=PADDING) == (
        Truncation(4, "LongestFirst", 1, "Left"),
        Padding(5, 3, 9, "Left"),
    )
    least = {key: value for key, value in TRUNCATION.items() if key != "direction"}
    longest = {**PADDING, "strategy": "BatchLongest", "pad_to_multiple_of": None, "unknown": 1}
    assert spec_of(truncation=least, padding=longest) == (
        Truncation(4, "LongestFirst", 1, "Right"),
        Padding(None, 1, 9, "Left"),
    )


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("truncation", ["Right", 3, "LongestFirst", 0]),
        ("truncation", {**TRUNCATION, "direction": {"Left": None}}),
        ("truncation", {**TRUNCATION, "strategy": {"OnlyFirst": None}}),
        ("padding", [{"Fixed": 3}, "Left", None, 1, 0, "x"]),
        ("padding", {**PADDING, "direction": {"Left": None}}),
    ],
)
def test_odd_spellings_are_left_to_hugging_face(section: str, value: Any) -> None:
    content = model(**{section: value})
    tok = Tokenizer.from_json(json.dumps(content))
    assert tok.backend == "huggingface"
    assert tok.encode("abab").tolist() == synthetic.load(content).encode("abab").ids
    assert isinstance(spec_of(**{section: value})[section == "padding"], Other)


SOUND = {"truncation": TRUNCATION, "padding": PADDING}


@pytest.mark.parametrize(
    ("section", "field", "value", "reason"),
    [
        ("truncation", "max_length", -1, "must be an integer from 0 to 18446744073709551615"),
        ("truncation", "max_length", 2**64, "must be an integer from 0 to 18446744073709551615"),
        ("truncation", "stride", 1.0, "must be an integer"),
        ("truncation", "stride", None, "must be an integer"),
        ("truncation", "strategy", "longest", "must be one of LongestFirst, OnlyFirst, OnlySecond"),
        ("truncation", "direction", None, "must be one of Left, Right, not null"),
        ("padding", "strategy", "Fixed", '"BatchLongest" or {"Fixed": …}, not "Fixed"'),
        ("padding", "strategy", {"Fixed": 5, "x": 1}, '"BatchLongest" or {"Fixed": …}, not {"Fix'),
        ("padding", "strategy", {"Fixed": -5}, "must be an integer"),
        ("padding", "direction", "left", "must be one of Left, Right"),
        ("padding", "pad_to_multiple_of", 2.0, "must be an integer"),
        ("padding", "pad_id", 2**32, "must be an integer from 0 to 4294967295"),
        ("padding", "pad_type_id", "0", "must be an integer"),
        ("padding", "pad_token", None, "must be a string"),
    ],
)
def test_what_hugging_face_refuses(section: str, field: str, value: Any, reason: str) -> None:
    content = model(**{section: {**SOUND[section], field: value}})
    with pytest.raises(Exception, match="line 1 column"):
        synthetic.load(content)
    with pytest.raises(TokcyError) as caught:
        read_tokenizer_json(json.dumps(content))
    assert reason in str(caught.value)
    assert f"{section}.{field}" in str(caught.value)
