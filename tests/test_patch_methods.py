"""Each replaced method gives what Hugging Face's gives, natively or not, errors included."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
import tokenizers
from patching import TEXTS, is_native, native, small_tokenizer, state
from real_models import FEW_AND_SWEEP
from tokenizers import Encoding, Tokenizer

import tokcy

LENGTHS: list[dict[str, Any]] = [
    {},
    {"truncation": {"max_length": 6}},
    {"truncation": {"max_length": 7, "stride": 2, "direction": "left"}},
    {"padding": {"length": 12, "pad_id": 3, "pad_token": "<x>"}},
    {"truncation": {"max_length": 9}, "padding": {"direction": "left", "pad_to_multiple_of": 4}},
]


def set_lengths(
    tokenizer: Tokenizer, truncation: dict[str, Any] | None = None, padding: Any = None
) -> None:
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if truncation:
        tokenizer.enable_truncation(**truncation)
    if padding:
        tokenizer.enable_padding(**padding)


@pytest.fixture
def tokenizer() -> Any:
    return small_tokenizer()


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("special", [True, False])
def test_encoding(tokenizer: Any, lengths: dict[str, Any], special: bool) -> None:
    set_lengths(tokenizer, **lengths)
    calls: list[Callable[[], list[Encoding]]] = [
        lambda: [tokenizer.encode(text, add_special_tokens=special) for text in TEXTS],
        lambda: tokenizer.encode_batch(TEXTS, add_special_tokens=special),
        lambda: tokenizer.encode_batch(tuple(TEXTS), False, special),
        lambda: tokenizer.encode_batch_fast(TEXTS, add_special_tokens=special),
    ]
    expected = [[state(encoding) for encoding in call()] for call in calls]
    with native():
        for call, states in zip(calls, expected, strict=True):
            encodings = call()
            assert all(map(is_native, encodings))
            assert [state(encoding) for encoding in encodings] == states


@pytest.mark.parametrize("name", FEW_AND_SWEEP)
def test_fast_encoding_of_real_models(
    name: str, oracle: Callable[[str], Tokenizer], corpus: Callable[..., str]
) -> None:
    tokenizer = oracle(name)
    text = corpus("mixed_all_languages", 3000)
    texts = [*TEXTS, text, *(text[i : i + 50] for i in range(0, 1500, 50))]
    # With padding those of the whole batch must agree, so this covers how they are filled up, too.
    special = bool(Random(name).getrandbits(1))

    def encoded() -> list[Any]:
        found = []
        for lengths in LENGTHS:
            set_lengths(tokenizer, **lengths)
            found += tokenizer.encode_batch_fast(texts, add_special_tokens=special)
        set_lengths(tokenizer)
        return found

    expected = encoded()
    with native():
        found = encoded()
    assert all(map(is_native, found))
    assert [state(encoding) for encoding in found] == [state(encoding) for encoding in expected]


DELEGATED: dict[str, Callable[[Any], Any]] = {
    "pair": lambda t: t.encode("hello", "world"),
    "batch of pairs": lambda t: t.encode_batch([("a", "b"), ("hello", "it's")]),
    "mixed batch": lambda t: t.encode_batch(["a", ("hello", "it's")]),
    "words": lambda t: t.encode(["hello", "world"], is_pretokenized=True),
    "batch of words": lambda t: t.encode_batch([["hello", "world"]], is_pretokenized=True),
    "fast pairs": lambda t: t.encode_batch_fast([("a", "b")]),
    "array of strings": lambda t: t.encode_batch(np.array(["a", "b"]).tolist()),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "no argument": lambda t: t.encode(),
    "unknown argument": lambda t: t.encode("a", foo=1),
    "no text": lambda t: t.encode(5),
    "no text in a batch": lambda t: t.encode_batch(["a", None]),
    "bytes": lambda t: t.encode(b"a"),
    "batch of one string": lambda t: t.encode_batch("abc"),
    "generator": lambda t: t.encode_batch(x for x in "ab"),
    "lone surrogate": lambda t: t.encode("a\ud800"),
    "lone surrogate in a batch": lambda t: t.encode_batch(["a", "a\ud800"]),
    "number for a flag": lambda t: t.encode("a", add_special_tokens=1),
    "words that are not said to be": lambda t: t.encode(["a", "b"]),
    "negative id": lambda t: t.decode([-1] * 20),
    "large id": lambda t: t.decode([2**32] * 20),
    "float id": lambda t: t.decode([1.0] * 20),
    "id for a batch": lambda t: t.decode_batch([1, 2]),
    "text for ids": lambda t: t.decode("abc"),
    "None for ids": lambda t: t.decode(None),
    "number for skip": lambda t: t.decode([1] * 20, 1),
}


@pytest.mark.skipif(not hasattr(Tokenizer, "async_encode"), reason="since tokenizers 0.22")
@pytest.mark.parametrize("name", FEW_AND_SWEEP)
def test_awaited_encoding_of_real_models(
    name: str, oracle: Callable[[str], Tokenizer], corpus: Callable[..., str]
) -> None:
    tokenizer: Any = oracle(name)
    text = corpus("mixed_all_languages", 3000)
    texts = [*TEXTS, text, *(text[i : i + 50] for i in range(0, 1500, 50))]
    texts += [f"a{space}<s>{space}é {space}</s>{space}" for space in (" ", "\u3000", "\u00a0")]

    async def encoded() -> list[Any]:
        return list(await asyncio.gather(*(tokenizer.async_encode(text) for text in texts)))

    expected = asyncio.run(encoded())
    with native():
        found = asyncio.run(encoded())
    assert all(map(is_native, found))
    assert [state(encoding) for encoding in found] == [state(encoding) for encoding in expected]


@pytest.mark.parametrize("name", DELEGATED)
def test_other_work_is_hugging_faces(tokenizer: Any, name: str) -> None:
    call = DELEGATED[name]
    expected = call(tokenizer)
    with native():
        found = call(tokenizer)
    as_list = [found] if isinstance(found, Encoding) else found
    wanted = [expected] if isinstance(expected, Encoding) else expected
    assert [state(encoding) for encoding in as_list] == [state(encoding) for encoding in wanted]


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_hugging_faces(tokenizer: Any, name: str) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  # whatever it raises
        REFUSED[name](tokenizer)
    with native(), pytest.raises(expected.type) as found:
        REFUSED[name](tokenizer)
    assert str(found.value) == str(expected.value)


def test_truncation_that_fails(tokenizer: Any) -> None:
    template, tokenizer.post_processor = tokenizer.post_processor, None
    tokenizer.enable_truncation(4, stride=2)
    tokenizer.post_processor = template  # which leaves two ids for the text
    with pytest.raises(BaseException, match="stride") as expected:
        tokenizer.encode("hello hello hello world")
    with tokcy.patched_hf(), pytest.raises(expected.type, match="stride"):
        tokenizer.encode("hello hello hello world")
    tokenizer.no_truncation()
    with native():
        assert is_native(tokenizer.encode("a"))
        tokenizer.enable_truncation(4, stride=1)
        tokenizer.post_processor = None
        tokenizer.enable_truncation(4, stride=2)
        assert is_native(tokenizer.encode("a"))
        tokenizer.post_processor = template
        with pytest.raises(expected.type, match="stride"):
            tokenizer.encode("hello hello hello world")


@pytest.mark.parametrize("skip", [True, False])
def test_decoding(tokenizer: Any, skip: bool) -> None:
    rows = [tokenizer.encode(text).ids for text in TEXTS]
    rows += [[], [5], [9999] * 12, list(range(300)), [True] * 10, [np.int64(7)] * 10]
    calls: list[Callable[[], Any]] = [
        lambda: [tokenizer.decode(ids, skip_special_tokens=skip) for ids in rows],
        lambda: [tokenizer.decode(tuple(ids), skip) for ids in rows],
        lambda: tokenizer.decode_batch(rows, skip_special_tokens=skip),
        lambda: tokenizer.decode_batch([], skip),
        lambda: tokenizer.decode_batch([tuple(rows[0])], skip),
    ]
    expected = [call() for call in calls]
    with native():
        assert [call() for call in calls] == expected


def test_special_tokens_as_text(tokenizer: Any) -> None:
    tokenizer.encode_special_tokens = True
    expected = [state(tokenizer.encode(text)) for text in TEXTS]
    with native():
        assert tokenizer.encode_special_tokens
        assert [state(tokenizer.encode(text)) for text in TEXTS] == expected
        tokenizer.encode_special_tokens = False
        assert is_native(tokenizer.encode(TEXTS[2]))
        assert state(tokenizer.encode(TEXTS[2])) != expected[2]


def test_encodings_go_where_hugging_faces_go(tokenizer: Any) -> None:
    plain = [tokenizer.encode(text, add_special_tokens=False) for text in ("hello it's", "world")]
    expected = [
        state(tokenizer.post_process(plain[0])),
        state(tokenizer.post_process(*plain)),
        state(tokenizer.post_process(plain[0], None, False)),
        state(tokenizer.post_processor.process(*plain)),
        state(Encoding.merge(plain)),
        state(Encoding.merge(plain, growing_offsets=False)),
    ]
    with native():
        ours = [
            tokenizer.encode(text, add_special_tokens=False) for text in ("hello it's", "world")
        ]
        assert all(map(is_native, ours))
        assert expected == [
            state(tokenizer.post_process(ours[0])),
            state(tokenizer.post_process(*ours)),
            state(tokenizer.post_process(ours[0], None, False)),
            state(tokenizer.post_processor.process(*ours)),
            state(Encoding.merge(ours)),
            state(Encoding.merge([ours[0], plain[1]], growing_offsets=False)),
        ]


@pytest.mark.skipif(not hasattr(Tokenizer, "async_encode"), reason="since tokenizers 0.22")
@pytest.mark.parametrize("long", [False, True])
def test_awaitables(tokenizer: Any, long: bool) -> None:
    texts = [text * (500 if long else 1) for text in TEXTS]
    rows = [tokenizer.encode(text).ids for text in texts]

    async def everything() -> list[Any]:
        single = await asyncio.gather(*(tokenizer.async_encode(text) for text in texts))
        done, _ = await asyncio.wait([tokenizer.async_encode_batch(texts)])
        fast = await tokenizer.async_encode_batch_fast(texts, add_special_tokens=False)
        pair = await tokenizer.async_encode("hello", "world")
        decoded = await tokenizer.async_decode_batch(rows, skip_special_tokens=False)
        with pytest.raises((TypeError, ValueError)):
            await tokenizer.async_encode(5)
        return [*single, *done.pop().result(), *fast, pair, decoded]

    expected = asyncio.run(everything())
    with native():
        found = asyncio.run(everything())
        with pytest.raises(RuntimeError, match="no running event loop"):
            tokenizer.async_encode("a")
    assert found.pop() == expected.pop()
    assert not is_native(found[-1])
    assert all(map(is_native, found[:-1]))
    assert [state(encoding) for encoding in found] == [state(encoding) for encoding in expected]


def test_an_attribute_of_the_object_wins(tokenizer: Any) -> None:
    own = tokenizer.decode
    tokenizer.decode = lambda ids, **options: own(ids, **options).upper()
    ids = tokenizer.encode(TEXTS[3]).ids
    expected = tokenizer.decode(ids)
    with native():
        assert tokenizer.decode(ids) == expected == expected.upper()


def test_decode_streams_take_the_tokenizer(tokenizer: Any) -> None:
    ids = tokenizer.encode(TEXTS[3]).ids
    with native():
        stream = tokenizers.decoders.DecodeStream(skip_special_tokens=True)
        steps = [stream.step(tokenizer, token_id) for token_id in ids]
    assert "".join(step for step in steps if step) == tokenizer.decode(ids)


def test_tokcys_own_fallback_is_left_alone(tokenizer: Any) -> None:
    made = tokcy.Tokenizer.from_json(tokenizer.to_str(), backend="huggingface")
    expected = made.encode(TEXTS[2]).tolist()
    with native():
        again = tokcy.Tokenizer.from_json(tokenizer.to_str(), backend="huggingface")
        before = tokcy.hf.patch_info()
        for each in (made, again):
            assert each.encode(TEXTS[2]).tolist() == expected
            assert each.encode(TEXTS[2], allow_special=False).tolist() != expected
            assert each.decode(expected * 5)
        assert tokcy.hf.patch_info() == before
