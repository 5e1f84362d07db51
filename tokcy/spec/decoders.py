"""Reader for the decoder section; what is said in `components` holds here too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from .components import read_byte_level, read_steps
from .fields import Node, shown
from .model import (
    BpeDecoder,
    ByteFallback,
    DecoderStep,
    Fuse,
    Metaspace,
    Other,
    PrependScheme,
    Replace,
    StripDecoder,
)

__all__ = ["read_decoder"]

_SCHEMES: tuple[PrependScheme, ...] = get_args(PrependScheme)


def read_decoder(node: Node) -> tuple[DecoderStep, ...] | None:
    """The steps of ``decoder``; ``None`` for null."""
    if node.value is None:
        return None
    return read_steps(node, "decoders", _DECODERS)


def _read_replace(node: Node) -> Replace:
    pattern = node.child("pattern")
    if type(pattern.value) is not dict or list(pattern.value) not in (["Regex"], ["String"]):
        raise pattern.error(
            f'must be {{"Regex": …}} or {{"String": …}}, not {shown(pattern.value)}'
        )
    (form,) = pattern.value
    text = pattern.child(form).string()
    return Replace(text, form == "Regex", node.child("content").string())


def _read_metaspace(node: Node) -> Metaspace | Other:
    replacement = node.child("replacement").character()
    scheme: PrependScheme = "always"
    if "prepend_scheme" in node.value:
        field = node.child("prepend_scheme")
        if type(field.value) is dict:  # serde's other spelling of a variant
            return Other("Metaspace")
        if field.value not in _SCHEMES:
            raise field.error(f"must be one of {', '.join(_SCHEMES)}, not {shown(field.value)}")
        scheme = field.value
    if _optional_boolean(node, "add_prefix_space") is False and scheme != "never":
        raise node.child("add_prefix_space").error(f"does not match prepend_scheme {scheme!r}")
    if node.value.get("str_rep") is not None:
        node.child("str_rep").string()
    return Metaspace(replacement, scheme, _optional_boolean(node, "split") is not False)


def _optional_boolean(node: Node, name: str) -> bool | None:
    return None if node.value.get(name) is None else node.child(name).boolean()


def _read_strip(node: Node) -> StripDecoder:
    return StripDecoder(
        node.child("content").character(), node.child("start").usize(), node.child("stop").usize()
    )


_DECODERS: Mapping[str, Callable[[Node], DecoderStep]] = {
    "BPEDecoder": lambda node: BpeDecoder(node.child("suffix").string()),
    "ByteFallback": lambda node: ByteFallback(),
    "ByteLevel": read_byte_level,
    "Fuse": lambda node: Fuse(),
    "Metaspace": _read_metaspace,
    "Replace": _read_replace,
    "Strip": _read_strip,
}
