"""Who works where, so that small requests never wait for large ones.

A request whose body is small is done in the event loop at once. Others go to threads: those of
medium size have threads of their own, so that they wait only for each other; the large ones have
one thread less than there are cores, and each of them works on one core, so that they leave one to
the rest. What they do there needs the GIL only for moments, so the loop goes on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tokcy.server.errors import RequestError

__all__ = ["INLINE_BYTES", "ByteBudget", "Lanes"]

INLINE_BYTES = 16 << 10
MEDIUM_BYTES = 128 << 10

_Result = TypeVar("_Result")


class _Lane:
    def __init__(self, name: str, n_threads: int) -> None:
        self._turns = asyncio.Semaphore(n_threads)
        self.executor = ThreadPoolExecutor(n_threads, thread_name_prefix=f"tokcy-{name}")

    async def run(
        self, work: Callable[[], _Result], is_gone: Callable[[], Awaitable[bool]]
    ) -> _Result:
        async with self._turns:
            if await is_gone():
                raise RequestError("the client is gone", status=499)
            return await asyncio.get_running_loop().run_in_executor(self.executor, work)


class Lanes:
    """The threads for medium and large requests."""

    def __init__(self, n_cores: int) -> None:
        self._medium = _Lane("medium", max(1, n_cores // 2))
        self._large = _Lane("large", max(1, n_cores - 1))

    async def run(
        self, n_bytes: int, work: Callable[[], _Result], is_gone: Callable[[], Awaitable[bool]]
    ) -> _Result:
        """Do the work for a body of that size in a thread, after those that came before.

        Raises:
            RequestError: of status 499, if its client had gone when its turn came.
        """
        lane = self._medium if n_bytes <= MEDIUM_BYTES else self._large
        return await lane.run(work, is_gone)

    def close(self) -> None:
        """Forget what has not begun; threads end with what they are doing."""
        for lane in (self._medium, self._large):
            lane.executor.shutdown(wait=False, cancel_futures=True)


class ByteBudget:
    """Bytes of large bodies that the process holds at once; who finds none waits, in order."""

    def __init__(self, n_bytes: int) -> None:
        self._left = n_bytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, n_bytes: int) -> None:
        """Wait for so many bytes; each of them must be given back."""
        if not self._waiting and n_bytes <= self._left:
            self._left -= n_bytes
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((n_bytes, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._left += n_bytes
            self._admit()
            raise

    def give(self, n_bytes: int) -> None:
        """Give bytes back."""
        self._left += n_bytes
        self._admit()

    def _admit(self) -> None:
        while self._waiting:
            n_bytes, turn = self._waiting[0]
            if not turn.cancelled():
                if n_bytes > self._left:
                    return
                self._left -= n_bytes
                turn.set_result(None)
            self._waiting.popleft()
