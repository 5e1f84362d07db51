"""Chats of real models: the text and the ids of transformers, where no message is hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from chat_oracle import encode_joined, sources, whole
from chat_templates import FAMILIES, conversations

from tokcy import ChatTemplateError, Tokenizer

transformers = pytest.importorskip("transformers")

MODELS = ["deepseek_v3", "gemma3", "glm4_5", "kimi_k2", "kimi_k3", "llama3", "qwen3"]
"""Those with templates whose added tokens have no flags, as `encode_joined` needs it."""


@lru_cache(maxsize=2)
def both(path: Path) -> tuple[Tokenizer, Any]:
    reference = transformers.PreTrainedTokenizerFast.from_pretrained(str(path.parent))
    return Tokenizer.from_file(path), reference


def compare(tok: Tokenizer, reference: Any, source: str | None, case: dict[str, Any]) -> bool:
    """Whether the template takes the conversation, for both or neither."""
    case = {**case, "chat_template": source}
    messages = case.pop("conversation")
    try:
        text = reference.apply_chat_template(messages, tokenize=False, **case)
    except Exception:
        with pytest.raises(ChatTemplateError):
            tok.render_segments(messages, **case)
        return False
    segments = tok.render_segments(messages, **case)
    assert whole(segments) == text
    assert all(part for part, _ in segments)
    assert tok.apply_chat_template(messages, tokenize=False, **case) == text
    expected = reference(text, add_special_tokens=False)["input_ids"]
    assert encode_joined(tok, segments) == expected
    return True


@pytest.mark.parametrize("name", MODELS)
def test_templates_of_models(model_path: Callable[[str], Path], name: str) -> None:
    path = model_path(name)
    tok, reference = both(path)
    for source in sources(path):
        taken = [compare(tok, reference, source, case) for case in conversations()]
        assert sum(taken) >= 2


@pytest.mark.parametrize("model_and_source", FAMILIES, ids=range(len(FAMILIES)))
def test_families(model_path: Callable[[str], Path], model_and_source: tuple[str, str]) -> None:
    name, source = model_and_source
    tok, reference = both(model_path(name))
    taken = [compare(tok, reference, source, case) for case in conversations()]
    assert sum(taken) >= 5


@pytest.mark.parametrize("name", ["deepseek_v3", "kimi_k3", "llama3", "qwen3"])
def test_real_agents(model_path: Callable[[str], Path], data_dir: Path, name: str) -> None:
    path = model_path(name)
    tok, reference = both(path)
    with (data_dir / "corpora" / "agent_messages.jsonl").open(encoding="utf-8") as file:
        lines = [json.loads(line) for _, line in zip(range(3), file, strict=False)]
    for line in lines:
        case = {"conversation": line["messages"], "tools": line["tools"]}
        assert compare(tok, reference, sources(path)[-1], {**case, "add_generation_prompt": True})
