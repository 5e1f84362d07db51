"""The methods of `transformers` that set options on a tokenizer and encode with it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from .calls import scoped
from .replacements import Replacement, Replacements

__all__ = ["scopes"]

_METHODS = (  # of releases 5 and 4
    ("transformers.tokenization_utils_tokenizers", "TokenizersBackend", "_encode_plus"),
    ("transformers.tokenization_utils_fast", "PreTrainedTokenizerFast", "_batch_encode_plus"),
)


class _Scopes:
    """Replaces them by ones that keep the options of their threads apart.

    Attributes:
        missing: `transformers` has not been imported yet. Its tokenizers read options when they
            are made, so that is when to call `install` again.
    """

    def __init__(self) -> None:
        self.missing = False
        self._replacements = Replacements()

    def install(self) -> None:
        self.missing = False
        found = list(_found())
        self._replacements.put(found)
        self.missing = not found

    def remove(self) -> None:
        self.missing = False
        self._replacements.undo()


def _found() -> Iterator[Replacement]:
    for module_name, class_name, name in _METHODS:
        owner = vars(sys.modules.get(module_name, sys)).get(class_name)
        if isinstance(owner, type) and name in vars(owner):
            yield owner, name, scoped(vars(owner)[name])


scopes = _Scopes()
