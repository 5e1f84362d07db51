"""Ranks, a pattern and special tokens → what the engine is built from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

from tokcy._decode import Decoder
from tokcy._spelling import bytes_to_token_text
from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError, PatternError
from tokcy.native import NativeBackend
from tokcy.pattern import Dialect, SplitTables, compile_split
from tokcy.spec import (
    AddedToken,
    DecoderPlan,
    NativePlan,
    PostProcessor,
    TextPlan,
    largest_added_id,
)

from .rankfile import Ranks, make_vocabulary

__all__ = ["Places", "TiktokenBackend", "check_special_tokens", "plan_ranks", "special_tokens_of"]


Places: TypeAlias = dict[int, tuple[str, str]]
"""The file and field that declares a special token, by id, where it is not the model file."""


class TiktokenBackend(NativeBackend):
    """The native engine with the rules of tiktoken; see `Tokenizer.from_tiktoken`."""

    name = "tiktoken"

    @cached_property
    def _decoder(self) -> Decoder:
        # The decoder reads what it can as spelt in the byte alphabet; a special token never is.
        added = self.added_tokens
        texts = {token.id: bytes_to_token_text(token.content.encode()) for token in added}
        special = [token.id for token in added if token.special]
        return Decoder(self.plan.vocabulary, texts, special, self.plan.decoder)


def plan_ranks(
    ranks: Ranks,
    pattern: str,
    special_tokens: Iterable[AddedToken],
    source: str,
    places: Places | None = None,
) -> NativePlan:
    """The plan of a tiktoken model.

    Raises:
        ModelFileError: not every text could be encoded, or the ids do not go together.
        PatternError: the pattern cannot be compiled exactly.
    """
    vocabulary = make_vocabulary(ranks, source)
    added = tuple(special_tokens)
    _check_ids(added, vocabulary, source, places or {})
    return NativePlan(
        vocabulary=vocabulary,
        ignore_merges=True,
        added_tokens=added,
        token_forms=(),
        text=TextPlan(splits=(_compile(pattern, source),)),
        post_processor=PostProcessor(),
        decoder=DecoderPlan(byte_level=True),
    )


def _compile(pattern: str, source: str) -> SplitTables:
    """tiktoken keeps what the pattern matches, and drops the rest."""
    try:
        tables = compile_split(pattern, behavior="Removed", invert=True, dialect=Dialect.RUST)
        if tables.has_gaps:
            return tables
        return compile_split(pattern, behavior="Isolated", invert=False, dialect=Dialect.RUST)
    except PatternError as error:
        raise PatternError(error.reason, error.pattern, error.position, source) from None


def special_tokens_of(given: Mapping[str, int], source: str) -> tuple[AddedToken, ...]:
    """The special tokens that a caller gives.

    Raises:
        ModelFileError: see `check_special_tokens`.
        TypeError: no mapping of strings to whole numbers.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"special_tokens must map str to int, not be {type(given).__name__}")
    for content, number in given.items():
        if not isinstance(content, str) or type(number) is not int:
            raise TypeError(f"special_tokens maps str to int, not {content!r} to {number!r}")
    added = tuple(AddedToken(content, number, special=True) for content, number in given.items())
    check_special_tokens(added, source)
    return added


def check_special_tokens(
    tokens: Iterable[AddedToken], source: str, places: Places | None = None
) -> None:
    """Refuse what tiktoken does in an order that follows from the hashes of the tokens.

    Raises:
        ModelFileError: a token is empty, begins with another, or has the id or text of another.
    """

    def error(reason: str, *ids: int) -> ModelFileError:
        return _error(reason, ids, source, places or {})

    by_id: dict[int, str] = {}
    for token in tokens:
        if not token.content or _has_surrogate(token.content):
            raise error(f"{token.content!r} cannot stand in a text", token.id)
        if token.id in by_id:
            raise error(
                f"{by_id[token.id]!r} and {token.content!r} have one id, {token.id}", token.id
            )
        by_id[token.id] = token.content
    by_text = sorted((content, token_id) for token_id, content in by_id.items())
    for (one, first), (other, second) in pairwise(by_text):
        if one == other:
            raise error(f"{one!r} has two ids, {first} and {second}", first, second)
        if other.startswith(one):
            reason = f"{other!r} begins with {one!r}; which of the two is found is arbitrary"
            raise error(reason, second, first)


def _error(reason: str, ids: Iterable[int], source: str, places: Places) -> ModelFileError:
    """About the special tokens with these ids, of which the first with a place is at fault."""
    place = next((places[i] for i in ids if i in places), (source, "special_tokens"))
    return ModelFileError(reason, source=place[0], field=place[1])


def _has_surrogate(content: str) -> bool:
    return any(0xD800 <= ord(c) < 0xE000 for c in content)


def _check_ids(
    added: tuple[AddedToken, ...], vocabulary: Vocabulary, source: str, places: Places
) -> None:
    largest = largest_added_id(vocabulary, len(added))
    for token in added:
        if not 0 <= token.id <= largest:
            reason = f"the id {token.id} of {token.content!r} is not between 0 and {largest}"
        elif vocabulary.has_id(token.id):
            reason = f"the id {token.id} of {token.content!r} is that of an ordinary token"
        elif vocabulary.token_to_id(token.content) is not None:
            reason = f"{token.content!r} is the name of an ordinary token, too"
        else:
            continue
        raise _error(reason, [token.id], source, places)
