"""From a file, a folder or the name of an encoding to a model in tiktoken's formats."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokcy.errors import ModelFileError, ModelNotFoundError
from tokcy.loading import read_model_file
from tokcy.spec import AddedToken, ConfigFiles, read_config
from tokcy.spec.config import ADDED_TOKENS_FILE, CONFIG_FILE

from .known import ENCODINGS, RANKS, KnownModel, known_names
from .plan import Places, TiktokenBackend, check_special_tokens, plan_ranks, special_tokens_of
from .rankfile import Ranks, read_ranks
from .tekken import parse_tekken, read_tekken

__all__ = ["load_encoding", "load_if_rank_model", "load_rank_model"]

_OBJECT = re.compile(rb"\s*\{")
_FIRST_LINE = re.compile(rb"\s*[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]+[ \t]*[\r\n]")


def load_if_rank_model(data: bytes, source: str, files: ConfigFiles) -> TiktokenBackend | None:
    """As `load_rank_model`, or None if these are not the bytes of such a file."""
    tekken = parse_tekken(data, source)
    if tekken is not None:
        return _load_tekken(tekken, source, None, None)
    is_called_so = source.endswith(".model") and not _OBJECT.match(data)
    if (
        is_called_so
        or source.endswith(".tiktoken")
        or _is_sentencepiece(data)
        or _FIRST_LINE.match(data)
    ):
        return load_rank_model(data, source, files)
    return None


def load_rank_model(
    data: bytes,
    source: str,
    files: ConfigFiles,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    known: KnownModel | None = None,
) -> TiktokenBackend:
    """The backend for a rank file or a ``tekken.json``.

    Args:
        data: the content of the file.
        source: its name, for messages.
        files: ``tokenizer_config.json`` and its kin.
        pattern, special_tokens: in place of what is known of the model.
        known: whose ranks these are said to be.

    Raises:
        ModelFileError: no model can be made of it, or its pattern or special tokens are not known.
        PatternError: the pattern cannot be compiled exactly.
        TypeError: an argument is of a wrong type.
    """
    if pattern is not None and not isinstance(pattern, str):
        raise TypeError(f"pattern must be str, not {type(pattern).__name__}")
    if _is_sentencepiece(data):
        raise ModelFileError(
            "this is a SentencePiece model, which only conversion makes a tokenizer.json of: "
            "transformers.AutoTokenizer.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER), "
            "with the package sentencepiece installed",
            source=source,
        )
    tekken = parse_tekken(data, source)
    if tekken is not None:
        return _load_tekken(tekken, source, pattern, special_tokens)
    ranks = read_ranks(data, source)
    model = _identify(ranks, data, source, known)
    if pattern is None:
        if model is None:
            raise ModelFileError(
                f"these {len(ranks.ids)} ranks are of no known model, and a rank file does not "
                f"say how text is split: give a pattern (known are {known_names()})",
                source=source,
            )
        pattern = model.pattern
    places: Places = {}
    if special_tokens is not None:
        added = special_tokens_of(special_tokens, source)
    else:
        declared, places = _declared(files)
        added = _special_tokens(ranks, model, declared, source, places)
    return TiktokenBackend(plan_ranks(ranks, pattern, added, source, places))


def _load_tekken(
    root: Any,
    source: str,
    pattern: str | None,
    special_tokens: Mapping[str, int] | None,
) -> TiktokenBackend:
    tekken = read_tekken(root, source)
    if special_tokens is None:
        added = tekken.special_tokens
        check_special_tokens(added, source)
    else:
        added = special_tokens_of(special_tokens, source)
    pattern = tekken.pattern if pattern is None else pattern
    return TiktokenBackend(plan_ranks(tekken.ranks, pattern, added, source))


def load_encoding(name: str, ranks: str | os.PathLike[str] | None) -> tuple[bytes, KnownModel]:
    """The rank file of an encoding that OpenAI publishes, and what else is known of it.

    It is looked for where it is given; in tiktoken's cache, which is in ``TIKTOKEN_CACHE_DIR``,
    ``DATA_GYM_CACHE_DIR`` or the folder for temporary files; and the package tiktoken, if
    installed, is asked for it.

    Raises:
        ModelNotFoundError: it is nowhere.
        ModelFileError: the file has other ranks.
    """
    model = ENCODINGS[name]
    if ranks is not None:
        return bytes(read_model_file(ranks)), model
    assert model.url is not None
    cached = _cached(model.url)
    if cached is not None and hashlib.sha256(cached).hexdigest() == model.sha256:
        return cached, model
    try:
        from tiktoken.load import read_file_cached
    except ImportError:
        raise ModelNotFoundError(
            f"the ranks of {name} are not in tiktoken's cache, and the package tiktoken, which "
            f"could download them, is not installed; give the file as ranks=, from {model.url}"
        ) from None
    try:
        return read_file_cached(model.url, model.sha256), model
    except Exception as error:  # of the network, in whatever way it is reached
        raise ModelNotFoundError(f"tiktoken finds no ranks of {name}: {error}") from error


def _cached(url: str) -> bytes | None:
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    if folder == "":  # so tiktoken is told to have none
        return None
    path = Path(folder, hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest())
    try:
        return path.read_bytes()
    except OSError:
        return None


def _identify(
    ranks: Ranks, data: bytes, source: str, known: KnownModel | None
) -> KnownModel | None:
    """The model with these ranks."""
    found = RANKS.get(hashlib.sha256(data).hexdigest()) or RANKS.get(ranks.sha256())
    if known is None:
        return found
    if found is None or found.sha256 != known.sha256:
        raise ModelFileError(f"these are not the ranks of {known.name}", source=source)
    return known


def _special_tokens(
    ranks: Ranks,
    model: KnownModel | None,
    declared: dict[int, AddedToken],
    source: str,
    places: Places,
) -> tuple[AddedToken, ...]:
    """The special tokens of a rank file, after the model and ``tokenizer_config.json``."""
    if model is None:
        check_special_tokens(declared.values(), source, places)
        return tuple(declared.values())
    known = [AddedToken(content, i, special=True) for content, i in model.special_tokens.items()]
    if not declared and not model.needs_config:
        return tuple(known)
    if not declared:
        raise ModelFileError(
            f"{model.name} have the same ranks and different special tokens: there must be a "
            "tokenizer_config.json beside the file, or special_tokens must be given",
            source=source,
        )
    tokens = {token.id: token for token in known}
    first = int(ranks.ids[-1]) + 1
    for i in range(first, first + model.n_reserved):
        tokens[i] = AddedToken(f"<|reserved_token_{i}|>", i, special=True)
    tokens.update(declared)
    check_special_tokens(tokens.values(), source, places)
    return tuple(tokens.values())


def _declared(files: ConfigFiles) -> tuple[dict[int, AddedToken], Places]:
    """The tokens that the files declare, and where, by id."""
    if not files:
        return {}, {}
    config = read_config(files)
    tokens: dict[int, AddedToken] = {}
    places: Places = {}
    for i, token in config.numbered.items():
        tokens[i] = AddedToken(token.content, i, special=token.special)
        if config.completes:
            places[i] = files[ADDED_TOKENS_FILE].path, token.content
        else:
            places[i] = files[CONFIG_FILE].path, f"added_tokens_decoder.{i}"
    return tokens, places


def _is_sentencepiece(data: bytes) -> bool:
    """Whether it is the protobuf of a SentencePiece model: it begins with a piece, a message.

    That again begins with its text, and its score, of four bytes, follows.
    """
    if len(data) < 4 or data[0] != 0x0A or data[2] != 0x0A:
        return False
    end = 4 + data[3]
    return data[1] < 0x80 and data[3] < 0x80 and data[end : end + 1] == b"\x15"
