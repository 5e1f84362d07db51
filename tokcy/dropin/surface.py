"""Whether the installed `tokenizers` is one whose methods can be replaced."""

from __future__ import annotations

import types
from typing import Any

import tokenizers

from tokcy.errors import PatchError

__all__ = ["check_surface"]

_SIGNATURES = {
    "encode": "(self, sequence, pair=None, is_pretokenized=False, add_special_tokens=True)",
    "encode_batch": "(self, input, is_pretokenized=False, add_special_tokens=True)",
    "encode_batch_fast": "(self, input, is_pretokenized=False, add_special_tokens=True)",
    "decode": "(self, ids, skip_special_tokens=True)",
    "decode_batch": "(self, sequences, skip_special_tokens=True)",
    "post_process": "(self, encoding, pair=None, add_special_tokens=True)",
    "enable_truncation": "(self, max_length, stride=0, strategy='longest_first', "
    "direction='right')",
    "enable_padding": "(self, direction='right', pad_id=0, pad_type_id=0, pad_token='[PAD]', "
    "length=None, pad_to_multiple_of=None)",
    "get_added_tokens_decoder": "(self)",
}
_ATTRIBUTES = (
    *("normalizer", "pre_tokenizer", "model", "post_processor", "decoder", "truncation"),
    *("padding", "encode_special_tokens"),
)


def check_surface() -> None:
    """Refuse a release that has other methods than those of 0.21 to 0.23.

    Raises:
        PatchError: it is one, or another library has replaced a method; nothing was changed.
    """
    own = vars(tokenizers.Tokenizer)
    for name, signature in _SIGNATURES.items():
        _check(name, own, types.MethodDescriptorType, signature)
    for name in _ATTRIBUTES:
        _check(name, own, types.GetSetDescriptorType, None)


def _check(name: str, own: Any, kind: type, signature: str | None) -> None:
    found = own.get(name)
    if type(found) is kind and signature in (None, getattr(found, "__text_signature__", None)):
        return
    what = "lacks" if found is None else "has another"
    raise PatchError(
        f"tokenizers {tokenizers.__version__} {what} Tokenizer.{name}: its methods can be "
        "replaced in releases 0.21 to 0.23, unless another library has done so; nothing was patched"
    )
