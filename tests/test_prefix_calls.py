"""A prefix cache in every call that takes one: the same ids, and known beginnings are counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tokcy import PrefixCache, Tokenizer

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SAID = [
    "Wo steht das Rathaus?",
    "Am Markt. 🏛️ Soll ich den Weg beschreiben?",
    "Ja, und schreib <|im_end|>\n dahinter",
    "Gern",
]


@pytest.fixture(scope="module", params=["tokcy", "huggingface"])
def tok(request: pytest.FixtureRequest, model_path: Callable[[str], Path]) -> Tokenizer:
    tokenizer = Tokenizer.from_file(model_path("qwen3"), backend=request.param, config=False)
    assert tokenizer.backend == request.param
    return tokenizer


def messages(n: int) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": SAID[i % len(SAID)]} for i in range(n)]


def check(encode: Callable[..., Any], requests: Iterable[Any]) -> PrefixCache:
    """All requests, each twice, with a new cache, which is returned."""
    cache = PrefixCache()
    for request in requests:
        expected = list(encode(request))
        for _ in range(2):
            assert list(encode(request, prefix_cache=cache)) == expected
    return cache


def texts() -> list[str]:
    said = [f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages(12)]
    return ["".join(said[:n]) for n in range(1, len(said) + 1)]


@pytest.mark.parametrize("call", ["encode", "encode_to_list"])
def test_texts(tok: Tokenizer, call: str) -> None:
    cache = check(getattr(tok, call), texts())
    assert (cache.hits, cache.misses) == (23, 1)
    assert cache.cached_tokens > cache.uncached_tokens


def test_counts(tok: Tokenizer) -> None:
    cache = PrefixCache()
    for text in texts():
        assert tok.count(text, prefix_cache=cache) == len(tok.encode(text))
    assert cache.hits == 11


@pytest.mark.parametrize("join", [False, True])
@pytest.mark.parametrize("special", [False, True])
def test_trusted_segments(tok: Tokenizer, join: bool, special: bool) -> None:
    def encode(segments: list[tuple[str, bool]], **more: Any) -> Any:
        return tok.encode_segments(segments, join=join, add_special_tokens=special, **more)

    segments = [(text, True) for text in texts()[1:3]]
    cache = check(encode, [segments, [*segments, ("and more", True)]])
    assert cache.hits > 0 or (special and tok.backend == "huggingface")


def test_conversations(tok: Tokenizer) -> None:
    def encode(n: int, **more: Any) -> Any:
        return tok.apply_chat_template(
            messages(n), chat_template=CHATML, add_generation_prompt=n % 2 == 1, **more
        )

    cache = check(encode, range(1, 12))
    assert (cache.hits, cache.misses) == (21, 1)
    assert cache.cached_tokens > 2 * cache.uncached_tokens


@pytest.mark.parametrize("name", ["t5_small", "gpt2", "whisper_tiny"])
@pytest.mark.parametrize("special", [False, True])
def test_segments_of_any_model(name: str, special: bool, model_path: Callable[[str], Path]) -> None:
    """They go on from the end of any of them, trusted or not, whatever the model."""
    tok = Tokenizer.from_file(model_path(name), backend="huggingface", config=False)
    marks = [token.content for token in tok.added_tokens[:3]]

    def encode(segments: list[tuple[str, bool]], **more: Any) -> Any:
        return tok.encode_segments(segments, add_special_tokens=special, **more)

    said = [(f"{SAID[0]} {i}{marks[i % len(marks)] * (i % 3 == 0)}", i % 3 == 0) for i in range(30)]
    cache = check(encode, [said[:n] for n in (0, 1, 2, 5, 6, 12, 29, 30, 11)])
    if special and len(tok.encode("")):
        assert cache.cached_tokens == 0
    else:
        assert cache.cached_tokens > 3 * cache.uncached_tokens


def test_texts_that_are_cut(tok: Tokenizer) -> None:
    def encode(text: str, **more: Any) -> Any:
        return tok.encode(text, chunking="kimi", **more)

    cache = check(encode, ["a" * 60_000, "a" * 60_000 + "<|im_end|> b", "a" * 60_001, "a b"])
    assert cache.hits >= 4


def test_awaitables(tok: Tokenizer) -> None:
    cache = PrefixCache()

    async def both(text: str) -> None:
        expected = tok.encode(text).tolist()
        assert (await tok.aencode(text, prefix_cache=cache)).tolist() == expected
        segments = [(text, True)]
        ids = await tok.aencode_segments(segments, add_special_tokens=True, prefix_cache=cache)
        assert ids.tolist() == expected

    for text in texts():
        asyncio.run(both(text))
    assert cache.hits > 0
