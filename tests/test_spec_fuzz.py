"""The reader against the oracle on broken files: a sound file with one place changed.

Whatever the reader refuses Hugging Face must refuse, and whatever is planned natively Hugging
Face must load.  (What is neither goes to the Hugging Face object itself.)
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import synthetic
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st

from tokcy.errors import ModelFileError
from tokcy.spec import NativePlan, plan_native, read_tokenizer_json

Path = tuple[Any, ...]


def sound_file() -> dict[str, Any]:
    """A native file in which every known component occurs."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    model = synthetic.model_from_merges([("a", "b")], added_tokens=[synthetic.added_token("<x>")])
    model["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    model["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False},
            {"type": "Split", "pattern": {"String": "b"}, "behavior": "Removed", "invert": False},
            {"type": "Digits", "individual_digits": True},
            {"type": "Punctuation", "behavior": "Contiguous"},
            {**byte_level, "use_regex": True},
        ],
    }
    text = {"Sequence": {"id": "A", "type_id": 0}}
    start = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    model["post_processor"] = {
        "type": "Sequence",
        "processors": [
            byte_level,
            {
                "type": "TemplateProcessing",
                "single": [start, text],
                "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [7], "tokens": ["<s>"]}},
            },
        ],
    }
    return model


def roberta_file() -> dict[str, Any]:
    model = sound_file()
    model["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    model["model"] = {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}
    return model


FILES = [sound_file(), roberta_file()]
VALUES: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-1, 3)
    | st.sampled_from([2**32 - 1, 2**32, 0.0, 0.5, 1.5, "", "a", "a b", "1.0", "BPE", "Sequence"])
    | st.sampled_from(["ByteLevel", "NFC", "Digits", "Isolated", "BertProcessing", "é", "\ud800"])
    | st.sampled_from([[], {}, ["a"], ["a", 0], ["a", "b"], {"type": "NFC"}, {"a": 0}])
).map(copy.deepcopy)


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in a JSON value; of the vocabulary, the first entries only."""
    yield path
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys[:9]:
        if isinstance(value[key], dict | list):
            yield from places(value[key], (*path, key))
        else:
            yield (*path, key)


def members(value: dict[str, Any] | list[Any]) -> list[Path]:
    return [path for path in places(value) if path]


@st.composite
def changed_files(draw: st.DrawFn) -> dict[str, Any]:
    """A file in which one or two members are replaced, taken out, or put in."""
    content: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 2))):
        *parents, key = draw(st.sampled_from(members(content)))
        owner: Any = content
        for parent in parents:
            owner = owner[parent]
        change = draw(st.sampled_from(["replace", "delete", "insert"]))
        if change == "replace":
            owner[key] = draw(VALUES)
        elif change == "delete":
            del owner[key]
        elif isinstance(owner, dict):
            owner[draw(st.sampled_from(["type", "x", "use_regex", "behavior"]))] = draw(VALUES)
        else:
            owner.insert(key, draw(VALUES))
        if not content:
            break
    return content


def oracle_loads(text: str) -> bool:
    try:
        tokenizers.Tokenizer.from_str(text)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return False
    return True


def test_sound_files_are_native() -> None:
    for content in FILES:
        assert oracle_loads(json.dumps(content))
        assert isinstance(plan_native(read_tokenizer_json(json.dumps(content))), NativePlan)


@given(changed_files())
@example({**sound_file(), "normalizer": ["NFC"]})
@example({**sound_file(), "post_processor": {"sep": ["a", 0], "cls": ["a", 0], "type": 5}})
def test_changed_files(content: dict[str, Any]) -> None:
    text = json.dumps(content)
    try:
        plan = plan_native(read_tokenizer_json(text))
    except ModelFileError:
        assert not oracle_loads(text)
        return
    if isinstance(plan, NativePlan):
        assert oracle_loads(text)


@given(st.lists(st.sampled_from(["{", "}", "[", "]", '"', ":", ",", "1", "-0.5", "a", "\\u00e9"])))
def test_broken_json(tokens: list[str]) -> None:
    text = "".join(['{"model":{"vocab":{"a":0},"merges":[],"x":', *tokens, "}}"])
    try:
        read_tokenizer_json(text)
    except ModelFileError:
        assert not oracle_loads(text)
    else:
        assert oracle_loads(text)
