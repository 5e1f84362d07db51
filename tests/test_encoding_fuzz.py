"""Encodings of random files of every kind: all fields, maps and options."""

from __future__ import annotations

import json
from random import Random

import pipelines
import pytest
import tokenizers
from encoding_pairs import assert_same, assert_same_maps, encoder_of, outcome, random_options
from encoding_pairs import set_options as set_oracle

from tokcy.dropin.encoding import Encoder
from tokcy.errors import ModelFileError
from tokcy.spec import NativePlan, Unsupported, plan_native, read_tokenizer_json

FILES = 150
SWEEP_FILES = 1500
SWEEP_CHUNKS = 8
LEAST_NATIVE = 0.25  # of the files; each of them with 12 texts


def check_files(seed: int, n_files: int) -> None:
    choose = Random(seed)
    n_native = 0
    for _ in range(n_files):
        file = pipelines.random_file(choose)
        text = json.dumps(file)
        if not isinstance(plan_of(text), NativePlan):
            continue
        n_native += 1
        oracle = tokenizers.Tokenizer.from_str(text)
        encoder = encoder_of(text, oracle)
        assert encoder is not None
        for sample in pipelines.random_texts(choose, file, 12):
            try:
                check(encoder, oracle, sample[:200], choose)
            except AssertionError as error:
                raise AssertionError(f"{text}\n{sample[:200]!r}: {error}") from error
    assert n_native >= LEAST_NATIVE * n_files


def plan_of(text: str) -> NativePlan | Unsupported | None:
    try:
        return plan_native(read_tokenizer_json(text))
    except ModelFileError:
        return None


def check(encoder: Encoder, oracle: tokenizers.Tokenizer, text: str, choose: Random) -> None:
    special = choose.random() < 0.7
    set_oracle(oracle, None, None)
    if outcome(lambda: oracle.encode(text))[0] == "error":
        return
    truncation, padding = random_options(choose)
    if outcome(lambda: set_oracle(oracle, truncation, padding))[0] == "error":
        set_oracle(oracle, None, padding)
    settings = (oracle.truncation, oracle.padding)
    theirs = outcome(lambda: oracle.encode(text, add_special_tokens=special))
    ours = outcome(lambda: encoder.encode(text, special, *settings))
    assert ours[0] == theirs[0]
    if ours[0] == "error":
        return
    assert_same(ours[1], theirs[1], choose)
    if len(text) < 60:
        assert_same_maps(ours[1], theirs[1], len(text))


def test_random_files() -> None:
    check_files(20261130, FILES)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(SWEEP_CHUNKS))
def test_many_random_files(seed: int) -> None:
    check_files(seed, SWEEP_FILES)
