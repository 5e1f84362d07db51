"""The sandbox in which templates run, with what `transformers` 5.24 gives them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from .tojson import plain_tojson

__all__ = ["ChatEnvironment", "at_one_time"]

_LARGEST = 10_000_000
"""How many items or characters ``*`` may make, and how large the numbers of ``**`` may be."""

_now: ContextVar[datetime | None] = ContextVar("now", default=None)


@contextmanager
def at_one_time() -> Iterator[None]:
    """Let ``strftime_now`` say the same in all renderings meanwhile."""
    token = _now.set(datetime.now())
    try:
        yield
    finally:
        _now.reset(token)


def _strftime_now(form: str) -> str:
    return (_now.get() or datetime.now()).strftime(str.__str__(form))


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)


class _Dict:
    """``dict``, as far as templates may use it."""

    def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        return dict(*args, **kwargs)

    def fromkeys(self, *args: Any) -> dict[Any, Any]:
        return dict.fromkeys(*args)


class _Namespace(Namespace):
    """``namespace()`` without attributes that could shadow what jinja2 itself needs."""

    def __init__(*args: Any, **kwargs: Any) -> None:  # `self` may be one of the names
        self, *rest = args
        attributes = dict(*rest, **kwargs)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        Namespace.__setitem__(self, name, value)


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"a namespace has no attribute {name!r}, which begins with '_'")


class _Generation(Extension):
    """``{% generation %}``, which marks for trainers what an assistant says: here a mere scope."""

    tags = {"generation"}  # noqa: RUF012  # as jinja2 declares it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


class ChatEnvironment(ImmutableSandboxedEnvironment):
    """The environment of chat templates: gives what `transformers` gives, to the character."""

    intercepted_binops = frozenset(["*", "**"])

    def __init__(self, **options: Any) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols], **options
        )
        self.filters["tojson"] = plain_tojson
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = _strftime_now
        self.globals["dict"] = _Dict()
        self.globals["namespace"] = _Namespace

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Multiply, unless that would fill the memory."""
        sizes = [len(v) if hasattr(v, "__len__") else v for v in (left, right)]
        if all(isinstance(size, int) for size in sizes):
            if operator == "**" and abs(sizes[0]).bit_length() * abs(sizes[1]) > _LARGEST:
                raise SecurityError("the result of ** is too large")
            if sizes != [left, right] and sizes[0] * sizes[1] > _LARGEST:
                raise SecurityError("the result of * is too long")
        return super().call_binop(context, operator, left, right)
