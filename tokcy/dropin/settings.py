"""The options of a tokenizer, kept apart for threads that set them at the same time.

Within a call of `transformers`, what its thread has read and set counts, whatever the tokenizer
says meanwhile. Outside of one, these are Hugging Face's own attributes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from tokenizers import Tokenizer

from .attachment import attachment_of
from .calls import UNREAD, call_on, current
from .originals import original
from .replacements import Replacement
from .scopes import scopes

__all__ = ["replaced_settings"]


def replaced_settings() -> list[Replacement]:
    """The attributes of ``Tokenizer`` that read and set options."""
    return [
        (Tokenizer, "truncation", _reading("truncation", original.truncation)),
        (Tokenizer, "padding", _reading("padding", original.padding)),
        (Tokenizer, "encode_special_tokens", _flag()),
        _setting("truncation", "enable_truncation", _truncation),
        _setting("truncation", "no_truncation", _nothing),
        _setting("padding", "enable_padding", _padding),
        _setting("padding", "no_padding", _nothing),
    ]


def _reading(name: str, read: Callable[[Any], Any]) -> property:
    def get(self: Tokenizer) -> Any:
        if scopes.missing and "transformers" in sys.modules:
            scopes.install()
        call = current.call
        if call is None or call.tokenizer is not self:
            return read(self)
        value = getattr(call, name)
        if value is UNREAD:
            value = read(self)
            setattr(call, name, value)
        return dict(value) if isinstance(value, dict) else value

    return property(get, doc=vars(Tokenizer)[name].__doc__)


def _flag() -> property:
    def change(self: Tokenizer, value: bool) -> None:
        call = call_on(self)
        if call is None:
            original.set_encode_special_tokens(self, value)
            return
        _set_unless_used(self, lambda: original.set_encode_special_tokens(self, value))
        call.encode_special_tokens = value

    return _reading("encode_special_tokens", original.encode_special_tokens).setter(change)


def _setting(attribute: str, name: str, value_of: Callable[..., Any]) -> Replacement:
    method = vars(Tokenizer)[name]

    @functools.wraps(method)
    def change(self: Tokenizer, *arguments: Any, **options: Any) -> None:
        call = call_on(self)
        if call is None:
            method(self, *arguments, **options)
            return
        _set_unless_used(self, lambda: method(self, *arguments, **options))
        setattr(call, attribute, value_of(*arguments, **options))

    return Tokenizer, name, change


def _set_unless_used(tokenizer: Tokenizer, change: Callable[[], None]) -> None:
    """Leave the option on the tokenizer, as `transformers` does, unless others need their own."""
    attachment = attachment_of(tokenizer)
    if attachment is None:
        change()
    else:
        attachment.gate.change(change)


def _truncation(
    max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
) -> dict[str, Any]:
    return {
        "max_length": max_length,
        "stride": stride,
        "strategy": strategy,
        "direction": direction,
    }


def _padding(
    direction: str = "right",
    pad_id: int = 0,
    pad_type_id: int = 0,
    pad_token: str = "[PAD]",
    length: int | None = None,
    pad_to_multiple_of: int | None = None,
) -> dict[str, Any]:
    return {
        "length": length,
        "pad_to_multiple_of": pad_to_multiple_of,
        "pad_id": pad_id,
        "pad_token": pad_token,
        "pad_type_id": pad_type_id,
        "direction": direction,
    }


def _nothing() -> None:
    return None
