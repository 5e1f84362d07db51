"""One tokenizer by itself: `tokcy.hf.wrap`, and `Tokenizer.from_hf`."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from patching import TEXTS, is_native, small_tokenizer, word_tokenizer
from real_models import FALLBACK, NATIVE
from tokenizers import AddedToken, Tokenizer, normalizers
from transformers import PreTrainedTokenizerFast

import tokcy

FAST: Any = PreTrainedTokenizerFast


def fast_tokenizer() -> Any:
    return FAST(
        tokenizer_object=small_tokenizer(),
        pad_token="<x>",
        bos_token="<s>",
        chat_template="{{ messages[0].content }}",
    )


@pytest.fixture(autouse=True)
def unpatched() -> Iterator[None]:
    before = dict(vars(Tokenizer))
    yield
    gc.collect()
    assert dict(vars(Tokenizer)) == before


def test_wraps_one_and_no_other() -> None:
    tokenizer, other = small_tokenizer(), small_tokenizer()
    expected = [tokenizer.encode(text).ids for text in TEXTS]
    assert tokcy.hf.wrap(tokenizer) is tokenizer
    assert tokcy.hf.wrap(tokenizer, strict=True) is tokenizer
    found = [tokenizer.encode(text) for text in TEXTS]
    assert all(map(is_native, found))
    assert [encoding.ids for encoding in found] == expected
    assert not is_native(other.encode("a"))
    assert not is_native(copy.deepcopy(tokenizer).encode("a"))
    assert not is_native(pickle.loads(pickle.dumps(tokenizer)).encode("a"))
    assert not tokcy.hf.patch_info()["patched"]
    assert tokcy.hf.fallback_reason(tokenizer) is None
    assert tokcy.hf.fallback_reason(other) == "it is not wrapped"
    tokcy.hf.unwrap(tokenizer)
    tokcy.hf.unwrap(tokenizer)
    tokcy.hf.unwrap(other)
    assert not is_native(tokenizer.encode("a"))
    assert not inspect.isfunction(vars(Tokenizer)["encode"])


def test_methods_are_put_back_with_the_last_wrapped_object() -> None:
    made = [tokcy.hf.wrap(small_tokenizer()) for _ in range(3)]
    made.pop()
    assert is_native(made[0].encode("a"))
    with tokcy.patched_hf():
        made.pop()
    assert is_native(made[0].encode("a"))
    made.clear()
    assert not inspect.isfunction(vars(Tokenizer)["encode"])


def test_notices_changes() -> None:
    tokenizer = tokcy.hf.wrap(small_tokenizer())
    assert is_native(tokenizer.encode("hello"))
    tokenizer.add_tokens(["hello"])
    encoding = tokenizer.encode("hello")
    assert is_native(encoding)
    assert encoding.tokens == ["<s>", "hello", "</s>"]


def test_wraps_a_tokenizer_of_transformers() -> None:
    tokenizer, reference = fast_tokenizer(), fast_tokenizer()
    assert tokcy.hf.wrap(tokenizer) is tokenizer
    encoded = tokenizer(TEXTS, truncation=True, max_length=9)
    assert is_native(encoded.encodings[0])
    assert dict(encoded) == dict(reference(TEXTS, truncation=True, max_length=9))
    assert not is_native(reference(TEXTS).encodings[0])


def test_what_cannot_be_native() -> None:
    tokenizer = word_tokenizer()
    assert tokcy.hf.wrap(tokenizer).encode("hello").ids == [1]
    assert "WordLevel" in str(tokcy.hf.fallback_reason(tokenizer))
    other = word_tokenizer()
    tokcy.hf.unwrap(tokenizer)
    with pytest.raises(tokcy.FallbackError, match="Tokenizer: model WordLevel is not supported"):
        tokcy.hf.wrap(other, strict=True)
    assert not inspect.isfunction(vars(Tokenizer)["encode"])
    for call in (tokcy.hf.wrap, tokcy.hf.unwrap, tokcy.hf.fallback_reason, tokcy.Tokenizer.from_hf):
        with pytest.raises(TypeError, match=r"must be a tokenizers.Tokenizer or a fast .* not int"):
            call(5)


# ----------------------------------------------------------------------- from_hf


@pytest.mark.parametrize("name", [*NATIVE[::3], *FALLBACK])
def test_from_hf(name: str, model_path: Callable[[str], Path], corpus: Callable[..., str]) -> None:
    theirs = Tokenizer.from_file(str(model_path(name)))
    theirs.add_tokens(["<new>", AddedToken("<other>", lstrip=True)])
    text = corpus("mixed_all_languages", 3000) + "<new> <other>"
    made = tokcy.Tokenizer.from_hf(theirs)
    assert made.backend == ("tokcy" if name in NATIVE else "huggingface")
    assert made.encode(text).tolist() == theirs.encode(text).ids
    assert made.get_vocab() == theirs.get_vocab()
    theirs.add_tokens(["<later>"])
    assert made.token_to_id("<later>") is None


@pytest.mark.parametrize("patch", [False, True])
def test_from_hf_of_transformers(patch: bool) -> None:
    theirs = fast_tokenizer()
    theirs("hello", truncation=True, max_length=3, padding="max_length")
    expected = [theirs(text)["input_ids"] for text in TEXTS]
    theirs("hello", truncation=True, max_length=3, padding="max_length", split_special_tokens=True)
    if patch:
        with tokcy.patched_hf():
            made = tokcy.Tokenizer.from_hf(theirs)
    else:
        made = tokcy.Tokenizer.from_hf(theirs)
    assert [made.encode(text).tolist() for text in TEXTS] == expected
    assert made.backend == "tokcy"
    pad = made.config.special_tokens["pad_token"]
    assert isinstance(pad, tokcy.AddedToken)
    assert pad.content == "<x>"
    messages = [{"role": "user", "content": "hello"}]
    assert made.apply_chat_template(messages).tolist() == theirs("hello")["input_ids"][1:-1]
    again = pickle.loads(pickle.dumps(made))
    assert again.encode(TEXTS[2]).tolist() == expected[2]


def test_from_hf_keeps_the_options_of_a_raw_tokenizer() -> None:
    theirs = small_tokenizer()
    theirs.enable_truncation(6)
    theirs.enable_padding(length=8, pad_id=3)
    made = tokcy.Tokenizer.from_hf(theirs)
    assert [made.encode(text).tolist() for text in TEXTS] == [theirs.encode(t).ids for t in TEXTS]
    theirs.encode_special_tokens = True
    made = tokcy.Tokenizer.from_hf(theirs)
    assert [made.encode(text).tolist() for text in TEXTS] == [theirs.encode(t).ids for t in TEXTS]
    with pytest.raises(tokcy.FallbackError):
        tokcy.Tokenizer.from_hf(theirs, fallback=False)


def test_from_hf_refuses_what_json_does_not_tell() -> None:
    theirs = small_tokenizer()
    theirs.add_tokens([AddedToken("zz", special=True)])
    theirs.add_tokens([AddedToken("zz", special=False)])
    with pytest.raises(tokcy.TokcyError, match="taken over: its added tokens are not decoded"):
        tokcy.Tokenizer.from_hf(theirs)


def test_from_hf_refuses_components_in_python() -> None:
    class Custom:
        def normalize(self, text: Any) -> None:
            text.lowercase()

    theirs: Any = small_tokenizer()
    theirs.normalizer = normalizers.Normalizer.custom(Custom())
    with pytest.raises(tokcy.TokcyError, match="cannot be serialized"):
        tokcy.Tokenizer.from_hf(theirs)


def test_implementations_have_a_tokenizer() -> None:
    theirs = tokenizers.ByteLevelBPETokenizer()
    theirs.train_from_iterator(["hello world"] * 20, vocab_size=300, show_progress=False)
    assert tokcy.Tokenizer.from_hf(theirs).encode("hello world").tolist() == (
        theirs.encode("hello world").ids
    )
    with tokcy.patched_hf(strict=True):
        assert is_native(theirs.encode("hello world"))
