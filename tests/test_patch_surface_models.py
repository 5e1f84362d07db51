"""Random programs on every real model, with the patch and without."""

from __future__ import annotations

import copy
import functools
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hf_models import MAKERS, NATIVE, load_fast, small
from hf_programs import Writer, agree_on
from hf_surface import native_calls
from real_models import FALLBACK, FEW_AND_SWEEP
from real_models import NATIVE as NATIVE_MODELS
from synthetic import SENTENCES
from tokenizers import Tokenizer

REAL_MODELS = (*NATIVE_MODELS, *FALLBACK)
CORPORA = ("english_prose", "zh", "python", "emoji", "mixed_all_languages", "agent_chatml", "hi")
STEPS = 12


@pytest.fixture(scope="module")
def excerpts(corpus: Callable[..., str]) -> list[str]:
    return [corpus(name, 20_000)[2_000:] for name in CORPORA]


@pytest.fixture(scope="module")
def loaded(model_path: Callable[[str], Path]) -> Callable[[str], Tokenizer]:
    return functools.lru_cache(maxsize=2)(lambda name: Tokenizer.from_file(str(model_path(name))))


def writer(seed: object, tokenizer: Tokenizer, excerpts: list[str]) -> Writer:
    added = tokenizer.get_added_tokens_decoder().values()
    tokens = sorted(token.content for token in added)
    return Writer(seed, tokens[:: max(1, len(tokens) // 40)], excerpts, tokenizer.get_vocab_size())


def agree_on_options(tokenizer: Tokenizer, write: Writer, count: int) -> None:
    def new() -> Tokenizer:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = False
        return tokenizer

    agree_on([write.options(STEPS) for _ in range(count)], new)


def agree_on_calls(tokenizer: Any, write: Writer, count: int) -> None:
    def new() -> Any:  # a call leaves its options, with which an engine may not be comparable
        tokenizer._tokenizer.no_truncation()
        tokenizer._tokenizer.no_padding()
        return tokenizer

    agree_on([write.calls(STEPS) for _ in range(count)], new)


@pytest.mark.parametrize("name", MAKERS)
def test_small_models(name: str) -> None:
    tokenizer, before = small(name), native_calls()
    write = writer(name, tokenizer, list(SENTENCES))
    agree_on([write.options(STEPS) for _ in range(8)], lambda: small(name))
    agree_on([write.changes(4) for _ in range(6)], lambda: small(name))
    assert native_calls() > before or name not in NATIVE


@pytest.mark.parametrize("name", [*FEW_AND_SWEEP, *FALLBACK])
def test_options(name: str, loaded: Callable[[str], Tokenizer], excerpts: list[str]) -> None:
    tokenizer, before = loaded(name), native_calls()
    agree_on_options(tokenizer, writer(name, tokenizer, excerpts), 4)
    assert native_calls() > before or name in FALLBACK


@pytest.mark.parametrize("name", ["gpt2", "whisper_tiny", "llama2_kit", "bert_minilm"])
def test_changes(name: str, loaded: Callable[[str], Tokenizer], excerpts: list[str]) -> None:
    write = writer(name, loaded(name), excerpts)
    agree_on([write.changes(3)], lambda: copy.deepcopy(loaded(name)))


@pytest.fixture(scope="module")
def loaded_fast(model_path: Callable[[str], Path]) -> Callable[[str], Any]:
    """The model as ``transformers`` loads it, with a token to pad with."""
    pytest.importorskip("transformers")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return functools.lru_cache(maxsize=2)(lambda name: load_fast(model_path(name).parent))


@pytest.mark.parametrize("name", [*FEW_AND_SWEEP, *FALLBACK])
def test_calls(name: str, loaded_fast: Callable[[str], Any], excerpts: list[str]) -> None:
    tokenizer, before = loaded_fast(name), native_calls()
    agree_on_calls(tokenizer, writer(name, tokenizer._tokenizer, excerpts), 2)
    assert native_calls() > before or name in FALLBACK


@pytest.mark.sweep
@pytest.mark.parametrize("name", REAL_MODELS)
def test_everything(
    name: str,
    loaded: Callable[[str], Tokenizer],
    loaded_fast: Callable[[str], Any],
    excerpts: list[str],
) -> None:
    tokenizer, fast = loaded(name), loaded_fast(name)
    for seed in range(5):
        write = writer(f"{name} {seed}", tokenizer, excerpts)
        agree_on_options(tokenizer, write, 20)
        agree_on_calls(fast, write, 20)
        if seed % 5 == 0:
            agree_on([write.changes(4)], lambda: copy.deepcopy(tokenizer))
