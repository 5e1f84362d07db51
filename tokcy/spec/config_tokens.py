"""The tokens that a configuration adds to those of the model file, as `transformers` adds them.

After loading, `transformers` hands one list of tokens to ``Tokenizer.add_tokens`` of Hugging Face
`tokenizers`, which numbers those that are new (rule A1), whatever id is declared for them, and
gives the others the properties listed last (rule A2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .config import DeclaredConfig, DeclaredToken, TokenizerConfig
from .model import AddedToken

__all__ = ["misnumbered", "tokens_to_add", "with_token_ids", "with_tokens_added"]


def tokens_to_add(config: DeclaredConfig, in_file: Iterable[AddedToken]) -> list[DeclaredToken]:
    """The list that `transformers` passes to ``add_tokens``.

    Args:
        config: what the files say.
        in_file: the added tokens of the model file, with the ids declared there.
    """
    in_file = list(in_file)
    numbered = dict(config.numbered)
    if config.completes:
        numbered |= {token.id: _declared(token) for token in in_file}
    tokens = [numbered[token_id] for token_id in sorted(numbered)]
    known = {token.content for token in in_file} | {token.content for token in tokens}
    listed = set()  # with a content that is not known
    for token in (*config.named.values(), *config.extra):
        if token.content not in known and _identity(token) not in listed:
            tokens.append(token)
            listed.add(_identity(token))
    contents = {token.content for token in config.named.values()}
    return [
        token._replace(special=True) if token.content in contents else token
        for token in tokens
        if token.content
    ]


def _identity(token: DeclaredToken) -> tuple[bool, AddedToken]:
    """What two tokens have in common that `transformers` takes for the same."""
    return token.is_text, token.with_id(0)


def _declared(token: AddedToken) -> DeclaredToken:
    return DeclaredToken(
        content=token.content,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
        special=token.special,
    )


def with_tokens_added(
    in_file: Iterable[AddedToken], additions: Iterable[DeclaredToken], *, normalizes: bool
) -> tuple[AddedToken, ...]:
    """The added tokens of a model file that lists these tokens, too.

    A token that is there gets the new properties, but what was special stays special; the ids of
    the others are 0, as it is for the plan to number them. Where the model normalizes text, a
    token that was to be normalized and no longer is leaves traces: it is listed once more.
    """
    tokens = list(in_file)
    places = {token.content: place for place, token in enumerate(tokens)}
    for addition in additions:
        place = places.setdefault(addition.content, len(tokens))
        if place == len(tokens):
            tokens.append(addition.with_id(0))
            continue
        before = tokens[place]
        token = addition.with_id(before.id)
        if before.special:
            token = token._replace(special=True)
        if normalizes and before.normalized > token.normalized:
            places[token.content] = len(tokens)
            tokens.append(token)
        else:
            tokens[place] = token
    return tuple(tokens)


def misnumbered(
    config: DeclaredConfig, in_force: Iterable[AddedToken]
) -> list[tuple[str, int, int]]:
    """(content, declared id, id in force) where the two differ."""
    ids = {token.content: token.id for token in in_force}
    return [
        (token.content, declared, ids[token.content])
        for declared, token in sorted(config.numbered.items())
        if ids.get(token.content, declared) != declared
    ]


def with_token_ids(config: DeclaredConfig, in_force: Iterable[AddedToken]) -> TokenizerConfig:
    """The configuration with the tokens in force in place of the declared ones."""
    by_content = {token.content: token for token in in_force}
    special: Mapping[str, AddedToken] = {
        name: by_content[token.content]
        for name, token in config.named.items()
        if token.content in by_content
    }
    extra = tuple(
        by_content[token.content] for token in config.extra if token.content in by_content
    )
    return replace(config.rest, special_tokens=special, extra_special_tokens=extra)
