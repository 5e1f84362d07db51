"""From what a Hugging Face tokenizer is to the engine that encodes as it does, one per content."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import tokenizers

from tokcy.collector import collector_paused
from tokcy.errors import ModelFileError, TokcyError
from tokcy.hf.calls import hugging_face_errors, leave_alone
from tokcy.native import NativeBackend
from tokcy.spec import Unsupported, plan_native, read_tokenizer_json

from .encoding import ByteEncoder, Encoder, FastEncoder

__all__ = ["Twin", "twin_of", "twins_alive", "without_lengths"]


class Twin:
    """What encodes and decodes as tokenizers of one content do; immutable, shared by them all.

    Attributes:
        reason: why there is nothing, or None; the others are there only where it is None.
        backend: for decoding.
        encoder: for ``encode`` and ``encode_batch``.
        fast: for ``encode_batch_fast``, whose Encodings tell less.
        in_bytes: for ``async_encode``, whose offsets are others.
    """

    backend: NativeBackend
    encoder: Encoder
    fast: FastEncoder
    in_bytes: ByteEncoder

    def __init__(self, reason: str | None) -> None:
        self.reason = reason

    @classmethod
    def of(cls, backend: NativeBackend, content: str) -> Twin:
        """The twin for a content that runs natively."""
        begin = content.index(',"post_processor":') + len(',"post_processor":')
        section, _ = json.JSONDecoder().raw_decode(content, begin)
        self = cls(None)
        self.backend = backend
        reference = _Reference(content)
        self.encoder = Encoder(backend, section, reference)
        self.fast = FastEncoder(backend, section)
        self.in_bytes = ByteEncoder(backend, section, reference)
        return self


class _Reference:
    """Hugging Face's encoding of a text, by an object of its own that is made when first asked."""

    def __init__(self, content: str) -> None:
        self._content = content
        self._lock = threading.Lock()
        self._tokenizer: tokenizers.Tokenizer | None = None

    def __call__(self, text: str) -> tokenizers.Encoding:
        with self._lock:
            if self._tokenizer is None:
                self._tokenizer = leave_alone(tokenizers.Tokenizer.from_str(self._content))
        return self._tokenizer.encode(text, add_special_tokens=False)


_lock = threading.Lock()
_twins: weakref.WeakValueDictionary[bytes, Twin] = weakref.WeakValueDictionary()
_locks: weakref.WeakValueDictionary[bytes, _KeyLock] = weakref.WeakValueDictionary()


class _KeyLock:
    def __init__(self) -> None:
        self.lock = threading.Lock()


def twins_alive() -> list[Twin]:
    """Those that tokenizers use now."""
    with _lock:
        return list(_twins.values())


def twin_of(tokenizer: tokenizers.Tokenizer) -> Twin:
    """The twin for what the tokenizer is now, made if no tokenizer of that content has it yet."""
    try:
        with hugging_face_errors():
            content = without_lengths(tokenizer.to_str())
    except TokcyError as error:  # components written in Python have no such form
        return Twin(f"it cannot be written as JSON: {error}")
    key = hashlib.sha256(content.encode()).digest()
    with _one_at_a_time(key):
        twin = _twins.get(key)
        if twin is None:
            twin = _make(content)
            with _lock:
                _twins[key] = twin
        return twin


def without_lengths(text: str) -> str:
    """What ``to_str`` gives, but for truncation and padding, which are options of calls here."""
    begin = text.index(',"added_tokens":[')  # within a string its quotes would be escaped
    return '{"version":"1.0","truncation":null,"padding":null' + text[begin:]


@contextmanager
def _one_at_a_time(key: bytes) -> Iterator[None]:
    """So that a pool of copies makes one engine together, and other contents wait for nothing."""
    with _lock:
        held = _locks.get(key)
        if held is None:
            held = _locks[key] = _KeyLock()
    with held.lock:
        yield


@collector_paused()
def _make(content: str) -> Twin:
    try:
        spec = read_tokenizer_json(content.encode(), source="tokenizer")
    except ModelFileError as error:
        return Twin(str(error))
    plan = plan_native(replace(spec, truncation=None, padding=None))
    if isinstance(plan, Unsupported):
        return Twin(plan.reason)
    return Twin.of(NativeBackend(plan), content)


def _after_fork_in_child() -> None:
    """Forget the locks, which threads that stayed behind may hold."""
    global _lock
    _lock = threading.Lock()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
