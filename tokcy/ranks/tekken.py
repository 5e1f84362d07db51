"""``tekken.json``: Mistral's form of a tiktoken model, as mistral-common reads it.

The special tokens come first, so the id of an ordinary token is its rank plus their number; and
of the vocabulary only as many entries count as the configured size leaves room for.
"""

from __future__ import annotations

import binascii
import json
from dataclasses import dataclass
from typing import Any

from tokcy.errors import ModelFileError
from tokcy.spec import AddedToken

from .rankfile import MAX_RANK, MAX_TOKEN_BYTES, Ranks

__all__ = ["Tekken", "parse_tekken", "read_tekken"]

HEAD = 2**20  # bytes; all that comes before the vocabulary is shorter
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


def parse_tekken(data: bytes) -> dict[str, Any] | None:
    """The JSON object in these bytes if it is a ``tekken.json``, and no ``tokenizer.json``."""
    head = data[:HEAD]
    if b'"default_vocab_size"' not in head and b'"token_bytes"' not in head:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):  # who reads it as something else says what is wrong
        return None
    return found if isinstance(found, dict) and {"config", "vocab"} & found.keys() else None


def read_tekken(root: dict[str, Any], source: str) -> Tekken:
    """Read the object in a ``tekken.json``.

    Raises:
        ModelFileError: names the field and the value.
    """
    reader = _Reader(source)
    config = reader.get(root, "config", dict, "")
    pattern = reader.get(config, "pattern", str, "config.")
    n_special = reader.count(config, "default_num_special_tokens")
    size = reader.count(config, "default_vocab_size")
    version = reader.get(config, "version", str, "config.")
    if version not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise reader.error(f"{version!r} is none of the versions {known}", "config.version")
    vocab = reader.get(root, "vocab", list, "")
    n_ranks = size - n_special
    if not 0 < n_ranks <= len(vocab):
        raise reader.error(
            f"{size} ids with {n_special} special tokens ask for {n_ranks} entries of the "
            f"vocabulary, which has {len(vocab)}",
            "config.default_vocab_size",
        )
    tokens = [reader.token(entry, rank) for rank, entry in enumerate(vocab[:n_ranks])]
    special_tokens = reader.special_tokens(root, version, n_special)
    return Tekken(Ranks.of(tokens, range(n_special, size)), pattern, special_tokens)


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source

    def error(self, reason: str, field: str) -> ModelFileError:
        return ModelFileError(reason, source=self.source, field=field)

    def get(self, values: dict[str, Any], key: str, kind: type, where: str) -> Any:
        found = values.get(key)
        if type(found) is not kind:
            name = {dict: "object", list: "list", str: "string", int: "whole number"}[kind]
            what = _shown(found) if key in values else "missing"
            raise self.error(f"{what}, where there must be a {name}", where + key)
        return found

    def count(self, config: dict[str, Any], key: str) -> int:
        found: int = self.get(config, key, int, "config.")
        if not 0 <= found < MAX_RANK:
            raise self.error(f"{found} is not between 0 and {MAX_RANK - 1}", f"config.{key}")
        return found

    def token(self, entry: object, rank: int) -> bytes:
        """The bytes of an entry of the vocabulary."""
        try:
            if entry["rank"] != rank or type(entry["rank"]) is not int:  # type: ignore[index]
                raise self.error(
                    f"{_shown(entry['rank'])} in place of {rank}",  # type: ignore[index]
                    f"vocab[{rank}].rank",
                )
            encoded = entry["token_bytes"]  # type: ignore[index]
            token = binascii.a2b_base64(encoded)
            if 4 * (len(token) + encoded.count("=")) != 3 * len(encoded):  # it skips what is none
                raise ValueError
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            if isinstance(error, ModelFileError):
                raise
            raise self.error(
                f"{_shown(entry)} has no rank and token_bytes in base64", f"vocab[{rank}]"
            ) from None
        if not 0 < len(token) <= MAX_TOKEN_BYTES:
            raise self.error(f"a token of {len(token)} bytes", f"vocab[{rank}].token_bytes")
        return token

    def special_tokens(
        self, root: dict[str, Any], version: str, n_special: int
    ) -> tuple[AddedToken, ...]:
        """All of them, whether the file names them or not."""
        contents: dict[int, str] = {}
        if root.get("special_tokens") is not None:
            for index, entry in enumerate(self.get(root, "special_tokens", list, "")):
                where = f"special_tokens[{index}]"
                if not isinstance(entry, dict):
                    raise self.error(f"{_shown(entry)} is no object", where)
                rank = self.get(entry, "rank", int, where + ".")
                if not 0 <= rank < n_special:
                    raise self.error(f"{rank} is not below {n_special}", f"{where}.rank")
                if rank in contents:
                    raise self.error(f"{rank} stands there twice", f"{where}.rank")
                contents[rank] = self.get(entry, "token_str", str, where + ".")
        elif VERSIONS.index(version) > VERSIONS.index(_LAST_WITHOUT_SPECIAL_TOKENS):
            raise self.error(f"missing, as version {version} must not", "special_tokens")
        else:
            contents.update(enumerate(_DEFAULT_SPECIAL_TOKENS[:n_special]))
        return tuple(
            AddedToken(contents.get(rank, f"<SPECIAL_{rank}>"), rank, special=True)
            for rank in range(n_special)
        )


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
