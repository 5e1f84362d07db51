"""The prefix cache in the frontend: the same ids, found by the second request."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import synthetic
from serving import serve

from tokcy import Tokenizer

TURN = "<|end|>The tokenizer turns text into numbers. "


def folder_with_model(root: Path) -> Path:
    content = synthetic.trained_model()
    n = len(content["model"]["vocab"])
    content["added_tokens"] = [{"id": n, **synthetic.added_token("<|end|>", special=True)}]
    (root / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return root


def hits(client: httpx.Client) -> float:
    found = re.search(
        r"^tokcy_tokenizer_cache_hits_total (\S+)$", client.get("/metrics").text, re.M
    )
    return float(found[1]) if found else -1


def test_a_conversation_that_grows(tmp_path: Path) -> None:
    folder = folder_with_model(tmp_path)
    tok = Tokenizer.from_pretrained(folder)
    with serve(folder) as server, server.client() as client:
        for turns in (1, 2, 50, 51, 4_000, 4_001):
            answer = client.post("/tokenize", json={"prompt": TURN * turns}).json()
            assert answer["tokens"] == tok.encode(TURN * turns).tolist()
        assert hits(client) >= 2
    with serve(folder, "--prefix-cache-bytes", "0") as server, server.client() as client:
        answer = client.post("/tokenize", json={"prompt": TURN * 50}).json()
        assert answer["tokens"] == tok.encode(TURN * 50).tolist()
        assert hits(client) == -1
