"""The awaitable methods of ``tokenizers.Tokenizer``, which there are since release 0.22.

They give futures, as Hugging Face's do: short work is done when they return, and long work goes
to the threads of `tokcy.aio`.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tokenizers import Tokenizer

from tokcy.aio import inline_length, is_short, shared_executor
from tokcy.errors import TokcyError

from . import methods
from .attachment import twin_for
from .calls import settings_for
from .counts import counts
from .methods import are_lists_of_ids, are_texts, is_plain, named
from .originals import original
from .replacements import Replacement
from .twins import Twin

__all__ = ["replaced_async_methods"]


def async_encode(
    self: Tokenizer,
    sequence: Any,
    pair: Any = None,
    is_pretokenized: bool = False,
    add_special_tokens: bool = True,
) -> Any:
    if pair is None and isinstance(sequence, str):
        twin = _twin(self, sequence, is_pretokenized, add_special_tokens)
        if twin is not None:
            return _future(_encode, (self, twin, sequence, add_special_tokens), [sequence])
    return original.async_encode(self, sequence, pair, is_pretokenized, add_special_tokens)


def _encode(self: Tokenizer, twin: Twin, text: str, add_special_tokens: bool) -> Any:
    try:
        encoding = twin.in_bytes.encode(text, add_special_tokens, *settings_for(self)[:2])
    except TokcyError:  # Hugging Face fails as well, with an error of its own
        return original.encode(self, text, None, False, add_special_tokens)
    counts.native += 1
    return encoding


def async_encode_batch(
    self: Tokenizer, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
) -> Any:
    arguments = (self, input, is_pretokenized, add_special_tokens)
    if are_texts(input) and _twin(*arguments):
        return _future(methods.encode_batch, arguments, input)
    return original.async_encode_batch(*arguments)


def async_encode_batch_fast(
    self: Tokenizer, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
) -> Any:
    arguments = (self, input, is_pretokenized, add_special_tokens)
    if are_texts(input) and _twin(*arguments):
        return _future(methods.encode_batch_fast, arguments, input)
    return original.async_encode_batch_fast(*arguments)


def async_decode_batch(self: Tokenizer, sequences: Any, skip_special_tokens: bool = True) -> Any:
    arguments = (self, sequences, skip_special_tokens)
    if are_lists_of_ids(sequences) and twin_for(self, sequences):
        return _future(methods.decode_batch, arguments, [" " * len(ids) for ids in sequences])
    return original.async_decode_batch(*arguments)


def _twin(
    self: Tokenizer, texts: Any, is_pretokenized: Any, add_special_tokens: Any
) -> Twin | None:
    if settings_for(self)[2] or not is_plain(is_pretokenized, add_special_tokens):
        return None
    return twin_for(self, texts)


def _future(
    method: Callable[..., Any], arguments: tuple[Any, ...], texts: Sequence[str]
) -> asyncio.Future[Any]:
    loop = asyncio.get_running_loop()
    call = functools.partial(method, *arguments)
    if not is_short(texts, inline_length("tokcy")):
        return loop.run_in_executor(shared_executor(), call)
    future: asyncio.Future[Any] = loop.create_future()
    try:
        future.set_result(call())
    except Exception as error:
        future.set_exception(error)
    return future


def replaced_async_methods() -> Iterator[Replacement]:
    """These methods, of those that there are."""
    for method in (async_encode, async_encode_batch, async_encode_batch_fast, async_decode_batch):
        if method.__name__ in vars(Tokenizer):
            yield named(Tokenizer, method)
