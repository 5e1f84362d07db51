"""Every change of a tokenizer is counted, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tokcy.dropin.replacements import Replacements
from tokcy.dropin.watch import Watch

Seen = tuple[int, int, list[bool]]


class Watched:
    """A watch that is in place, and what it was told of tokenizers themselves."""

    def __init__(self) -> None:
        self.told: list[tuple[object, bool]] = []
        self.watch = Watch(lambda tokenizer, deep: self.told.append((tokenizer, deep)))
        self.places = [(owner, name) for owner, name, _ in self.watch.replacements()]
        self.before = self.attributes()
        self._replacements = Replacements()
        self._replacements.put(self.watch.replacements())

    def attributes(self) -> list[Any]:
        return [vars(owner)[name] for owner, name in self.places]

    def remove(self) -> None:
        self._replacements.undo()

    def seen(self) -> Seen:
        return self.watch.epoch, self.watch.models, [deep for _, deep in self.told]


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.remove()


def _tokenizer() -> Tokenizer:
    tok = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(), byte_level])
    tok.post_processor = processors.ByteLevel()
    return tok


OWN_CHANGES: dict[str, tuple[bool, Callable[[Any], object]]] = {
    "setter": (False, lambda t: setattr(t, "normalizer", normalizers.NFC())),
    "model setter": (True, lambda t: setattr(t, "model", models.BPE({"b": 0}, []))),
    "tokens": (True, lambda t: t.add_tokens(["x"])),
    "special tokens": (True, lambda t: t.add_special_tokens(["<s>"])),
    "training": (True, lambda t: t.train_from_iterator(["ab ab"])),
    "state": (True, lambda t: t.__setstate__(_tokenizer().__getstate__())),
}
COMPONENT_CHANGES: dict[str, tuple[bool, Callable[[Any], object]]] = {
    "item": (False, lambda t: t.pre_tokenizer.__setitem__(0, pre_tokenizers.Digits(True))),
    "item attribute": (False, lambda t: setattr(t.pre_tokenizer[1], "add_prefix_space", True)),
    "attribute": (False, lambda t: setattr(t.post_processor, "trim_offsets", False)),
    "model attribute": (False, lambda t: setattr(t.model, "dropout", 0.5)),
    "same model state": (False, lambda t: t.model.__setstate__(t.model.__getstate__())),
    "model state": (True, lambda t: t.model.__setstate__(models.BPE({"c": 0}, []).__getstate__())),
}


def _assert_same_change(change: Callable[[Any], object], tok: Any, watched: Watched) -> None:
    watched.remove()
    twin = _tokenizer()
    change(twin)
    assert tok.to_str() == twin.to_str()


@pytest.mark.parametrize("name", OWN_CHANGES)
def test_changes_of_tokenizers_are_made_and_told(watched: Watched, name: str) -> None:
    deep, change = OWN_CHANGES[name]
    tok = _tokenizer()
    watched.told.clear()
    change(tok)
    assert (tok, deep) in watched.told
    _assert_same_change(change, tok, watched)


@pytest.mark.parametrize("name", COMPONENT_CHANGES)
def test_changes_of_components_are_made_and_counted(watched: Watched, name: str) -> None:
    whole, change = COMPONENT_CHANGES[name]
    tok = _tokenizer()
    epoch, models_before, told = watched.seen()
    change(tok)
    assert watched.watch.epoch > epoch
    assert (watched.watch.models > models_before) is whole
    assert watched.seen()[2] == told
    _assert_same_change(change, tok, watched)


def test_failed_changes_raise_what_they_did(watched: Watched) -> None:
    tok = _tokenizer()
    with pytest.raises(TypeError):
        tok.pre_tokenizer = 5  # type: ignore[assignment]
    with pytest.raises(TypeError):
        tok.pre_tokenizer[1].add_prefix_space = "yes"
    with pytest.raises((AttributeError, TypeError, NotImplementedError)):
        del tok.normalizer


def test_reading_counts_nothing(watched: Watched) -> None:
    tok = _tokenizer()
    before = watched.seen()
    assert tok.pre_tokenizer[1].add_prefix_space is False
    tok.encode("ab")
    tok.enable_truncation(3)
    assert watched.seen() == before


def test_everything_is_put_back(watched: Watched) -> None:
    assert not any(
        new is old for new, old in zip(watched.attributes(), watched.before, strict=True)
    )
    watched.remove()
    assert all(new is old for new, old in zip(watched.attributes(), watched.before, strict=True))


def test_replacements_are_all_made_or_none() -> None:
    replacements = Replacements()
    before = dict(vars(Tokenizer))
    with pytest.raises(KeyError):
        replacements.put([(Tokenizer, "encode", len), (Tokenizer, "no such method", len)])
    with pytest.raises(TypeError):
        replacements.put([(Tokenizer, "encode", len), (int, "__add__", len)])
    assert dict(vars(Tokenizer)) == before
