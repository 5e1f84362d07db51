from typing import Any, final

from typing_extensions import Self

from tokcy._merges import MergeTable
from tokcy._vocab import Vocabulary

@final
class Seeds:
    def __new__(
        cls,
        vocabulary: Vocabulary,
        merge_table: MergeTable,
        ignore_merges: bool,
        tables: dict[str, Any] | None = None,
    ) -> Self: ...
    def tables(self) -> dict[str, bytes]: ...
