from typing import final

from typing_extensions import Self

from tokcy._cuts import CutFilter
from tokcy._vocab import Vocabulary

@final
class MergeTable:
    @property
    def n_merges(self) -> int: ...
    def __new__(cls, vocabulary: Vocabulary, cut_filter: CutFilter) -> Self: ...
