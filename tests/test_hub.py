"""Models of the hub, from a server of our own that answers as it does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import synthetic

COMMIT = "a" * 40
FILES = {
    "tokenizer.json": json.dumps(synthetic.model_from_merges([("a", "b")])).encode(),
    "tokenizer_config.json": b'{"eos_token": "<eos>"}',
    "additional_chat_templates/rag.jinja": b"RAG",
    "model.safetensors": bytes(100),
}
READ = """
import json, sys, tokcy
tok = tokcy.Tokenizer.from_pretrained(
    "some/model", cache_dir=sys.argv[1], config=len(sys.argv) < 3
)
config = tok.config
print(json.dumps([tok.token_to_id("<eos>"), config.chat_templates, len(config.files)]))
"""


class Hub(BaseHTTPRequestHandler):
    """One repository, ``some/model``."""

    requests: list[str]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        type(self).requests.append(f"{self.command} {path}")
        name = path.removeprefix(f"/some/model/resolve/{COMMIT}/")
        if path.startswith("/api/models/some/model/revision/"):
            self._answer(json.dumps({"id": "some/model", "sha": COMMIT, "siblings": []}).encode())
        elif path.startswith("/api/models/some/model/tree/"):
            self._answer(json.dumps([_entry(name) for name in FILES]).encode())
        elif name in FILES:
            self._answer(FILES[name], ETag=f'"{_digest(name)}"', **{"X-Repo-Commit": COMMIT})
        else:
            self.send_error(404)

    do_HEAD = do_GET

    def _answer(self, body: bytes, **headers: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


def _digest(name: str) -> str:
    return hashlib.sha1(FILES[name], usedforsecurity=False).hexdigest()


def _entry(name: str) -> dict[str, Any]:
    return {"type": "file", "path": name, "size": len(FILES[name]), "oid": _digest(name)}


@pytest.fixture
def hub() -> Iterator[str]:
    """The address of the server."""
    Hub.requests = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def read(hub: str, cache: Path, *arguments: str, **more: str) -> tuple[list[Any], str]:
    """What the script prints in a process of its own, as the hub's client reads its environment."""
    environment = {**os.environ, "HF_ENDPOINT": hub, "NO_PROXY": "*", **more}
    command = [sys.executable, "-c", READ, str(cache), *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    found: list[Any] = json.loads(done.stdout)
    return found, done.stderr


def test_what_is_downloaded(hub: str, tmp_path: Path) -> None:
    expected = [257, {"rag": "RAG"}, 2]
    found, shown = read(hub, tmp_path)
    assert found == expected
    assert "Fetching" not in shown
    fetched = {name.rpartition("/resolve/")[2] for name in Hub.requests if "/resolve/" in name}
    wanted = [name for name in FILES if name != "model.safetensors"]
    assert fetched == {f"{COMMIT}/{name}" for name in wanted}
    Hub.requests.clear()
    assert read(hub, tmp_path)[0] == expected
    assert not [name for name in Hub.requests if "/resolve/" in name]
    assert read("http://127.0.0.1:1", tmp_path, HF_HUB_OFFLINE="1")[0] == expected


def test_only_the_model_file(hub: str, tmp_path: Path) -> None:
    assert read(hub, tmp_path, "alone")[0] == [None, {}, 0]
    assert not [name for name in Hub.requests if "tokenizer_config" in name]
