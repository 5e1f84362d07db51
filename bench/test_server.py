"""``tokcy serve``, and 64 clients at once with prompts of 1 KB to 1 MB.

Each prompt is asked for once before, and its ids compared with the reference's. The clients take
the same cores as the server, so that a machine with few of them is more than full.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.chat import Material
from bench.clients import Group, Outcome, Request, body_of, post, run_groups
from bench.measure import Meter, digest
from bench.server import CLIENTS, LARGE_CHARS, PACED, PAUSE, PROMPTS, SECONDS, prompts

STARTING_SECONDS = 60
STOPPING_SECONDS = 60

#: What each prompt is asked with, by the characters of its size.
Requests = dict[int, list[Request]]


@pytest.fixture(scope="module")
def port(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Of a server that is stopped in good order afterwards.

    Nothing is kept of prompts: the clients ask for the same ones again, as others do not.
    """
    command = [sys.executable, "-m", "tokcy", "serve", str(model), "--port", "0"]
    command += ["--prefix-cache-bytes", "0"]
    log = tmp_path_factory.mktemp("server") / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdout=errors, stderr=errors) as server,
    ):
        try:
            yield said_port(log, server)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(STOPPING_SECONDS)


def said_port(log: Path, server: subprocess.Popen[bytes]) -> int:
    end = time.monotonic() + STARTING_SECONDS
    while time.monotonic() < end and server.poll() is None:
        found = re.search(r"http://\S+:(\d+)\n", log.read_text())
        if found is not None:
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text().strip()[-100:]}")


@pytest.fixture(scope="module")
def requests(port: int, material: Material, reference: Path) -> Requests:
    expected: list[str] = json.loads((reference / "digests.json").read_text())["server"]["ids"]
    requests: Requests = {size.chars: [] for size in PROMPTS}
    for (size, prompt), right in zip(prompts(material), expected, strict=True):
        body = body_of(prompt)
        status, answer = post(port, body)
        if status != 200:
            raise AssertionError(f"status {status}: {answer[:100]!r}")
        ids = json.loads(answer)["tokens"]
        if digest(ids) != right:
            raise AssertionError("other ids")
        requests[size.chars].append(Request(body, answer, len(ids)))
    return requests


def test_mixed(meter: Meter, port: int, requests: Requests) -> None:
    """All clients with prompts of all sizes, one after the other."""
    everything = [request for some in requests.values() for request in some]
    # Each size is as frequent as the others.
    weighted = [some[i % len(some)] for some in requests.values() for i in range(len(everything))]
    [outcomes] = run(meter, port, [Group(CLIENTS, weighted)])
    note(meter, outcomes)


def test_small(meter: Meter, port: int, requests: Requests) -> None:
    """A few clients with small prompts and pauses, alone."""
    [outcomes] = run(meter, port, [paced(requests)])
    note(meter, outcomes)


def test_beside(meter: Meter, port: int, requests: Requests) -> None:
    """The same, while the others send large prompts, one after the other."""
    large = [
        request for chars, some in requests.items() if chars >= LARGE_CHARS for request in some
    ]
    outcomes, others = run(meter, port, [paced(requests), Group(CLIENTS - PACED, large)])
    note(meter, outcomes, others)


def paced(requests: Requests) -> Group:
    return Group(PACED, requests[PROMPTS[0].chars], PAUSE)


def run(meter: Meter, port: int, groups: Sequence[Group]) -> list[list[Outcome]]:
    met: list[list[Outcome]] = []

    def call(seconds: float) -> None:
        met.extend(run_groups(port, groups, seconds))

    meter.time(call, [SECONDS], 0, lambda result: "")
    problems = [outcome.problem for group in met for outcome in group if outcome.problem]
    if problems:
        raise AssertionError(f"{len(problems)} requests failed: {problems[0]}")
    return met


def note(meter: Meter, outcomes: list[Outcome], others: Sequence[Outcome] = ()) -> None:
    """What the outcomes come to: of all for the rates, of the first ones for the delays."""
    every = [*outcomes, *others]
    ended = [outcome for outcome in every if outcome.at < SECONDS]
    meter.note("requests", len(ended) / SECONDS)
    meter.note("tokens", sum(outcome.tokens for outcome in ended) / SECONDS)
    meter.note("megabytes", sum(outcome.size for outcome in ended) / SECONDS / 1e6)
    small = PROMPTS[0].chars * 4  # more than the bytes of any small prompt
    for name, found in (
        ("small", [outcome.seconds for outcome in outcomes if outcome.size < small]),
        ("large", [outcome.seconds for outcome in every if outcome.size >= LARGE_CHARS]),
    ):
        if found:
            meter.note(f"{name} p50", float(np.percentile(found, 50)) * 1000)
            meter.note(f"{name} p99", float(np.percentile(found, 99)) * 1000)
