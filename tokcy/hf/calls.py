"""Calls of Hugging Face: what goes in is checked, and what it raises is one of our errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import SupportsIndex

from tokenizers import Encoding, Tokenizer

from tokcy.errors import EncodeTypeError, TokcyError
from tokcy.threads import resolve_num_threads

__all__ = [
    "ATTACHMENT",
    "check_num_threads",
    "check_text",
    "encode_text",
    "hugging_face_errors",
    "leave_alone",
]

#: Name in the ``__dict__`` of a ``tokenizers.Tokenizer`` of what the drop-in knows of it.
ATTACHMENT = "_tokcy"

# `encode` keeps the GIL and `encode_batch` does not, but starts Hugging Face's thread pool, which
# makes a later fork print a warning: so only texts that take milliseconds go by the batch way.
_GIL_FREE_LENGTH = 8192


def encode_text(tokenizer: Tokenizer, text: str, add_special_tokens: bool) -> Encoding:
    """The encoding of one text; of a long one without offsets, so that other threads run."""
    if len(text) < _GIL_FREE_LENGTH:
        return tokenizer.encode(text, add_special_tokens=add_special_tokens)
    (encoding,) = tokenizer.encode_batch_fast([text], add_special_tokens=add_special_tokens)
    return encoding


def check_text(text: object, where: str = "") -> None:
    if not isinstance(text, str):
        raise EncodeTypeError(f"{where}text must be str, not {type(text).__name__}")
    try:
        if not text.isascii():
            text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodeTypeError(
            f"{where}text holds the lone surrogate {text[error.start]!r} at index {error.start}, "
            "which UTF-8 cannot express"
        ) from None


def check_num_threads(num_threads: SupportsIndex | None) -> None:
    if num_threads is not None:
        resolve_num_threads(num_threads)


def leave_alone(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, of which the drop-in takes no notice: Hugging Face's code is asked for."""
    vars(tokenizer)[ATTACHMENT] = None
    return tokenizer


@contextmanager
def hugging_face_errors() -> Iterator[None]:
    """Turn what tokenizers raises into TokcyError; a Rust panic is no ``Exception`` in Python."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        raise TokcyError(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise TokcyError(str(error)) from error
