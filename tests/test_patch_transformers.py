"""`transformers` on the patched library: its options, many threads, forks and copies."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from patching import (
    TEXTS,
    is_native,
    native,
    result,
    small_tokenizer,
    word_tokenizer,
    work_in_child,
)
from transformers import BatchEncoding, PreTrainedTokenizerFast

import tokcy
from tokcy.dropin import calls, gate

OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_special_tokens": False},
    {"truncation": True, "max_length": 6},
    {"truncation": True, "max_length": 8, "stride": 1, "return_overflowing_tokens": True},
    {"padding": "max_length", "max_length": 20},
    {"padding": True, "padding_side": "left", "return_special_tokens_mask": True},
    {"truncation": True, "max_length": 8, "padding": True, "pad_to_multiple_of": 4},
    {"return_offsets_mapping": True, "return_token_type_ids": True},
    {"split_special_tokens": True},
]


FAST: Any = PreTrainedTokenizerFast  # whose constructor has no types


def fast_tokenizer() -> Any:
    return FAST(
        tokenizer_object=small_tokenizer(), pad_token="<x>", bos_token="<s>", eos_token="</s>"
    )


@pytest.mark.parametrize("options", OPTIONS)
def test_calls(options: dict[str, Any]) -> None:
    tokenizer = fast_tokenizer()
    work: list[Callable[[], Any]] = [
        lambda: result(tokenizer(TEXTS, **options)),
        lambda: result(tokenizer(TEXTS[1], **options)),
        lambda: result(tokenizer(TEXTS[:2], TEXTS[1:3], **options)),
        lambda: result(tokenizer([["hello", "world"]], is_split_into_words=True, **options)),
        lambda: tokenizer.tokenize(TEXTS[2]),
        lambda: tokenizer.batch_decode(tokenizer(TEXTS, **options)["input_ids"]),
        lambda: tokenizer.decode(tokenizer.encode(TEXTS[2]), skip_special_tokens=True),
    ]
    expected = [call() for call in work]
    tokenizer(TEXTS, **options)
    left = tokenizer.backend_tokenizer.truncation, tokenizer.backend_tokenizer.padding
    again = fast_tokenizer()
    with native():
        assert is_native(tokenizer(TEXTS).encodings[0])
        assert [call() for call in work] == expected
        tokenizer(TEXTS, **options)
        backend = tokenizer.backend_tokenizer
        assert left == (backend.truncation, backend.padding)
        encoded = again(TEXTS[2])
        assert BatchEncoding(dict(encoded), encoded.encodings[0]).tokens() == encoded.tokens()
        assert pickle.loads(pickle.dumps(encoded)).tokens() == encoded.tokens()


def set_apart(choose: Random) -> tuple[dict[str, Any], Any]:
    """Options and texts of one call; pairs and words are Hugging Face's work."""
    options = dict(choose.choice(OPTIONS))
    kind = choose.randrange(4)
    if kind == 0:
        return options, (TEXTS[:2], TEXTS[1:3])
    if kind == 1:
        return {**options, "is_split_into_words": True}, ([["hello", "world"], ["it's"]],)
    return options, (choose.sample(TEXTS, 3),)


@pytest.mark.parametrize("n", [20, pytest.param(60, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("supported", [True, False])
def test_threads_with_different_options(supported: bool, n: int) -> None:
    tokenizer = fast_tokenizer()
    if not supported:
        tokenizer = FAST(tokenizer_object=word_tokenizer(), pad_token="[UNK]")
    work = [set_apart(Random(seed)) for seed in range(n)]
    if not supported:
        work = [(options, texts) for options, texts in work if "stride" not in options]
    expected = [result(tokenizer(*texts, **options)) for options, texts in work]

    def run(seed: int) -> list[tuple[int, Any]]:
        order = list(range(len(work)))
        Random(seed).shuffle(order)
        return [(i, result(tokenizer(*work[i][1], **work[i][0]))) for i in order]

    with tokcy.patched_hf():
        tokcy.hf.fallback_reason(tokenizer)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                for found in pool.map(run, range(16)):
                    for i, each in found:
                        assert each == expected[i], work[i]
        finally:
            sys.setswitchinterval(interval)


def test_one_threads_options_are_not_anothers() -> None:
    """What a call has set counts for it, though another thread sets its own meanwhile."""
    tokenizer = small_tokenizer()

    class Caller:
        _tokenizer = tokenizer

        @calls.scoped
        def call(self, pair: str | None) -> Any:
            assert tokenizer.truncation is None
            tokenizer.enable_truncation(5)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                pool.submit(tokenizer.enable_truncation, 4).result()
            assert tokenizer.truncation is not None
            assert tokenizer.truncation["max_length"] == 5
            return tokenizer.encode(TEXTS[3], pair)

    done = threading.Event()
    threading.Thread(
        target=done.wait, daemon=True
    ).start()  # only where there are others is there a need
    with native():
        assert len(Caller().call(None)) == 5
        assert tokenizer.truncation is not None
        assert tokenizer.truncation["max_length"] == 4
        tokenizer.no_truncation()
        assert len(Caller().call("hello")) == 5
    done.set()


def test_the_gate_keeps_options_while_they_are_used() -> None:
    tokenizer = small_tokenizer()
    held = gate.Gate()
    short = ({"max_length": 3, "stride": 0, "strategy": "longest_first", "direction": "right"},)
    with native():
        held.enter(tokenizer, (*short, None, False))
        held.enter(tokenizer, (*short, None, False))
        held.change(tokenizer.no_truncation)
        assert gate.settings_on(tokenizer)[0] == short[0]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(held.enter, tokenizer, (None, None, True))
            held.leave()
            assert not waiting.done()
            held.leave()
            waiting.result(timeout=20)
        assert gate.settings_on(tokenizer) == (None, None, True)
        held.leave()
        held.change(lambda: tokenizer.enable_truncation(7))
        assert gate.settings_on(tokenizer)[0] == {**short[0], "max_length": 7}


LATE = """
import tokcy
tokcy.patch_hf(strict=True)
import tokenizers
from patching import TEXTS, is_native, small_tokenizer
small_tokenizer().encode("a")
from transformers import PreTrainedTokenizerFast
tokenizer = PreTrainedTokenizerFast(tokenizer_object=small_tokenizer(), pad_token="<x>")
encoded = tokenizer(TEXTS, truncation=True, max_length=4)
assert is_native(encoded.encodings[0])
assert all(len(ids) <= 4 for ids in encoded["input_ids"])
owners = [t for t in type(tokenizer).__mro__ if hasattr(t, "_encode_plus")]
methods = [vars(t).get(name) for t in owners for name in ("_encode_plus", "_batch_encode_plus")]
assert any(hasattr(method, "__wrapped__") for method in methods)
tokcy.unpatch_hf()
methods = [vars(t).get(name) for t in owners for name in ("_encode_plus", "_batch_encode_plus")]
assert not any(hasattr(method, "__wrapped__") for method in methods)
"""


def test_transformers_may_be_imported_later() -> None:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    subprocess.run([sys.executable, "-c", LATE], check=True, env={**os.environ, "PYTHONPATH": path})


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_worker_processes(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    tokenizer = fast_tokenizer()
    expected = result(tokenizer(TEXTS, truncation=True, max_length=9))
    context = multiprocessing.get_context(method)
    with native():
        assert is_native(tokenizer(TEXTS).encodings[0])
        with context.Pool(2) as pool:
            inherited, asked = (
                pool.starmap_async(work_in_child, [(tokenizer, patch)] * 4).get(timeout=120)
                for patch in (False, True)
            )
    assert inherited == [(expected, method == "fork")] * 4
    assert asked == [(expected, True)] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_while_locks_are_held() -> None:
    tokenizer = small_tokenizer()
    with native():
        tokenizer.encode("a")
        from tokcy.dropin.attachment import attachment_of

        attachment = attachment_of(tokenizer)
        assert attachment is not None
        with attachment.lock:
            attachment.gate.enter(tokenizer, (None, None, False))
            child = os.fork()
            if not child:
                try:
                    tokenizer.add_tokens(["new"])
                    named = [token == "new" for token in tokenizer.encode("new").tokens]
                    gone = attachment.gate._running == 0
                    os._exit(0 if any(named) and gone else 1)
                finally:
                    os._exit(2)
        attachment.gate.leave()
        assert os.waitpid(child, 0)[1] == 0


def test_copies_and_saved_files(tmp_path: Path) -> None:
    tokenizer = fast_tokenizer()
    tokenizer.save_pretrained(tmp_path / "before")
    before = pickle.dumps(tokenizer.backend_tokenizer)
    expected = result(tokenizer(TEXTS))
    with native():
        assert result(tokenizer(TEXTS)) == expected
        assert pickle.dumps(tokenizer.backend_tokenizer) == before
        tokenizer.save_pretrained(tmp_path / "after")
        copies = [
            copy.copy(tokenizer),
            copy.deepcopy(tokenizer),
            pickle.loads(pickle.dumps(tokenizer)),
            PreTrainedTokenizerFast.from_pretrained(tmp_path / "after"),
        ]
        for each in copies:
            encoded = each(TEXTS)
            assert is_native(encoded.encodings[0])
            assert result(encoded) == expected
    for path in (tmp_path / "before").iterdir():
        assert path.read_bytes() == (tmp_path / "after" / path.name).read_bytes()


def test_tokens_and_settings_of_transformers() -> None:
    tokenizer, reference = fast_tokenizer(), fast_tokenizer()

    def change(each: Any) -> list[Any]:
        found = [result(each(TEXTS))]
        each.add_tokens(["hello", "wör"])
        found.append(result(each(TEXTS)))
        each.add_special_tokens({"additional_special_tokens": ["it's"]})
        found += [result(each(TEXTS)), len(each), each.get_vocab()]
        each.backend_tokenizer.post_processor = None
        found.append(result(each(TEXTS)))
        return found

    expected = change(reference)
    with native():
        assert change(tokenizer) == expected
        assert is_native(tokenizer(TEXTS).encodings[0])
