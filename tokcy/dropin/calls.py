"""Which call of `transformers` each thread is in, and what it has read and set on its tokenizer.

`transformers` calls the tokenizer in steps: it reads truncation and padding, sets them where they
are not what the caller asks for, and encodes. In between, another thread may set its own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import tokenizers

__all__ = ["UNREAD", "call_on", "scoped"]

UNREAD: Any = object()


class _Call:
    __slots__ = ("encode_special_tokens", "padding", "tokenizer", "truncation")

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.truncation = self.padding = self.encode_special_tokens = UNREAD


class _Current(threading.local):
    call: _Call | None = None


_current = _Current()


def scoped(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a tokenizer of `transformers`, as one such call."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        outer = _current.call
        _current.call = _Call(self._tokenizer)
        try:
            return method(self, *arguments, **options)
        finally:
            _current.call = outer

    return call


def call_on(tokenizer: tokenizers.Tokenizer) -> Any:
    """The call on this tokenizer that the thread is in, or None."""
    call = _current.call
    return None if call is None or call.tokenizer is not tokenizer else call
