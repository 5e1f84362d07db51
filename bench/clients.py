"""HTTP clients of ``tokcy serve`` that take as little of the cores as they can.

They speak HTTP/1.1 over plain sockets, keep their connections, and compare each answer byte for
byte with one that was checked. Each group of clients is a process of its own, since one that takes
in megabytes would count its own delays as those of small requests.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

READ_AHEAD = 1 << 20
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Request:
    """A body for /tokenize and, once it is known, the answer that it must get."""

    body: bytes
    answer: bytes = b""
    tokens: int = 0


@dataclass(frozen=True)
class Group:
    """So many clients, each with one request after the other of these, chosen at random."""

    clients: int
    requests: Sequence[Request]
    #: Seconds between an answer and the next request.
    pause: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """Of one request."""

    size: int
    seconds: float
    tokens: int
    #: When the answer was there, in seconds since the clients began.
    at: float
    #: Why there was no right answer; empty if there was.
    problem: str = ""


def run_groups(port: int, groups: Sequence[Group], seconds: float) -> list[list[Outcome]]:
    """What each group met within so many seconds, all of them at once."""
    with ProcessPoolExecutor(len(groups), mp_context=get_context("spawn")) as processes:
        start = time.time() + 1.0  # when all processes are there
        running = [
            processes.submit(_run_group, port, group, start, seconds, seed)
            for seed, group in enumerate(groups)
        ]
        return [one.result() for one in running]


def post(port: int, body: bytes) -> tuple[int, bytes]:
    """Status and body of the answer to one request."""

    async def ask() -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=READ_AHEAD)
        try:
            return await _exchange(reader, writer, body)
        finally:
            writer.close()

    return asyncio.run(ask())


def _run_group(port: int, group: Group, start: float, seconds: float, seed: int) -> list[Outcome]:
    async def run() -> list[Outcome]:
        clients = (
            _client(port, group, start, seconds, random.Random(f"{seed}/{number}"))
            for number in range(group.clients)
        )
        return [outcome for outcomes in await asyncio.gather(*clients) for outcome in outcomes]

    return asyncio.run(run())


async def _client(
    port: int, group: Group, start: float, seconds: float, choose: random.Random
) -> list[Outcome]:
    outcomes: list[Outcome] = []
    # Clients with a pause do not all begin in the same moment.
    await asyncio.sleep(start - time.time() + choose.random() * group.pause)
    end = start + seconds
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=READ_AHEAD)
    try:
        while time.time() < end:
            request = choose.choice(group.requests)
            began = time.perf_counter()
            try:
                status, answer = await asyncio.wait_for(
                    _exchange(reader, writer, request.body), PATIENCE_SECONDS
                )
                problem = "" if answer == request.answer else f"status {status}, another answer"
            except (OSError, EOFError, ValueError, asyncio.TimeoutError) as error:
                problem = repr(error)
            passed = time.perf_counter() - began
            at = time.time() - start
            outcomes.append(Outcome(len(request.body), passed, request.tokens, at, problem))
            if problem:
                break
            await asyncio.sleep(group.pause)
    finally:
        writer.close()
    return outcomes


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes
) -> tuple[int, bytes]:
    head = (
        "POST /tokenize HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode())
    writer.write(body)
    await writer.drain()
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    status = int(lines[0].split()[1])
    for line in lines:
        name, _, value = line.partition(":")
        if name == "content-length":
            return status, await reader.readexactly(int(value))
    raise ValueError("an answer without its length")


def body_of(prompt: str) -> bytes:
    return json.dumps({"prompt": prompt, "add_special_tokens": False}, ensure_ascii=False).encode()
