"""Typed segments through the engine: alone each, or as one text with trusted stretches."""

from __future__ import annotations

import json

import pytest
import synthetic
from hypothesis import example, given
from hypothesis import strategies as st

from tokcy._bpe import Bpe
from tokcy._engine import Engine
from tokcy._pretok import PreTokenizer
from tokcy.native import preparer_of
from tokcy.spec import NativePlan, plan_native, read_tokenizer_json

ADDED = [
    synthetic.added_token("<s>"),
    synthetic.added_token("<|x|>", rstrip=True),
    synthetic.added_token("<y>", lstrip=True, normalized=True),
    synthetic.added_token("end", single_word=True),
]
TEXTS = ["", "<s>", "<|x|>", "<y>", "<s", ">", "<|", "x|>", "  ", "\n", "end", "the", "e\u0301"]
Segments = list[tuple[str, bool]]


def engine(**sizes: int) -> Engine:
    model = synthetic.trained_model()
    first = len(model["model"]["vocab"])
    model["added_tokens"] = [{**token, "id": first + i} for i, token in enumerate(ADDED)]
    model["normalizer"] = {"type": "NFC"}
    plan = plan_native(read_tokenizer_json(json.dumps(model), source="test"))
    assert isinstance(plan, NativePlan)
    bpe = Bpe(plan.vocabulary, plan.ignore_merges)
    return Engine(preparer_of(plan), PreTokenizer(plan.text.splits), bpe, [1, 2], [3], **sizes)


ENGINES = [engine(), *(engine(unit_bytes=n, bytes_per_thread=1) for n in (1, 7, 64))]
texts = st.lists(st.sampled_from(TEXTS), max_size=4).map("".join)
segment_lists = st.lists(st.tuples(texts, st.booleans()), max_size=10)


@given(segments=segment_lists, special=st.booleans(), threads=st.sampled_from([1, 2, 8]))
def test_each_by_itself(segments: Segments, special: bool, threads: int) -> None:
    ids = [i for text, flag in segments for i in ENGINES[0].encode(text, False, flag).tolist()]
    expected = [1, 2, *ids, 3] if special else ids
    for each in ENGINES:
        assert each.encode_segments(segments, special, False, False, threads).tolist() == expected


@given(segments=segment_lists, added=st.booleans(), threads=st.sampled_from([1, 2, 8]))
def test_joined_of_one_kind_is_plain(segments: Segments, added: bool, threads: int) -> None:
    same = [(text, added) for text, _ in segments]
    expected = ENGINES[0].encode("".join(text for text, _ in segments), False, added).tolist()
    for each in ENGINES:
        assert each.encode_segments(same, False, True, False, threads).tolist() == expected


@given(segments=segment_lists)
@example(segments=[("e\u0301  ", False), ("<y>", True)])  # it takes spaces that are not trusted
def test_joined_keeps_what_no_added_token_crosses(segments: Segments) -> None:
    """Untrusted text that holds nothing of an added token changes no id."""
    benign = [(text if flag else text.translate(HARMLESS), flag) for text, flag in segments]
    joined = "".join(text for text, _ in benign)
    expected = ENGINES[0].encode(joined, False, True).tolist()
    assert ENGINES[0].encode_segments(benign, False, True, False).tolist() == expected


HARMLESS = str.maketrans(dict.fromkeys("<|>xysend", "a"))


@pytest.mark.parametrize("content", ["<s>", "<|x|>", "<y>"])
def test_no_token_crosses_a_border(content: str) -> None:
    token = ENGINES[0].encode(content, False, True).tolist()
    assert len(token) == 1
    for cut in range(1, len(content)):
        for first in (True, False):
            halves = [(content[:cut], first), (content[cut:], not first)]
            ids = ENGINES[0].encode_segments(halves, False, True, False).tolist()
            assert ids == ENGINES[0].encode(content, False, False).tolist()
    nested = [(content[:1], True), (content, False), (content[1:], True)]
    assert token[0] not in ENGINES[0].encode_segments(nested, False, True, False)
    parted = [(content[:1], True), ("", False), (content[1:], True)]
    assert ENGINES[0].encode_segments(parted, False, True, False).tolist() == token


@pytest.mark.parametrize(
    ("segments", "message"),
    [
        ([("a", True), (b"x", True)], r"segments\[1\]: text must be str, not bytes"),
        (["ab"], r"segments\[0\]: must be \(text, allow_special\)"),
        ([("a", True, 1)], r"segments\[0\]: must be \(text, allow_special\)"),
        ([("a", 1), ("\ud800", 1)], r"segments\[1\]: text holds the lone surrogate"),
        ("ab", "segments must be pairs"),
    ],
)
def test_what_is_no_segment(segments: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ENGINES[0].encode_segments(segments, False, False, False)  # type: ignore[arg-type]


def test_nothing() -> None:
    assert ENGINES[0].encode_segments([], True, True, False).tolist() == [1, 2, 3]
    assert ENGINES[0].encode_segments(iter([("", 0)] * 10_000), False, False, False).tolist() == []
