"""A server that is started as a user starts it, and talked to over HTTP."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

#: Seconds; for machines that have much else to do. No test waits for it to pass.
PATIENCE = 120

_ADDRESS = re.compile(r"tokcy: serving .* at (http://\S+)")


@dataclass
class Server:
    """A running ``tokcy serve`` and the lines that it wrote so far."""

    process: subprocess.Popen[str]
    url: str
    lines: list[str]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=PATIENCE)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "tokcy", "serve", *map(str, arguments), "--port", "0"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOKCY_")}
    return {**kept, **more}


@contextlib.contextmanager
def serve(*arguments: str | Path, **variables: str) -> Iterator[Server]:
    """``tokcy serve`` on a free port, until the context is left."""
    process = subprocess.Popen(
        command(*arguments),
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=tempfile.gettempdir(),  # not the checkout, which would shadow the package
        env=environment(**variables),
    )
    assert process.stderr is not None
    lines: list[str] = []
    found = None
    try:
        for line in process.stderr:
            lines.append(line)
            found = _ADDRESS.match(line)
            if found:
                break
        assert found, "".join(lines)
        # Somebody must go on reading, or the server stops once the pipe is full.
        reader = threading.Thread(target=lines.extend, args=(process.stderr,), daemon=True)
        reader.start()
        yield Server(process, found[1], lines)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
