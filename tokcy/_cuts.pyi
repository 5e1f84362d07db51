from typing import final

from typing_extensions import Self

from tokcy._vocab import Vocabulary

@final
class CutFilter:
    enabled: bool
    def __new__(cls, vocabulary: Vocabulary, *, simd: str = ...) -> Self: ...
