"""Joined segments against Hugging Face, which is given other names for the trusted tokens.

Added tokens are renamed to characters that no text has. Where one is to be recognised, by a slow
search, its new name is put into the text; so what else looks like one is text for Hugging Face.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import synthetic

from tokcy import Tokenizer

CONTENTS = ["<s>", "<s>>", "<|x|>", "|>", "x", "<y y>"]  # a space is not like its new name
PARTS = [
    *CONTENTS,
    "<s",
    ">",
    "<|",
    "x|>",
    "  ",
    "\n",
    "the",
    " numbers",
    "é",
    "e\u0301",
    "Ü",
    "text",
]
NORMALIZERS: list[dict[str, Any] | None] = [
    None,
    {"type": "NFC"},
    {"type": "Lowercase"},
    {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},
]


def random_models(choose: random.Random) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """A model, the one with renamed tokens, and the new name of each token."""
    model = synthetic.trained_model()
    model["normalizer"] = choose.choice(NORMALIZERS)
    model["pre_tokenizer"]["add_prefix_space"] = choose.random() < 0.3
    first = len(model["model"]["vocab"])
    contents = choose.sample([c for c in CONTENTS if c not in model["model"]["vocab"]], k=3)
    names = {content: chr(0xE000 + i) for i, content in enumerate(contents)}
    added = [
        {
            **synthetic.added_token(
                content, lstrip=choose.random() < 0.3, rstrip=choose.random() < 0.3
            ),
            "id": first + i,
        }
        for i, content in enumerate(contents)
    ]
    renamed = [{**token, "content": names[token["content"]]} for token in added]
    return {**model, "added_tokens": added}, {**model, "added_tokens": renamed}, names


def with_names(segments: list[tuple[str, bool]], names: dict[str, str]) -> str:
    """The joined text, with the names of the tokens that lie in one trusted stretch."""
    stretches: list[tuple[str, bool]] = []
    for text, flag in segments:
        if stretches and stretches[-1][1] == flag:
            text = stretches.pop()[0] + text
        stretches.append((text, flag))
    found = []
    for text, flag in stretches:
        at = 0
        while at < len(text):
            fits = [c for c in names if flag and text.startswith(c, at)]
            content = max(fits, key=len, default="")
            found.append(names[content] if content else text[at])
            at += len(content) or 1
    return "".join(found)


@pytest.mark.parametrize("seed", range(40))
def test_joined_segments(seed: int) -> None:
    choose = random.Random(seed)
    model, renamed, names = random_models(choose)
    tok = Tokenizer.from_json(json.dumps(model), backend="tokcy", fallback=False)
    reference = synthetic.load(renamed)
    for _ in range(60):
        segments = [
            ("".join(choose.choices(PARTS, k=choose.randint(0, 4))), choose.random() < 0.5)
            for _ in range(choose.randint(0, 6))
        ]
        expected = reference.encode(with_names(segments, names), add_special_tokens=False).ids
        found = tok.encode_segments(segments, join=True).tolist()
        assert found == expected, segments
