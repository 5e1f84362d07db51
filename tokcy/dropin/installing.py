"""Everything that is replaced in the types of `tokenizers` and `transformers`."""

from __future__ import annotations

import tokenizers

from tokcy.errors import PatchError

from .attachment import forget_twins, policy, watch
from .methods import replaced_methods
from .methods_async import replaced_async_methods
from .originals import original
from .replacements import Replacements
from .scopes import scopes
from .settings import replaced_settings

__all__ = ["install", "remove", "set_policy"]

_replacements = Replacements()


def install() -> None:
    """Replace all, or nothing if something cannot be.

    Raises:
        PatchError: something is not there that all known releases have.
    """
    original.take()
    watch.skip()  # nobody has seen what was changed since the last time
    try:
        _replacements.put(
            [
                *watch.replacements(),
                *replaced_settings(),
                *replaced_methods(),
                *replaced_async_methods(),
            ]
        )
        scopes.install()
    except Exception as error:
        _replacements.undo()
        raise PatchError(
            f"tokenizers {tokenizers.__version__} cannot be patched ({error!r}); nothing was"
        ) from error


def remove() -> None:
    """Put everything back."""
    scopes.remove()
    _replacements.undo()


def set_policy(*, everything: bool, strict: bool) -> None:
    """Say who is to encode natively, and what becomes of who cannot."""
    policy.everything, policy.strict = everything, strict
    if not everything:
        forget_twins()
