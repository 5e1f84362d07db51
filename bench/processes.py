"""Runs a file of benchmarks in a process of its own, and reads what it measured."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from bench.libraries import ONE_THREAD, version
from bench.questions import Question

ROOT = Path(__file__).resolve().parent.parent
RC_VERSION = "1.0.0rc3"
RC_REQUIREMENTS = (f"tokenizers=={RC_VERSION}", "numpy>=2", "pytest>=8", "pytest-benchmark>=5")
TIME_LIMIT = 300

#: A figure, or why there is none: what was asked, "value" or "problem", and what was noted.
Row = dict[str, Any]

_FAILURE = re.compile(r"(?:FAILED|ERROR) \S+::test_(\w+)(?:\[([^]]*)\])?(?: - (.*))?")


def measure(
    question: Question,
    library: str,
    model: Path,
    others: list[Path],
    material: list[Path],
    reference: Path,
) -> list[Row]:
    """The rows of one process. One of a process that died holds for all that it should measure."""
    result = reference / "result.json"
    result.unlink(missing_ok=True)
    command: list[str | Path] = [_python(library), "-m", "pytest", f"bench/{question.file}"]
    command += ["-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-p", "pytest_benchmark.plugin"]
    command += ["-k", question.select, f"--benchmark-json={result}", "--benchmark-disable-gc"]
    command += [f"--benchmark-timer=time.{'process_time' if question.cpu_time else 'perf_counter'}"]
    command += [f"--library={library}", f"--model={model}", f"--reference={reference}"]
    command += [f"--other-model={path}" for path in others]
    command += [f"--{question.material}={path}" for path in material]
    environment = {
        **os.environ,
        **(ONE_THREAD if question.one_thread else {}),
        "COLUMNS": "300",  # or else pytest cuts the reasons
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIME_LIMIT
        )
    except subprocess.TimeoutExpired:
        return [{"problem": f"over {TIME_LIMIT} s"}]
    rows = [_failure(*match.groups()) for match in _FAILURE.finditer(done.stdout)]
    if result.exists() and result.stat().st_size:
        entries = json.loads(result.read_text())["benchmarks"]
        rows += [_figure(entry, question.seconds) for entry in entries]
    if done.returncode < 0:
        return [{"problem": signal.Signals(-done.returncode).name}]
    if not rows and done.returncode not in (0, 5):  # 5: nothing to measure
        reasons = done.stderr.splitlines() or [f"exit code {done.returncode}"]
        return [{"problem": reasons[-1][:100]}]
    return rows


def _figure(entry: dict[str, Any], seconds: bool) -> Row:
    notes = dict(entry["extra_info"])
    size = notes.pop("bytes")
    calls: list[float] = entry["stats"]["data"]
    together: int = notes.pop("together", 1)  # so many calls in a row make one figure
    median = statistics.median(
        sum(calls[first : first + together]) for first in range(0, len(calls), together)
    )
    name = entry["name"].partition("[")[0].removeprefix("test_")
    return {"name": name, "value": median if seconds else size / median / 1e6, **notes}


def _failure(name: str, parameter: str | None, reason: str | None) -> Row:
    problem = (reason or "failed").partition(": ")
    # "AssertionError: other ids" needs no more than the message, "PanicException" itself tells.
    kind = problem[0].rpartition(".")[2]
    said = problem[2] if kind in ("AssertionError", "UnsuitedModelError") else reason
    return {"name": name, "text": parameter or "", "problem": (said or "failed")[:150]}


def _python(library: str) -> str:
    return _rc_python() if library == "tokenizers-rc" else sys.executable


def label(library: str) -> str:
    """Name and version."""
    if library == "tokenizers-rc":
        return f"tokenizers {RC_VERSION}"
    return f"{library} {version(library)}"


def _rc_python() -> str:
    """The Python of an environment with the release candidate of tokenizers, made if missing."""
    folder = ROOT / ".venv" / "tokenizers-rc"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *RC_REQUIREMENTS], check=True)
        (folder / "ready").touch()
    return str(python)
