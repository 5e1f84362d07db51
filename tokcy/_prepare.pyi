"""Raw text → spans of text and added tokens."""

from collections.abc import Iterable
from typing import final

from typing_extensions import Self

from tokcy._normalize import Normalizer
from tokcy.spec import AddedToken

@final
class Preparer:
    def __new__(
        cls,
        added_tokens: Iterable[AddedToken],
        normalizer: Normalizer | None = None,
        span_normalizer: Normalizer | None = None,
        prefix: str = "",
        prefix_first: bool = False,
    ) -> Self: ...
    def spans(
        self, text: str, allow_added: bool = True, want_offsets: bool = True
    ) -> list[tuple[bytes | None, int, list[tuple[int, int]]]]: ...
