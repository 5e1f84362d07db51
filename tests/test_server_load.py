"""The frontend with many clients at once, with dead ones, and while it is stopped; fallbacks."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import synthetic
from serving import PATIENCE, Server, command, environment, serve

from tokcy import Tokenizer

SENTENCE = "The tokenizer turns text into numbers, 分词器 as well.\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    content = json.dumps(synthetic.trained_model())
    (folder / "tokenizer.json").write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tok(model: Path) -> Tokenizer:
    return Tokenizer.from_pretrained(model)


@pytest.fixture
def server(model: Path) -> Iterator[Server]:
    with serve(model) as running:
        yield running


def request(content: bytes, length: int | None = None) -> bytes:
    n = len(content) if length is None else length
    head = "POST /tokenize HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {n}\r\n\r\n".encode() + content


def test_64_clients_with_prompts_of_all_sizes(server: Server, tok: Tokenizer) -> None:
    sizes = [1_000, 4_000, 15_000, 40_000, 200_000, 1_000_000]
    texts = {size: (SENTENCE * (size // 50 + 1))[:size] for size in sizes}
    expected = {size: tok.encode(text).tolist() for size, text in texts.items()}

    async def talk(number: int) -> None:
        chance = random.Random(number)
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) as client:
            for _ in range(3):
                size = chance.choice(sizes)
                response = await client.post("/tokenize", json={"prompt": texts[size]})
                assert response.status_code == 200
                assert response.json()["tokens"] == expected[size]

    async def all_at_once() -> None:
        await asyncio.gather(*map(talk, range(64)))

    asyncio.run(all_at_once())


def kill(connection: socket.socket) -> None:
    """Close it as the system does for a process that dies: with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_dead_clients_harm_nobody(server: Server, tok: Tokenizer) -> None:
    body = json.dumps({"prompt": SENTENCE * 10_000}).encode()
    for _ in range(40):  # in the middle of their bodies
        connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        connection.sendall(request(body[:100_000], len(body)))
        kill(connection)
    for _ in range(20):  # before and while they get their answers
        connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        connection.sendall(request(body))
        kill(connection)
        connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(request(body))
        connection.recv(10)
        kill(connection)
    with server.client() as client:
        answer = client.post("/tokenize", json={"prompt": SENTENCE * 10_000}).json()
        assert answer["tokens"] == tok.encode(SENTENCE * 10_000).tolist()
        deadline = time.monotonic() + PATIENCE
        while "tokcy_inflight_requests 0.0" not in client.get("/metrics").text:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert 'status="500"' not in client.get("/metrics").text
    assert not any("Traceback" in line for line in server.lines), "".join(server.lines)


def test_clients_that_neither_send_nor_read_hold_up_nobody(server: Server) -> None:
    body = json.dumps({"prompt": SENTENCE * 10_000}).encode()
    idle = []
    for sent in (request(body[:50_000], len(body)), request(body), b"POST /tok"):
        for _ in range(5):
            connection = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            connection.sendall(sent)
            idle.append(connection)
    with server.client() as client:
        for prompt in ("a", SENTENCE * 10_000):
            assert client.post("/tokenize", json={"prompt": prompt}).status_code == 200
    for connection in idle:
        connection.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals of POSIX")
def test_a_stop_lets_requests_end(server: Server, tok: Tokenizer) -> None:
    """A request whose body has come in part is under way, and is answered."""
    text = SENTENCE * 10_000
    body = json.dumps({"prompt": text}).encode()
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(request(body[:200_000], len(body)))
        with server.client() as client:
            while "tokcy_inflight_requests 1.0" not in client.get("/metrics").text:
                time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while True:  # until nobody else is let in
            try:
                socket.create_connection(("127.0.0.1", server.port), PATIENCE).close()
            except OSError:
                break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        connection.sendall(body[200_000:])
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["tokens"] == tok.encode(text).tolist()
    assert server.process.wait(PATIENCE) == 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signals of POSIX")
def test_a_stop_does_not_wait_for_ever(model: Path) -> None:
    with (
        serve(model, "--grace", "1") as server,
        socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection,
    ):
        connection.sendall(request(b"{", 1_000))
        with server.client() as client:
            while "tokcy_inflight_requests 1.0" not in client.get("/metrics").text:
                time.sleep(0.01)
        assert server.stop() == 0


def test_a_model_that_falls_back(model_path: object, data_dir: Path, model: Path) -> None:
    bert = data_dir / "tokenizers" / "bert_minilm"
    tok = Tokenizer.from_pretrained(bert)
    with serve(bert, model, "--model-name", "bert", "--model-name", "bpe") as server:
        assert any("WordPiece" in line for line in server.lines)
        with server.client() as client, ThreadPoolExecutor(8) as pool:
            texts = [SENTENCE * n for n in (1, 20, 1_000, 4_000)] * 4
            posts = [{"model": "bert", "prompt": text} for text in texts]
            answers = list(pool.map(lambda post: client.post("/tokenize", json=post), posts))
            for text, answer in zip(texts, answers, strict=True):
                assert answer.json()["tokens"] == tok.encode(text).tolist()
            metrics = client.get("/metrics").text
    reason = tok.fallback_reason
    assert f'tokcy_fallback_requests_total{{model="bert",reason="{reason}"}} 16.0' in metrics
    assert f'backend="huggingface",fallback_reason="{reason}",model="bert"' in metrics


def refused(*arguments: str | Path, code: int = 1, **variables: str) -> str:
    """What ``tokcy serve`` says when it does not start."""
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment(**variables),
        cwd=Path(arguments[0]).parent,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_model_that_must_not_fall_back(data_dir: Path) -> None:
    bert = data_dir / "tokenizers" / "bert_minilm"
    assert "WordPiece" in refused(bert, "--no-fallback")
    assert "WordPiece" in refused(bert, TOKCY_FALLBACK="0")
    with serve(bert, "--fallback", TOKCY_FALLBACK="0") as server, server.client() as client:
        assert client.post("/count", json={"prompt": "a"}).status_code == 200


def test_the_flag_counts_over_the_environment(model: Path) -> None:
    def backend(*arguments: str, **variables: str) -> str:
        with serve(model, *arguments, **variables) as server, server.client() as client:
            found: str = client.get("/v1/models").json()["data"][0]["backend"]
            return found

    assert backend(TOKCY_BACKEND="huggingface") == "huggingface"
    assert backend("--backend", "tokcy", TOKCY_BACKEND="huggingface") == "tokcy"


def test_what_does_not_start(model: Path) -> None:
    assert "is no number from 0 to 65535" in refused(model, "--port", "99999", code=2)
    assert "called the same" in refused(model, model)
    assert "2 --model-name for 1 models" in refused(model, "--model-name", "a", "--model-name", "b")
    assert "nothing.json" in refused(model / "nothing.json")
    with socket.create_server(("127.0.0.2", 0)) as taken:
        port = str(taken.getsockname()[1])
        process = [*command(model, "--host", "127.0.0.2")[:-1], port]
        done = subprocess.run(process, capture_output=True, text=True, cwd=model.parent)
    assert done.returncode == 1
    assert "cannot listen at 127.0.0.2" in done.stderr
