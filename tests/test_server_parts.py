"""The parts of the frontend that a client sees only where something waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest
from starlette.requests import Request

from tokcy.server.errors import RequestError
from tokcy.server.lanes import INLINE_BYTES, ByteBudget, Lanes
from tokcy.server.transfer import CHUNK_BYTES, BodyReader, JsonResponse

LARGE = INLINE_BYTES + 1


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, 120))


def request(parts: list[bytes], **headers: str) -> Request:
    """A request whose body comes in these parts, and then no more, as from a client that waits."""
    fields = {"content-type": "application/json", **headers}
    names = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
    messages = iter([{"type": "http.request", "body": part, "more_body": True} for part in parts])

    async def receive() -> Any:
        for message in messages:
            return message
        await asyncio.Event().wait()

    return Request({"type": "http", "method": "POST", "headers": names}, receive)


def test_a_body_that_does_not_come_is_given_up_and_its_room_given_back() -> None:
    async def scene() -> None:
        reader = BodyReader(2 * LARGE, 2 * LARGE, 0.05)
        for _ in range(3):
            with pytest.raises(RequestError, match=r"within 0\.05 seconds") as raised:
                async with reader.read(request([b"{"], content_length=str(2 * LARGE))):
                    raise AssertionError
            assert raised.value.status == 408

    run(scene())


def test_large_bodies_wait_for_room_and_small_ones_do_not() -> None:
    async def scene() -> None:
        budget = ByteBudget(10)
        order: list[int] = []

        async def take(number: int, n_bytes: int) -> None:
            await budget.take(n_bytes)
            order.append(number)

        await take(0, 8)
        waiting = [asyncio.ensure_future(take(n, size)) for n, size in enumerate([9, 1, 1], 1)]
        await asyncio.sleep(0)
        assert order == [0]  # the small ones came later, and must not pass the large one by
        waiting[1].cancel()
        budget.give(8)
        await waiting[0]
        await waiting[2]
        assert order == [0, 1, 3]
        budget.give(9)
        budget.give(1)
        await take(4, 10)  # all of it is there again

    run(scene())


def test_who_is_cancelled_in_the_moment_of_its_turn_gives_it_back() -> None:
    async def scene() -> None:
        budget = ByteBudget(10)
        await budget.take(10)
        waiting = asyncio.ensure_future(budget.take(10))
        await asyncio.sleep(0)
        budget.give(10)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await budget.take(10)

    run(scene())


def test_the_work_of_a_client_that_is_gone_is_not_done() -> None:
    async def scene() -> None:
        lanes = Lanes(1)
        release = threading.Event()
        done: list[int] = []

        async def here() -> bool:
            return False

        async def gone() -> bool:
            return True

        first = asyncio.ensure_future(lanes.run(1 << 20, lambda: release.wait(60), here))
        second = asyncio.ensure_future(lanes.run(1 << 20, lambda: done.append(2), gone))
        # Another lane than that which is full.
        await lanes.run(LARGE, lambda: done.append(1), here)
        assert done == [1]
        release.set()
        assert await first
        with pytest.raises(RequestError) as raised:
            await second
        assert raised.value.status == 499
        assert done == [1]
        lanes.close()

    run(scene())


def test_an_answer_that_nobody_takes_is_given_up() -> None:
    async def scene() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)
            if len(sent) == 3:
                await asyncio.Event().wait()

        response = JsonResponse([b"1" * (CHUNK_BYTES * 4)], stall_seconds=0.05)
        await response({"type": "http"}, send, send)  # type: ignore[arg-type]
        return sent

    sent = run(scene())
    assert [message["type"] for message in sent] == ["http.response.start"] + [
        "http.response.body"
    ] * 2
    assert sent[-1]["more_body"]
