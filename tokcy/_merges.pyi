from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Self

from tokcy._cuts import CutFilter
from tokcy._vocab import Vocabulary

@final
class MergeTable:
    @property
    def n_merges(self) -> int: ...
    def __new__(
        cls, vocabulary: Vocabulary, cut_filter: CutFilter, tables: dict[str, Any] | None = None
    ) -> Self: ...
    def tables(self) -> dict[str, bytes]: ...
    def made_by_merging(self, ids: Iterable[int]) -> list[int]: ...
