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

from . import methods
from .attachment import twin_for
from .calls import settings_for
from .methods import are_lists_of_ids, are_texts, is_plain, named
from .originals import original
from .replacements import Replacement

__all__ = ["replaced_async_methods"]


def async_encode(
    self: Tokenizer,
    sequence: Any,
    pair: Any = None,
    is_pretokenized: bool = False,
    add_special_tokens: bool = True,
) -> Any:
    arguments = (self, sequence, pair, is_pretokenized, add_special_tokens)
    plain = pair is None and isinstance(sequence, str)
    if plain and _is_native(self, sequence, is_pretokenized, add_special_tokens):
        return _future(methods.encode, arguments, [sequence])
    return original.async_encode(*arguments)


def async_encode_batch(
    self: Tokenizer, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
) -> Any:
    arguments = (self, input, is_pretokenized, add_special_tokens)
    if are_texts(input) and _is_native(*arguments):
        return _future(methods.encode_batch, arguments, input)
    return original.async_encode_batch(*arguments)


def async_encode_batch_fast(
    self: Tokenizer, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
) -> Any:
    arguments = (self, input, is_pretokenized, add_special_tokens)
    if are_texts(input) and _is_native(*arguments):
        return _future(methods.encode_batch_fast, arguments, input)
    return original.async_encode_batch_fast(*arguments)


def async_decode_batch(self: Tokenizer, sequences: Any, skip_special_tokens: bool = True) -> Any:
    arguments = (self, sequences, skip_special_tokens)
    if are_lists_of_ids(sequences) and twin_for(self, sequences):
        return _future(methods.decode_batch, arguments, [" " * len(ids) for ids in sequences])
    return original.async_decode_batch(*arguments)


def _is_native(self: Tokenizer, texts: Any, is_pretokenized: Any, add_special_tokens: Any) -> bool:
    return (
        is_plain(is_pretokenized, add_special_tokens)
        and not settings_for(self)[2]
        and twin_for(self, texts) is not None
    )


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
