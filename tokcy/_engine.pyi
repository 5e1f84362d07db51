from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from tokcy._bpe import Bpe
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer

class Engine:
    model: Bpe
    def __init__(
        self,
        preparer: Preparer,
        pretokenizer: PreTokenizer,
        model: Bpe,
        prefix: Iterable[int] = (),
        suffix: Iterable[int] = (),
        *,
        unit_bytes: int = ...,
        bytes_per_thread: int = ...,
    ) -> None: ...
    def encode(
        self, text: str, special: bool, added: bool, num_threads: SupportsIndex | None = None
    ) -> NDArray[np.uint32]: ...
    def count(
        self, text: str, special: bool, added: bool, num_threads: SupportsIndex | None = None
    ) -> int: ...
    def encode_batch(
        self,
        texts: Iterable[str],
        special: bool,
        added: bool,
        num_threads: SupportsIndex | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
    def encode_ranges(
        self, text: str, added: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.bool_]]: ...
