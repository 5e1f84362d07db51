"""Calls that leave their options on a shared tokenizer, one kind of options at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import tokenizers

from .originals import original

__all__ = ["Gate", "Settings", "set_on", "settings_on"]

Settings = tuple[Any, Any, bool]
"""Truncation and padding as ``tokenizers`` tells them, and encode_special_tokens."""


class Gate:
    """Lets calls of Hugging Face's code with the same options run side by side, and others wait."""

    def __init__(self) -> None:
        self._turn = threading.Lock()  # of those that wait, so that each comes to it
        self._waiting = 0
        self._running = 0
        self._lock = threading.Lock()
        self._free = threading.Condition(self._lock)

    def change(self, change: Callable[[], None]) -> None:
        """Make a change of the options, unless they are in use: who needs them then waits here."""
        with self._lock:
            if self._running:
                return
            try:
                change()
            except RuntimeError as error:  # the same, of a call that did not come this way
                if "borrowed" not in str(error):
                    raise

    def enter(self, tokenizer: tokenizers.Tokenizer, settings: Settings) -> None:
        """From here to `leave` these are the options of the tokenizer."""
        with self._lock:
            if not self._waiting and settings_on(tokenizer) == settings:
                self._running += 1
                return
            self._waiting += 1
        with self._turn, self._lock:
            try:
                while settings_on(tokenizer) != settings:
                    if not self._running:
                        set_on(tokenizer, settings)
                        break
                    self._free.wait()
                self._running += 1
            finally:
                self._waiting -= 1

    def leave(self) -> None:
        """The end of what `enter` began."""
        with self._lock:
            self._running -= 1
            if self._waiting:
                self._free.notify_all()


def settings_on(tokenizer: tokenizers.Tokenizer) -> Settings:
    """What the tokenizer itself has, whatever a call of this thread has set."""
    return (
        original.truncation(tokenizer),
        original.padding(tokenizer),
        original.encode_special_tokens(tokenizer),
    )


def set_on(tokenizer: tokenizers.Tokenizer, settings: Settings) -> None:
    """Give the tokenizer itself these options."""
    truncation, padding, encode_special_tokens = settings
    if truncation is None:
        original.no_truncation(tokenizer)
    else:
        original.enable_truncation(tokenizer, **truncation)
    if padding is None:
        original.no_padding(tokenizer)
    else:
        original.enable_padding(tokenizer, **padding)
    original.set_encode_special_tokens(tokenizer, encode_special_tokens)
