"""The awaitable calls: the results and errors of the others, and an event loop that goes on."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import synthetic

from tokcy import EncodeTypeError, Tokenizer, aio, get_num_threads

SHORT = "The tokenizer turns text into numbers. "
LONG = SHORT * 2_000  # beyond what any backend does inline


@pytest.fixture(scope="module", params=["tokcy", "huggingface"])
def tok(request: pytest.FixtureRequest) -> Tokenizer:
    return Tokenizer.from_json(json.dumps(synthetic.trained_model()), backend=request.param)


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An executor of one thread in place of the shared one, which counts what it is given."""
    made = ThreadPoolExecutor(1)
    monkeypatch.setattr(aio, "_executor", made)
    yield made
    made.shutdown()


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, 120))


@pytest.mark.parametrize("text", ["", SHORT, LONG])
def test_the_ids_are_those_of_encode(tok: Tokenizer, text: str) -> None:
    ids = run(tok.aencode(text))
    assert ids.dtype == np.uint32
    np.testing.assert_array_equal(ids, tok.encode(text))


def test_options_are_passed_on(tok: Tokenizer) -> None:
    options: dict[str, Any] = {"add_special_tokens": False, "allow_special": False}
    for text in (SHORT, LONG):
        ids = run(tok.aencode(text, num_threads=1, **options))
        np.testing.assert_array_equal(ids, tok.encode(text, **options))
    with pytest.raises(ValueError, match="num_threads"):
        run(tok.aencode(LONG, num_threads=0))


@pytest.mark.parametrize("texts", [[], [SHORT], [SHORT, LONG, ""], ["a"] * 3_000])
def test_the_batch_is_that_of_encode_batch(tok: Tokenizer, texts: list[str]) -> None:
    batch = run(tok.aencode_batch(iter(texts)))
    assert batch == tok.encode_batch(texts)


@pytest.mark.parametrize("bad", [None, b"bytes", "\ud800", LONG + "\ud800"])
def test_errors_are_those_of_the_other_calls(tok: Tokenizer, bad: Any) -> None:
    with pytest.raises(EncodeTypeError) as expected:
        tok.encode(bad)
    with pytest.raises(EncodeTypeError) as raised:
        run(tok.aencode(bad))
    assert str(raised.value) == str(expected.value)
    with pytest.raises(EncodeTypeError, match=r"texts\[1\]"):
        run(tok.aencode_batch([LONG, bad]))
    with pytest.raises(EncodeTypeError):
        run(tok.aencode_batch("text"))


def test_short_work_asks_no_thread(
    tok: Tokenizer, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    submit = executor.submit

    def counted(*call: Any) -> Any:
        given.append(call)
        return submit(*call)

    monkeypatch.setattr(executor, "submit", counted)
    run(tok.aencode(SHORT))
    run(tok.aencode_batch([SHORT, ""]))
    assert not given
    run(tok.aencode(LONG))
    run(tok.aencode_batch([SHORT] * 2_000))
    assert len(given) == 2


def test_the_loop_goes_on_while_a_text_waits(tok: Tokenizer, executor: ThreadPoolExecutor) -> None:
    release = threading.Event()
    executor.submit(release.wait, 60)

    async def scene() -> None:
        waiting = asyncio.ensure_future(tok.aencode(LONG))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not waiting.done()
        np.testing.assert_array_equal(await tok.aencode(SHORT), tok.encode(SHORT))
        release.set()
        np.testing.assert_array_equal(await waiting, tok.encode(LONG))

    run(scene())


def test_what_is_cancelled_before_it_began_is_not_done(
    tok: Tokenizer, executor: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    executor.submit(release.wait, 60)
    done: list[str] = []
    encode = tok.encode

    def noted(text: str, **options: Any) -> Any:
        done.append(text)
        return encode(text)

    monkeypatch.setattr(tok, "encode", noted)

    async def scene() -> None:
        waiting = asyncio.ensure_future(tok.aencode(LONG))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(tok.aencode(LONG), 0.01)
        release.set()
        await tok.aencode(LONG + "!")

    run(scene())
    assert done == [LONG + "!"]


def test_many_at_once_share_a_bounded_executor(tok: Tokenizer) -> None:
    async def scene() -> list[Any]:
        return await asyncio.gather(*(tok.aencode(LONG + str(i)) for i in range(40)))

    for i, ids in enumerate(run(scene())):
        np.testing.assert_array_equal(ids, tok.encode(LONG + str(i)))
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("tokcy")]
    assert 1 <= len(ours) <= get_num_threads()


def test_several_loops_may_follow_each_other_and_run_side_by_side(tok: Tokenizer) -> None:
    expected = tok.encode(LONG)
    results: list[Any] = []
    threads = [
        threading.Thread(target=lambda: results.append(run(tok.aencode(LONG)))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    for ids in results:
        np.testing.assert_array_equal(ids, expected)


def _encode_in_child(tok: Tokenizer, results: Any) -> None:
    results.put(len(asyncio.run(tok.aencode(LONG))))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_makes_its_own_executor(tok: Tokenizer) -> None:
    expected = len(run(tok.aencode(LONG)))
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=_encode_in_child, args=(tok, results))
    child.start()
    assert results.get(timeout=120) == expected
    child.join(60)
    assert child.exitcode == 0


def test_segments_are_those_of_encode_segments(
    tok: Tokenizer, monkeypatch: pytest.MonkeyPatch, executor: ThreadPoolExecutor
) -> None:
    calls: list[tuple[Any, str]] = []

    def encode_segments(segments: Any, **options: Any) -> Any:
        calls.append((segments, threading.current_thread().name))
        assert options == {"join": True}
        return tok.encode("".join(text for text, _ in segments))

    monkeypatch.setattr(tok, "encode_segments", encode_segments, raising=False)
    for text in (SHORT, LONG):
        ids = run(tok.aencode_segments(iter([(text, False), ("!", True)]), join=True))
        np.testing.assert_array_equal(ids, tok.encode(text + "!"))
    (short, in_loop), (_, in_thread) = calls
    assert short == [(SHORT, False), ("!", True)]
    assert in_loop != in_thread


def test_a_slow_text_holds_up_no_other_task(tok: Tokenizer) -> None:
    """A task that only counts goes on counting while megabytes are encoded."""

    async def scene() -> int:
        work = asyncio.ensure_future(tok.aencode(LONG * 20))
        turns = 0
        while not work.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    started = time.monotonic()
    turns = run(scene())
    assert turns > 1, f"the loop stood still for {time.monotonic() - started:.1f} s"
