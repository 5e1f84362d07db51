"""Encodings of real models: every field, map and option as `tokenizers` has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import synthetic
import tokenizers
from encoding_pairs import (
    assert_same,
    assert_same_maps,
    encoder_of,
    outcome,
    random_change,
    random_options,
    set_options,
)
from pipelines import random_texts
from real_models import FEW_AND_SWEEP

from tokcy.dropin.encoding import Encoder, Surroundings

HARD = [
    *("", " ", "a", "\n\n", "it's 100% <s> fine   \n e\u0301 中文 </s><|endoftext|> x"),
    *(
        "🙂👩‍👩‍👧é🇩🇪 naïve",
        "  <s>  hi <mask> ok",
        "<|im_start|>user\nhi<|im_end|>\n<think> \x00\u0085",
    ),
    *("\ufeffa\u0301\u0327b", "नमस्ते สวัสดี", "<s>", "</s> ", "Hello, wörld! It's 3.50€."),
]


@pytest.mark.parametrize("name", FEW_AND_SWEEP)
def test_real_models(name: str, model_path: Callable[[str], Path]) -> None:
    file = model_path(name).read_text()
    oracle = tokenizers.Tokenizer.from_str(file)
    encoder = encoder_of(file, oracle)
    assert encoder is not None
    choose = Random(name)
    texts = [*HARD, *random_texts(choose, json.loads(file), 40)]
    for special in (True, False):
        set_options(oracle, None, None)
        for text in HARD:
            theirs = oracle.encode(text, add_special_tokens=special)
            assert_same_maps(encoder.encode(text, special), theirs, len(text))
        for _ in range(6):
            check_options(encoder, oracle, texts, special, choose)


def check_options(
    encoder: Encoder,
    oracle: tokenizers.Tokenizer,
    texts: list[str],
    special: bool,
    choose: Random,
) -> None:
    truncation, padding = random_options(choose)
    try:
        set_options(oracle, truncation, padding)
    except ValueError:
        return
    settings = (special, oracle.truncation, oracle.padding)
    for text in choose.sample(texts, 5):
        ours = outcome(encoder.encode, text, *settings)
        theirs = outcome(oracle.encode, text, add_special_tokens=special)
        assert ours[0] == theirs[0], (text, settings, ours, theirs)
        if ours[0] == "value":
            assert_same(ours[1], theirs[1], choose)
            assert_same_maps(ours[1], theirs[1], len(text))
    some = choose.sample(texts, 8)
    batch = outcome(encoder.encode_batch, some, *settings)
    expected = outcome(oracle.encode_batch, some, add_special_tokens=special)
    assert batch[0] == expected[0]
    if batch[0] == "value":
        for mine, other in zip(batch[1], expected[1], strict=True):
            assert_same(mine, other, choose)


def test_changes_in_any_order(model_path: Callable[[str], Path]) -> None:
    file = model_path("roberta_base").read_text()
    oracle = tokenizers.Tokenizer.from_str(file)
    encoder = encoder_of(file, oracle)
    assert encoder is not None
    for seed in range(400):
        choose = Random(seed)
        truncation, padding = random_options(choose)
        text = choose.choice(HARD)
        if outcome(set_options, oracle, truncation, padding)[0] == "error":
            continue
        kind, theirs = outcome(oracle.encode, text)
        if kind == "error":
            continue
        ours = encoder.encode(text, True, oracle.truncation, oracle.padding)
        for _ in range(choose.randint(1, 4)):
            change = random_change(choose)
            assert outcome(change, ours) == outcome(change, theirs)
            assert_same(ours, theirs, choose)
            assert_same_maps(ours, theirs, len(text))


def test_type_ids_of_a_template() -> None:
    text = {"Sequence": {"id": "A", "type_id": 2}}
    start, end = (
        {"SpecialToken": {"id": name, "type_id": n}} for name, n in (("<s>", 3), ("e", 4))
    )
    section = {
        "type": "TemplateProcessing",
        "single": [start, text, end, start],
        "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            "<s>": {"id": "<s>", "ids": [7, 8], "tokens": ["<s>", "<t>"]},
            "e": {"id": "e", "ids": [9], "tokens": ["e"]},
        },
    }
    assert Surroundings.of(section) == Surroundings(
        *((7, 8), ("<s>", "<t>"), (3, 3), (9, 7, 8), ("e", "<s>", "<t>"), (4, 3, 3), 2, True)
    )
    nested = {"type": "Sequence", "processors": [{"type": "Sequence", "processors": [section]}]}
    model = synthetic.model_from_merges([("a", "b")])
    for processor in (section, {"type": "Sequence", "processors": [section]}, nested):
        file = json.dumps({**model, "post_processor": processor})
        oracle = tokenizers.Tokenizer.from_str(file)
        encoder = encoder_of(file, oracle)
        assert encoder is not None
        oracle.enable_truncation(7, stride=1)
        for special in (True, False):
            theirs = oracle.encode("abababab aba abab", add_special_tokens=special)
            ours = encoder.encode("abababab aba abab", special, oracle.truncation)
            assert theirs.overflowing
            assert_same(ours, theirs)


@pytest.mark.parametrize("pattern", [None, "borders"])
def test_words_of_a_split_and_of_none(pattern: str | None) -> None:
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    model = synthetic.character_model([("a", "b")], letters="ab borders▁")
    file = json.dumps({**model, "pre_tokenizer": None if pattern is None else split})
    oracle = tokenizers.Tokenizer.from_str(file)
    encoder = encoder_of(file, oracle)
    assert encoder is not None
    ours = encoder.encode("ab borders ab")
    assert ours.word_ids[-1] == (0 if pattern is None else 2)
    assert_same(ours, oracle.encode("ab borders ab"))
