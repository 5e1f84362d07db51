"""What the command ``tokcy`` reads and writes: files, the standard streams, a progress bar."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

from tokcy.errors import TokcyError
from tokcy.writing import whole_file

__all__ = [
    "STDIN",
    "InputError",
    "StreamError",
    "output_file",
    "print_line",
    "progress",
    "read",
    "shown",
    "stdout",
]

STDIN = "-"
LONG_WORK_BYTES = 10_000_000
PROGRESS_DELAY = 1.0  # seconds


class InputError(TokcyError, ValueError):
    """An input file does not hold what the command reads."""


class StreamError(TokcyError, OSError):
    """The shell gave the command no such stream, as with ``>&-``."""


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[int], object]]:
    """A bar on stderr, only if that is a terminal and the work takes over a second.

    A single long text is one call, so a second thread keeps the clock going meanwhile.
    """
    if total < LONG_WORK_BYTES or sys.stderr is None or not sys.stderr.isatty():
        yield lambda size: None
        return
    from tqdm import tqdm  # comes with tokenizers, through huggingface_hub

    bar = tqdm(total=total, unit="B", unit_scale=True, delay=PROGRESS_DELAY, leave=False)
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.5):
            bar.refresh()

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield bar.update
    finally:
        done.set()
        ticker.join()
        bar.close()


def read(name: str) -> bytes:
    if name != STDIN:
        if os.path.isdir(name):
            raise InputError(f"{name} is a folder")
        return Path(name).read_bytes()
    if sys.stdin is None:
        raise StreamError("stdin is closed")
    return sys.stdin.buffer.read()


def stdout() -> TextIO:
    if sys.stdout is None:
        raise StreamError("stdout is closed")
    return sys.stdout


def print_line(line: str) -> None:
    print(line, file=stdout())


def shown(name: str) -> str:
    return "stdin" if name == STDIN else name


@contextlib.contextmanager
def output_file(name: str | None) -> Iterator[BinaryIO]:
    """The file to write, or stdout. A named one appears, or is replaced, when all went well."""
    if name is not None:
        with whole_file(name) as file:
            yield file
        return
    # Not sys.stdout.buffer: with PYTHONUNBUFFERED that is a raw file, which may write a part
    # of what it is given and leave it at that.
    with open(stdout().fileno(), "wb", closefd=False) as file:
        yield file
