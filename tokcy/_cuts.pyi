from typing import Any, final

from typing_extensions import Self

from tokcy._vocab import Vocabulary

SIMD: str

@final
class CutFilter:
    enabled: bool
    def __new__(
        cls,
        vocabulary: Vocabulary,
        *,
        simd: str = ...,
        tables: dict[str, Any] | None = None,
    ) -> Self: ...
    def tables(self) -> dict[str, bytes]: ...
