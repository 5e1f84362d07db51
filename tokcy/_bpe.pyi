from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Self

from tokcy._vocab import Vocabulary

SIMD: str

@final
class Bpe:
    vocabulary: Vocabulary
    ignore_merges: bool
    def __new__(
        cls,
        vocabulary: Vocabulary,
        ignore_merges: bool,
        tables: dict[str, Any] | None = None,
        *,
        simd: str = ...,
    ) -> Self: ...
    def tables(self) -> dict[str, bytes]: ...
    def made_by_merging(self, ids: Iterable[int]) -> list[int]: ...
    def cache_info(self) -> dict[str, int]: ...
    def merge(self, piece: bytes) -> list[int]: ...
