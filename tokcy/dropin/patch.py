"""`patch_hf` and its kin: when Hugging Face's methods are replaced, and when they are put back."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tokcy.errors import SettingError

from .surface import check_surface

__all__ = [
    "is_installed",
    "is_switched_off",
    "patch_hf",
    "patch_state",
    "patched_hf",
    "unpatch_hf",
    "want_wrapped",
]

logger = logging.getLogger("tokcy")

_VARIABLE = "TOKCY_PATCH_HF"


class _Requests:
    """Who wants the methods replaced, and how strictly."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # as the collector may end a wrapped object at any time
        self.patch: bool | None = None  # strict or not, or no patch
        self.blocks: list[bool] = []
        self.wrapped = 0
        self.installed = False

    def meet(self) -> None:
        """Replace the methods or put them back; with the lock held."""
        everything = self.patch is not None or bool(self.blocks)
        if not (everything or self.wrapped or self.installed):
            return
        if not self.installed:
            check_surface()
        from . import installing

        strict = bool(self.patch) or any(self.blocks)
        installing.set_policy(everything=everything, strict=strict)
        if not self.installed:
            installing.install()
            self.installed = True
        elif not (everything or self.wrapped):
            installing.remove()
            self.installed = False


_requests = _Requests()


def patch_hf(*, strict: bool = False) -> None:
    """Let `tokenizers` and all that is built on it, such as `transformers`, encode through tokcy.

    Methods of ``tokenizers.Tokenizer`` are replaced by ones that do natively what tokcy can do
    exactly, and call Hugging Face's for the rest. That holds for all tokenizers at once, made
    before or after. Calling it again changes nothing but ``strict``.

    Args:
        strict: a call that encodes or decodes plain text raises FallbackError where tokcy can do
            nothing of that tokenizer's; without it, Hugging Face's code does the work. Calls that
            are always Hugging Face's (pairs, words, …) are so under ``strict``, too.

    Raises:
        PatchError: this release of `tokenizers` has other methods; nothing is changed.
        SettingError: ``TOKCY_PATCH_HF`` is neither 0, which makes this do nothing, nor 1.
    """
    if is_switched_off():
        return
    with _requests.lock:
        before, _requests.patch = _requests.patch, bool(strict)
        try:
            _requests.meet()
        except BaseException:
            _requests.patch = before
            raise


def unpatch_hf() -> None:
    """Undo `patch_hf`, and put the very methods back that were there before.

    Within a `patched_hf` block, and as long as there are objects from ``tokcy.hf.wrap``, these
    keep what they need in place.
    """
    with _requests.lock:
        _requests.patch = None
        _requests.meet()


@contextmanager
def patched_hf(*, strict: bool = False) -> Iterator[None]:
    """`patch_hf` for the time of a block; blocks may lie within each other and in several threads.

    The types are the same for all threads, so others encode through tokcy meanwhile, too.
    """
    if is_switched_off():
        yield
        return
    with _requests.lock:
        _requests.blocks.append(bool(strict))
        try:
            _requests.meet()
        except BaseException:
            _requests.blocks.remove(bool(strict))
            raise
    try:
        yield
    finally:
        with _requests.lock:
            _requests.blocks.remove(bool(strict))
            _requests.meet()


def want_wrapped(change: int) -> None:
    """Say that so many objects more, or fewer, are wrapped."""
    with _requests.lock:
        _requests.wrapped += change
        try:
            _requests.meet()
        except BaseException:
            _requests.wrapped -= change
            raise


def patch_state() -> tuple[bool, bool]:
    """Whether all tokenizers are patched, and whether strictly."""
    with _requests.lock:
        patched = _requests.patch is not None or bool(_requests.blocks)
        return patched, bool(_requests.patch) or any(_requests.blocks)


def is_installed() -> bool:
    """Whether methods are replaced now."""
    return _requests.installed


def is_switched_off() -> bool:
    """Whether the environment says that Hugging Face's code is to be left alone."""
    value = os.environ.get(_VARIABLE, "").strip() or "1"
    if value not in ("0", "1"):
        raise SettingError(f"{_VARIABLE} must be 0 or 1, not {value!r}")
    if value == "0":
        logger.info("%s is 0: Hugging Face's methods stay as they are", _VARIABLE)
    return value == "0"


def _after_fork_in_child() -> None:
    _requests.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
