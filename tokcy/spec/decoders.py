"""Reader for the decoder section; what is said in `components` holds here too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .components import read_byte_level, read_metaspace, read_replace, read_steps
from .fields import Node
from .steps import BpeDecoder, ByteFallback, DecoderStep, Fuse, StripDecoder, WordPiece

__all__ = ["read_decoder"]


def read_decoder(node: Node) -> tuple[DecoderStep, ...] | None:
    """The steps of ``decoder``; ``None`` for null."""
    if node.value is None:
        return None
    return read_steps(node, "decoders", _DECODERS)


def _read_strip(node: Node) -> StripDecoder:
    return StripDecoder(
        node.child("content").character(), node.child("start").usize(), node.child("stop").usize()
    )


_DECODERS: Mapping[str, Callable[[Node], DecoderStep]] = {
    "BPEDecoder": lambda node: BpeDecoder(node.child("suffix").string()),
    "ByteFallback": lambda node: ByteFallback(),
    "ByteLevel": read_byte_level,
    "Fuse": lambda node: Fuse(),
    "Metaspace": read_metaspace,
    "Replace": read_replace,
    "Strip": _read_strip,
    "WordPiece": lambda node: WordPiece(
        node.child("prefix").string(), node.child("cleanup").boolean()
    ),
}
