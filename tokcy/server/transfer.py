"""How a body comes in and an answer goes out: bounded in bytes, and in a dead client's time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tokcy.server.errors import RequestError
from tokcy.server.lanes import INLINE_BYTES, ByteBudget

__all__ = ["BodyReader", "JsonResponse"]

#: Bytes of an answer that are given to the socket at once.
CHUNK_BYTES = 128 << 10


class BodyReader:
    """Reads bodies of JSON within the limits of the server."""

    def __init__(self, max_bytes: int, total_bytes: int, stall_seconds: float) -> None:
        """Set the limits.

        Args:
            max_bytes: of one body.
            total_bytes: of all large bodies that are held at once; others are not read meanwhile.
            stall_seconds: in which a body must have come.
        """
        self._max_bytes = max_bytes
        self._stall_seconds = stall_seconds
        self._budget = ByteBudget(max(total_bytes, max_bytes))

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The body, whose bytes count until the context is left.

        Raises:
            RequestError: it is no JSON by its header, too large, or the client stalls.
            starlette.requests.ClientDisconnect: the client is gone.
        """
        self._check_headers(request)
        # One that does not tell its length may be as long as any.
        told = request.headers.get("content-length")
        n_bytes = self._max_bytes if told is None else int(told)
        large = n_bytes > INLINE_BYTES
        if large:
            await self._budget.take(n_bytes)
        try:
            yield await asyncio.wait_for(self._read_all(request), self._stall_seconds)
        except asyncio.TimeoutError:
            raise RequestError(
                f"the body has not come within {self._stall_seconds:g} seconds",
                status=408,
                headers={"connection": "close"},
            ) from None
        finally:
            if large:
                self._budget.give(n_bytes)

    async def _read_all(self, request: Request) -> bytes:
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > self._max_bytes:
                raise self._too_large()
            chunks.append(chunk)
        return b"".join(chunks)

    def _check_headers(self, request: Request) -> None:
        media, _, parameters = request.headers.get("content-type", "").lower().partition(";")
        charset = parameters.replace(" ", "").replace('"', "").replace("utf8", "utf-8")
        if media.strip() != "application/json" or charset not in ("", "charset=utf-8"):
            raise RequestError(
                "the body must have the content type application/json, in UTF-8", status=415
            )
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RequestError("the body must not be compressed", status=415)
        length = request.headers.get("content-length", "0")
        # More digits than any limit has: Python would refuse to read thousands of them.
        if not length.isdecimal() or len(length) > 18 or int(length) > self._max_bytes:
            raise self._too_large()

    def _too_large(self) -> RequestError:
        return RequestError(
            f"the body has more than the {self._max_bytes} bytes that this server takes",
            status=413,
            headers={"connection": "close"},  # what is left of it is not read
        )


class JsonResponse(Response):
    """An answer of JSON bytes. A large one goes out in parts, as fast as the client takes them."""

    media_type = "application/json"

    def __init__(
        self,
        parts: Sequence[bytes],
        status: int = 200,
        headers: dict[str, str] | None = None,
        stall_seconds: float = 60,
    ) -> None:
        size = sum(map(len, parts))
        self._parts = parts if size > CHUNK_BYTES else ()
        self._stall_seconds = stall_seconds
        length = {"content-length": str(size)} if self._parts else {}
        super().__init__(
            None if self._parts else b"".join(parts), status, {**(headers or {}), **length}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._parts:
            await super().__call__(scope, receive, send)
            return
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        try:
            for part in self._parts:
                for begin in range(0, len(part), CHUNK_BYTES):
                    await self._send(send, memoryview(part)[begin : begin + CHUNK_BYTES], True)
            await self._send(send, b"", False)
        except asyncio.TimeoutError:
            return  # an answer without an end: the server closes the connection

    async def _send(self, send: Send, part: bytes | memoryview, more: bool) -> None:
        message = {"type": "http.response.body", "body": part, "more_body": more}
        await asyncio.wait_for(send(message), self._stall_seconds)
