"""Measures every library on every model and text, and prints the whole table.

    python -m bench [--model PATH]... [--text PATH]... [--library NAME]... [--json PATH]

Each library runs in processes of its own: one that checks its ids against those of
``tokenizers``, one that measures with one thread, in CPU time, and one that measures with all
cores, in elapsed time. Columns:

    load s      from tokenizer.json to a tokenizer, elapsed; importing the library not included
    + first     the same with the first call
    first ms    the first call, a text of 40,000 characters (some 10,000 tokens of English)
    unseen      texts of 300,000 characters that are new to the process; median
    batch       such a text as 150 documents in one call, also new; median
    repeated    the same text again and again; median

Speeds are in MB of UTF-8 text a second.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from bench.libraries import LIBRARIES, ONE_THREAD, version
from bench.texts import default_models, default_texts

ROOT = Path(__file__).resolve().parent.parent
RC_VERSION = "1.0.0rc3"
RC_REQUIREMENTS = (f"tokenizers=={RC_VERSION}", "numpy>=2", "pytest>=8", "pytest-benchmark>=5")
REFERENCE = next(iter(LIBRARIES))

Row = dict[str, float | str]


def main(argv: list[str] | None = None) -> int:
    arguments = _parse(argv)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        for model in arguments.model or default_models(scratch):
            for text in arguments.text or default_texts(scratch):
                print(f"\n## {model.parent.name}, {text.stem}\n", flush=True)
                _print_head()
                rows += _compare(model, text, arguments.library, scratch)
    print(f"\n{_machine()}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": _machine(), "rows": rows}, indent=1))
    return 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", type=Path, action="append", help="a tokenizer.json")
    parser.add_argument("--text", type=Path, action="append", help="a UTF-8 file, 1 MB or more")
    parser.add_argument("--library", choices=LIBRARIES, action="append")
    parser.add_argument("--json", type=Path, help="write the numbers here as well")
    return parser.parse_args(argv)


def _compare(model: Path, text: Path, libraries: list[str] | None, scratch: Path) -> list[Row]:
    """Measure the libraries; the reference's ids are made even if it is not asked for."""
    reference = scratch / "reference.json"
    reference.unlink(missing_ok=True)
    rows = []
    for library in LIBRARIES:
        asked_for = libraries is None or library in libraries
        if not asked_for and library != REFERENCE:
            continue
        python = _rc_python() if library == "tokenizers-rc" else sys.executable
        task = (f"--library={library}", f"--model={model}", f"--text={text}")
        problem = _run(python, "test_ids.py", *task, f"--reference={reference}")
        if not asked_for:
            continue
        row: Row = {
            "library": library.removesuffix("-rc"),
            "version": RC_VERSION if library == "tokenizers-rc" else version(library),
            "model": model.parent.name,
            "text": text.stem,
        }
        if problem:
            row["problem"] = problem
        else:
            row |= _measure(python, task, scratch / "one.json", one_thread=True)
            row |= _measure(python, task, scratch / "all.json", one_thread=False)
        rows.append(row)
        _print_row(row)
    return rows


def _measure(python: str, task: tuple[str, ...], result: Path, one_thread: bool) -> Row:
    clock = "process_time" if one_thread else "perf_counter"
    problem = _run(
        python,
        "test_speed.py",
        *task,
        f"--benchmark-json={result}",
        f"--benchmark-timer=time.{clock}",
        "--benchmark-disable-gc",
        environment=ONE_THREAD if one_thread else {},
    )
    if problem:
        return {"problem": problem}
    prefix = "one" if one_thread else "all"
    return {
        f"{prefix}_{name}": value
        for entry in json.loads(result.read_text())["benchmarks"]
        for name, value in _numbers(entry).items()
    }


def _numbers(entry: dict[str, Any]) -> Row:
    name = entry["name"].removeprefix("test_")
    median: float = entry["stats"]["median"]
    if name in ("load", "first"):
        return {name: median}
    return {name: entry["extra_info"]["bytes"] / median / 1e6}


def _run(
    python: str, file: str, *options: str, environment: dict[str, str] | None = None
) -> str | None:
    """Run one benchmark file in a process of its own; None, or what went wrong."""
    done = subprocess.run(
        [python, "-m", "pytest", f"bench/{file}", "-q", "-x", "-p", "no:cacheprovider", *options],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return None
    reasons = [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("E  ")]
    if reasons and reasons[0].startswith(("assert [", "AssertionError: assert [")):
        return "other ids"
    return (reasons or done.stderr.splitlines() or [f"exit code {done.returncode}"])[0][:80]


def _rc_python() -> str:
    """The Python of an environment with the release candidate of tokenizers, made if missing."""
    folder = ROOT / ".venv" / "tokenizers-rc"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *RC_REQUIREMENTS], check=True)
        (folder / "ready").touch()
    return str(python)


def _print_head() -> None:
    columns = ["load s", "+ first"]
    for cores in ("1", "all"):
        columns += [f"{name}, {cores}" for name in ("first ms", "unseen", "batch", "repeated")]
    print(f"| {'library':20} | {' | '.join(columns)} |")
    print("|:---|" + "---:|" * len(columns), flush=True)


def _print_row(row: Row) -> None:
    name = f"{row['library']} {row['version']}"
    if "problem" in row:
        print(f"| {name:20} | {row['problem']} |", flush=True)
        return

    def cells(prefix: str) -> str:
        first = float(row[f"{prefix}_first"]) * 1e3
        speeds = [float(row[f"{prefix}_{name}"]) for name in ("unseen", "batch", "repeated")]
        return f"{first:11.2f} | " + " | ".join(f"{speed:9.1f}" for speed in speeds)

    load = float(row["all_load"])
    both = load + float(row["all_first"])
    print(
        f"| {name:20} | {load:6.2f} | {both:7.3f} | {cells('one')} | {cells('all')} |", flush=True
    )


def _machine() -> str:
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if "model name" in line), name)
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
