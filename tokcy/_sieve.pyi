"""Places in a text by the three bytes that stand there."""

from collections.abc import Iterable

def places(text: bytes, contents: Iterable[bytes], simd: str = ...) -> list[int]: ...
