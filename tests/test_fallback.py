"""The Hugging Face backend: the same results as ``tokenizers`` itself, and errors of our own."""

from __future__ import annotations

import json
import logging
import pickle
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

import tokcy
from tokcy.errors import EncodeTypeError, ModelFileError, TokcyError
from tokcy.hf import HuggingFaceBackend
from tokcy.spec import AddedToken

OTHER_MODELS = [
    "bert_minilm",
    "t5_small",
]
START = {"SpecialToken": {"id": "<s>", "type_id": 0}}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [START, TEXT],
    "pair": [START, TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [258], "tokens": ["<s>"]}},
}
PADDING = {
    "strategy": "BatchLongest",
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 99,
    "pad_type_id": 0,
    "pad_token": "[PAD]",
}
TRUNCATION = {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}


def small_model(**sections: Any) -> dict[str, Any]:
    tokens = [synthetic.added_token("<s>"), synthetic.added_token("ab", special=False)]
    return synthetic.model_from_merges([("a", "b"), ("ab", "c")], added_tokens=tokens) | sections


def word_model(**sections: Any) -> dict[str, Any]:
    """A word-level model: its vocabulary holds its control token, so text can become it."""
    content = small_model(added_tokens=[], decoder=None, pre_tokenizer={"type": "WhitespaceSplit"})
    content["model"] = {
        "type": "WordLevel",
        "vocab": {"[UNK]": 0, "[SEP]": 1, "hello": 2},
        "unk_token": "[UNK]",
    }
    for token_id, token in enumerate(["[UNK]", "[SEP]"]):
        content["added_tokens"].append(synthetic.added_token(token) | {"id": token_id})
    return content | sections


def backend_of(content: dict[str, Any]) -> HuggingFaceBackend:
    return HuggingFaceBackend(json.dumps(content).encode(), source="m.json")


# --------------------------------------------------------------------------------- as the oracle


@given(st.lists(synthetic.texts("abc <s>"), max_size=4), st.booleans())
def test_encode(texts: list[str], special: bool) -> None:
    content = small_model(post_processor=TEMPLATE)
    backend, oracle = backend_of(content), synthetic.load(content)
    expected = [oracle.encode(text, add_special_tokens=special) for text in texts]
    for text, encoding in zip(texts, expected, strict=True):
        ids = backend.encode(text, special, True, None)
        assert ids.dtype == np.uint32
        assert ids.tolist() == encoding.ids
        assert backend.encode_to_list(text, special, True, 1) == encoding.ids
        assert backend.count(text, special, True, 1) == len(encoding.ids)
        ids, offsets = backend.encode_with_offsets(text, special, True)
        assert [ids.dtype, offsets.dtype] == [np.uint32, np.int64]
        assert ids.tolist() == encoding.ids
        assert offsets.shape == (len(ids), 2)
        assert list(map(tuple, offsets.tolist())) == encoding.offsets
    values, bounds = backend.encode_batch(texts, special, True, None)
    assert [values.dtype, bounds.dtype] == [np.uint32, np.int64]
    assert bounds[0] == 0
    rows = [values[begin:end].tolist() for begin, end in pairwise(bounds)]
    assert rows == [encoding.ids for encoding in expected]


@pytest.mark.parametrize("name", OTHER_MODELS)
def test_real_models(
    model_path: Callable[[str], Path],
    oracle: Callable[[str], Any],
    corpus: Callable[..., str],
    name: str,
) -> None:
    tok = tokcy.Tokenizer.from_file(model_path(name), backend="huggingface")
    expected = oracle(name)
    for text in (corpus("mixed_all_languages", 3000), corpus("python", 20_000), ""):
        encoding = expected.encode(text)
        ids, offsets = tok.encode_with_offsets(text)
        assert ids.tolist() == encoding.ids == tok.encode(text).tolist()
        assert list(map(tuple, offsets.tolist())) == encoding.offsets
        for skip in (False, True):
            decoded = expected.decode(encoding.ids, skip_special_tokens=skip)
            assert tok.decode(ids, skip_special_tokens=skip) == decoded
    assert tok.get_vocab() == expected.get_vocab()


@given(st.lists(st.integers(0, 300) | st.integers(0, 2**32 - 1)), st.booleans())
def test_decode(ids: list[int], skip: bool) -> None:
    content = small_model()
    backend, oracle = backend_of(content), synthetic.load(content)
    array = np.array(ids, dtype=np.uint32)
    expected = oracle.decode(ids, skip_special_tokens=skip)
    assert backend.decode(array, skip) == expected
    assert backend.decode_bytes(array, skip) == expected.encode()


def test_vocabulary() -> None:
    content = small_model()
    backend, oracle = backend_of(content), synthetic.load(content)
    for with_added in (False, True):
        assert backend.get_vocab(with_added) == oracle.get_vocab(with_added_tokens=with_added)
    assert backend.token_to_id("<s>") == oracle.token_to_id("<s>") == 258
    assert backend.token_to_id("nothing") is None
    for token_id in (-1, 0, 258, 10_000, 2**32 - 1, 2**40):
        known = oracle.id_to_token(token_id) if 0 <= token_id < 2**32 else None
        assert backend.id_to_token(token_id) == known
    assert backend.added_tokens == (
        AddedToken("ab", 256),
        AddedToken("<s>", 258, special=True),
    )
    assert backend.cache_info() == {}
    assert repr(backend) == "<HuggingFaceBackend 'm.json': BPE>"


def test_truncation_and_padding_stay_in_force() -> None:
    content = small_model(truncation=TRUNCATION, padding=PADDING, post_processor=TEMPLATE)
    backend = backend_of(content)
    for allow_special in (True, False):
        values, offsets = backend.encode_batch(["x", "xyz", "abcxyz"], True, allow_special, None)
        assert offsets.tolist() == [0, 3, 6, 9]
        rows = values.reshape(3, 3)
        assert rows[:, 0].tolist() == [258] * 3
        assert rows[0, 2] == 99


def test_pickle() -> None:
    backend = backend_of(small_model(truncation=TRUNCATION))
    copy = pickle.loads(pickle.dumps(backend))
    assert copy.encode("abcdef", True, True, None).tolist() == (
        backend.encode("abcdef", True, True, None).tolist()
    )
    assert repr(copy) == repr(backend)


# --------------------------------------------------------------------------- allow_special=False


@given(synthetic.texts("abc <s>"), st.booleans())
def test_no_added_token_is_recognised(text: str, special: bool) -> None:
    content = small_model(post_processor=TEMPLATE)
    without = synthetic.load(content | {"added_tokens": []})
    encoding = without.encode(text, add_special_tokens=special)
    backend = backend_of(content)
    ids, offsets = backend.encode_with_offsets(text, special, False)
    assert ids.tolist() == encoding.ids
    assert list(map(tuple, offsets.tolist())) == encoding.offsets
    assert backend.encode(text, special, False, None).tolist() == encoding.ids
    assert backend.encode_batch([text], special, False, None)[0].tolist() == encoding.ids
    assert backend.count(text, special, False, None) == len(encoding.ids)
    assert 258 not in ids[int(special) :]


def test_special_text_of_real_models(
    model_path: Callable[[str], Path], oracle: Callable[[str], Any]
) -> None:
    tok = tokcy.Tokenizer.from_file(model_path("llama2_kit"))
    text = "a<s> b</s><unk>"
    control = {0, 1, 2}
    assert control <= set(tok.encode(text).tolist())
    plain = tok.encode(text, allow_special=False)
    assert plain[0] == 1
    assert not control & set(plain[1:].tolist())
    assert tok.decode(plain[1:]) == text


def test_model_that_makes_control_tokens_of_text() -> None:
    backend = backend_of(word_model())
    assert backend.encode("hello [SEP]", True, True, None).tolist() == [2, 1]
    assert backend.encode("hello", True, False, None).tolist() == [2]
    # The unknown token is a control token too, but text may become it.
    assert backend.encode("hello world [UNK]", True, False, None).tolist() == [2, 0, 0]
    message = r"the model makes its control token '\[SEP\]' of plain text"
    for encode in (
        lambda: backend.encode("hello [SEP]", True, False, None),
        lambda: backend.encode_to_list("hello [SEP]", True, False, None),
        lambda: backend.encode_batch(["hello", "[SEP]"], True, False, None),
        lambda: backend.encode_with_offsets("hello [SEP]", True, False),
    ):
        with pytest.raises(TokcyError, match=message):
            encode()


def test_control_tokens_of_the_post_processor_are_no_text() -> None:
    bert = {"type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[SEP]", 1]}
    backend = backend_of(word_model(post_processor=bert, padding=PADDING | {"pad_id": 1}))
    assert backend.encode("hello", True, False, None).tolist() == [1, 2, 1]
    values, _ = backend.encode_batch(["hello", "hello hello"], True, False, None)
    assert values.tolist() == [1, 2, 1, 1, 1, 2, 2, 1]
    with pytest.raises(TokcyError, match="control token"):
        backend.encode("[SEP]", True, False, None)


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("text", [b"a", None, 5, ["a"], ("a", "b")])
def test_not_text(text: Any) -> None:
    backend = backend_of(small_model())
    message = f"^text must be str, not {type(text).__name__}$"
    with pytest.raises(EncodeTypeError, match=message):
        backend.encode(text, True, True, None)
    with pytest.raises(EncodeTypeError, match=message):
        backend.encode_with_offsets(text, True, True)
    with pytest.raises(EncodeTypeError, match=r"^texts\[1\]: text must be str, not"):
        backend.encode_batch(["a", text], True, True, None)


def test_lone_surrogates() -> None:
    backend = backend_of(small_model())
    message = r"text holds the lone surrogate '\\ud800' at index 2, which UTF-8 cannot express"
    with pytest.raises(EncodeTypeError, match=f"^{message}$"):
        backend.encode("é \ud800", True, True, None)
    with pytest.raises(EncodeTypeError, match=rf"^texts\[0\]: {message}$"):
        backend.encode_batch(["é \ud800"], True, True, None)


@pytest.mark.parametrize("texts", ["abc", b"abc"])
def test_one_text_is_no_batch(texts: Any) -> None:
    message = f"^texts must be a sequence of str, not {type(texts).__name__}$"
    with pytest.raises(EncodeTypeError, match=message):
        backend_of(small_model()).encode_batch(texts, True, True, None)


def test_empty_batch_and_iterators() -> None:
    backend = backend_of(small_model())
    values, offsets = backend.encode_batch([], True, True, None)
    assert (values.tolist(), offsets.tolist()) == ([], [0])
    values, offsets = backend.encode_batch(iter(["ab", np.str_("x")]), True, True, None)
    assert offsets.tolist() == [0, 1, 2]


def test_errors_of_encode_are_ours() -> None:
    unknown = word_model()
    unknown["model"]["unk_token"] = "[NONE]"
    with pytest.raises(TokcyError, match="WordLevel error: Missing"):
        backend_of(unknown).encode("other", True, True, None)


def test_panics_are_ours(capfd: pytest.CaptureFixture[str]) -> None:
    backend = backend_of(small_model(post_processor={**TEMPLATE, "special_tokens": {}}))
    for call in (
        lambda: backend.encode("a", True, True, None),
        lambda: backend.encode_batch(["a"], True, True, None),
        lambda: backend.encode_with_offsets("a", True, True),
    ):
        with pytest.raises(TokcyError):
            call()
    assert backend.encode("a", False, True, None).tolist() == [97]
    strip = {"type": "Strip", "content": "a", "start": 0, "stop": 3}
    backend = backend_of(small_model(decoder=strip))
    with pytest.raises(TokcyError):
        backend.decode(np.array([97], dtype=np.uint32), False)
    capfd.readouterr()  # Rust writes its panics to stderr


def test_files_that_hugging_face_refuses() -> None:
    unknown = small_model(decoder={"type": "Foo"})
    with pytest.raises(ModelFileError) as caught:
        backend_of(unknown)
    assert str(caught.value).startswith("m.json: tokenizers refuses it: data did not match any")
    problem = ModelFileError("better", source="m.json")
    with pytest.raises(ModelFileError) as caught:
        HuggingFaceBackend(json.dumps(unknown).encode(), problem=problem)
    assert caught.value is problem
    with pytest.raises(ModelFileError, match="refuses it"):
        HuggingFaceBackend(b'{"model": "\xff"}')


def test_panics_at_load_are_ours(capfd: pytest.CaptureFixture[str]) -> None:
    content = small_model()
    content["model"] |= {"vocab": {"a": 0, "b": 1}, "merges": ["a b"], "dropout": 0.5}
    with pytest.raises(ModelFileError, match=r"m\.json: tokenizers refuses it: "):
        backend_of(content)
    capfd.readouterr()


# ---------------------------------------------------------------------------- the public class


def test_tokenizer_says_why(caplog: pytest.LogCaptureFixture) -> None:
    ctc = {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}
    content = small_model(decoder=ctc)
    with caplog.at_level(logging.WARNING, logger="tokcy"):
        tok = tokcy.Tokenizer.from_json(json.dumps(content))
    assert tok.backend == "huggingface"
    assert tok.fallback_reason == "decoder CTC is not supported natively"
    (record,) = caplog.records
    assert "decoder CTC is not supported natively" in record.getMessage()


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        (
            "post_processor",
            {**TEMPLATE, "single": ["$A"]},
            'post_processor.single[0]: must be {"Sequence": …} or {"SpecialToken": …}, not "$A"',
        ),
        ("decoder", {"type": "Foo"}, "tokenizers refuses it: data did not match any variant"),
        ("model", {"type": "bpe", "vocab": {}}, "tokenizers refuses it: data did not match any"),
        ("model", {"vocab": {"a": -1}, "merges": []}, 'model.vocab["a"]: must be an integer from'),
    ],
)
def test_tokenizer_refuses_what_hugging_face_refuses(
    section: str, value: Any, message: str
) -> None:
    with pytest.raises(ModelFileError) as caught:
        tokcy.Tokenizer.from_json(json.dumps(small_model(**{section: value})))
    assert str(caught.value).startswith(f"<string>: {message}")


def test_other_threads_run_while_a_long_text_is_encoded(
    model_path: Callable[[str], Path], corpus: Callable[..., str]
) -> None:
    backend = HuggingFaceBackend(model_path("claude_old").read_bytes())
    text = corpus("english_prose", 1_000_000)
    done = threading.Event()
    longest = 0.0

    def watch() -> None:
        nonlocal longest
        last = time.perf_counter()
        while not done.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            longest = max(longest, now - last)
            last = now

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    backend.encode(text, True, True, None)
    took = time.perf_counter() - began
    done.set()
    watcher.join()
    assert longest < took / 2
