from typing import final

from typing_extensions import Self

from tokcy._vocab import Vocabulary

@final
class Bpe:
    vocabulary: Vocabulary
    ignore_merges: bool
    def __new__(
        cls, vocabulary: Vocabulary, ignore_merges: bool, *, simd: str = ...
    ) -> Self: ...
    def cache_info(self) -> dict[str, int]: ...
    def merge(self, piece: bytes) -> list[int]: ...
