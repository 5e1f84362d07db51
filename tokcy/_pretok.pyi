"""Text → piece boundaries."""

from collections.abc import Iterable

from typing_extensions import Self

from tokcy.pattern import SplitTables

SIMD: str

class PreTokenizer:
    def __new__(
        cls,
        stages: Iterable[SplitTables],
        *,
        simd: str | None = None,
        use_transducer: bool = True,
        fuse: bool = True,
    ) -> Self: ...
    @property
    def max_states(self) -> int: ...
    @property
    def drops(self) -> bool: ...
    def pieces(
        self,
        text: str,
        num_threads: int = 1,
        unit: int = 0,
        segments: Iterable[tuple[int, bool]] = (),
    ) -> list[tuple[int, int, bool]]: ...
