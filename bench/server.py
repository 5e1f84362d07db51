"""What the clients of ``tokcy serve`` ask for, and in which company."""

from __future__ import annotations

from collections.abc import Iterator

from bench.chat import Material, Size

CLIENTS = 64
#: Clients that send small prompts with a pause between them; the others have none.
PACED = 8
PAUSE = 0.02
SECONDS = 5.0

_USER = (("user", 1.0),)
#: Prompts of some 1 KB to 1 MB, several of each size.
PROMPTS = tuple(
    Size(f"{chars:,} characters", chars, count, _USER)
    for chars, count in (
        (900, 32),
        (4_000, 16),
        (15_000, 8),
        (60_000, 8),
        (240_000, 4),
        (900_000, 3),
    )
)
#: Prompts of at least so many characters are large, those of the first size small.
LARGE_CHARS = 30_000


def prompts(material: Material) -> Iterator[tuple[Size, str]]:
    """All prompts, each with its size."""
    for position, size in enumerate(PROMPTS):
        for segments in material.chats(size, *PROMPTS[:position]):
            yield size, "".join(text for text, _ in segments)
