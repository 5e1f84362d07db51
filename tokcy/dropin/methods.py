"""The methods that take the place of those of ``tokenizers.Tokenizer``.

Each does natively what it can do exactly, and calls Hugging Face's own for everything else: pairs,
words, arguments that are none, texts that fail. So errors are theirs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tokenizers
from tokenizers import Tokenizer, processors

from tokcy._encoding import Encoding
from tokcy.batch import as_ids
from tokcy.errors import TokcyError

from .attachment import attachment_of, twin_for
from .calls import call_on, settings_for
from .counts import counts
from .encoding import Encoder
from .gate import Settings
from .originals import original
from .replacements import Replacement
from .twins import Twin

__all__ = [
    "are_lists_of_ids",
    "are_texts",
    "is_plain",
    "named",
    "replaced_methods",
]

# Hugging Face decodes so many ids in the microsecond that it takes to come to tokcy's decoder.
_FEW_IDS = 8


# --------------------------------------------------------------------- encoding


def encode(
    self: Tokenizer,
    sequence: Any,
    pair: Any = None,
    is_pretokenized: bool = False,
    add_special_tokens: bool = True,
) -> Any:
    plain = pair is None and isinstance(sequence, str)
    settings = None
    if plain and is_plain(is_pretokenized, add_special_tokens):
        settings = settings_for(self)
        twin = None if settings[2] else twin_for(self, sequence)
        if twin is not None:
            try:
                encoding = twin.encoder.encode(sequence, add_special_tokens, *settings[:2])
            except TokcyError:  # Hugging Face fails as well, with an error of its own
                pass
            else:
                counts.native += 1
                return encoding
    arguments = (sequence, pair, is_pretokenized, add_special_tokens)
    return delegate(original.encode, self, arguments, settings)


def encode_batch(
    self: Tokenizer, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
) -> Any:
    arguments = (input, is_pretokenized, add_special_tokens)
    return _encode_batch(self, original.encode_batch, _encoder, *arguments)


def encode_batch_fast(
    self: Tokenizer, input: Any, is_pretokenized: bool = False, add_special_tokens: bool = True
) -> Any:
    arguments = (input, is_pretokenized, add_special_tokens)
    return _encode_batch(self, original.encode_batch_fast, _fast_encoder, *arguments)


def _encode_batch(
    self: Tokenizer,
    method: Callable[..., Any],
    encoder_of: Callable[[Twin], Encoder],
    input: Any,
    is_pretokenized: bool,
    add_special_tokens: bool,
) -> Any:
    settings = None
    if is_plain(is_pretokenized, add_special_tokens) and are_texts(input):
        settings = settings_for(self)
        twin = None if settings[2] else twin_for(self, input)
        if twin is not None:
            try:
                encodings = encoder_of(twin).encode_batch(input, add_special_tokens, *settings[:2])
            except TokcyError:
                pass
            else:
                counts.native += 1
                return encodings
    return delegate(method, self, (input, is_pretokenized, add_special_tokens), settings)


def _encoder(twin: Twin) -> Encoder:
    return twin.encoder


def _fast_encoder(twin: Twin) -> Encoder:
    return twin.fast


def are_texts(texts: Any) -> bool:
    """Whether it is a list or tuple of strings alone."""
    if not isinstance(texts, list | tuple):
        return False
    return all(issubclass(kind, str) for kind in set(map(type, texts)))


def is_plain(is_pretokenized: Any, add_special_tokens: Any) -> bool:
    """Whether texts are whole, and the options what Hugging Face takes."""
    return is_pretokenized is False and type(add_special_tokens) is bool


def delegate(
    method: Callable[..., Any],
    self: Tokenizer,
    arguments: tuple[Any, ...],
    settings: Settings | None = None,
) -> Any:
    """What Hugging Face's method gives under the options of this thread's call.

    Args:
        method: it.
        self, arguments: what to call it with.
        settings: those options, if these are plain texts.
    """
    attachment = attachment_of(self)
    if attachment is None:
        return method(self, *arguments)
    if settings is None:
        reason = "no plain text"
    else:
        reason = "special tokens as text" if settings[2] else attachment.reason
    counts.delegate(reason)
    call = call_on(self)
    if call is None:
        return method(self, *arguments)
    gate = attachment.gate
    gate.enter(self, call.settings())
    try:
        return method(self, *arguments)
    finally:
        gate.leave()


# --------------------------------------------------------------------- decoding


def decode(self: Tokenizer, ids: Any, skip_special_tokens: bool = True) -> Any:
    if type(ids) is list and len(ids) > _FEW_IDS and type(skip_special_tokens) is bool:
        texts = _decoded(self, [ids], skip_special_tokens)
        if texts is not None:
            return texts[0]
    return original.decode(self, ids, skip_special_tokens)


def decode_batch(self: Tokenizer, sequences: Any, skip_special_tokens: bool = True) -> Any:
    if are_lists_of_ids(sequences) and type(skip_special_tokens) is bool:
        texts = _decoded(self, sequences, skip_special_tokens)
        if texts is not None:
            return texts
    return original.decode_batch(self, sequences, skip_special_tokens)


def are_lists_of_ids(sequences: Any) -> bool:
    """Whether it is a list of lists, of ids as one may hope."""
    return type(sequences) is list and set(map(type, sequences)) <= {list}


def _decoded(self: Tokenizer, sequences: list[list[int]], skip: bool) -> list[str] | None:
    twin = twin_for(self, sequences)
    if twin is None:
        return None
    decode = twin.backend.decode
    try:
        texts = [decode(as_ids(ids), skip) for ids in sequences]
    except (TokcyError, TypeError):  # these are no ids
        return None
    counts.native += 1
    return texts


# ----------------------------------------------------- what takes Encodings of ours


def _theirs(encoding: Any) -> Any:
    """An Encoding that Hugging Face's code takes."""
    if type(encoding) is not Encoding:
        return encoding
    made = tokenizers.Encoding()
    made.__setstate__(encoding.__getstate__())
    return made


def post_process(
    self: Tokenizer, encoding: Any, pair: Any = None, add_special_tokens: bool = True
) -> Any:
    arguments = (_theirs(encoding), _theirs(pair), add_special_tokens)
    return delegate(original.post_process, self, arguments)


def process(self: Any, encoding: Any, pair: Any = None, add_special_tokens: bool = True) -> Any:
    return original.process(self, _theirs(encoding), _theirs(pair), add_special_tokens)


def merge(encodings: Any, growing_offsets: bool = True) -> Any:
    if isinstance(encodings, list | tuple):
        encodings = [_theirs(encoding) for encoding in encodings]
    return original.merge(encodings, growing_offsets)


# ----------------------------------------------------------------------- placing


def replaced_methods() -> Iterator[Replacement]:
    """These methods, under Hugging Face's names and with its documentation."""
    for method in (encode, encode_batch, encode_batch_fast, decode, decode_batch, post_process):
        yield named(Tokenizer, method)
    yield named(processors.PostProcessor, process)
    owner, name, function = named(tokenizers.Encoding, merge)
    yield owner, name, staticmethod(function)


def named(owner: type, method: Callable[..., Any]) -> Replacement:
    """A method under the name and with the documentation of the one that it takes the place of."""
    name = method.__name__
    original = vars(owner)[name]
    method.__doc__, method.__module__ = original.__doc__, owner.__module__
    method.__qualname__ = f"{owner.__name__}.{name}"
    return owner, name, method
