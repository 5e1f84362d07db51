"""`Tokenizer.encode_segments` on real models, whoever does the work."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import synthetic

from tokcy import EncodeTypeError, OutputError, TokcyError, Tokenizer

Segments = list[tuple[str, bool]]
MODELS = [
    ("llama3", "tokcy"),
    ("gpt2", "tokcy"),
    ("llama2_kit", "tokcy"),
    ("gemma3", "tokcy"),
    ("gpt2", "huggingface"),
    ("bert_minilm", "huggingface"),
    ("t5_small", "huggingface"),
]


@pytest.fixture(scope="module", params=MODELS, ids="-".join)
def tok(request: pytest.FixtureRequest, model_path: Callable[[str], Path]) -> Tokenizer:
    name, backend = request.param
    model = json.loads(model_path(name).read_bytes())
    model["truncation"] = model["padding"] = None  # those of MiniLM have a test of their own
    tokenizer = Tokenizer.from_json(json.dumps(model), backend=backend)
    assert tokenizer.backend == backend
    return tokenizer


def plain(tok: Tokenizer, text: str, allow_special: bool = True) -> list[int]:
    return tok.encode_to_list(text, add_special_tokens=False, allow_special=allow_special)


def chat(tok: Tokenizer, content: str) -> Segments:
    control = next(token.content for token in tok.added_tokens if token.special)
    return [(control, True), ("user", False), ("\n", True), (content, False), (control, True)]


def test_each_segment_by_itself(tok: Tokenizer) -> None:
    segments = [*chat(tok, "Grüße, 世界  "), ("", True), (" end", True)]
    ids = [i for text, flag in segments for i in plain(tok, text, flag)]
    assert tok.encode_segments(segments).tolist() == ids
    around = tok.encode_to_list("")
    both = tok.encode_segments(segments, add_special_tokens=True).tolist()
    assert len(both) == len(ids) + len(around)
    assert sorted(both) == sorted(ids + around)


def test_joined_text_merges_across_borders(tok: Tokenizer) -> None:
    segments = [("hel", True), ("lo wor", False), ("ld and mo", True), ("re", False)]
    assert tok.encode_segments(segments, join=True).tolist() == plain(tok, "hello world and more")
    assert tok.encode_segments(segments, join=True, add_special_tokens=True).tolist() == (
        tok.encode_to_list("hello world and more")
    )
    benign = chat(tok, "Grüße, 世界  ")
    joined = "".join(text for text, _ in benign)
    assert tok.encode_segments(benign, join=True).tolist() == plain(tok, joined)


def test_content_makes_no_control_token(tok: Tokenizer) -> None:
    control = next(token for token in tok.added_tokens if token.special)
    expected = [i for i in plain(tok, control.content * 2) if i == control.id]
    assert len(expected) == 2
    for content in (control.content, f"a {control.content} b", control.content * 3):
        segments = chat(tok, content)
        for join in (False, True):
            assert count_or_refusal(tok, segments, join, control.id) in (2, None)
    first, last = control.content[:1], control.content[1:]
    for halves in ([(first, True), (last, False)], [(first, False), (last, True)]):
        assert tok.encode_segments(halves).tolist().count(control.id) == 0
        assert count_or_refusal(tok, halves, True, control.id) in (0, None)


def count_or_refusal(tok: Tokenizer, segments: Segments, join: bool, control_id: int) -> int | None:
    """How often the id comes; None where it is not to be told, or T5's model makes the token."""
    try:
        ids = tok.encode_segments(segments, join=join)
    except TokcyError as error:
        if tok.backend == "huggingface" and re.search("not trusted|control token", str(error)):
            return None
        raise
    return int(np.count_nonzero(ids == control_id))


def test_chunks(tok: Tokenizer) -> None:
    text = "abc" * 20_000
    chunks = [text[:25_000], text[25_000:50_000], text[50_000:]]
    expected = [i for chunk in chunks for i in plain(tok, chunk)]
    assert tok.encode_segments([(text, True)], chunking="kimi").tolist() == expected
    # Within a text of its own the run is counted anew; joined, it is one run.
    cut = [(text[:30_000], True), (text[30_000:], False)]
    apart = [text[:25_000], text[25_000:30_000], text[30_000:55_000], text[55_000:]]
    assert tok.encode_segments(cut, chunking="kimi").tolist() == [
        i for chunk in apart for i in plain(tok, chunk)
    ]
    assert tok.encode_segments(cut, chunking="kimi", join=True).tolist() == expected


def test_out(tok: Tokenizer) -> None:
    segments = chat(tok, "hello")
    ids = tok.encode_segments(segments)
    out = np.zeros(50, dtype=np.uint32)
    found = tok.encode_segments(segments, out=out)
    assert np.shares_memory(found, out)
    assert found.tolist() == ids.tolist() == out[: len(ids)].tolist()
    with pytest.raises(OutputError, match=f"room for 2 ids, but there are {len(ids)}"):
        tok.encode_segments(segments, out=np.zeros(2, dtype=np.uint32))
    frozen = np.zeros(50, dtype=np.uint32)
    frozen.flags.writeable = False
    for bad in (np.zeros(50, dtype=np.int64), out[::2], frozen, out.reshape(2, 25), [0] * 50):
        with pytest.raises(ValueError, match="out must be"):
            tok.encode_segments(segments, out=bad)  # type: ignore[arg-type]


def test_what_is_no_segment(tok: Tokenizer) -> None:
    with pytest.raises(EncodeTypeError, match=r"segments\[1\]: text must be str, not bytes"):
        tok.encode_segments([("a", True), (b"b", False)])
    with pytest.raises(EncodeTypeError, match=r"segments\[0\]: must be \(text, allow_special\)"):
        tok.encode_segments(["ab"])
    with pytest.raises(ValueError, match='"kimi"'):
        tok.encode_segments([], chunking="other")
    assert tok.encode_segments([]).dtype == np.uint32
    assert tok.encode_segments(([text, np.bool_(flag)] for text, flag in [("a", 0)])).tolist() == (
        plain(tok, "a")
    )


@pytest.mark.parametrize("backend", ["tokcy", "huggingface"])
def test_truncation_and_padding_are_for_the_whole(backend: str) -> None:
    model = synthetic.trained_model()
    model["truncation"] = {
        "max_length": 6, "stride": 0, "strategy": "LongestFirst", "direction": "Right",
    }  # fmt: skip
    model["padding"] = {
        "strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "a",
    }  # fmt: skip
    tok = Tokenizer.from_json(json.dumps(model), backend=backend)
    whole = tok.encode_to_list("the the the the the the the")
    segments = [("the the", True), (" the the the", False), (" the the", True)]
    assert tok.encode_segments(segments, join=True).tolist() == whole
    assert len(whole) == 6
    assert tok.encode_segments([("the", True)], join=False).tolist() == tok.encode_to_list("the")


@pytest.mark.parametrize("backend", ["tokcy", "huggingface"])
def test_what_merging_makes_is_refused(backend: str) -> None:
    model = synthetic.model_from_merges([("a", "b")])
    made = model["model"]["vocab"]["ab"]
    model["added_tokens"] = [{**synthetic.added_token("ab"), "id": made}]
    tok = Tokenizer.from_json(json.dumps(model), backend=backend)
    assert tok.encode_segments([("ab", True)]).tolist() == [made]
    assert tok.encode_segments([("a", False), ("b", False)]).tolist() == plain(tok, "a") + plain(
        tok, "b"
    )
    with pytest.raises(TokcyError, match="control token 'ab' of plain text"):
        tok.encode_segments([("x", True), ("ab", False)])
    with pytest.raises(TokcyError, match="control token 'ab' of plain text"):
        tok.encode_segments([("a", False), ("b", True)], join=True)


@pytest.mark.parametrize("backend", ["tokcy", "huggingface"])
def test_chunks_in_a_batch_of_a_model_that_pads(backend: str) -> None:
    model = synthetic.trained_model()
    model["padding"] = {
        "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "a",
    }  # fmt: skip
    tok = Tokenizer.from_json(json.dumps(model), backend=backend)
    assert tok.encode_batch(["a", "the text"], chunking="kimi").to_list() == (
        tok.encode_batch(["a", "the text"]).to_list()
    )
    with pytest.raises(TokcyError, match="chunking is not for batches of a model whose file sets"):
        tok.encode_batch(["a", "abc" * 20_000], chunking="kimi")


def test_what_is_no_segment_of_a_model_that_makes_control_tokens() -> None:
    model = synthetic.model_from_merges([("a", "b")])
    made = {**synthetic.added_token("ab"), "id": model["model"]["vocab"]["ab"]}
    tok = Tokenizer.from_json(json.dumps({**model, "added_tokens": [made]}))
    for join in (False, True):
        with pytest.raises(EncodeTypeError, match=r"segments\[1\]: must be \(text, allow_special"):
            tok.encode_segments([("x", False), ("y",)], join=join)


@pytest.mark.parametrize("join", [False, True])
def test_special_tokens_as_text_on_hugging_face(join: bool) -> None:
    """`encode_special_tokens` lets some added tokens stand as text, also in trusted text."""
    model = synthetic.trained_model()
    first = len(model["model"]["vocab"])
    model["added_tokens"] = [{**synthetic.added_token("<s>"), "id": first}]
    config = {"split_special_tokens": True}
    tok = Tokenizer.from_json(json.dumps(model), backend="huggingface", config=config)
    assert plain(tok, "<s>") != [first]
    assert tok.encode_segments([("a <s>", True), (" b", False)], join=join).tolist() == (
        plain(tok, "a <s> b") if join else plain(tok, "a <s>") + plain(tok, " b")
    )
    if join:
        with pytest.raises(TokcyError, match="not trusted"):
            tok.encode_segments([("<s>", True), ("<s>", False)], join=True)
