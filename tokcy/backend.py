"""What a tokenizer needs of whoever does its work: the engine here, or Hugging Face's object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from tokcy._prefix import PrefixView
from tokcy.errors import TokcyError
from tokcy.spec import AddedToken
from tokcy.stream import DecodeStream

__all__ = ["Backend", "CacheInfo", "Ids", "Offsets", "Segment", "control_token_error"]

Ids = NDArray[np.uint32]
Offsets = NDArray[np.int64]
CacheInfo = dict[str, int]
Segment = Sequence[Any]
"""A pair: a text, and whether added tokens are recognised in it."""


class Backend(Protocol):
    """The methods that `Tokenizer` passes on; their meaning is documented there."""

    name: str

    @property
    def pads(self) -> bool:
        """Whether texts are filled up with padding."""
        ...

    def encode(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids: ...

    def encode_to_list(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> list[int]: ...

    def encode_batch(
        self,
        texts: Iterable[str],
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
    ) -> tuple[Ids, Offsets]: ...

    def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool,
        joined: bool,
        chunked: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids: ...

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool, allow_special: bool
    ) -> tuple[Ids, Offsets]: ...

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> int: ...

    def decode(self, ids: Ids, skip_special_tokens: bool) -> str: ...

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool) -> bytes: ...

    def decode_stream(self, prompt_ids: Ids, skip_special_tokens: bool) -> DecodeStream: ...

    def token_to_id(self, token: str) -> int | None: ...

    def id_to_token(self, token_id: int) -> str | None: ...

    def get_vocab(self, with_added_tokens: bool) -> dict[str, int]: ...

    def vocab_size(self, with_added_tokens: bool) -> int:
        """``len(get_vocab(…))``"""

    @property
    def added_tokens(self) -> tuple[AddedToken, ...]: ...

    def cache_info(self) -> CacheInfo: ...


def control_token_error(token: str | None, where: str = "") -> TokcyError:
    """For a text of which the model makes a control token though none is to be recognised."""
    return TokcyError(
        f"{where}the model makes its control token {token!r} of plain text; this text cannot be "
        "encoded with allow_special=False"
    )
