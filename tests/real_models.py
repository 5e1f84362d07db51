"""The real models of the test data: which run natively, and why the others do not."""

from __future__ import annotations

NATIVE = [
    "claude_old",
    "deepseek_v3",
    "falcon",
    "glm4_5",
    "gpt2",
    "gpt4o",
    "gpt_neox",
    "gpt_oss",
    "kimi_k2",
    "kimi_k3",
    "llama3",
    "modernbert",
    "olmo1",
    "qwen3",
    "roberta_base",
    "whisper_tiny",
]
FALLBACK = {
    "bert_minilm": "model WordPiece is not supported natively",
    "clip": "end_of_word_suffix is not supported natively",
    "gemma3": "no ByteLevel pre-tokenizer is not supported natively",
    "llama2_kit": "no ByteLevel pre-tokenizer is not supported natively",
    "mistral03": "no ByteLevel pre-tokenizer is not supported natively",
    "phi3_mini": "no ByteLevel pre-tokenizer is not supported natively",
    "t5_small": "model without a type is not supported natively",
}
