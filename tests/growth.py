"""How the time that something takes grows with its size, whatever machine it runs on."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["assert_linear"]

_TIMES = 20
_LEEWAY = 8  # for caches that no longer suffice, and other processes; squares would take _TIMES
_LEAST = 1e-3  # seconds; less says nothing


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Fail if ``work(20 * size)`` takes far more than 20 times as long as ``work(size)``."""
    work(1)  # what is done once only

    def seconds(n: int) -> float:
        begin = time.process_time()
        work(n)
        return time.process_time() - begin

    small = max(min(seconds(size) for _ in range(3)), _LEAST)
    large = seconds(_TIMES * size)
    assert large < _LEEWAY * _TIMES * small, f"{size}: {small} s, {_TIMES * size}: {large} s"
