"""The fast reader of model files against the strict one, which reads str and what is declined."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from real_models import FALLBACK, NATIVE

from tokcy._modeljson import read_bpe_tables
from tokcy.errors import ModelFileError
from tokcy.spec import read_tokenizer_json

#: Other kinds of models, and two that are refused.
NOT_TAKEN = {"added_tokens_toy", "bert_minilm", "llama2", "t5_small"}
TABLES = '{"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}'


def result_of(data: str | bytes) -> tuple[str, Any]:
    """What the reader makes of a file: as text, as errors have no equality, and its vocabulary."""
    try:
        spec = read_tokenizer_json(data, source="m.json")
    except ModelFileError as error:
        return str(error), None
    return repr(spec), getattr(spec.model, "vocabulary", None)


def check(text: str) -> bool:
    """Whether the fast reader took the text; both ways must give the same in any case."""
    data = text.encode()
    assert result_of(data) == result_of(text)
    return read_bpe_tables(data) is not None


# ------------------------------------------------------------------- taken, and not


@pytest.mark.parametrize(
    "text",
    [
        TABLES,
        TABLES.replace(": ", ":").replace(", ", ","),
        json.dumps(json.loads(TABLES), indent=12).replace("\n", "\r\n\t"),
        f" \t\r\n{TABLES} \n",
        '{"model": {"merges": [["a", "b"]], "x": [{"]}": "\\\\"}], "vocab": {"ab":2,"a":0,"b":1}}}',
        '{"model": {"vocab": {}, "merges": []}, "version": "1.0"}',
        '{"model": {"vocab": {"": 0, "\\"\\\\\\/\\b\\f\\n\\r\\t": 1, "\\u0041\\u00e9\\u4e2D": 2},'
        ' "merges": []}}',
        '{"model": {"vocab": {"\\ud83d\\ude00": 4294967295, "ｱ\\u007f🙂": 0}, "merges": []}}',
        '{"model": {"vocab": {"Ġ": 0, "\\"": 1, "Ġ\\"": 2, "ａ": 3, "Ġａ": 4, "Ġａ\\"": 5},'
        ' "merges": ["Ġ \\"", "Ġ ａ", "Ġａ \\u0022"]}}',
        '{"model": {"vocab": {"Ġ": 0, "\\"": 1, "Ġ\\"": 2}, "merges": [["\\u0120", "\\""]]}}',
        '{"model": {"vocab": {"#version": 0, "a": 1, "#versiona": 2},'
        ' "merges": [["#version", "a"]]}}',
    ],
)
def test_taken(text: str) -> None:
    assert check(text)
    assert result_of(text)[0].startswith("TokenizerSpec(")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"a": 0', '"a": 00'),
        ('"a": 0', '"a": -0'),
        ('"a": 0', '"a": 0.0'),
        ('"a": 0', '"a": 1e0'),
        ('"a": 0', '"a": +1'),
        ('"a": 0', '"a": 4294967296'),
        ('"a": 0', '"a": 18446744073709551616'),
        ('"a": 0', '"a": true'),
        ('"a": 0', '"a": "0"'),
        ('"a": 0', '"a": 0,'),
        ('"a": 0', '"a" 0'),
        ('"a": 0', '"a": 0, "\\u0061": 7'),
        ('"a": 0', '"a": 0, "\\ud800": 7'),
        ('"a": 0', '"a": 0, "\\ud800\\ud800": 7'),
        ('"a": 0', '"a": 0, "\\ude00": 7'),
        ('"a": 0', '"a": 0, "\\ud800x": 7'),
        ('"a": 0', '"a": 0, "\\x": 7'),
        ('"a": 0', '"a": 0, "\\u00g0": 7'),
        ('"a": 0', '"a": 0, "\\u001": 7'),
        ('"a": 0', '"a": 0, "\x1f": 7'),
        ('"a b"', '"a b", "a b c"'),
        ('"a b"', '"a b", "ab"'),
        ('"a b"', '"a b", "a  b"'),
        ('"a b"', '"a b", "a\\u0020 b"'),
        ('"a b"', '"a b", "#version: 0.2"'),
        ('"a b"', '"a b", "#versionｱ b"'),
        ('"a b"', '"a b", ["a", "b"]'),
        ('"a b"', '["a", "b"], "a b"'),
        ('"a b"', '["a", "b", "ab"]'),
        ('"a b"', '["a"]'),
        ('"a b"', '["a", 0]'),
        ('"a b"', '"a b",'),
        ('"a b"', '"a b", "b a"'),
        ('"a b"', '"a b", "x a"'),
        ('"a b"', '"a b", ["a", "b"'),
        ('"vocab"', '"voc\\u0061b"'),
        ('"vocab"', '"merges": [], "vocab"'),
        ('"vocab"', '"vocab": {}, "vocab"'),
        ('"vocab"', '"x": nope, "vocab"'),
        ('"vocab"', '"x": [}, "vocab"'),
        ('"vocab"', '"x":, "vocab"'),
        ('{"model"', '{"model": {}, "model"'),
        ('{"model"', '{"model": 5, "model"'),
        ('{"model"', '{"nodel"'),
        ('{"model"', '\ufeff{"model"'),
        ('{"model"', '[{"model"'),
        ("}}", "}"),
        ("}}", "}}}"),
        ("}}", "}} x"),
        ("}}", "},}"),
    ],
)
def test_not_taken(old: str, new: str) -> None:
    """Or taken, and the rest refused."""
    assert old in TABLES
    changed = TABLES.replace(old, new)
    if check(changed):
        assert result_of(changed)[0].startswith("m.json: ")


def test_every_beginning_of_a_file() -> None:
    text = json.dumps(synthetic.model_from_merges([("a", "b"), ("ab", "Ġ")]))
    assert check(text)
    for end in [*range(0, len(text), 7), *range(len(text) - 60, len(text))]:
        assert not check(text[:end])


def test_broken_utf8() -> None:
    for wrong in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe4\xb8", b"\xc4"):
        for place in (b'"ab"', b'"a b"', b'"vocab"'):
            data = TABLES.encode().replace(place, place[:-1] + wrong + b'"')
            assert result_of(data)[0].startswith("m.json: not UTF-8: ")


# ------------------------------------------------------------------------ at random

TOKENS = st.text(st.sampled_from('ab"\\/ Ġé\u0143\u0144｜🙂\x7f\n\u2028'), max_size=4)


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    tokens = draw(st.lists(TOKENS, unique=True, max_size=8))
    pairs = (
        draw(st.lists(st.tuples(st.sampled_from(tokens), st.sampled_from(tokens))))
        if tokens
        else []
    )
    if draw(st.integers(0, 9)):
        tokens += [
            token for token in {left + right for left, right in pairs} if token not in tokens
        ]
    as_lines = draw(st.booleans())
    merges = [" ".join(pair) if as_lines else list(pair) for pair in pairs]
    ids = st.integers(0, 40) if draw(st.integers(0, 9)) else st.integers(-1, 2**33)
    model = {"vocab": {token: draw(ids) for token in tokens}, "merges": merges}
    return {"model": {**draw(st.dictionaries(TOKENS, st.none(), max_size=2)), **model}}


@given(files(), st.booleans(), st.sampled_from([None, 1, 9]), st.booleans())
def test_random_files(content: Any, ascii_only: bool, indent: int | None, cased: bool) -> None:
    text = json.dumps(content, ensure_ascii=ascii_only, indent=indent)
    if cased:
        text = text.replace("\\u00e9", "\\u00E9").replace("/", "\\/")
    check(text)


@given(st.data())
def test_mutated_files(data: st.DataObject) -> None:
    """A few characters of a sound file taken out, put in or replaced."""
    text = json.dumps(data.draw(files()), ensure_ascii=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = begin + data.draw(st.integers(0, 2))
        put_in = data.draw(
            st.sampled_from(["", '"', "\\", "{", "}", "[", "]", ",", ":", " ", "0", "u"])
        )
        text = text[:begin] + put_in + text[end:]
    check(text)


# ------------------------------------------------------------------------ real files


@pytest.mark.parametrize("name", [*NATIVE, *FALLBACK, "llama2", "added_tokens_toy"])
def test_real_files(model_path: Callable[[str], Path], name: str) -> None:
    assert check(model_path(name).read_text("utf-8")) == (name not in NOT_TAKEN)
