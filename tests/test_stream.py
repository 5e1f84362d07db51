"""Streams give what decoding everything at once gives, wherever the ids are cut."""

from __future__ import annotations

import codecs
import copy
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from test_decoder_chains import (
    BYTE_TOKENS,
    REAL_CHAINS,
    TOKENS,
    Json,
    Twins,
    chains,
    id_lists,
    one_id,
)

import tokcy
from tokcy import TokenIdError
from tokcy._stream import StreamState
from tokcy.hf import HuggingFaceBackend
from tokcy.spec.plan_decode import UnplannableDecoderError
from tokcy.stream import DecodeStream, WholeState

BYTE_IDS = [3 * TOKENS.index(token) for token in BYTE_TOKENS]


def stream_of(twins: Twins, prompt: list[int], skip: bool) -> DecodeStream:
    state = StreamState(twins.decoder, skip)
    return DecodeStream(state, twins.plan.text_steps, np.array(prompt, dtype=np.uint32))


def check(twins: Twins, prompt: list[int], ids: list[int], skip: bool) -> None:
    """The parts, at every cut, are the whole text without that of the prompt."""

    def decoded(ids: list[int]) -> str:
        return twins.decoder.decode(np.array(ids, dtype=np.uint32), skip)

    prompt_stream = stream_of(twins, [], skip)
    certain = "".join(prompt_stream.step(token_id) for token_id in prompt)
    stream = stream_of(twins, prompt, skip)
    text = certain
    assert text + copy.copy(stream).flush() == decoded(prompt)
    for n, token_id in enumerate(ids):
        text += stream.step(token_id)
        assert text + copy.copy(stream).flush() == decoded(prompt + ids[: n + 1])


@given(chains, st.lists(st.tuples(id_lists, id_lists), max_size=3), st.booleans())
def test_any_chain(chain: Json, lists: list[tuple[list[int], list[int]]], skip: bool) -> None:
    try:
        twins = Twins(chain)
    except UnplannableDecoderError:
        return
    for prompt, ids in lists:
        check(twins, prompt, ids, skip)


@pytest.fixture(scope="module", params=REAL_CHAINS)
def real_chain(request: pytest.FixtureRequest) -> Twins:
    return Twins(REAL_CHAINS[request.param])


@given(
    st.lists(one_id, max_size=30),
    st.lists(st.one_of(one_id, st.sampled_from(BYTE_IDS)), max_size=30),
    st.booleans(),
)
def test_chains_of_real_models(
    real_chain: Twins, prompt: list[int], ids: list[int], skip: bool
) -> None:
    check(real_chain, prompt, ids, skip)


@given(st.lists(st.integers(0, 260), max_size=40), st.lists(st.integers(0, 260), max_size=40))
def test_broken_bytes(prompt: list[int], ids: list[int]) -> None:
    tok = byte_level_tokenizer()
    stream = tok.decode_stream(prompt)
    parts = [stream.step(token_id) for token_id in ids] + [stream.flush()]
    certain, _ = codecs.utf_8_decode(tok.decode_bytes(prompt), "replace", False)
    assert certain + "".join(parts) == tok.decode(prompt + ids)
    for part in parts[:-1]:
        assert len(part.encode()) <= 12  # nothing is kept for long


def byte_level_tokenizer() -> tokcy.Tokenizer:
    model = synthetic.model_from_merges([("a", "b"), ("ð", "Ł")])
    return tokcy.Tokenizer.from_json(json.dumps(model))


def test_characters_come_whole() -> None:
    tok = byte_level_tokenizer()
    stream = tok.decode_stream()
    assert [stream.step(byte) for byte in "é🙂".encode()] == ["", "é", "", "", "", "🙂"]
    assert [stream.step(byte) for byte in b"\xf0\x9fa"] == ["", "", "\ufffda"]
    assert [stream.step(0xF0), stream.flush(), stream.flush()] == ["", "\ufffd", ""]
    assert [stream.step(byte) for byte in b"\xff\xffb"] == ["\ufffd", "\ufffd", "b"]
    assert tok.decode_stream([0xF0, 0x9F, 0x99]).step(0x82) == "🙂"
    assert tok.decode_stream([0xF0, 0x9F]).flush() == "\ufffd"
    assert tok.decode_stream([97]).flush() == ""


def test_runs_of_byte_tokens_come_when_they_are_over() -> None:
    twins = Twins(REAL_CHAINS["llama2"])
    stream = stream_of(twins, [], False)
    tokens = ["▁", "▁a", "<0xE4>", "<0xB8>", "<0xAD>", "a", "<0xE4>", "<0xFF>"]
    ids = [3 * TOKENS.index(token) for token in tokens]
    assert [stream.step(token_id) for token_id in ids] == ["", " a", "", "", "", "中a", "", ""]
    assert stream.flush() == "\ufffd\ufffd"


@pytest.mark.parametrize("ids", [[-1], [2**32], [2**70], [1.5], ["1"]])
def test_what_is_no_id(ids: list[object]) -> None:
    tok = byte_level_tokenizer()
    states = tok.decode_stream(), DecodeStream(WholeState(str), (), np.array([], np.uint32))
    for stream in states:
        with pytest.raises(TokenIdError if isinstance(ids[0], int) else TypeError):
            stream.step(ids[0])  # type: ignore[arg-type]
    with pytest.raises(TokenIdError if isinstance(ids[0], int) else TypeError):
        tok.decode_stream(ids)  # type: ignore[arg-type]
    assert [tok.decode_stream().step(np.int64(97)), tok.decode_stream().step(True)] == ["a", "\x01"]


def test_a_prompt_that_ends_within_a_run() -> None:
    twins = Twins(REAL_CHAINS["gemma"])
    word, *run = (3 * TOKENS.index(token) for token in ("▁a", "<0xE4>", "<0xB8>", "<0xAD>"))
    stream = stream_of(twins, [word] * 10_000 + run[:2], False)
    assert stream.step(run[2]) == ""
    assert stream.step(word) == "中 a"


@pytest.mark.parametrize("name", ["t5_small", "bert_minilm", "qwen3"])
def test_real_models(
    name: str, model_path: Callable[[str], Path], corpus: Callable[..., str]
) -> None:
    """Those of Hugging Face's backend, with plans for their decoders, and one of ours."""
    tok = tokcy.Tokenizer.from_file(model_path(name))
    for text in (corpus("english_prose", 1500), corpus("emoji", 500)):
        ids = tok.encode(text)
        for cut in (0, 1, 5, len(ids)):
            stream = tok.decode_stream(ids[:cut], skip_special_tokens=True)
            parts = [stream.step(token_id) for token_id in ids[cut:].tolist()]
            whole = tok.decode(ids, skip_special_tokens=True)
            assert whole.endswith("".join(parts) + stream.flush())
            if cut == 0:
                assert "".join(parts) == whole


def test_what_was_special_once_stays_so() -> None:
    tokens = [synthetic.added_token("<s>"), synthetic.added_token("<s>", special=False)]
    model = synthetic.model_from_merges([("a", "b")], added_tokens=tokens)
    backend = HuggingFaceBackend(json.dumps(model).encode())
    stream = backend.decode_stream(np.array([97], dtype=np.uint32), True)
    token_id = backend.token_to_id("<s>")
    assert token_id is not None
    assert backend.decode(np.array([token_id], dtype=np.uint32), True) == ""
    assert [stream.step(token_id), stream.step(98)] == ["", "b"]
