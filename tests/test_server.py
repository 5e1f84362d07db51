"""The frontend ``tokcy serve``: its endpoints, and what it says to bad requests."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import synthetic
from serving import PATIENCE, Server, serve

from tokcy import Tokenizer

TEXT = "The tokenizer turns text<|end|>into numbers.\n  分词器 🙂\n"
MAX_BYTES = 2_000_000
JSON_TYPE = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models: ``one`` has ``<|end|>`` and a maximal length, ``two`` has neither."""
    root = tmp_path_factory.mktemp("models")
    content = synthetic.trained_model()
    (root / "two").mkdir()
    (root / "two" / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    content["added_tokens"] = [
        {"id": len(content["model"]["vocab"]), **synthetic.added_token("<|end|>", special=True)}
    ]
    (root / "one").mkdir()
    (root / "one" / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    (root / "one" / "tokenizer_config.json").write_text('{"model_max_length": 4096}')
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    with serve(folder / "one", folder / "two", "--max-request-bytes", str(MAX_BYTES)) as running:
        yield running
        assert running.process.poll() is None, "".join(running.lines)
        assert not any("Traceback" in line for line in running.lines), "".join(running.lines)


@pytest.fixture
def client(server: Server) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def one(folder: Path) -> Tokenizer:
    return Tokenizer.from_pretrained(folder / "one")


def error_of(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error of a refused request, which is in the shape that clients of vLLM know."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert list(body) == ["error"]
    assert sorted(body["error"]) == ["code", "message", "param", "type"]
    assert body["error"]["code"] == status
    found: dict[str, Any] = body["error"]
    return found


@pytest.mark.parametrize("text", ["", "a", TEXT, TEXT * 100, TEXT * 1000, TEXT * 10_000])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_tokenize(client: httpx.Client, one: Tokenizer, text: str, ascii_only: bool) -> None:
    body = json.dumps({"model": "one", "prompt": text}, ensure_ascii=ascii_only)
    response = client.post("/tokenize", content=body, headers=JSON_TYPE)
    ids = one.encode(text).tolist()
    assert response.status_code == 200
    assert response.json() == {
        "count": len(ids),
        "max_model_len": 4096,
        "tokens": ids,
        "token_strs": None,
    }


@pytest.mark.parametrize("text", ["", TEXT, TEXT * 1000])
def test_the_options_of_tokenize(client: httpx.Client, one: Tokenizer, text: str) -> None:
    options: dict[str, Any] = {"add_special_tokens": False, "allow_special": False}
    request = {"model": "one", "prompt": text, "return_token_strs": True, **options}
    answer = client.post("/tokenize", json=request).json()
    ids = one.encode(text, **options).tolist()
    assert answer["tokens"] == ids
    assert answer["token_strs"] == [one.id_to_token(token_id) for token_id in ids]
    assert one.token_to_id("<|end|>") not in ids


@pytest.mark.parametrize("n", [1, 1_000, 20_000])
def test_detokenize(client: httpx.Client, one: Tokenizer, n: int) -> None:
    ids = one.encode(TEXT * n).tolist()
    answer = client.post("/detokenize", json={"model": "one", "tokens": ids})
    assert answer.json() == {"prompt": TEXT * n}
    request = {"model": "one", "tokens": ids, "skip_special_tokens": True}
    answer = client.post("/detokenize", json=request)
    assert answer.json() == {"prompt": (TEXT * n).replace("<|end|>", "")}


def test_detokenize_nothing(client: httpx.Client) -> None:
    assert client.post("/detokenize", json={"model": "one", "tokens": []}).json() == {"prompt": ""}


def test_count(client: httpx.Client, one: Tokenizer) -> None:
    answer = client.post("/count", json={"model": "one", "prompt": TEXT}).json()
    assert answer == {"count": one.count(TEXT), "max_model_len": 4096}
    texts = [TEXT, "", "a" * 50_000]
    answer = client.post("/count", json={"model": "one", "prompt": texts}).json()
    counts = [one.count(text) for text in texts]
    assert answer == {"count": sum(counts), "counts": counts, "max_model_len": 4096}


def test_the_models_and_the_health(client: httpx.Client) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    models = client.get("/v1/models").json()
    assert [model["id"] for model in models["data"]] == ["one", "two"]
    assert [model["max_model_len"] for model in models["data"]] == [4096, None]
    assert models["object"] == "list"


def test_the_second_model_has_its_own_tokens(client: httpx.Client, folder: Path) -> None:
    two = Tokenizer.from_pretrained(folder / "two")
    answer = client.post("/tokenize", json={"model": "two", "prompt": TEXT}).json()
    assert answer["tokens"] == two.encode(TEXT).tolist()
    assert answer["max_model_len"] is None


def test_what_is_counted(client: httpx.Client) -> None:
    def figures() -> dict[str, float]:
        response = client.get("/metrics")
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        found = re.findall(r"^(\w+(?:\{.*\})?) (\S+)$", response.text, re.MULTILINE)
        return {name: float(value) for name, value in found}

    before = figures()
    ids = client.post("/tokenize", json={"model": "one", "prompt": TEXT}).json()["tokens"]
    client.post("/tokenize", json={"model": "one", "prompt": 1})
    client.get("/nowhere")
    after = figures()

    def rise(name: str) -> float:
        return after[name] - before.get(name, 0)

    labels = 'endpoint="/tokenize",model="one"'
    assert rise(f'tokcy_requests_total{{{labels},status="200"}}') == 1
    assert rise('tokcy_requests_total{endpoint="/tokenize",model="",status="400"}') == 1
    assert rise('tokcy_requests_total{endpoint="other",model="",status="404"}') == 1
    assert rise(f"tokcy_tokenize_seconds_count{{{labels}}}") == 1
    assert rise(f"tokcy_tokens_total{{{labels}}}") == len(ids)
    assert rise('tokcy_merge_cache_hits_total{model="one"}') > 0
    assert after['tokcy_model_info{backend="tokcy",fallback_reason="",model="one"}'] == 1
    assert after["tokcy_inflight_requests"] == 0


@pytest.mark.parametrize("path", ["/tokenize", "/detokenize", "/count"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "invalid JSON"),
        (b"{", "invalid JSON"),
        (b'{"prompt": "\xff"}', "invalid UTF-8 at byte 12"),
        (b'{"prompt": "' + b"a" * 100_000 + b'\xff"}', "invalid UTF-8 at byte 100012"),
        ('{"prompt": "é"}'.encode("utf-16"), "invalid UTF-8"),
        (b'{"prompt": "\\ud800"}', "surrogate"),
        (b'{"prompt": "' + b"a" * 100_000 + b'\\udc00"}', "surrogate"),
        (b'{"\\ud800": 1}', "surrogate"),
        (b'{"prompt": NaN}', "NaN"),
        (b"[" * 500, "nested"),
        (b'{"a":' * 300_000, "nested"),
        (b"null", "must be a JSON object, not null"),
        (b"[1]", "must be a JSON object, not a list"),
        (b"9" * 10_000, "invalid JSON"),
    ],
)
def test_bodies_that_are_no_request(
    client: httpx.Client, path: str, body: bytes, message: str
) -> None:
    error = error_of(client.post(path, content=body, headers=JSON_TYPE), 400)
    assert message in error["message"]
    assert error["type"] == "BadRequestError"


@pytest.mark.parametrize(
    ("path", "fields", "message", "param"),
    [
        ("/tokenize", {}, "neither", "prompt"),
        ("/tokenize", {"prompt": "a", "messages": []}, "both", "prompt"),
        ("/tokenize", {"prompt": None}, "a string, not null", "prompt"),
        ("/tokenize", {"prompt": ["a"]}, "a string, not a list", "prompt"),
        ("/tokenize", {"prompt": "a", "promt": "b"}, "'promt'; known are model, prompt", "promt"),
        ("/tokenize", {"prompt": "a", "add_special_tokens": 1}, "boolean", "add_special_tokens"),
        ("/tokenize", {"prompt": "a", "model": 7}, "a string, not a number", "model"),
        ("/tokenize", {"messages": []}, "empty", "messages"),
        ("/tokenize", {"messages": "hi"}, "a list of objects", "messages"),
        ("/tokenize", {"messages": ["hi"]}, "a list of objects", "messages"),
        ("/tokenize", {"messages": [{}], "tools": [1]}, "a list of objects", "tools"),
        ("/tokenize", {"messages": [{}], "prompts": 1}, "'prompts'", "prompts"),
        (
            "/tokenize",
            {"messages": [{}], "continue_final_message": True},
            "add_generation_prompt",
            "continue_final_message",
        ),
        (
            "/tokenize",
            {"messages": [{}], "chat_template_kwargs": {"trust_content": True}},
            "'trust_content'",
            "chat_template_kwargs",
        ),
        ("/count", {"prompt": ["a", 1]}, "a number, a string", "prompt"),
        ("/count", {"prompt": "a", "return_token_strs": True}, "unknown", "return_token_strs"),
        ("/detokenize", {}, "missing", "tokens"),
        ("/detokenize", {"tokens": "1"}, "a list of integers", "tokens"),
        ("/detokenize", {"tokens": [1, "2"]}, "a number, a string", "tokens"),
        ("/detokenize", {"tokens": [True]}, "a list of a boolean", "tokens"),
        ("/detokenize", {"tokens": [1.5]}, "a list of integers", "tokens"),
        ("/detokenize", {"tokens": [-1]}, "-1 is out of range", "tokens"),
        ("/detokenize", {"tokens": [1, 600_000]}, "600000 is out of range", "tokens"),
        ("/detokenize", {"tokens": [2**32]}, "out of range", "tokens"),
        ("/detokenize", {"tokens": [1] * 9_000 + [2**70]}, "out of range", "tokens"),
        ("/detokenize", {"tokens": [1] * 9_000 + [601]}, "601 is out of range", "tokens"),
    ],
)
def test_fields_that_are_wrong(
    client: httpx.Client, path: str, fields: dict[str, Any], message: str, param: str
) -> None:
    error = error_of(client.post(path, json={"model": "one", **fields}), 400)
    assert message in error["message"]
    assert error["param"] == param


def test_a_model_that_is_not_there(client: httpx.Client) -> None:
    error = error_of(client.post("/tokenize", json={"model": "none", "prompt": ""}), 404)
    assert error["message"] == "the model 'none' does not exist; there is one, two"
    assert (error["type"], error["param"]) == ("NotFoundError", "model")
    error = error_of(client.post("/tokenize", json={"prompt": ""}), 400)
    assert "one of one, two" in error["message"]


def test_wrong_paths_methods_and_types(client: httpx.Client) -> None:
    assert "/tokenize" in error_of(client.get("/nowhere"), 404)["message"]
    response = client.get("/tokenize")
    assert error_of(response, 405)
    assert response.headers["allow"] == "POST"
    for headers in (
        {"content-type": "text/plain"},
        {},
        {"content-type": "application/json; charset=latin-1"},
        {**JSON_TYPE, "content-encoding": "gzip"},
    ):
        error_of(client.post("/tokenize", content=b"{}", headers=headers), 415)
    right = {"content-type": "application/json; charset=UTF-8"}
    body = b'{"model": "one", "prompt": ""}'
    assert client.post("/tokenize", content=body, headers=right).status_code == 200


def test_a_body_that_is_too_large_by_its_header(server: Server) -> None:
    """It is refused before a byte of it has come."""
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(
            b"POST /tokenize HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
            b"content-length: 99999999999\r\n\r\n"
        )
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == 413


def test_a_body_that_is_too_large_in_chunks(client: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(MAX_BYTES // 10_000 + 5):
            yield b" " * 10_000

    response = client.post("/tokenize", content=chunks(), headers=JSON_TYPE)
    assert str(MAX_BYTES) in error_of(response, 413)["message"]


def test_a_body_in_chunks(client: httpx.Client, one: Tokenizer) -> None:
    body = json.dumps({"model": "one", "prompt": TEXT * 1000}).encode()
    parts = (body[i : i + 1000] for i in range(0, len(body), 1000))
    response = client.post("/tokenize", content=parts, headers=JSON_TYPE)
    assert response.json()["tokens"] == one.encode(TEXT * 1000).tolist()


def test_what_is_no_http(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(b"\x16\x03\x01 nothing\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400 ")
