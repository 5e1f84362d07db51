"""Typed segments as one text in UTF-8, and its parts."""

from collections.abc import Iterable, Sequence

def parts_of(
    segments: Iterable[Sequence[object]], joined: bool, chunked: bool
) -> list[list[tuple[str, bool]]]: ...
