from typing import final

from typing_extensions import Self

@final
class PrefixStore:
    max_bytes: int
    apart: int
    views: bool
    wide_from: int
    def __new__(
        cls, max_bytes: int, apart: int = 4096, views: bool = False, wide_from: int = 4096
    ) -> Self: ...
    @property
    def bytes(self) -> int: ...
    @property
    def entries(self) -> int: ...
    @property
    def evictions(self) -> int: ...
    def clear(self) -> None: ...

@final
class PrefixView:
    store: PrefixStore
    key: bytes
    hits: int
    misses: int
    cached_tokens: int
    uncached_tokens: int
    def __new__(cls, store: PrefixStore, key: bytes) -> Self: ...
    def count(self, cached: int, uncached: int) -> None: ...
