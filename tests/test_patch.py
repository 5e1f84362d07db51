"""Methods are replaced and put back: exactly, together, whoever asks for it and how often."""

from __future__ import annotations

import inspect
import logging
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import tokenizers
from patching import TEXTS, is_native, small_tokenizer, word_tokenizer
from test_fallback_next import Candidate
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

import tokcy
from tokcy.dropin.counts import Counts

MODULES = (tokenizers, normalizers, pre_tokenizers, models, processors, decoders)
TYPES = [t for module in MODULES for t in vars(module).values() if isinstance(t, type)]
TYPES += [PreTrainedTokenizerFast, *PreTrainedTokenizerFast.__mro__[1:-1]]


def attributes() -> list[tuple[type, list[tuple[str, Any]]]]:
    return [(owner, list(vars(owner).items())) for owner in TYPES]


def assert_same_objects(before: list[tuple[type, list[tuple[str, Any]]]]) -> None:
    for (owner, old), (_, new) in zip(before, attributes(), strict=True):
        assert [name for name, _ in old] == [name for name, _ in new], owner
        for (name, was), (_, now) in zip(old, new, strict=True):
            assert now is was, (owner, name)


@pytest.fixture(autouse=True)
def unpatched() -> Iterator[None]:
    before = attributes()
    yield
    tokcy.unpatch_hf()
    assert_same_objects(before)


def patched() -> bool:
    return inspect.isfunction(vars(Tokenizer)["encode_batch"])


def test_everything_is_put_back() -> None:
    before = attributes()
    for _ in range(2):
        tokcy.patch_hf()
        tokcy.patch_hf()
        assert patched()
        assert attributes() != before
        tokcy.unpatch_hf()
        assert_same_objects(before)
    tokcy.unpatch_hf()
    assert_same_objects(before)


def test_blocks_are_counted() -> None:
    with tokcy.patched_hf():
        with tokcy.patched_hf(strict=True):
            assert tokcy.hf.patch_info()["strict"]
        assert patched()
        assert not tokcy.hf.patch_info()["strict"]
        tokcy.unpatch_hf()
        assert patched()
    assert not patched()
    tokcy.patch_hf()
    with pytest.raises(KeyError), tokcy.patched_hf():
        raise KeyError
    assert patched()


def test_threads_patch_at_once() -> None:
    tokenizer = small_tokenizer()
    expected = [tokenizer.encode(text).ids for text in TEXTS]
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                with tokcy.patched_hf():
                    assert patched()
                    assert [tokenizer.encode(text).ids for text in TEXTS] == expected
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert not patched()


def test_the_environment_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKCY_PATCH_HF", "0")
    tokenizer = small_tokenizer()
    tokcy.patch_hf()
    assert not patched()
    with tokcy.patched_hf(strict=True):
        assert not patched()
    assert tokcy.hf.wrap(tokenizer) is tokenizer
    assert not patched()
    monkeypatch.setenv("TOKCY_PATCH_HF", "1")
    tokcy.patch_hf()
    assert patched()
    monkeypatch.setenv("TOKCY_PATCH_HF", "yes")
    with pytest.raises(tokcy.SettingError, match="TOKCY_PATCH_HF must be 0 or 1, not 'yes'"):
        tokcy.patch_hf()


@pytest.mark.parametrize("name", ["encode", "decode", "padding", "model"])
def test_other_surfaces_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tokenizer, name, lambda self, *arguments: None)
    before = attributes()
    for call in (tokcy.patch_hf, tokcy.patched_hf().__enter__):
        with pytest.raises(tokcy.PatchError, match=rf"has another Tokenizer\.{name}: .* 0\.21"):
            call()
        assert_same_objects(before)
    with pytest.raises(tokcy.PatchError):
        tokcy.hf.wrap(word_tokenizer())
    assert not tokcy.hf.patch_info()["patched"]


def test_release_1_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "Tokenizer", Candidate)
    monkeypatch.setattr(tokenizers, "__version__", "1.0.0-rc.3")
    with pytest.raises(tokcy.PatchError, match=r"^tokenizers 1\.0\.0-rc\.3 has another "):
        tokcy.patch_hf()
    with pytest.raises(tokcy.PatchError):
        tokcy.Tokenizer.from_hf(Candidate.__new__(Candidate))


@pytest.mark.parametrize("where", ["replaced_async_methods", "scopes"])
def test_all_is_replaced_or_nothing(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokcy.dropin import installing

    class Failing:
        def __call__(self) -> None:
            raise KeyError("a method")

        install = __call__

    before = attributes()
    monkeypatch.setattr(installing, where, Failing())
    with pytest.raises(tokcy.PatchError, match=r"cannot be patched \(KeyError\('a method'\)\)"):
        tokcy.patch_hf()
    assert_same_objects(before)
    assert not tokcy.hf.patch_info()["patched"]
    monkeypatch.undo()
    tokcy.patch_hf()
    assert patched()


def test_strict_raises_where_it_cannot_encode() -> None:
    tokenizer = word_tokenizer()
    with tokcy.patched_hf(strict=True):
        for call in (
            lambda: tokenizer.encode("hello"),
            lambda: tokenizer.encode_batch(["hello"]),
            lambda: tokenizer.encode_batch_fast(["hello"]),
            lambda: tokenizer.decode([1] * 20),
            lambda: tokenizer.decode_batch([[1] * 20]),
        ):
            with pytest.raises(tokcy.FallbackError, match="model WordLevel is not supported"):
                call()
        # What is always Hugging Face's work is no reason to fail.
        assert tokenizer.encode("hello", "hello").ids == [1, 1]
        assert tokenizer.encode(["hello"], is_pretokenized=True).ids == [1]
    with tokcy.patched_hf():
        assert tokenizer.encode("hello").ids == [1]


def test_a_reason_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    from tokcy.dropin import attachment

    attachment._warned.clear()
    with caplog.at_level(logging.WARNING, "tokcy"), tokcy.patched_hf():
        for tokenizer in (word_tokenizer(), word_tokenizer()):
            assert "WordLevel" in str(tokcy.hf.fallback_reason(tokenizer))
            tokenizer.encode("hello")
    assert [record.getMessage() for record in caplog.records] == [
        "Hugging Face's own code encodes, more slowly: model WordLevel is not supported natively"
    ]


def test_methods_look_like_those_they_replace() -> None:
    before = {name: vars(Tokenizer)[name] for name in vars(Tokenizer)}
    tokcy.patch_hf()
    for name, was in before.items():
        now = vars(Tokenizer)[name]
        if now is was:
            continue
        assert getattr(now, "__doc__", None) == was.__doc__, name
        if inspect.isfunction(now) and hasattr(was, "__text_signature__") and "async" not in name:
            assert now.__name__ == name
            assert now.__qualname__ == f"Tokenizer.{name}"
            assert pickle.loads(pickle.dumps(now)) is now
    for name in ("encode", "encode_batch", "encode_batch_fast", "decode", "post_process"):
        own = inspect.signature(before[name])
        now = inspect.signature(vars(Tokenizer)[name])
        assert [(p.name, p.default) for p in own.parameters.values()] == [
            (p.name, p.default) for p in now.parameters.values()
        ]


def test_counts_say_who_did_the_work() -> None:
    tokenizer = small_tokenizer()
    with tokcy.patched_hf(strict=True):
        before = tokcy.hf.patch_info()
        tokenizer.encode("a")
        tokenizer.encode_batch(["a", "b"])
        tokenizer.encode("a", "b")
        tokenizer.encode_special_tokens = True
        tokenizer.encode("a")
        after = tokcy.hf.patch_info()
        assert after["native_calls"] - before["native_calls"] == 2
        for reason in ("no plain text", "special tokens as text"):
            counted = before["delegated_calls"].get(reason, 0)
            assert after["delegated_calls"][reason] == counted + 1
        assert after["engines"] >= 1
        assert after["engine_bytes"] > 1000
        assert tokcy.hf.fallback_reason(tokenizer) is None
    assert tokcy.hf.fallback_reason(tokenizer) == "Hugging Face's methods are not replaced"
    assert tokcy.hf.patch_info()["engines"] == 0


def test_reasons_without_end_are_counted_as_one() -> None:
    counted = Counts()
    for i in range(1000):
        counted.delegate(f"token {i} is at fault")
    counted.delegate("token 5 is at fault")
    assert len(counted.delegated) == 101
    assert counted.delegated["token 5 is at fault"] == 2
    assert counted.delegated["other reasons"] == 900


def test_objects_of_before_and_after() -> None:
    old = small_tokenizer()
    unpatched = [old.encode(text).ids for text in TEXTS]
    tokcy.patch_hf(strict=True)
    new = small_tokenizer()
    for tokenizer in (old, new):
        encodings = [tokenizer.encode(text) for text in TEXTS]
        assert all(map(is_native, encodings))
        assert [encoding.ids for encoding in encodings] == unpatched
        assert isinstance(encodings[0], tokenizers.Encoding)
        assert isinstance(tokenizer, Tokenizer)
    tokcy.unpatch_hf()
    assert not is_native(old.encode("a"))
    tokcy.patch_hf(strict=True)
    assert is_native(old.encode("a"))


def test_importing_tokcy_patches_nothing() -> None:
    code = (
        "import tokenizers; before = dict(vars(tokenizers.Tokenizer)); import tokcy, sys;"
        "assert dict(vars(tokenizers.Tokenizer)) == before;"
        "assert 'tokcy.dropin.methods' not in sys.modules;"
        "assert tokcy.hf.patch_info()['native_calls'] == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
