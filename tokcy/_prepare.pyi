"""Raw text → spans of text and added tokens."""

from collections.abc import Iterable
from typing import final

from typing_extensions import Self

from tokcy.spec import AddedToken

@final
class Preparer:
    def __new__(
        cls, added_tokens: Iterable[AddedToken], nfc: bool, add_prefix_space: bool
    ) -> Self: ...
    @property
    def nfc(self) -> bool: ...
    @property
    def add_prefix_space(self) -> bool: ...
    def spans(
        self, text: str, allow_added: bool = True, want_offsets: bool = True
    ) -> list[tuple[bytes | None, int, list[tuple[int, int]]]]: ...
