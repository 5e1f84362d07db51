"""Hugging Face ``tokenizers`` as a backend, for every model that has no plan.

``backend`` has the methods of the native one, ``plain`` its twin without added tokens, ``segments``
what of typed segments can be done exactly, ``prefix`` what can go on from a known beginning,
``decoding`` the compiled decoder for streams, ``next`` release 1 in the guise of those before, and
``calls`` what all of them need to call it.

The other way round, ``tokcy.hf.wrap`` and its kin are what `tokcy.dropin` gives to users beside
`tokcy.patch_hf`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .backend import HuggingFaceBackend

if TYPE_CHECKING:
    from tokcy.dropin.wrapping import fallback_reason, patch_info, unwrap, wrap

__all__ = ["HuggingFaceBackend", "fallback_reason", "patch_info", "unwrap", "wrap"]


def __getattr__(name: str) -> Any:
    """What the drop-in has under that name; it is imported when it is wanted."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tokcy.dropin import wrapping

    return getattr(wrapping, name)
