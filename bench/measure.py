"""Timing calls and checking what they return."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pytest_benchmark.fixture import BenchmarkFixture


def digest(ids: ArrayLike) -> str:
    """What two results have in common if their ids are the same."""
    return hashlib.sha256(np.asarray(ids, dtype=np.uint32).tobytes()).hexdigest()


def digest_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Meter:
    """Times calls. The very results that were timed must be the reference's, or the test fails.

    Args:
        benchmark: the fixture of pytest-benchmark, for one test.
        expected: the reference's digests by text and use.
        text: the name of the text that the test is about, "" if it is about no single one.
    """

    def __init__(
        self, benchmark: BenchmarkFixture, expected: dict[str, dict[str, Any]], text: str
    ) -> None:
        self._benchmark = benchmark
        self._expected = expected
        self.text = text

    def expected(self, use: str, text: str | None = None) -> Any:
        return self._expected[self.text if text is None else text][use]

    def __call__(
        self,
        call: Callable[[Any], Any],
        inputs: Sequence[Any],
        size: int,
        expected: Sequence[str],
        result_digest: Callable[[Any], str] = digest,
    ) -> None:
        """Time ``call`` once for each of the inputs, and check what it returned.

        Args:
            size: bytes of UTF-8 that an input has on average, for the speed.
            expected: the digest that each result must have.
            result_digest: makes it; this is not timed, and neither is what else lies between
                two calls.
        """
        if self.time(call, inputs, size, result_digest) != list(expected):
            raise AssertionError("other ids")

    def time(
        self,
        call: Callable[[Any], Any],
        inputs: Sequence[Any],
        size: int,
        result_digest: Callable[[Any], str],
    ) -> list[str]:
        """The same without the check: returns the digests of the results."""
        digests: list[str] = []
        result: list[Any] = []  # the last one: the next call finds its memory free again
        remaining = iter(inputs)

        def between() -> tuple[tuple[Any], dict[str, Any]]:
            if result:
                digests.append(result_digest(result.pop()))
            return (next(remaining, None),), {}

        self.note("text", self.text)
        self.note("bytes", size)
        self._benchmark.pedantic(
            lambda item: result.append(call(item)), setup=between, rounds=len(inputs)
        )
        between()
        return digests

    def note(self, name: str, value: object) -> None:
        """Put something beside the seconds, if it is known."""
        if value is not None:
            self._benchmark.extra_info[name] = value


def utf8_bytes(texts: Sequence[str]) -> int:
    """Mean size of the texts."""
    return sum(len(text.encode()) for text in texts) // len(texts)
