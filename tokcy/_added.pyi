"""Added tokens in a text."""

from collections.abc import Sequence
from typing import final

from typing_extensions import Self

@final
class AddedMatcher:
    def __new__(
        cls, tokens: Sequence[tuple[bytes, int, bool, bool, bool]], simd: str = ...
    ) -> Self: ...
    def spans(self, text: str) -> list[tuple[int, int, int]]: ...
