"""What tells a tokenizer from what its own JSON makes.

An object's past counts: added tokens are looked for as the normalizer of that time left them, and
a token that was special once stays out of decoded text.  JSON says nothing of either, so what comes
of it is held against the object before anything stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tokenizers

from tokcy.backend import Backend
from tokcy.batch import as_ids
from tokcy.errors import TokcyError
from tokcy.hf.calls import hugging_face_errors

from .gate import Settings, settings_on
from .originals import original

__all__ = ["NotNowError", "encoding_differs", "tokens_differ"]

_TRIES = 5

#: A text of many scripts.
_PROBE = (
    "Hello, world! I'm you'll  3.14159 e-mail\n\n\t x == y; ça va? Straße ﬁ Ǆ 你好，世界。 "
    "こんにちは Привет नमस्ते مرحبا שלום 한국어 👩‍👩‍👧 e\u0301 \u00a0\u3000 ▁ ² ½\r\n <0x0A> "
)


class NotNowError(TokcyError):
    """The options that are set on the tokenizer now keep it from being compared."""


def tokens_differ(tokenizer: tokenizers.Tokenizer, made: Backend) -> str | None:
    """How its vocabulary differs from what was made of its JSON, as a fragment, or None."""
    theirs = tokenizer.get_added_tokens_decoder()
    if {token.id: _flags(token) for token in made.added_tokens} != {
        token_id: _flags(token) for token_id, token in theirs.items()
    }:
        return "its added tokens are not those of its JSON"
    if tokenizer.get_vocab_size() != made.vocab_size(with_added_tokens=True):
        return "its vocabulary is not that of its JSON"
    size = tokenizer.get_vocab_size()
    other = next((i for i in range(size // 2, size) if i not in theirs), 0)
    for token_id in theirs:
        # Alone, and within a text, as decoders take spaces off its ends.
        for ids in ([token_id], [other, token_id, other]):
            for skip in (True, False):
                if original.decode(tokenizer, ids, skip) != made.decode(as_ids(ids), skip):
                    return "its added tokens are not decoded as by its JSON"
    return None


def encoding_differs(
    tokenizer: tokenizers.Tokenizer, encode: Callable[[str, Settings], Any]
) -> str | None:
    """How its encoding of a probe differs, as a fragment, or None.

    Args:
        tokenizer: the object.
        encode: what was made of its JSON, as the Encoding of a text under these options, without
            special tokens.

    Raises:
        NotNowError: it cannot be told now.
    """
    contents = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    text = " a ".join([_PROBE, *contents, _PROBE])
    for _ in range(_TRIES):
        settings = settings_on(tokenizer)
        try:
            with hugging_face_errors():
                theirs = original.encode(tokenizer, text, add_special_tokens=False)
                ours = encode(text, settings)
        except TokcyError as error:
            raise NotNowError(f"it cannot be compared now: {error}") from error
        if list(_parts(ours)) == list(_parts(theirs)):
            return None
        if settings_on(tokenizer) == settings:
            return "its added tokens are not found as by its JSON"
    raise NotNowError("other threads change its options")


def _parts(encoding: Any) -> Iterator[list[int]]:
    """The ids, also those that truncation has cut off."""
    yield encoding.ids
    for part in encoding.overflowing:
        yield part.ids


def _flags(token: Any) -> tuple[str | bool, ...]:
    return (
        *(token.content, token.special, token.normalized),
        *(token.single_word, token.lstrip, token.rstrip),
    )
