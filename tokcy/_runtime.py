"""Loads the OpenMP runtime, before any other compiled module does."""

from __future__ import annotations

import os

#: Each of these says what idle threads do: the standard's setting, GNU's and LLVM's.
_SETTINGS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")


def _load() -> None:
    """Load OpenMP so that idle threads sleep, unless the environment says otherwise.

    By default they spin: 7.5 ms of CPU time for each thread after each parallel call, and on a
    machine that has other work the caller then waits for threads that wait for a core. Measured
    on two cores with two other busy processes, 1.2 MB a call: 53 MB/s with one thread, 25 with
    two that spin, 71 with two that sleep. Waking one takes some 15 µs, and calls that use
    threads take 600 µs and more. The runtime reads the setting when it is loaded and never
    again, so the environment is as before when this returns.
    """
    if any(name in os.environ for name in _SETTINGS):
        return
    os.environ["OMP_WAIT_POLICY"] = "passive"
    try:
        from tokcy import _openmp  # noqa: F401
    finally:
        del os.environ["OMP_WAIT_POLICY"]


_load()
