"""Sixteen Python threads, each of which uses all models in turn, on documents that are new."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from bench.library import Ids, Library
from bench.measure import Meter, digest
from bench.texts import Pieces

THREADS = 16
DOCUMENT_CHARS = 2_000

Job = tuple[Library, str]


def test_threads(
    meter: Meter,
    library_class: type[Library],
    model: Path,
    other_models: list[Path],
    pieces: Pieces,
) -> None:
    loaded = [library_class(path) for path in (model, *other_models)]
    text = "".join(pieces.unseen)
    documents = [text[i : i + DOCUMENT_CHARS] for i in range(0, len(text), DOCUMENT_CHARS)]
    jobs = [(loaded[i % len(loaded)], document) for i, document in enumerate(documents)]
    half = len(jobs) // 2
    alone, together = jobs[:half], jobs[half:]

    start = time.perf_counter()
    serve(alone)
    seconds = time.perf_counter() - start
    meter.note("alone", document_bytes(alone) / seconds / 1e6)

    [digest_of_threads] = meter.time(serve_by_threads, [together], document_bytes(together), digest)
    meter.note("cache_bytes", max(library.cache_bytes() or 0 for library in loaded) or None)
    before = resident_bytes()
    serve_by_threads(together)  # new threads, to which nothing else is new
    meter.note("bytes_per_thread", (resident_bytes() - before) / THREADS if before else None)
    if digest_of_threads != digest(serve(together)):
        raise AssertionError("other ids than in one thread")


def serve(jobs: list[Job]) -> Ids:
    return np.concatenate([library.encode(document) for library, document in jobs])


def serve_by_threads(jobs: list[Job]) -> Ids:
    """Each thread takes every sixteenth job; the ids come in the order of the jobs."""

    def share(thread: int) -> list[Ids]:
        return [library.encode(document) for library, document in jobs[thread::THREADS]]

    with ThreadPoolExecutor(THREADS) as pool:
        shares = list(pool.map(share, range(THREADS)))
    return np.concatenate([shares[i % THREADS][i // THREADS] for i in range(len(jobs))])


def document_bytes(jobs: list[Job]) -> int:
    return sum(len(document.encode()) for _, document in jobs)


def resident_bytes() -> int:
    """Memory of this process; 0 where Linux does not tell."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0
