"""Notices every change of a ``tokenizers`` object, at the cost of comparing two integers.

``tok.pre_tokenizer.add_prefix_space = True`` changes a tokenizer without any call to it, as the
component that the attribute gives is shared. But each such change goes through a setter of a
component's type, and the attributes of these types can be replaced: here by ones that count.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from .replacements import Replacement

__all__ = ["Watch"]

_COMPONENTS = (normalizers, pre_tokenizers, models, processors, decoders)
_SETTERS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_DEEP_MUTATORS = ("add_tokens", "add_special_tokens", "train", "train_from_iterator")


class Watch:
    """Counts changes while its replacements are in place.

    Attributes:
        epoch: moves with each change of a component, whatever tokenizers have it.
        models: moves with each model that is given another content as a whole.

    Both move after a change and not before, so whoever reads them first and the tokenizer then
    never takes an old state for a new one.
    """

    def __init__(self, on_change: Callable[[Any, bool], None]) -> None:
        """
        Args:
            on_change: called after each change of a tokenizer itself with it, and whether more
                has changed than a component that tells its state.
        """
        self.epoch = 0
        self.models = 0
        self._on_change = on_change
        self._next = itertools.count(1).__next__  # which no two threads get the same number of

    def skip(self) -> None:
        """Count a change of everything, as there may be where nobody watches."""
        self.models = self.epoch = self._next()

    def replacements(self) -> Iterator[Replacement]:
        """The attributes that count."""
        on_change = self._on_change
        own = vars(Tokenizer)
        for name in _SETTERS:
            yield Tokenizer, name, _attribute(own[name], lambda self: on_change(self, False))
        yield Tokenizer, "model", _attribute(own["model"], lambda self: on_change(self, True))
        for name in (*_DEEP_MUTATORS, "__setstate__"):
            yield Tokenizer, name, _method(own[name], lambda self: on_change(self, True))
        for module in _COMPONENTS:
            for owner in vars(module).values():
                if isinstance(owner, type):
                    yield from self._of_component(owner)

    def _of_component(self, owner: type) -> Iterator[Replacement]:
        for name, found in vars(owner).items():
            if type(found).__name__ == "getset_descriptor" and name != "__dict__":
                yield owner, name, _attribute(found, self._count)
            elif name == "__setstate__" and issubclass(owner, models.Model):
                yield owner, name, self._state_of_model(found)
            elif name in ("__setitem__", "__setstate__"):
                yield owner, name, _method(found, self._count)

    def _count(self, component: Any) -> None:
        self.epoch = self._next()

    def _state_of_model(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A replacement for the method of models that sets their state.

        `copy.deepcopy` and `pickle` call it with each tokenizer that they make, as they first make
        an empty model. That one must not cost all other tokenizers their engines.
        """

        @functools.wraps(original)
        def change(model: Any, *arguments: Any, **options: Any) -> Any:
            same = arguments == (model.__getstate__(),)
            try:
                return original(model, *arguments, **options)
            finally:
                if same:
                    self._count(model)
                else:
                    self.skip()

        return change


def _attribute(original: Any, count: Callable[[Any], None]) -> property:
    def change(self: Any, value: Any) -> None:
        try:
            original.__set__(self, value)
        finally:
            count(self)

    return property(original.__get__, change, original.__delete__, original.__doc__)


def _method(original: Callable[..., Any], count: Callable[[Any], None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def change(self: Any, *arguments: Any, **options: Any) -> Any:
        try:
            return original(self, *arguments, **options)
        finally:
            count(self)

    return change
