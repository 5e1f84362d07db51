"""What ``tekken.json`` may say, and what is wrong with files that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiktoken_models
from tiktoken_models import tekken

from tokcy import ModelFileError, Tokenizer


def load(content: Any) -> Tokenizer:
    return Tokenizer.from_json(json.dumps(content))


def test_without_special_tokens() -> None:
    tok = load(tekken())
    assert tok.backend == "tiktoken"
    assert tok.encode("abc the").tolist() == [257 + 30, 258 + 30]
    assert tok.encode("beyond", allow_special=False).tolist() == [30 + byte for byte in b"beyond"]
    assert tok.encode("<s>[INST] ab[/INST]<SPECIAL_29>").tolist() == [1, 3, 62, 286, 4, 29]
    assert tok.decode([1, 257 + 30, 29], skip_special_tokens=True) == "abc"
    assert (tok.vocab_size, len(tok)) == (259, 289)


def test_with_special_tokens() -> None:
    content = tekken(version="v13")
    content["special_tokens"] = [
        {"rank": 0, "token_str": "<unk>", "is_control": True},
        {"rank": 1, "token_str": "[THINK]", "is_control": True},
    ]
    tok = load(content)
    assert tok.encode("[THINK]<s>").tolist()[:2] == [1, 30 + ord("<")]
    assert tok.id_to_token(2) == "<SPECIAL_2>"


def test_defaults_as_mistral_common_has_it(data_dir: Path) -> None:
    path = tiktoken_models.file_of(data_dir, tiktoken_models.TEKKEN)
    tok = Tokenizer.from_pretrained(path.parent)
    assert len(tok.added_tokens) == 1000
    assert [tok.id_to_token(i) for i in (0, 1, 2, 10, 19, 20, 999)] == [
        *("<unk>", "<s>", "</s>", "[IMG]", "[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_999>")
    ]


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    content = tekken()
    change(content)
    return content


@pytest.mark.parametrize(
    ("content", "field", "reason"),
    [
        (changed(lambda c: c.pop("config")), None, "'config' is missing"),
        (changed(lambda c: c.update(vocab={})), "vocab", "must be a list, not an object"),
        (tekken(pattern=None), "config.pattern", "must be a string, not null"),
        (tekken(version="v4"), "config.version", '"v4" is none of the versions'),
        (tekken(version="v11"), None, "'special_tokens' is missing, as version v11"),
        (tekken(default_vocab_size=1.5), "config.default_vocab_size", "must be an integer"),
        (tekken(default_vocab_size=True), "config.default_vocab_size", "must be an integer"),
        (tekken(default_vocab_size=30), "config.default_vocab_size", "ask for 0 entries"),
        (tekken(default_vocab_size=400), "config.default_vocab_size", "ask for 370 entries"),
        (
            tekken(default_num_special_tokens=-1),
            "config.default_num_special_tokens",
            "an integer from 0 to 1048576, not an integer: -1",
        ),
        (
            tekken(default_num_special_tokens=2**21, default_vocab_size=2**21 + 5),
            "config.default_num_special_tokens",
            "an integer from 0 to 1048576",
        ),
        (changed(lambda c: c["vocab"][7].update(rank=8)), "vocab[7].rank", "8 in place of 7"),
        (changed(lambda c: c["vocab"].insert(3, None)), "vocab[3]", "null has no rank"),
        (changed(lambda c: c["vocab"][5].pop("token_bytes")), "vocab[5]", "has no rank and"),
        (changed(lambda c: c["vocab"][5].update(token_bytes="A*==")), "vocab[5]", "base64"),
        (changed(lambda c: c["vocab"][5].update(token_bytes=5)), "vocab[5]", "base64"),
        (changed(lambda c: c["vocab"][5].update(token_bytes="é")), "vocab[5]", "base64"),
        (
            changed(lambda c: c["vocab"][5].update(token_bytes="")),
            "vocab[5].token_bytes",
            "a token of 0 bytes",
        ),
        (
            changed(lambda c: c["vocab"][256].update(token_bytes="YQ==")),
            None,
            "the token b'a' has two ids, 127 and 286",
        ),
        (changed(lambda c: c.update(special_tokens={})), "special_tokens", "must be a list"),
        (changed(lambda c: c.update(special_tokens=[1])), "special_tokens[0]", "must be an object"),
        (
            changed(lambda c: c.update(special_tokens=[{"rank": 30, "token_str": "x"}])),
            "special_tokens[0].rank",
            "30 is not below 30",
        ),
        (
            changed(lambda c: c.update(special_tokens=2 * [{"rank": 3, "token_str": "x"}])),
            "special_tokens[1].rank",
            "3 stands there twice",
        ),
        (
            changed(lambda c: c.update(special_tokens=[{"rank": 3}])),
            "special_tokens[0]",
            "'token_str' is missing",
        ),
        (
            changed(
                lambda c: c.update(
                    special_tokens=[{"rank": i, "token_str": "<s>"} for i in range(2)]
                )
            ),
            "special_tokens",
            "'<s>' has two ids",
        ),
    ],
)
def test_faults(content: Any, field: str | None, reason: str) -> None:
    with pytest.raises(ModelFileError, match=reason) as caught:
        load(content)
    assert caught.value.field == field
