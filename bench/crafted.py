"""Texts made to be hard on caches, tables and cutting rules; the same ones in every process."""

from __future__ import annotations

import random

CRAFTED_CHARS = 400_000
SCRIPTS = (
    "abcdefghij",
    "абвгдежзий",
    "天地玄黄宇宙洪荒日月",
    "ابتثجحخدذر",
    "กขคงจฉชซญด",
    "0123456789",
)


def crafted_texts() -> dict[str, str]:
    choose = random.Random(0)

    def letters(size: int) -> str:
        return "".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=size))

    words = (letters(choose.randint(4, 12)) for _ in range(CRAFTED_CHARS // 9))
    return {
        "new words": " ".join(words),
        "15-byte words": "".join(f" {letters(14)}" for _ in range(CRAFTED_CHARS // 15)),
        "one letter": "a" * CRAFTED_CHARS,
        "one Han character": "的" * (CRAFTED_CHARS // 3),
        "spaces": " " * CRAFTED_CHARS,
        "alternating scripts": "".join(
            choose.choice(SCRIPTS[i % len(SCRIPTS)]) for i in range(CRAFTED_CHARS // 2)
        ),
    }
