"""The Hugging Face backend over tokenizers 1.x, whose surface is that of the stand-in here.

The release candidate cannot be installed beside the release that is the oracle. The stand-in has
the methods and arguments of 1.0.0rc3, and the release does the work.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
import tokenizers

from tokcy import TokcyError, Tokenizer
from tokcy.hf import backend, plain
from tokcy.hf.next import NextTokenizer

REAL = tokenizers.Tokenizer
UNSET = object()
SEGMENTS = [("<s>", True), ("b x", False), (" <think>x", True), (" y", False)]
TEXTS = ["ab <s> abc</s>", "", "x <think> <new>é", "[SEP] hello <s>", " hello  hello"]


class Candidate:
    """``tokenizers.Tokenizer`` of 1.0.0rc3."""

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.padding = tokenizer.padding

    @staticmethod
    def from_file(path: str) -> Candidate:
        return Candidate(REAL.from_file(path))

    def encode(self, text: str, **options: Any) -> tokenizers.Encoding:
        return self.encode_batch([text], **options)[0]

    def encode_batch(
        self,
        texts: list[str],
        *,
        add_special_tokens: bool = True,
        encode_special_tokens: bool = False,
        padding: object = UNSET,
        truncation: object = UNSET,
    ) -> list[tokenizers.Encoding]:
        chosen = self._tokenizer
        if padding is None or truncation is None:
            chosen = REAL.from_str(chosen.to_str())
            chosen.no_padding()
            chosen.no_truncation()
        chosen.encode_special_tokens = encode_special_tokens
        return chosen.encode_batch(texts, add_special_tokens=add_special_tokens)

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)


def models() -> dict[str, synthetic.Model]:
    added = [synthetic.added_token(t) for t in ("<s>", "</s>")]
    added += [synthetic.added_token("<think>", special=False), synthetic.added_token("ab")]
    model = synthetic.model_from_merges([("a", "b")], added_tokens=added)
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, pair[0]],
        "pair": pair,
        "special_tokens": {"<s>": {"id": "<s>", "ids": [257], "tokens": ["<s>"]}},
    }
    padding = {
        "strategy": {"Fixed": 9}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 257,
        "pad_type_id": 0, "pad_token": "<s>",
    }  # fmt: skip
    truncation = {"direction": "Left", "max_length": 5, "strategy": "LongestFirst", "stride": 0}
    words = {
        "type": "WordLevel", "vocab": {"[UNK]": 0, "[SEP]": 1, "hello": 2}, "unk_token": "[UNK]"
    }  # fmt: skip
    unigram = {"type": "Unigram", "vocab": [["<unk>", 0.0], ["hello", -1.0]], "unk_id": 0}
    split = {"pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": None}
    return {
        "BPE": model | {"post_processor": template},
        "padded": model | {"post_processor": template, "padding": padding},
        "cut": model | {"post_processor": template, "truncation": truncation},
        "WordLevel": model | split | {"model": words},
        "Unigram": model | split | {"model": unigram},
    }


def results(content: synthetic.Model, **config: Any) -> list[Any]:
    """Everything that a tokenizer gives but for offsets."""
    tok = Tokenizer.from_json(json.dumps(content), backend="huggingface", config=config or False)
    found: list[Any] = [tok.get_vocab(), tok.get_vocab(False), len(tok), tok.vocab_size]
    found += [tok.added_tokens, [tok.id_to_token(i) for i in range(270)]]
    found += [[tok.token_to_id(token) for token in ("<s>", "hello", "<new>", "ab", "none")]]
    for text in TEXTS:
        for special in (True, False):
            for allowed in (True, False):
                try:
                    ids = tok.encode(text, add_special_tokens=special, allow_special=allowed)
                except TokcyError as error:
                    found.append(str(error))
                    continue
                found += [ids.tolist(), tok.decode(ids), tok.decode(ids, skip_special_tokens=True)]
    found.append(tok.encode_batch(TEXTS).to_list())
    if has_no_lengths(content):
        found += [tok.encode_segments(SEGMENTS, join=join).tolist() for join in (False, True)]
    return found


def has_no_lengths(content: synthetic.Model) -> bool:
    return content.get("truncation") is None and content.get("padding") is None


def install_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "Tokenizer", Candidate)
    for module in (backend, plain):
        monkeypatch.setattr(module, "AnyTokenizer", NextTokenizer)
    monkeypatch.setattr(tokenizers, "Tokenizer", Candidate)


@pytest.mark.parametrize("name", list(models()))
def test_as_the_release(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    content = models()[name]
    configs: list[dict[str, Any]] = [
        {},
        {"eos_token": "<new>", "extra_special_tokens": ["<think>", "hello"]},
        {"split_special_tokens": True},
    ]
    expected = [results(content, **config) for config in configs]
    install_candidate(monkeypatch)
    assert [results(content, **config) for config in configs] == expected
    tok = Tokenizer.from_json(json.dumps(content), backend="huggingface")
    with pytest.raises(TokcyError, match=r"gives no offsets; releases before 1\.0 do"):
        tok.encode_with_offsets("ab")
    if len(tok.encode("")) or not has_no_lengths(content):
        with pytest.raises(TokcyError, match=r"nor cuts or fills them up; releases before 1\.0 do"):
            tok.encode_segments(SEGMENTS, add_special_tokens=True)
    else:  # nothing is to be put around them
        ids = tok.encode_segments(SEGMENTS, add_special_tokens=True)
        assert np.array_equal(ids, tok.encode_segments(SEGMENTS))


def test_real_model(model_path: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = model_path("bert_minilm")
    expected = Tokenizer.from_file(path).encode("The [MASK] is here.")
    install_candidate(monkeypatch)
    assert np.array_equal(Tokenizer.from_file(path).encode("The [MASK] is here."), expected)
