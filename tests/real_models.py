"""The real models of the test data: which run natively, and why the others do not."""

from __future__ import annotations

from typing import Any

import pytest

NATIVE = [
    "claude_old",
    "clip",
    "deepseek_v3",
    "falcon",
    "gemma3",
    "glm4_5",
    "gpt2",
    "gpt4o",
    "gpt_neox",
    "gpt_oss",
    "kimi_k2",
    "kimi_k3",
    "llama2_kit",
    "llama3",
    "mistral03",
    "modernbert",
    "olmo1",
    "phi3_mini",
    "qwen3",
    "roberta_base",
    "whisper_tiny",
]
FALLBACK = {
    "bert_minilm": "model WordPiece is not supported natively",
    "t5_small": "model without a type that is no BPE is not supported natively",
}
#: Of each kind one: byte-level, with a suffix, without a split, with many added tokens.
FEW = ("gpt2", "clip", "llama2_kit", "qwen3")
#: All native ones as parameters of a test, those that are not among the few in the sweep only.
FEW_AND_SWEEP: list[Any] = [
    name if name in FEW else pytest.param(name, marks=pytest.mark.sweep) for name in NATIVE
]
