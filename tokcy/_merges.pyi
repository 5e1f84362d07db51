from typing import final

from typing_extensions import Self

from tokcy._vocab import Vocabulary

@final
class MergeTable:
    def __new__(cls, vocabulary: Vocabulary) -> Self: ...
