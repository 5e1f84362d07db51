"""What encoding chats is held against: a slow way to encode segments that are joined."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tokcy import Tokenizer

Segments = list[tuple[str, bool]]


def encode_joined(tok: Tokenizer, segments: Iterable[tuple[str, bool]]) -> list[int]:
    """Ids of segments for models whose added tokens have no flags.

    Added tokens are looked for at each place, the longest first, where all of the characters are
    trusted; what stands between two of them is encoded in one go, as text.
    """
    pairs = list(segments)
    text = "".join(part for part, _ in pairs)
    trusted = "".join("1" * len(part) if flag else "0" * len(part) for part, flag in pairs)
    contents = sorted(tok.added_tokens, key=lambda token: -len(token.content))
    ids: list[int] = []
    begin = place = 0
    while place < len(text):
        found = next(
            (
                token
                for token in contents
                if text.startswith(token.content, place)
                and "0" not in trusted[place : place + len(token.content)]
            ),
            None,
        )
        if found is None:
            place += 1
            continue
        ids += [*_encode_text(tok, text[begin:place]), found.id]
        begin = place = place + len(found.content)
    return ids + _encode_text(tok, text[begin:])


def _encode_text(tok: Tokenizer, text: str) -> list[int]:
    if not text:
        return []
    return tok.encode_to_list(text, add_special_tokens=False, allow_special=False)


def added_ids(tok: Tokenizer, ids: Iterable[int]) -> list[int]:
    """Those of added tokens, in order."""
    known = {token.id for token in tok.added_tokens}
    return [i for i in ids if i in known]


def texts_of(segments: Segments, trusted: bool) -> list[str]:
    return [text for text, flag in segments if flag is trusted]


def whole(segments: Segments) -> str:
    return "".join(chain.from_iterable(text for text, _ in segments))


def sources(model: Path) -> list[str | None]:
    """A model's templates in files, for ``chat_template``; None is the one of its config."""
    files = sorted(model.parent.glob("*.jinja"))
    return [file.read_text(encoding="utf-8") for file in files] or [None]
