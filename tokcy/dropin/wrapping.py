"""One tokenizer of Hugging Face's by itself, and what is known of each."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, TypeVar

import tokenizers

from tokcy.errors import FallbackError
from tokcy.hf.calls import ATTACHMENT

from .counts import counts
from .patch import is_installed, is_switched_off, patch_state, want_wrapped
from .twins import twins_alive

if TYPE_CHECKING:
    from .attachment import Attachment

__all__ = ["backend_of", "fallback_reason", "patch_info", "unwrap", "wrap"]

_Any = TypeVar("_Any")


def wrap(tokenizer: _Any, *, strict: bool = False) -> _Any:
    """Let one tokenizer encode through tokcy, as `tokcy.patch_hf` does for all.

    The engine is built at once. Copies and pickles are not wrapped. As long as a wrapped tokenizer
    lives, the methods of its type are those of the patch, and pass others on to Hugging Face.

    Args:
        tokenizer: a ``tokenizers.Tokenizer``, or a fast tokenizer of `transformers`.
        strict: raise an error if tokcy cannot do its work.

    Returns:
        the same object.

    Raises:
        FallbackError: it cannot, under ``strict``; without it, Hugging Face's code does the work.
        PatchError, SettingError: as in `tokcy.patch_hf`.
        TypeError: no such tokenizer.
    """
    backend = backend_of(tokenizer)
    if is_switched_off():
        return tokenizer
    want_wrapped(+1)
    attachment = _attachment_of(backend)
    if attachment is None or attachment.wrapped:
        want_wrapped(-1)
    else:
        attachment.wrapped = True
        attachment.end_of_wrap = weakref.finalize(attachment, want_wrapped, -1)
        attachment.end_of_wrap.atexit = False
    reason = fallback_reason(backend)
    if reason is not None and strict:
        unwrap(backend)
        raise FallbackError(reason, source=type(tokenizer).__name__)
    return tokenizer


def unwrap(tokenizer: object) -> None:
    """Undo `wrap`; nothing for a tokenizer that is not wrapped.

    Raises:
        TypeError: neither of `tokenizers` nor a fast one of `transformers`.
    """
    backend = backend_of(tokenizer)
    attachment = getattr(backend, "__dict__", {}).get(ATTACHMENT)  # release 1 has none
    if attachment is not None and attachment.wrapped:
        attachment.wrapped = False
        attachment.end_of_wrap()


def fallback_reason(tokenizer: object) -> str | None:
    """Why a tokenizer does not encode through tokcy now, or None if it does.

    Raises:
        TypeError: neither of `tokenizers` nor a fast one of `transformers`.
    """
    backend = backend_of(tokenizer)
    if not is_installed():
        return "Hugging Face's methods are not replaced"
    attachment = _attachment_of(backend)
    if attachment is None:
        return "it does the work of a tokcy.Tokenizer that does not run natively"
    return attachment.why_not(backend)


def patch_info() -> dict[str, Any]:
    """What the drop-in is doing.

    Returns:
        ``patched`` and ``strict``: whether `tokcy.patch_hf` or a block is in force, and how.
        ``native_calls``: how many calls tokcy did since the process began.
        ``delegated_calls``: reason → how many encoding calls Hugging Face's code did.
        ``engines``: how many there are now, and ``engine_bytes`` what their merge caches take.
    """
    patched, strict = patch_state()
    info: dict[str, Any] = {"patched": patched, "strict": strict}
    caches = [twin.backend.cache_info() for twin in twins_alive() if twin.reason is None]
    return {
        **info,
        "native_calls": counts.native,
        "delegated_calls": dict(counts.delegated),
        "engines": len(caches),
        "engine_bytes": sum(int(cache["bytes"]) for cache in caches),
    }


def _attachment_of(backend: tokenizers.Tokenizer) -> Attachment | None:
    from .attachment import attachment_of  # which a release 1 of tokenizers would not let

    return attachment_of(backend)


def backend_of(tokenizer: object) -> tokenizers.Tokenizer:
    """The ``tokenizers.Tokenizer`` that does the work of a tokenizer of Hugging Face's.

    Raises:
        TypeError: there is none.
    """
    for found in (tokenizer, getattr(tokenizer, "_tokenizer", None)):
        if isinstance(found, tokenizers.Tokenizer):
            return found
    raise TypeError(
        "tokenizer must be a tokenizers.Tokenizer or a fast tokenizer of transformers, not "
        f"{type(tokenizer).__name__}"
    )
