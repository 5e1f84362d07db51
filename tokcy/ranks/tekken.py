"""``tekken.json``: Mistral's form of a tiktoken model, as mistral-common reads it.

The special tokens come first, so the id of an ordinary token is its rank plus their number; and
of the vocabulary only as many entries count as the configured size leaves room for.
"""

from __future__ import annotations

import binascii
import json
import os
from dataclasses import dataclass
from typing import Any

from tokcy.errors import ModelFileError
from tokcy.spec import AddedToken
from tokcy.spec.fields import Node, shown

from .rankfile import MAX_RANK, MAX_TOKEN_BYTES, Ranks

__all__ = ["Tekken", "parse_tekken", "read_tekken"]

FILE_NAME = "tekken.json"
HEAD = 2**20  # bytes; all that comes before the vocabulary is shorter
MAX_SPECIAL_TOKENS = 2**20  # of which the file need not list any; those known have 1,000
VERSIONS = ("v1", "v2", "v3", "v7", "v11", "v13", "v15")
_LAST_WITHOUT_SPECIAL_TOKENS = "v7"

# What files of versions up to v7 mean that do not list them; the rest of the ids are fillers.
_DEFAULT_SPECIAL_TOKENS = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    "[TOOL_CONTENT]",
)


@dataclass(frozen=True, slots=True)
class Tekken:
    """What the file says of text: `pattern` is in tiktoken's syntax."""

    ranks: Ranks
    pattern: str
    special_tokens: tuple[AddedToken, ...]


def parse_tekken(data: bytes, source: str) -> Any:
    """The JSON in these bytes if it is a ``tekken.json``, and no ``tokenizer.json``; or None.

    Where it might be either or none, it is what the file is called.

    Raises:
        ModelFileError: it is called so and is no JSON.
    """
    is_called_so = os.path.basename(source) == FILE_NAME
    head = data[:HEAD]
    if not is_called_so and b'"default_vocab_size"' not in head and b'"token_bytes"' not in head:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        if is_called_so:
            raise ModelFileError(f"not valid JSON: {error}", source=source) from None
        return None  # who reads it as something else says what is wrong
    keys = found.keys() if isinstance(found, dict) else set()
    return found if {"config", "vocab"} & keys or (is_called_so and "model" not in keys) else None


def read_tekken(root: Any, source: str) -> Tekken:
    """Read the JSON of a ``tekken.json``.

    Raises:
        ModelFileError: names the field and the value.
    """
    top = Node(root, source)
    top.object()
    config = top.child("config")
    config.object()
    pattern = config.child("pattern").string()
    n_special = _count(config.child("default_num_special_tokens"), MAX_SPECIAL_TOKENS)
    size = _count(config.child("default_vocab_size"), MAX_RANK - 1)
    version = config.child("version")
    if version.string() not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise version.error(f"{shown(version.value)} is none of the versions {known}")
    vocab = top.child("vocab").array()
    n_ranks = size - n_special
    if not 0 < n_ranks <= len(vocab):
        raise config.child("default_vocab_size").error(
            f"{size} ids with {n_special} special tokens ask for {n_ranks} entries of the "
            f"vocabulary, which has {len(vocab)}"
        )
    tokens = [_token(entry, rank, source) for rank, entry in enumerate(vocab[:n_ranks])]
    special_tokens = _special_tokens(top, version.value, n_special)
    return Tekken(Ranks.of(tokens, range(n_special, size)), pattern, special_tokens)


def _count(node: Node, most: int) -> int:
    if type(node.value) is not int or not 0 <= node.value <= most:
        raise node.type_error(f"an integer from 0 to {most}")
    return node.value


def _token(entry: Any, rank: int, source: str) -> bytes:
    """The bytes of an entry of the vocabulary."""
    try:
        found, encoded = entry["rank"], entry["token_bytes"]
        token = binascii.a2b_base64(encoded)
        # It skips characters that are none of base64.
        is_sound = 4 * (len(token) + encoded.count("=")) == 3 * len(encoded)
    except (TypeError, KeyError, AttributeError, ValueError):
        is_sound = False
    if is_sound and type(found) is int and found == rank and 0 < len(token) <= MAX_TOKEN_BYTES:
        return token
    node = Node(entry, source, f"vocab[{rank}]")
    if not is_sound:
        raise node.error(f"{shown(entry)} has no rank and token_bytes in base64")
    if type(found) is not int or found != rank:
        raise node.child("rank").error(f"{shown(found)} in place of {rank}")
    raise node.child("token_bytes").error(f"a token of {len(token)} bytes")


def _special_tokens(top: Node, version: str, n_special: int) -> tuple[AddedToken, ...]:
    """All of them, whether the file names them or not."""
    contents: dict[int, str] = {}
    if top.value.get("special_tokens") is not None:
        for entry in top.child("special_tokens").items():
            entry.object()
            rank = entry.child("rank")
            if not rank.u32() < n_special:
                raise rank.error(f"{rank.value} is not below {n_special}")
            if rank.value in contents:
                raise rank.error(f"{rank.value} stands there twice")
            contents[rank.value] = entry.child("token_str").string()
    elif VERSIONS.index(version) > VERSIONS.index(_LAST_WITHOUT_SPECIAL_TOKENS):
        raise top.error(f"'special_tokens' is missing, as version {version} must not")
    else:
        contents.update(enumerate(_DEFAULT_SPECIAL_TOKENS[:n_special]))
    return tuple(
        AddedToken(contents.get(rank, f"<SPECIAL_{rank}>"), rank, special=True)
        for rank in range(n_special)
    )
