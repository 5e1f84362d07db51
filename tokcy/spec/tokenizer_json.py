"""Reader for Hugging Face ``tokenizer.json`` files, as strict as Hugging Face's own (serde)."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from typing import Any, NoReturn

import numpy as np

from tokcy._modeljson import read_bpe_tables
from tokcy._vocab import Vocabulary
from tokcy.collector import collector_paused
from tokcy.errors import ModelFileError

from .components import read_normalizer, read_post_processor, read_pre_tokenizer
from .decoders import read_decoder
from .fields import U32_MAX, Node, shown
from .lengths import read_padding, read_truncation
from .model import AddedToken, BpeModel, TokenizerSpec
from .steps import Other

__all__ = ["read_tokenizer_json"]

_SECTIONS = frozenset(
    {
        "version",
        "truncation",
        "padding",
        "added_tokens",
        "normalizer",
        "pre_tokenizer",
        "post_processor",
        "decoder",
        "model",
    }
)
# Objects of which each of these fields may stand once, and two fields by which they are known; that
# the first is no number tells them from a vocabulary.
_ONCE = (
    ("an added token", "content", "id", frozenset(AddedToken._fields)),
    (
        "truncation",
        "strategy",
        "stride",
        frozenset({"direction", "max_length", "strategy", "stride"}),
    ),
    (
        "padding",
        "strategy",
        "pad_id",
        frozenset(
            {"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"}
        ),
    ),
)
_ADDED_TOKEN = itemgetter(*AddedToken._fields)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def read_tokenizer_json(data: bytes | str, *, source: str = "<string>") -> TokenizerSpec:
    """What a ``tokenizer.json`` says.

    Args:
        data: the file's content.
        source: its name, for messages.

    Raises:
        ModelFileError: the content is one that Hugging Face refuses; names the field and the value.
    """
    if isinstance(data, bytes):
        tables = read_bpe_tables(data)
        if tables is not None:
            vocabulary, rest = tables
            with suppress(ModelFileError):  # which says where in the file, below
                content = _parse(rest, source)
                # A prefix of continuing tokens gives merges another meaning.
                if not (type(content) is dict and _prefix_of(content.get("model"))):
                    return _read_root(Node(content, source), vocabulary)
    return _read_root(Node(_parse(data, source), source), None)


def _read_root(root: Node, vocabulary: Vocabulary | None) -> TokenizerSpec:
    """The whole file; with a vocabulary, that is what ``model.vocab`` and ``merges`` say."""
    if type(root.value) is not dict:
        raise root.type_error("an object")
    _check_top_level(root)
    optional = {name: Node(root.value.get(name), root.source, name) for name in _SECTIONS}
    return TokenizerSpec(
        source=root.source,
        model=_read_model(optional["model"], vocabulary),
        added_tokens=_read_added_tokens(root.child("added_tokens"))
        if "added_tokens" in root.value
        else (),
        pad_token=_read_pad_token(optional["padding"].value),
        normalizer=read_normalizer(optional["normalizer"]),
        pre_tokenizer=read_pre_tokenizer(optional["pre_tokenizer"]),
        post_processor=read_post_processor(optional["post_processor"]),
        decoder=read_decoder(optional["decoder"]),
        truncation=read_truncation(optional["truncation"]),
        padding=read_padding(optional["padding"]),
    )


def _check_top_level(root: Node) -> None:
    for name in root.value:
        if name not in _SECTIONS:
            raise root.error(f"unknown section {shown(name)}")
    if "version" in root.value:
        version = root.child("version")
        if version.string() != "1.0":
            raise version.error(f'must be "1.0", not {shown(version.value)}')
    if "model" not in root.value:
        raise root.error("'model' is missing")


def _parse(data: bytes | str, source: str) -> Any:
    """The JSON value of ``data``; serde's rules where Python's parser is more lenient."""
    if isinstance(data, bytes):
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ModelFileError(
                f"not UTF-8: {error.reason} at byte {error.start}", source=source
            ) from None
    else:
        text = data
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ModelFileError(
                f"lone surrogate at character {error.start}", source=source
            ) from None
    if text.startswith("\ufeff"):
        raise ModelFileError("not valid JSON: starts with a byte order mark", source=source)
    try:
        with collector_paused():
            value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise ModelFileError(
            f"not valid JSON: {error.msg} at line {error.lineno} column {error.colno}",
            source=source,
        ) from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"not valid JSON: {error}", source=source) from None
    if _SURROGATE_ESCAPE.search(text):
        _check_surrogates(Node(value, source))
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _read_float(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"number out of range: {digits}")
    return number


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Of a repeated key the last counts, but where Hugging Face refuses it.

    It does so in an added token, truncation and padding, of which each field may stand once, and
    for a model's type.
    """
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    counts = Counter(key for key, _ in pairs)
    repeated = [key for key, n in counts.items() if n > 1]
    for section, known, another, fields in _ONCE:
        if isinstance(found.get(known), str | dict) and another in found:
            wrong = [key for key in repeated if key in fields]
            if wrong:
                raise ValueError(f"{section} has the field '{wrong[0]}' more than once")
    if "type" in repeated and isinstance(found.get("vocab"), dict | list):
        raise ValueError("the model has the field 'type' more than once")
    return found


_DECODER = json.JSONDecoder(
    object_pairs_hook=_read_object, parse_constant=_refuse_constant, parse_float=_read_float
)


def _check_surrogates(node: Node) -> None:
    """Refuse half a surrogate pair in any string, as serde does."""
    if type(node.value) is dict:
        for key, value in node.value.items():
            _check_surrogates(Node(key, node.source, node.path))
            _check_surrogates(Node(value, node.source, f"{node.path}.{key}".lstrip(".")))
    elif type(node.value) is list:
        for item in node.items():
            _check_surrogates(item)
    elif type(node.value) is str and not node.value.isascii():
        try:
            node.value.encode("utf-8")
        except UnicodeEncodeError:
            raise node.error(f"lone surrogate in {node.value[:60]!a}") from None


def _read_added_tokens(node: Node) -> tuple[AddedToken, ...]:
    """The added tokens; the types of all their values are looked at field by field.

    100,000 of them take 0.1 s so, and 0.5 s one by one.
    """
    with suppress(KeyError, TypeError), collector_paused():
        tokens = tuple(map(AddedToken._make, map(_ADDED_TOKEN, node.array())))
        kinds = [set(map(type, map(itemgetter(i), tokens))) for i in range(len(AddedToken._fields))]
        if kinds == [{str}, {int}, *[{bool}] * 5]:
            ids = [token.id for token in tokens]
            if min(ids) >= 0 and max(ids) <= U32_MAX:
                return tokens
    return tuple(_read_added_token(item) for item in node.items())


def _read_added_token(node: Node) -> AddedToken:
    node.object()
    return AddedToken(
        content=node.child("content").string(),
        id=node.child("id").u32(),
        single_word=node.child("single_word").boolean(),
        lstrip=node.child("lstrip").boolean(),
        rstrip=node.child("rstrip").boolean(),
        normalized=node.child("normalized").boolean(),
        special=node.child("special").boolean(),
    )


def _read_pad_token(padding: Any) -> str | None:
    token = padding.get("pad_token") if type(padding) is dict else None
    return token if type(token) is str else None


def _read_model(node: Node, vocabulary: Vocabulary | None) -> BpeModel | Other:
    """The model; without a ``type`` Hugging Face tries BPE first and other models after it."""
    if type(node.value) is not dict:
        raise node.type_error("an object")
    _check_prefix(node)
    if "type" not in node.value:
        try:
            return _read_bpe(node, vocabulary)
        except ModelFileError as error:
            return Other(None, error)
    kind = node.value["type"]
    if kind == "BPE":
        return _read_bpe(node, vocabulary)
    return Other(kind if type(kind) is str else None)


def _read_bpe(node: Node, vocabulary: Vocabulary | None) -> BpeModel:
    problem = None
    if vocabulary is None:
        vocabulary, problem = _read_tables(node)

    def optional(name: str, read: Any) -> Any:
        return read(node.child(name)) if node.value.get(name) is not None else None

    return BpeModel(
        vocabulary=vocabulary,
        problem=problem,
        dropout=optional("dropout", _read_dropout),
        unk_token=optional("unk_token", Node.string),
        continuing_subword_prefix=optional("continuing_subword_prefix", Node.string),
        end_of_word_suffix=optional("end_of_word_suffix", Node.string),
        fuse_unk=optional("fuse_unk", Node.boolean) or False,
        byte_fallback=optional("byte_fallback", Node.boolean) or False,
        ignore_merges=optional("ignore_merges", Node.boolean) or False,
    )


def _read_dropout(node: Node) -> float:
    if type(node.value) not in (int, float):
        raise node.type_error("a number")
    if not 0 <= node.value <= 1:
        raise node.error(f"must be between 0 and 1, not {shown(node.value)}")
    return float(node.value)


def _read_tables(node: Node) -> tuple[Vocabulary, ModelFileError | None]:
    """Vocabulary and merges; without merges, and with an error, where the two do not fit."""
    vocab = _read_vocab(node.child("vocab"))
    merges = _read_merges(node.child("merges"))
    prefix = _prefix_of(node.value)
    try:
        return Vocabulary(vocab, merges, node.source, prefix=prefix), None
    except ModelFileError as error:
        return Vocabulary(vocab, [], node.source), error


def _prefix_of(model: Any) -> str:
    """What a BPE model says of tokens that do not begin a word, if it is a string."""
    prefix = model.get("continuing_subword_prefix") if type(model) is dict else None
    return prefix if type(prefix) is str and model.get("type", "BPE") == "BPE" else ""


def _check_prefix(node: Node) -> None:
    """Refuse a merge whose right part does not give up as many bytes as the prefix has.

    Hugging Face cuts them off, whatever they are. Where they are more than there are it panics,
    and where the cut falls inside a character it ends the process.
    """
    prefix = _prefix_of(node.value)
    size = len(prefix.encode("utf-8", "surrogatepass"))
    merges = node.value.get("merges") if size else None
    for index, merge in enumerate(merges if type(merges) is list else ()):
        parts = merge.split(" ") if type(merge) is str else merge
        if type(parts) is not list or len(parts) != 2 or type(parts[1]) is not str:
            continue  # not to be read anyway
        rest = parts[1].encode("utf-8", "surrogatepass")[size - 1 :]
        if not rest or (len(rest) > 1 and rest[1] & 0xC0 == 0x80):
            raise Node(merge, node.source, f"{node.path}.merges[{index}]").error(
                f"its right part {shown(parts[1])} cannot lose the {size} bytes of "
                f"continuing_subword_prefix {shown(prefix)}"
            )


def _read_vocab(node: Node) -> dict[str, int]:
    vocab = node.object()
    ids = vocab.values()
    if set(map(type, ids)) - {int} or min(ids, default=0) < 0 or max(ids, default=0) > U32_MAX:
        for key in vocab:  # one of them is the culprit
            Node(vocab[key], node.source, f"{node.path}[{shown(key)}]").u32()
    return vocab


def _read_merges(node: Node) -> list[Any]:
    """The merges without ``#version`` lines, all strings or all pairs (rule M1)."""
    merges = node.array()
    if merges and type(merges[0]) is list:
        sound = set(map(type, merges)) == {list} and set(map(len, merges)) == {2}
        if not sound or set(map(type, chain.from_iterable(merges))) != {str}:
            _refuse_merges(node)
        return merges
    try:
        text = "\n".join(merges)
    except TypeError:
        _refuse_merges(node)
    if text.startswith("#version") or "\n#version" in text:
        merges = [line for line in merges if not line.startswith("#version")]
        text = "\n".join(merges)
    if not _is_pair_a_line(text, len(merges)):
        for item in node.items():
            if item.value.count(" ") != 1 and not item.value.startswith("#version"):
                reason = f"must be two parts with one space between, not {shown(item.value)}"
                raise item.error(reason)
    return merges


def _is_pair_a_line(text: str, n_lines: int) -> bool:
    """Whether ``text`` is so many lines with one space in each."""
    raw = np.frombuffer(text.encode("utf-8"), dtype=np.uint8)
    spaces = np.flatnonzero(raw == ord(" "))
    breaks = np.flatnonzero(raw == ord("\n"))
    if not len(spaces) == n_lines == len(breaks) + 1:
        return False
    return bool(np.all(spaces[:-1] < breaks) and np.all(breaks < spaces[1:]))


def _refuse_merges(node: Node) -> NoReturn:
    """Raise for the first merge that is out of form."""
    for item in node.items():
        if type(item.value) not in (str, list):
            raise item.error(f'must be "a b" or ["a", "b"], not {shown(item.value)}')
        if type(item.value) is not type(node.value[0]):
            raise item.error(f"{shown(item.value)} is not in the form of {shown(node.value[0])}")
        if type(item.value) is list and list(map(type, item.value)) != [str, str]:
            raise item.error(f"must be two strings, not {shown(item.value)}")
    raise AssertionError("no merge is out of form")
