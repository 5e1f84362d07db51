"""Changes of a tokenizer between two encodes, with the patch and without: none may be missed."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hf_models import MAKERS, NATIVE, NEW, look, small
from hf_surface import agree, agree_by_itself, outcome
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

Change = Callable[[Tokenizer], Any]


def _set(name: str, value: Callable[[], Any]) -> Change:
    return lambda tokenizer: setattr(tokenizer, name, value())


def _replace_model(tokenizer: Tokenizer) -> None:
    content = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in content["merges"]]
    tokenizer.model = models.BPE(content["vocab"], merges[: len(merges) // 2])


def _template(tokenizer: Tokenizer) -> None:
    end = tokenizer.token_to_id("</s>") or 0
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:1 </s>:0 </s>", pair="$A $B", special_tokens=[("</s>", end)]
    )


#: Each of them changes what `look` sees of one model at least.
CHANGES: dict[str, Change] = {
    "no normalizer": _set("normalizer", lambda: None),
    "lower case": _set("normalizer", normalizers.Lowercase),
    "forms": _set(
        "normalizer", lambda: normalizers.Sequence([normalizers.NFKC(), normalizers.StripAccents()])
    ),
    "no pre-tokenizer": _set("pre_tokenizer", lambda: None),
    "white space": _set("pre_tokenizer", pre_tokenizers.Whitespace),
    "digits": _set(
        "pre_tokenizer",
        lambda: pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=True),
            ]
        ),
    ),
    "split": _set(
        "pre_tokenizer", lambda: pre_tokenizers.Split(Regex(r"\p{L}+"), "merged_with_next")
    ),
    "no post-processor": _set("post_processor", lambda: None),
    "template": _template,
    "bert": _set("post_processor", lambda: processors.BertProcessing(("</s>", 3), ("<s>", 5))),
    "no decoder": _set("decoder", lambda: None),
    "byte decoder": _set("decoder", decoders.ByteLevel),
    "replacing decoder": _set("decoder", lambda: decoders.Replace("e", "E")),
    "model": _replace_model,
    "word level": _set("model", lambda: models.WordLevel({"a": 0, "<unk>": 1}, "<unk>")),
    "added": lambda tokenizer: tokenizer.add_tokens(["<new>", " x", "é"]),
    "added special": lambda tokenizer: tokenizer.add_special_tokens(["<new>", "Hello"]),
    "added with flags": lambda tokenizer: tokenizer.add_tokens(
        [
            AddedToken("<new>", lstrip=True, rstrip=True),
            AddedToken("o", single_word=True),
            AddedToken("<tool>", special=True),
            AddedToken("Ñ", normalized=True),
        ]
    ),
    "added nothing": lambda tokenizer: tokenizer.add_tokens([]),
    "as text": _set("encode_special_tokens", lambda: True),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["start", "both ends", "llama", "suffix"])
def test_a_change_between_encodes(name: str, change: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        return look(tokenizer), outcome(lambda: CHANGES[change](tokenizer)), look(tokenizer)

    agree(case, name in NATIVE)


@pytest.mark.parametrize("change", [c for c in CHANGES if c != "added nothing"])
def test_the_changes_matter(change: str) -> None:
    """Or else that test would say nothing."""

    def differs(name: str) -> bool:
        tokenizer = small(name)
        before = look(tokenizer)
        CHANGES[change](tokenizer)
        return bool(repr(before) != repr(look(tokenizer)))

    assert any(outcome(differs, name) is True for name in ("start", "both ends", "llama"))


@pytest.mark.parametrize("name", MAKERS)
def test_many_changes_one_after_the_other(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        told = []
        for change in ("added", "lower case", "template", "added with flags", "digits", "as text"):
            told += [outcome(lambda: CHANGES[change](tokenizer)), look(tokenizer)]  # noqa: B023
            tokenizer = pickle.loads(pickle.dumps(tokenizer))
            told.append(look(tokenizer))
        return told

    agree(case, name in NATIVE)


def _nested_pre_tokenizer(tokenizer: Tokenizer) -> None:
    steps: Any = tokenizer.pre_tokenizer
    steps[0] = pre_tokenizers.Split(" ", "removed")


def _nested_flag(tokenizer: Tokenizer) -> None:
    steps: Any = tokenizer.pre_tokenizer
    steps[1].add_prefix_space = True


def _nested_normalizer(tokenizer: Tokenizer) -> None:
    steps: Any = tokenizer.normalizer
    steps[1].pattern = "e"
    steps[0].prepend = "_"


def _nested_state(tokenizer: Tokenizer) -> None:
    tokenizer.pre_tokenizer.__setstate__(pre_tokenizers.Whitespace().__getstate__())


def _held(tokenizer: Tokenizer) -> None:
    """The component was taken from the tokenizer long before."""
    held: Any = tokenizer.pre_tokenizer
    look(tokenizer)
    held.add_prefix_space = not held.add_prefix_space
    look(tokenizer)
    held.use_regex = not held.use_regex


def _shared(tokenizer: Tokenizer) -> None:
    """One component of two tokenizers."""
    other = small("bare")
    shared: Any = tokenizer.pre_tokenizer
    other.pre_tokenizer = shared
    look(other)
    shared.add_prefix_space = True
    look(other)


NESTED: dict[str, tuple[str, Change]] = {
    "step": ("both ends", _nested_pre_tokenizer),
    "flag of a step": ("both ends", _nested_flag),
    "steps of a normalizer": ("llama", _nested_normalizer),
    "state": ("start", _nested_state),
    "held": ("start", _held),
    "shared": ("start", _shared),
    "prefix": ("start", lambda t: setattr(t.pre_tokenizer, "add_prefix_space", True)),
    "trim": ("roberta", lambda t: setattr(t.post_processor, "trim_offsets", False)),
    "scheme": ("metaspace", lambda t: setattr(t.pre_tokenizer, "prepend_scheme", "always")),
    "decoder": ("metaspace", lambda t: setattr(t.decoder, "replacement", "e")),
    "ends": ("roberta", lambda t: setattr(t.post_processor, "sep", ("a", 5))),
}


@pytest.mark.parametrize("change", NESTED)
def test_a_change_inside_a_component(change: str) -> None:
    name, apply = NESTED[change]

    def case() -> Any:
        tokenizer = small(name)
        return look(tokenizer), outcome(apply, tokenizer), look(tokenizer), look(tokenizer)

    agree(case)


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("suffix", "unk_token", "b"),
        ("suffix", "fuse_unk", True),
        ("suffix", "end_of_word_suffix", ""),
        ("start", "ignore_merges", True),
        ("start", "dropout", 1.0),
        ("llama", "byte_fallback", False),
        ("llama", "unk_token", None),
    ],
)
def test_a_change_of_the_model(name: str, attribute: str, value: Any) -> None:
    """Of words that it has seen, tokenizers itself goes on to tell what they were before."""

    def case() -> Any:
        tokenizer = small(name)
        told = [tokenizer.encode("q"), tokenizer.encode_batch(["q", "v"])]
        setattr(tokenizer.model, attribute, value)
        return told, look(tokenizer, NEW), outcome(getattr, tokenizer.model, attribute)

    agree(case, name in NATIVE)


class Spaced:
    """A pre-tokenizer of the user's own."""

    def pre_tokenize(self, text: Any) -> None:
        text.split(lambda i, s: s.split("o", "removed"))


def test_components_of_ones_own() -> None:
    def case() -> Any:
        tokenizer = small("start")
        before = look(tokenizer)
        tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Spaced())
        return before, look(tokenizer), outcome(tokenizer.to_str)

    agree(case)


@pytest.mark.parametrize("name", MAKERS)
def test_changes_while_the_patch_is_off(name: str) -> None:
    """What was known of an object does not survive a time in which nobody watched."""

    def case(patched: Callable[[], Any]) -> Any:
        tokenizer = small(name)
        held: Any = tokenizer.pre_tokenizer
        with patched():
            told = [look(tokenizer)]
        tokenizer.add_tokens(["<new>", "He"])
        if hasattr(held, "add_prefix_space"):
            held.add_prefix_space = not held.add_prefix_space
        with patched():
            told.append(look(tokenizer))
            tokenizer.add_tokens(["<|x|>"])
        told.append(look(tokenizer))
        with patched():
            told.append(look(tokenizer))
        return told

    agree_by_itself(case, name in NATIVE)
