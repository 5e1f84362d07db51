from collections.abc import Sequence
from typing import SupportsIndex, final

import numpy as np
import tokenizers
from numpy.typing import NDArray
from typing_extensions import Self

from tokcy.dropin.encoding import Encoder

@final
class Cut:
    limit: int
    stride: int
    from_left: bool
    problem: str | None
    def __new__(
        cls, limit: int, stride: int, from_left: bool, problem: str | None = None
    ) -> Self: ...

@final
class Filling:
    pad_id: int
    pad_type_id: int
    pad_token: str
    on_left: bool
    length: int
    multiple: int
    def __new__(
        cls,
        pad_id: int,
        pad_type_id: int,
        pad_token: str,
        on_left: bool,
        length: int = -1,
        multiple: int = 1,
    ) -> Self: ...

@final
class Text: ...

@final
class Encoding:
    def __init__(self) -> None: ...
    @property
    def ids(self) -> list[int]: ...
    @property
    def type_ids(self) -> list[int]: ...
    @property
    def attention_mask(self) -> list[int]: ...
    @property
    def special_tokens_mask(self) -> list[int]: ...
    @property
    def tokens(self) -> list[str]: ...
    @property
    def offsets(self) -> list[tuple[int, int]]: ...
    @property
    def word_ids(self) -> list[int | None]: ...
    @property
    def words(self) -> list[int | None]: ...
    @property
    def sequence_ids(self) -> list[int | None]: ...
    @property
    def n_sequences(self) -> int: ...
    @property
    def overflowing(self) -> list[Encoding]: ...
    def __len__(self) -> int: ...
    def token_to_sequence(self, token_index: SupportsIndex) -> int | None: ...
    def token_to_chars(self, token_index: SupportsIndex) -> tuple[int, int] | None: ...
    def token_to_word(self, token_index: SupportsIndex) -> int | None: ...
    def word_to_tokens(
        self, word_index: SupportsIndex, sequence_index: SupportsIndex = 0
    ) -> tuple[int, int] | None: ...
    def word_to_chars(
        self, word_index: SupportsIndex, sequence_index: SupportsIndex = 0
    ) -> tuple[int, int] | None: ...
    def char_to_token(
        self, char_pos: SupportsIndex, sequence_index: SupportsIndex = 0
    ) -> int | None: ...
    def char_to_word(
        self, char_pos: SupportsIndex, sequence_index: SupportsIndex = 0
    ) -> int | None: ...
    def set_sequence_id(self, sequence_id: SupportsIndex) -> None: ...
    def truncate(
        self, max_length: SupportsIndex, stride: SupportsIndex = 0, direction: str = "right"
    ) -> None: ...
    def pad(self, length: SupportsIndex, **kwargs: object) -> None: ...
    @staticmethod
    def merge(
        encodings: Sequence[Encoding | tokenizers.Encoding], growing_offsets: bool = True
    ) -> Encoding: ...
    def __getstate__(self) -> bytes: ...
    def __setstate__(self, state: bytes) -> None: ...
    def __reduce_ex__(
        self, protocol: SupportsIndex
    ) -> tuple[type[tokenizers.Encoding], tuple[()], bytes]: ...
    def __copy__(self) -> Encoding: ...
    def __deepcopy__(self, memo: object) -> Encoding: ...

def encoding_of(
    encoder: Encoder,
    text: str,
    ids: NDArray[np.uint32],
    special: bool,
    cut: Cut | None,
    filling: Filling | None,
) -> Encoding: ...
def encodings_of(
    encoder: Encoder,
    texts: list[str],
    values: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    special: bool,
    cut: Cut | None,
    filling: Filling | None,
) -> list[Encoding]: ...
