"""Ids and texts as JSON, against Python's own parser and writer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcy._json import lift, write_ids, write_text
from tokcy.server.parsing import MAX_DEPTH, BadJsonError, parse_json

IDS = st.lists(st.integers(0, 2**32 - 1), max_size=40)
#: Texts with many characters that JSON writes in more than one way.
TEXTS = st.text(
    st.sampled_from('ab"\\/\b\f\n\r\t\x00\x1f\x7f é€分🙂\ufeff\ue000')
    | st.characters(exclude_categories=["Cs"])
)
VALUES = st.recursive(
    TEXTS
    | IDS
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def plain(value: Any) -> Any:
    """The value with lists in place of arrays."""
    if isinstance(value, np.ndarray):
        assert value.dtype == np.uint32
        return value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


@given(IDS)
def test_ids_are_written_as_json_has_them(ids: list[int]) -> None:
    assert write_ids(np.array(ids, dtype=np.uint32)).decode() == json.dumps(
        ids, separators=(",", ":")
    )


def test_ids_of_every_length_are_written() -> None:
    ids = [10**k + d for k in range(10) for d in (-1, 0, 1)] + [2**32 - 1]
    assert json.loads(write_ids(np.array(ids, dtype=np.uint32))) == ids


@given(TEXTS)
def test_texts_are_written_as_json_has_them(text: str) -> None:
    written = write_text(text)
    assert json.loads(written) == text
    assert min(written) >= 0x20


def test_what_utf8_cannot_express_is_not_written() -> None:
    with pytest.raises(UnicodeEncodeError):
        write_text("a\ud800")


@given(VALUES, st.booleans(), st.sampled_from([None, 1]), st.sampled_from([0, 2, 5, 30]))
def test_sound_json_is_read_as_python_reads_it(
    value: Any, ascii_only: bool, indent: int | None, least: int
) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    parsed = parse_json(body, least)
    assert plain(parsed) == value
    assert repr(plain(parsed)) == repr(json.loads(body))


@given(VALUES, st.data())
def test_broken_json_is_refused_where_python_refuses_it(value: Any, data: st.DataObject) -> None:
    body = bytearray(json.dumps(value, ensure_ascii=False).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body)))
        with_ = data.draw(
            st.sampled_from(
                [
                    b"",
                    b'"',
                    b"\\",
                    b"[",
                    b"]",
                    b",",
                    b"0",
                    b"1",
                    b" ",
                    b"\x00",
                    b"\xff",
                    b"N",
                    b"NaN",
                    b"\\u",
                    b"\\ud83d",
                ]
            )
        )
        body[at : at + data.draw(st.integers(0, 2))] = with_

    def refuse(word: str) -> None:
        raise ValueError(word)

    expected: Any
    try:
        expected = json.loads(bytes(body).decode(), parse_constant=refuse)
        json.dumps(expected, ensure_ascii=False).encode()  # no half of a surrogate pair
    except ValueError:
        expected = BadJsonError
    try:
        parsed = plain(parse_json(bytes(body), 0))
    except BadJsonError:
        parsed = BadJsonError
    assert repr(parsed) == repr(expected)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "invalid JSON: Expecting value at byte 0"),
        (b'{"prompt": "\xff"}', "invalid UTF-8 at byte 12"),
        ('{"prompt": "é" x}'.encode(), "at byte 16"),
        (b"\xef\xbb\xbf{}", "invalid JSON"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"\\udc00": 1}', "surrogate"),
        (b'{"a": [{"b": "\\ud83dx"}]}', "surrogate"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "-Infinity"),
        (b"[1, 02]", "invalid JSON"),
        (b"[1,]", "invalid JSON"),
        (b"1" * 5000, "invalid JSON"),
        (b"[" * (MAX_DEPTH + 1), "nested"),
        (b"[" * 1_000_000, "nested"),
        (b'{"a":' * 1_000_000, "nested"),
        (b"[" * 1_000_000 + b"]" * 1_000_000, "nested"),
    ],
)
@pytest.mark.parametrize("least", [0, 1 << 12])
def test_errors_say_what_and_where(body: bytes, message: str, least: int) -> None:
    with pytest.raises(BadJsonError, match=message):
        parse_json(body, least)


def test_as_deep_as_allowed() -> None:
    body = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    parsed = parse_json(body)
    for _ in range(MAX_DEPTH - 1):
        (parsed,) = parsed
    assert parsed == []


def test_only_what_is_long_is_lifted_and_no_key() -> None:
    long = "x" * 50
    body = json.dumps({long: long, "a": [1] * 30, "b": [1, 2], "c": "y", "d": [2**32] * 9}).encode()
    rest, lifted, depth = lift(body, 40)
    assert rest == (
        b'{"'
        + long.encode()
        + b'": NaN, "a": NaN, "b": [1, 2], "c": "y", "d": '
        + json.dumps([2**32] * 9).encode()
        + b"}"
    )
    assert lifted[0] == long
    assert isinstance(lifted[1], np.ndarray)
    assert lifted[1].tolist() == [1] * 30
    assert depth >= 1
