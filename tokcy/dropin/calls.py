"""Which call of `transformers` each thread is in, and what it has read and set on its tokenizer.

`transformers` calls the tokenizer in steps: it reads truncation and padding, sets them where they
are not what the caller asks for, and encodes. In between, another thread may set its own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from threading import active_count
from typing import Any

import tokenizers

from .gate import Settings, settings_on
from .originals import original

__all__ = ["UNREAD", "call_on", "current", "scoped", "settings_for"]

UNREAD: Any = object()


class Call:
    """What one call of `transformers` has read and set on its tokenizer."""

    __slots__ = ("encode_special_tokens", "padding", "tokenizer", "truncation")

    def __init__(self, tokenizer: tokenizers.Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.truncation = self.padding = self.encode_special_tokens = UNREAD

    def settings(self) -> Settings:
        """All options of this call, read now if they have not been."""
        tokenizer = self.tokenizer
        if self.truncation is UNREAD:
            self.truncation = original.truncation(tokenizer)
        if self.padding is UNREAD:
            self.padding = original.padding(tokenizer)
        if self.encode_special_tokens is UNREAD:
            self.encode_special_tokens = original.encode_special_tokens(tokenizer)
        return self.truncation, self.padding, self.encode_special_tokens


class _Current(threading.local):
    """The innermost call that a thread is in."""

    call: Call | None = None


current = _Current()


def scoped(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a tokenizer of `transformers`, as one such call."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        if active_count() == 1:  # there is nobody to be kept apart from, which takes 4 µs
            return method(self, *arguments, **options)
        outer = current.call
        current.call = Call(self._tokenizer)
        try:
            return method(self, *arguments, **options)
        finally:
            current.call = outer

    return call


def call_on(tokenizer: tokenizers.Tokenizer) -> Call | None:
    """The call on this tokenizer that the thread is in, or None."""
    call = current.call
    return None if call is None or call.tokenizer is not tokenizer else call


def settings_for(tokenizer: tokenizers.Tokenizer) -> Settings:
    """The options that count for this thread."""
    call = current.call
    if call is None or call.tokenizer is not tokenizer:
        return settings_on(tokenizer)
    return call.settings()
