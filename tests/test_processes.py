"""Forks, threads and signals: what a server or a data loader does to a tokenizer."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
import synthetic

from tokcy import Tokenizer

TEXT = "".join(synthetic.SENTENCES) * 2000  # 1 MB: a parallel call


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.from_json(json.dumps(synthetic.trained_model()))


def _encode(tok: Tokenizer) -> list[int]:
    ids: list[int] = tok.encode(TEXT, num_threads=2)[-50:].tolist()
    return ids


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@needs_fork
def test_child_forked_after_a_parallel_call(tok: Tokenizer) -> None:
    expected = _encode(tok)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a hang ends here
        os.write(write, json.dumps([_encode(tok), _encode(tok)]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert json.loads(answer) == [expected, expected]
    assert _encode(tok) == expected


@needs_fork
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_process_pools(tok: Tokenizer, method: str) -> None:
    expected = _encode(tok)
    with multiprocessing.get_context(method).Pool(2) as pool:
        encode = functools.partial(tok.encode, num_threads=2)
        results = pool.map_async(encode, [TEXT] * 4).get(timeout=120)
    assert [ids[-50:].tolist() for ids in results] == [expected] * 4


@needs_fork
def test_child_forked_while_another_thread_encodes(tok: Tokenizer) -> None:
    expected = _encode(tok)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            _encode(tok)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if _encode(tok) == expected else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        worker.join()


def test_other_threads_run_meanwhile(tok: Tokenizer) -> None:
    """A thread that sleeps in 1 ms steps must get on while another encodes without a pause.

    With the GIL held for the whole call it would get on once per call.
    """
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    text = TEXT * 20
    watcher = threading.Thread(target=tick)
    watcher.start()
    begin = time.perf_counter()
    tok.encode(text, num_threads=1)
    tok.encode_batch([text[:1000]] * 20_000, num_threads=1)
    end = time.perf_counter()
    stop.set()
    watcher.join()
    during = [t for t in ticks if begin < t < end]
    assert len(during) > (end - begin) * 20  # at least every 50 ms on average


INTERRUPTED = """
    import json, os, signal, threading, time
    from tokcy import Tokenizer
    tok = Tokenizer.from_json(open({path!r}, "rb").read())
    text = open({text!r}, encoding="utf-8").read() * 40
    # Python leaves it ignored where it was so before, as in a test run in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    def interrupt():
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt, daemon=True).start()
    begin = time.perf_counter()
    try:
        while time.perf_counter() < begin + 30:
            {call}
    except KeyboardInterrupt:
        print("interrupted")
    assert len(tok.encode("and it still works")) > 0
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent by number here")
@pytest.mark.parametrize(
    "call",
    [
        "tok.encode(text, num_threads=1)",
        "tok.encode(text, num_threads=2)",
        "tok.encode_batch([text] * 2)",
        "tok.encode_batch([text[:5000]] * 20_000)",
        "tok.encode_with_offsets(text)",
        "tok.count(text)",
        "tok.encode('ab' * 10_000_000)",  # one piece, which is merged for seconds
    ],
)
def test_interrupt(call: str, tmp_path: Path) -> None:
    model, text = tmp_path / "tokenizer.json", tmp_path / "text"
    model.write_text(json.dumps(synthetic.trained_model()))
    text.write_text(TEXT, encoding="utf-8")
    script = textwrap.dedent(INTERRUPTED).format(path=str(model), text=str(text), call=call)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_threads_of_python_and_of_openmp(tok: Tokenizer) -> None:
    expected = _encode(tok)
    results: list[list[int]] = []

    def work() -> None:
        results.extend(_encode(tok) for _ in range(4))

    workers = [threading.Thread(target=work) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [expected] * 24


DAEMONS = """
    import threading, time
    from tokcy import Tokenizer
    tok = Tokenizer.from_json(open({path!r}, "rb").read())
    texts = ["one text after another " * 20] * 500
    def work():
        while True:
            tok.encode_batch(texts, num_threads=1)
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.2)
"""


@pytest.mark.slow
def test_exit_while_daemon_threads_encode(tmp_path: Path) -> None:
    """Such a thread must not ask for the GIL anew once the interpreter shuts down."""
    model = tmp_path / "tokenizer.json"
    model.write_text(json.dumps(synthetic.trained_model()))
    script = textwrap.dedent(DAEMONS).format(path=str(model))
    for _ in range(20):
        done = subprocess.run([sys.executable, "-c", script], timeout=60, check=False)
        assert done.returncode == 0
