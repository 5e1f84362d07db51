from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from tokcy._bpe import Bpe
from tokcy._parallel import JobEngine
from tokcy._prefix import PrefixView
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer

class TextEngine(JobEngine):
    def __new__(
        cls,
        preparer: Preparer,
        pretokenizer: PreTokenizer,
        model: Bpe,
        prefix: Iterable[int] = (),
        suffix: Iterable[int] = (),
        *,
        unit_bytes: int = ...,
        bytes_per_thread: int = ...,
    ) -> Self: ...
    def encode(
        self,
        text: str,
        special: bool,
        added: bool,
        num_threads: SupportsIndex | None = None,
        known: PrefixView | None = None,
    ) -> NDArray[np.uint32]: ...
    def encode_to_list(
        self,
        text: str,
        special: bool,
        added: bool,
        num_threads: SupportsIndex | None = None,
        known: PrefixView | None = None,
    ) -> list[int]: ...
    def count(
        self,
        text: str,
        special: bool,
        added: bool,
        num_threads: SupportsIndex | None = None,
        known: PrefixView | None = None,
    ) -> int: ...
    def encode_segments(
        self,
        segments: Iterable[Sequence[object]],
        special: bool,
        joined: bool,
        chunked: bool,
        num_threads: SupportsIndex | None = None,
        *,
        plain_only: bool = False,
        known: PrefixView | None = None,
    ) -> NDArray[np.uint32]: ...
    def encode_offsets(
        self, text: str, added: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.bool_]]: ...
    def encode_words(
        self, text: str, added: bool, *, spans_are_words: bool = False
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]: ...
