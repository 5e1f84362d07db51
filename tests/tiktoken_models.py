"""Models in tiktoken's formats: real ones as tiktoken has them, and the files of a small one."""

from __future__ import annotations

import base64
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tiktoken
from tiktoken.load import load_tiktoken_bpe

# Of the folders with a rank file: the name of the file.
RANK_FILES = {
    "tiktoken_r50k": "r50k_base.tiktoken",
    "tiktoken_cl100k": "cl100k_base.tiktoken",
    "tiktoken_o200k": "o200k_base.tiktoken",
    "llama3_tiktoken": "tokenizer.model",
    "qwen_tiktoken": "qwen.tiktoken",
    "kimi_k2": "tiktoken.model",
    "kimi_k3": "tiktoken.model",
    "glm4_5": "glm4.tiktoken",
}
TEKKEN = "mistral_tekken_240911"
MODELS = [*RANK_FILES, TEKKEN]

BYTES = {bytes([byte]): byte for byte in range(256)}
RANKS = {**BYTES, b"ab": 256, b"abc": 257, b" the": 258}
WORDS = r" ?\p{L}+|\s+|[^\s\p{L}]+"


def file_of(data_dir: Path, name: str) -> Path:
    return data_dir / "tokenizers" / name / RANK_FILES.get(name, "tekken.json")


def rank_file(ranks: Mapping[bytes, int]) -> bytes:
    """What tiktoken writes of them."""
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())


def tekken(**config: Any) -> dict[str, Any]:
    """The content of a ``tekken.json`` with `RANKS` behind 30 special tokens."""
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for token, rank in [*RANKS.items(), (b"beyond", 259), (b"the size", 260)]
    ]
    return {
        "config": {
            "pattern": WORDS,
            "num_vocab_tokens": 261,
            "default_vocab_size": 259 + 30,
            "default_num_special_tokens": 30,
            "version": "v3",
            **config,
        },
        "vocab": vocab,
    }


def encoding(
    ranks: Mapping[bytes, int], pattern: str, special_tokens: Mapping[str, int] | None = None
) -> tiktoken.Encoding:
    return tiktoken.Encoding(
        "x",
        pat_str=pattern,
        mergeable_ranks=dict(ranks),
        special_tokens=dict(special_tokens or {}),
    )


@functools.lru_cache(maxsize=2)
def load(data_dir: Path, name: str) -> tiktoken.Encoding:
    """The model with its special tokens."""
    path = file_of(data_dir, name)
    if name == TEKKEN:
        return _load_tekken(path)
    meta = json.loads((path.parent / "tiktoken_meta.json").read_text("utf-8"))
    return encoding(load_tiktoken_bpe(str(path)), meta["pat_str"], meta["special_tokens"])


def _load_tekken(path: Path) -> tiktoken.Encoding:
    """With the ids of special tokens moved behind the others, as tiktoken has ranks for ids."""
    content = json.loads(path.read_text("utf-8"))
    config = content["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {
        base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in content["vocab"][:size]
    }
    return encoding(ranks, config["pattern"])
