"""Small BPE models for tests: trained on a few sentences, or with random merges.

Import it plainly (``import synthetic``): pytest puts this folder on the path. Models are
dictionaries in the shape of tokenizer.json, so a test can change any field before loading.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

import tokenizers
from hypothesis import strategies as st
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from tokcy.spec.steps import (
    Lowercase,
    NormalForm,
    NormalizerStep,
    Prepend,
    Replace,
    Strip,
    StripAccents,
)

Model = dict[str, Any]

SENTENCES = (
    "The tokenizer turns text into numbers, and the numbers back into text.",
    "def merge(left: str, right: str) -> str:\n    return left + right  # it's 100% there\n",
    "Die Größe der Übung überraschte niemanden; 3 von 7 kamen um 12:45 Uhr.",
    "分词器把文本变成数字,再把数字变回文本。今天天气很好。",
    "Токенизатор превращает текст в числа, а числа обратно в текст.",
    "We'll see: I'm, you're, they've, don't... \t\t tabs\r\n\r\n   and spaces   ",
    "🙂👩‍👩‍👧 emoji, नमस्ते, สวัสดี, éé, 1234567890",
)


def byte_alphabet() -> list[str]:
    """The characters that stand for the 256 bytes in byte-level vocabularies, by byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


BYTES = byte_alphabet()


@functools.cache
def _trained_json(vocab_size: int) -> str:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES * 3, trainer)
    return tokenizer.to_str()


def trained_model(vocab_size: int = 600) -> Model:
    """A model that ``tokenizers`` trained on SENTENCES: GPT-2's pre-tokenizer, no added tokens."""
    model: Model = json.loads(_trained_json(vocab_size))
    return model


def model_from_merges(
    merges: Iterable[tuple[str, str]],
    *,
    extra_tokens: Iterable[str] = (),
    added_tokens: Iterable[Model] = (),
    pre_tokenizer: Model | None = None,
    **fields: Any,
) -> Model:
    """A byte-level model with these merges, in byte-level spelling, after the 256 bytes.

    ``extra_tokens`` get an id though no merge makes them; ``fields`` go into ``model``.
    """
    merges = list(merges)
    vocab: dict[str, int] = {}
    for token in (*BYTES, *(left + right for left, right in merges), *extra_tokens):
        vocab.setdefault(token, len(vocab))
    added = [{"id": len(vocab) + i, **token} for i, token in enumerate(added_tokens)]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer or {**byte_level, "use_regex": True},
        "post_processor": None,
        "decoder": {**byte_level, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [f"{left} {right}" for left, right in merges],
            **fields,
        },
    }


def character_model(
    merges: Iterable[tuple[str, str]],
    *,
    letters: str = "ab▁é丰🙂",
    byte_names: Iterable[int] = range(256),
    **fields: Any,
) -> Model:
    """A model of characters with these letters, these merges and entries such as ``<0x0A>``.

    It has neither normalizer nor pre-tokenizer; ``fields`` go into ``model``.
    """
    merges = list(merges)
    names = [f"<0x{byte:02X}>" for byte in byte_names]
    parts = "".join(left + right for left, right in merges)
    vocab: dict[str, int] = {}
    for token in ("<unk>", *names, *letters, *parts, *(left + right for left, right in merges)):
        vocab.setdefault(token, len(vocab))
    model = model_from_merges(merges, **{"byte_fallback": True, "vocab": vocab, **fields})
    return {**model, "pre_tokenizer": None, "decoder": None}


def added_token(content: str, **flags: bool) -> Model:
    """An added token as tokenizer.json spells it; ``model_from_merges`` gives it its id."""
    defaults = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"content": content, "special": True, **defaults, **flags}


def load(model: Model) -> tokenizers.Tokenizer:
    """The model as the oracle loads it."""
    return tokenizers.Tokenizer.from_str(json.dumps(model))


def normalizer_step(step: NormalizerStep) -> Any:
    """The oracle's step that does the same."""
    match step:
        case NormalForm(form):
            return getattr(normalizers, form)()
        case Lowercase():
            return normalizers.Lowercase()
        case StripAccents():
            return normalizers.StripAccents()
        case Strip(left, right):
            return normalizers.Strip(left, right)
        case Prepend(content):
            return normalizers.Prepend(content)
        case Replace(pattern, is_regex, content):
            return normalizers.Replace(Regex(pattern) if is_regex else pattern, content)
    raise AssertionError(step)


@st.composite
def merge_lists(
    draw: st.DrawFn, *, letters: str = "abcĠ", max_merges: int = 24
) -> list[tuple[str, str]]:
    """Merge lists over a few letters: each merge joins two tokens made before it.

    Few letters make the merges overlap, which is where the order of merging matters.
    """
    tokens = list(letters)
    merges: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, max_merges))):
        pair = draw(st.tuples(st.sampled_from(tokens), st.sampled_from(tokens)))
        if pair in merges or len("".join(pair)) > 24:
            continue
        merges.append(pair)
        if "".join(pair) not in tokens:
            tokens.append("".join(pair))
    return merges


def texts(letters: str = "abc ", max_size: int = 60) -> st.SearchStrategy[str]:
    """Texts that mix the letters of ``merge_lists`` with any other Unicode scalar values."""
    return st.one_of(
        st.text(alphabet=letters, max_size=max_size),
        st.text(max_size=max_size),
        st.lists(st.sampled_from(SENTENCES), max_size=3).map("".join),
    )
