"""Expected ids that others have published: texts of many models, and characters that differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tokcy import Tokenizer

Vectors = Callable[[str], Path]
ModelPath = Callable[[str], Path]

# Encodings of tiktoken that a tokenizer.json here expresses.
ENCODINGS = {"r50k_base": "gpt2", "o200k_base": "gpt4o"}
# Names in recent_codepoints.json.
MODELS = {"llama3": "llama3", "gptoss": "gpt_oss", "deepseek_v3": "deepseek_v3", "qwen3": "qwen3"}


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_texts_of_hub_models(vectors: Vectors, model_path: ModelPath) -> None:
    """tokenizers.js: ids with special tokens, for the models of which a file is here.

    Where the file at hand truncates or pads, the published ids are without that.
    """
    folder = vectors("tokenizers_js")
    expected, replay = read(folder / "expected.json"), read(folder / "replay_hf_0.23.3.json")
    checked = 0
    for hub_name, entry in replay.items():
        content = read(model_path(entry["tokenizer"]))
        tok = Tokenizer.from_json(json.dumps({**content, "truncation": None, "padding": None}))
        for name, case in expected[hub_name]["cases"].items():
            if case.get("text_pair") is None:
                assert tok.encode(case["text"]).tolist() == case["ids"], (hub_name, name)
                checked += 1
    assert checked > 300


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_plans_of_gpt_tokenizer(encoding: str, vectors: Vectors, model_path: ModelPath) -> None:
    tok = Tokenizer.from_file(model_path(ENCODINGS[encoding]))
    plans = read(vectors("gpt_tokenizer") / "test_plans.json")
    plans = [plan for plan in plans if plan["encoding"] == encoding]
    assert len(plans) > 50
    for plan in plans:
        assert tok.encode(plan["text"], allow_special=False).tolist() == plan["ids"], plan["text"]


def test_nfc_of_unicode_9(vectors: Vectors, model_path: ModelPath) -> None:
    """Marks that later versions of Unicode would reorder or compose."""
    tok = Tokenizer.from_file(model_path("qwen3"))
    rows = read(vectors("hf_unicode") / "nfc_divergence.json")["rows"]
    assert len(rows) > 300
    for row in rows:
        assert tok.encode(row["text"]).tolist() == row["qwen3_ids"], ascii(row["text"])
        assert tok.decode(row["qwen3_ids"]) == row["hf_nfc"], ascii(row["text"])


def test_recent_code_points(vectors: Vectors, model_path: ModelPath) -> None:
    """Characters of Unicode 14 to 17: letters to some libraries, unassigned to others."""
    rows = read(vectors("hf_unicode") / "recent_codepoints.json")["rows"]
    assert len(rows) > 100
    for name, model in MODELS.items():
        tok = Tokenizer.from_file(model_path(model))
        for row in rows:
            assert tok.encode(row["text"]).tolist() == row["ids"][name], ascii(row["text"])
