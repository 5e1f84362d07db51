"""The endpoints, as an ASGI application."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tokcy.server.errors import RequestError, error_body
from tokcy.server.lanes import INLINE_BYTES, Lanes
from tokcy.server.metrics import Metrics
from tokcy.server.models import Answer, Models, ServedModel
from tokcy.server.parsing import BadJsonError, parse_json
from tokcy.server.requests import Task, read_count, read_detokenize, read_tokenize
from tokcy.server.transfer import BodyReader, JsonResponse

__all__ = ["Frontend"]

_log = logging.getLogger("tokcy.server")

_Read = Callable[[Any], Any]
_Work = Callable[[ServedModel, Any], Answer]

#: path → how its body is read, and what is done then.
_ENDPOINTS: dict[str, tuple[_Read, _Work]] = {
    "/tokenize": (read_tokenize, ServedModel.tokenize),
    "/detokenize": (read_detokenize, ServedModel.detokenize),
    "/count": (read_count, ServedModel.count),
}
#: The text of Prometheus, which knows no other type for it.
_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Frontend:
    """Answers requests about some models; `app` is what a server runs."""

    def __init__(
        self,
        models: Models,
        metrics: Metrics,
        reader: BodyReader,
        n_cores: int,
        stall_seconds: float = 60,
    ) -> None:
        self._models = models
        self._metrics = metrics
        self._reader = reader
        self._stall_seconds = stall_seconds
        self.lanes = Lanes(n_cores)
        routes = [
            Route(path, functools.partial(self._post, path), methods=["POST"])
            for path in _ENDPOINTS
        ]
        self.app = Starlette(
            routes=[
                *routes,
                Route("/health", self._health),
                Route("/metrics", self._show_metrics),
                Route("/v1/models", self._list_models),
            ],
            exception_handlers={HTTPException: self._http_error},
        )

    async def _post(self, path: str, request: Request) -> Response:
        """One of the endpoints, whatever happens."""
        model = ""
        self._metrics.inflight.inc()
        try:
            async with self._reader.read(request) as body:
                self._metrics.bytes.labels(path).inc(len(body))
                served, answer = await self._answer(path, body, request.is_disconnected)
            model = served.name
            self._count_answer(path, served, answer)
            response = JsonResponse(answer.parts, stall_seconds=self._stall_seconds)
        except RequestError as error:
            response = self._refusal(error)
        except ClientDisconnect:
            response = JsonResponse([], 499)  # for nobody, but counted
        except Exception:
            _log.exception("a request to %s failed", path)
            failure = error_body(500, "something failed here; the server's log says what")
            response = _json_response(failure, 500)
        finally:
            self._metrics.inflight.dec()
        self._metrics.requests.labels(path, model, str(response.status_code)).inc()
        return response

    async def _answer(
        self, path: str, body: bytes, is_gone: Callable[[], Awaitable[bool]]
    ) -> tuple[ServedModel, Answer]:
        read, work = _ENDPOINTS[path]
        if len(body) > INLINE_BYTES:
            return await self.lanes.run(len(body), lambda: self._work(read, work, body), is_gone)
        served, task = self._task(read, body)
        if served.is_short(task):
            return served, work(served, task)
        return served, await self.lanes.run(len(body), lambda: work(served, task), is_gone)

    def _work(self, read: _Read, work: _Work, body: bytes) -> tuple[ServedModel, Answer]:
        served, task = self._task(read, body)
        return served, work(served, task)

    def _task(self, read: _Read, body: bytes) -> tuple[ServedModel, Task]:
        try:
            task: Task = read(parse_json(body))
        except BadJsonError as error:
            raise RequestError(str(error)) from None
        return self._models.find(task.model), task

    def _count_answer(self, path: str, served: ServedModel, answer: Answer) -> None:
        self._metrics.seconds.labels(path, served.name).observe(answer.seconds)
        self._metrics.tokens.labels(path, served.name).inc(answer.n_tokens)
        reason = served.tokenizer.fallback_reason
        if reason is not None:
            self._metrics.fallbacks.labels(served.name, reason).inc()

    def _refusal(self, error: RequestError) -> JsonResponse:
        body = error_body(error.status, error.message, error.param) if error.status != 499 else {}
        return _json_response(body, error.status, error.headers)

    async def _http_error(self, request: Request, error: Exception) -> Response:
        """Wrong paths and methods, which no endpoint sees."""
        assert isinstance(error, HTTPException)
        known = ", ".join([*_ENDPOINTS, "/health", "/metrics", "/v1/models"])
        message = {
            404: f"there is no {request.url.path[:200]}; there is {known}",
            405: f"{request.url.path} does not take {request.method[:20]}",
        }.get(error.status_code, error.detail)
        self._metrics.requests.labels("other", "", str(error.status_code)).inc()
        headers = dict(error.headers or {})
        return self._refusal(RequestError(message, status=error.status_code, headers=headers))

    async def _health(self, request: Request) -> Response:
        return _json_response({"status": "ok"})

    async def _show_metrics(self, request: Request) -> Response:
        return Response(self._metrics.render(), headers={"content-type": _METRICS_TYPE})

    async def _list_models(self, request: Request) -> Response:
        models = [
            {
                "id": model.name,
                "object": "model",
                "created": model.created,
                "owned_by": "tokcy",
                "root": model.tokenizer.source,
                "parent": None,
                "max_model_len": model.max_model_len,
                "backend": model.tokenizer.backend,
            }
            for model in self._models
        ]
        return _json_response({"object": "list", "data": models})


def _json_response(
    body: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None
) -> JsonResponse:
    return JsonResponse([json.dumps(body).encode()], status, headers)
