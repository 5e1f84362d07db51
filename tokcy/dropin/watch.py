"""Notices every change of a ``tokenizers`` object, at the cost of comparing one integer.

``tok.pre_tokenizer.add_prefix_space = True`` changes a tokenizer without any call to it, as the
component that the attribute gives is shared. But each such change goes through a setter of a
component's type, and the attributes of these types can be replaced: here by ones that count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

__all__ = ["Watch"]

_COMPONENTS = (normalizers, pre_tokenizers, models, processors, decoders)
_SETTERS = ("normalizer", "pre_tokenizer", "model", "post_processor", "decoder")
_MUTATORS = ("add_tokens", "add_special_tokens", "train", "train_from_iterator", "__setstate__")


class Watch:
    """Counts changes while it is installed.

    Attributes:
        epoch: how many changes there were. It grows after a change and not before, so whoever
            reads it first and the tokenizer then never takes an old state for a new one.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._lock = threading.Lock()
        self._saved: list[tuple[type, str, Any]] = []

    def install(self) -> None:
        """Replace the attributes; nothing if they are replaced already."""
        with self._lock:
            if self._saved:
                return
            for owner, name, original in list(_watched()):
                counting = self._method if callable(original) else self._attribute
                self._saved.append((owner, name, original))
                setattr(owner, name, counting(original))

    def remove(self) -> None:
        """Put the very objects back that were there before."""
        with self._lock:
            for owner, name, original in self._saved:
                setattr(owner, name, original)
            self._saved.clear()

    def _count(self) -> None:
        with self._lock:
            self.epoch += 1

    def _attribute(self, original: Any) -> property:
        def change(self: Any, value: Any) -> None:
            try:
                original.__set__(self, value)
            finally:
                count()

        count = self._count
        return property(original.__get__, change, original.__delete__, original.__doc__)

    def _method(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def change(self: Any, *arguments: Any, **options: Any) -> Any:
            try:
                return original(self, *arguments, **options)
            finally:
                count()

        count = self._count
        change.__name__, change.__doc__ = original.__name__, original.__doc__
        return change


def _watched() -> Iterator[tuple[type, str, Any]]:
    for name in (*_SETTERS, *_MUTATORS):
        yield Tokenizer, name, vars(Tokenizer)[name]
    for module in _COMPONENTS:
        for owner in vars(module).values():
            if not isinstance(owner, type):
                continue
            for name, found in vars(owner).items():
                settable = type(found).__name__ == "getset_descriptor" and name != "__dict__"
                if settable or name in ("__setitem__", "__setstate__"):
                    yield owner, name, found
