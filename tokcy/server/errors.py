"""The answers to requests that cannot be served, in the shape of OpenAI's and vLLM's errors."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

__all__ = ["RequestError", "error_body"]

_TYPES = {404: "NotFoundError", 500: "InternalServerError"}


class RequestError(Exception):
    """A request is at fault.

    Attributes:
        status: the HTTP status, 400 and up.
        message: what is wrong with it.
        param: the field at fault, or None.
        headers: more headers of the answer.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param
        self.headers = headers or {}


def error_body(status: int, message: str, param: str | None = None) -> dict[str, Any]:
    """``{"error": {"message", "type", "param", "code"}}``, as JSON has it."""
    kind = _TYPES.get(status)
    if kind is None:
        # vLLM's clients know this one; what it has no name for is called as HTTP calls it.
        kind = "BadRequestError" if status == 400 else _camel(HTTPStatus(status).phrase)
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


def _camel(phrase: str) -> str:
    return "".join(word.capitalize() for word in phrase.split()) + "Error"
