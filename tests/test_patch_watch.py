"""Every change of a tokenizer is counted, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tokcy.dropin.watch import Watch, _watched


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch()
    watch.install()
    yield watch
    watch.remove()


def _tokenizer() -> Tokenizer:
    tok = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(), byte_level])
    tok.post_processor = processors.ByteLevel()
    return tok


CHANGES: dict[str, Callable[[Any], object]] = {
    "setter": lambda t: setattr(t, "normalizer", normalizers.NFC()),
    "tokens": lambda t: t.add_tokens(["x"]),
    "special tokens": lambda t: t.add_special_tokens(["<s>"]),
    "item": lambda t: t.pre_tokenizer.__setitem__(0, pre_tokenizers.Digits(True)),
    "item attribute": lambda t: setattr(t.pre_tokenizer[1], "add_prefix_space", True),
    "attribute": lambda t: setattr(t.post_processor, "trim_offsets", False),
    "model": lambda t: setattr(t.model, "dropout", 0.5),
    "training": lambda t: t.train_from_iterator(["ab ab"]),
    "state": lambda t: t.__setstate__(_tokenizer().__getstate__()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_made_and_counted(watch: Watch, change: str) -> None:
    tok, twin = _tokenizer(), _tokenizer()
    before = watch.epoch
    CHANGES[change](tok)
    assert watch.epoch > before
    watch.remove()
    CHANGES[change](twin)
    assert tok.to_str() == twin.to_str()


def test_reading_counts_nothing(watch: Watch) -> None:
    tok = _tokenizer()
    before = watch.epoch
    assert tok.pre_tokenizer[1].add_prefix_space is False
    tok.encode("ab")
    tok.enable_truncation(3)
    assert watch.epoch == before


def test_everything_is_put_back() -> None:
    before = list(_watched())
    watch = Watch()
    watch.install()
    watch.install()
    assert all(vars(owner)[name] is not was for owner, name, was in before)
    watch.remove()
    assert all(vars(owner)[name] is was for owner, name, was in before)
