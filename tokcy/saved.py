"""A tokenizer's saved form: all that loading a model file finds out, as arrays.

What is stored is the plan, with its vocabulary and split tables as arrays, and what the compiled
model has made of the merges (`Bpe.tables`). The file may come from anybody: the compiled classes
check their tables, and `pattern.saved` those of a split, before code that checks nothing uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from importlib.metadata import version
from typing import Any

import numpy as np

from tokcy._vocab import Vocabulary
from tokcy.arrayfile import Arrays, pack, unpack
from tokcy.errors import ModelFileError, TokcyError
from tokcy.native import NativeBackend, native_backend
from tokcy.pattern import SplitTables, fuse_splits
from tokcy.pattern.saved import split_from_arrays, split_to_arrays
from tokcy.ranks import TiktokenBackend
from tokcy.spec import (
    AddedToken,
    DecoderPlan,
    NativePlan,
    Padding,
    PostProcessor,
    TextPlan,
    TokenizerConfig,
    Truncation,
    largest_added_id,
)
from tokcy.spec.steps import (
    Lowercase,
    NormalForm,
    NormalizerStep,
    Prepend,
    Replace,
    Strip,
    StripAccents,
)

__all__ = ["REFERENCES", "load_backend", "pack_backend"]

_TOKENIZERS = "tokenizers 0.23.3"
_TIKTOKEN = "tiktoken 0.14.0"

REFERENCES: dict[str, Callable[[NativePlan, dict[str, Any]], NativeBackend]] = {
    _TOKENIZERS: native_backend,
    _TIKTOKEN: TiktokenBackend,
}
"""Whose character tables and rules a file has; another release of the reference may differ."""

_NORMALIZER_STEPS = {
    step.__name__: step for step in (NormalForm, Lowercase, StripAccents, Strip, Prepend, Replace)
}
_ENTRIES = ("arena", "offsets", "kinds", "ids")


def pack_backend(backend: NativeBackend, config: TokenizerConfig, source: str) -> bytes:
    """The bytes of the saved form; ``source`` is kept as a remark.

    Raises:
        TokcyError: a model of characters lacks some; names ``source``.
    """
    plan = backend.plan
    if plan.vocabulary.lacks_characters():
        raise TokcyError(f"{source} is a model that lacks characters and has no saved form")
    entries = plan.vocabulary.tables()
    tables = {name: entries[name] for name in _ENTRIES} | backend.tables()
    arrays: Arrays = {name: np.frombuffer(table, np.uint8) for name, table in tables.items()}
    splits = []
    for number, tables_of_split in enumerate(fuse_splits(plan.text.splits)):
        described, found = split_to_arrays(tables_of_split)
        splits.append(described)
        arrays |= {f"split{number}.{name}": array for name, array in found.items()}
    header = {
        "tokcy": version("tokcy"),
        "reference": _TIKTOKEN if isinstance(backend, TiktokenBackend) else _TOKENIZERS,
        "source": source,
        "byte_fallback": plan.vocabulary.byte_fallback,
        "prefix": plan.vocabulary.prefix.decode(),
        "suffix": plan.vocabulary.suffix.decode(),
        "ignore_merges": plan.ignore_merges,
        "text": _text_header(plan.text),
        "post_processor": asdict(plan.post_processor),
        "decoder": plan.decoder.to_json(),
        "added_tokens": plan.added_tokens,
        "token_forms": plan.token_forms,
        "truncation": plan.truncation and asdict(plan.truncation),
        "padding": plan.padding and asdict(plan.padding),
        "splits": splits,
        "config": asdict(config),
    }
    return pack(header, arrays)


def load_backend(data: bytes | memoryview, source: str) -> tuple[NativeBackend, TokenizerConfig]:
    """The backend of a saved form, and the configuration of its model.

    Raises:
        ModelFileError: the file is damaged, of another version, or says what cannot be.
    """
    header, arrays = unpack(data, source)
    reference = header.get("reference")
    make = REFERENCES.get(reference) if isinstance(reference, str) else None
    if make is None:
        followed = " and ".join(REFERENCES)
        raise ModelFileError(
            f"{reference!r}, and this tokcy follows {followed}: save it anew",
            source=source,
            field="reference",
        )
    try:
        # The compiled classes read bytes.
        tables = {
            name: array.reshape(-1).view(np.uint8)
            for name, array in arrays.items()
            if "." not in name
        }
        plan = _plan(header, arrays, tables)
        if reference == _TIKTOKEN and len(plan.text.splits) != 1:
            raise ValueError("splits: not one, as of every model of tiktoken's")
        return make(plan, tables), _config(header["config"])
    except TokcyError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ModelFileError(
            f"{type(error).__name__}: {error}", source=source, field="content"
        ) from error


def _plan(header: Mapping[str, Any], arrays: Arrays, tables: dict[str, Any]) -> NativePlan:
    text = header["text"]
    alphabet = {
        "byte_level": text["byte_level"],
        "folded": text["folded"],
        "byte_fallback": header["byte_fallback"],
    }
    marks = {name: header[name] for name in ("prefix", "suffix")}
    if not all(type(mark) is str for mark in marks.values()):
        raise ValueError("prefix or suffix: no text")
    if not all(type(flag) is bool for flag in alphabet.values()):
        raise ValueError("a flag is neither true nor false")
    vocabulary = Vocabulary.from_tables(tables, **alphabet, **marks)
    if vocabulary.lacks_characters():
        raise ValueError("kinds: a character is lacking")
    added = tuple(_added_token(row) for row in header["added_tokens"])
    largest = largest_added_id(vocabulary, len(added))
    if not all(0 <= token.id <= largest for token in added):
        raise ValueError("added_tokens: an id beyond those of the vocabulary")
    post = dict(header["post_processor"])
    for name in ("prefix_ids", "suffix_ids"):
        post[name] = tuple(post[name])
        if not all(type(token) is int and 0 <= token < 2**32 for token in post[name]):
            raise ValueError(f"post_processor: {name} are no ids")
    splits = [
        split_from_arrays(described, _part(arrays, f"split{number}."))
        for number, described in enumerate(header["splits"])
    ]
    for flag in (header["ignore_merges"], post["trim_offsets"], post["add_prefix_space"]):
        if type(flag) is not bool:
            raise ValueError("a flag is neither true nor false")
    return NativePlan(
        vocabulary=vocabulary,
        ignore_merges=header["ignore_merges"],
        added_tokens=added,
        token_forms=tuple(_token_form(row, added) for row in header["token_forms"]),
        text=_text_plan(text, tuple(splits)),
        post_processor=PostProcessor(**post),
        truncation=_truncation(header["truncation"]),
        padding=_padding(header["padding"]),
        decoder=DecoderPlan.from_json(header["decoder"]),
    )


def _text_header(plan: TextPlan) -> dict[str, Any]:
    """What of a plan is no array."""
    return {
        "normalizer": _steps_header(plan.normalizer),
        "span_normalizer": _steps_header(plan.span_normalizer),
        "prefix": plan.prefix,
        "prefix_first": plan.prefix_first,
        "byte_level": plan.byte_level,
        "folded": plan.folded,
    }


def _steps_header(steps: tuple[NormalizerStep, ...]) -> list[dict[str, Any]]:
    return [{"type": type(step).__name__, **asdict(step)} for step in steps]


def _text_plan(values: Mapping[str, Any], splits: tuple[SplitTables, ...]) -> TextPlan:
    steps = {
        name: tuple(_step(dict(row)) for row in values[name])
        for name in ("normalizer", "span_normalizer")
    }
    plan = TextPlan(**{**values, **steps}, splits=splits)
    flags = (plan.prefix_first, plan.byte_level, plan.folded)
    if type(plan.prefix) is not str or not all(type(flag) is bool for flag in flags):
        raise ValueError("text: a prefix that is no string, or a flag neither true nor false")
    return plan


def _step(values: dict[str, Any]) -> NormalizerStep:
    step = _NORMALIZER_STEPS[values.pop("type")](**values)
    for field in fields(step):
        wanted = bool if field.type == "bool" else str
        if type(getattr(step, field.name)) is not wanted:
            raise ValueError(f"text: {type(step).__name__}.{field.name} is no {wanted.__name__}")
    return step


def _token_form(row: Sequence[Any], added: tuple[AddedToken, ...]) -> tuple[int, str]:
    token_id, form = row
    if type(form) is not str or not form or token_id not in {token.id for token in added}:
        raise ValueError("token_forms: no form, or of no added token")
    return token_id, form


def _part(arrays: Arrays, prefix: str) -> Arrays:
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def _config(values: Mapping[str, Any]) -> TokenizerConfig:
    special = {name: _added_token(row) for name, row in values["special_tokens"].items()}
    extra = tuple(map(_added_token, values["extra_special_tokens"]))
    rest = {**values, "files": tuple(values["files"])}
    texts = [*rest["files"], *rest["chat_templates"].values()]
    if not all(type(text) is str for text in texts):
        raise ValueError("config: a file or a template is no text")
    return TokenizerConfig(**{**rest, "special_tokens": special, "extra_special_tokens": extra})


def _added_token(values: Sequence[Any]) -> AddedToken:
    token = AddedToken(*values)
    flags = (token.single_word, token.lstrip, token.rstrip, token.normalized, token.special)
    if type(token.content) is not str or type(token.id) is not int or token.content == "":
        raise ValueError("added_tokens: no content or no id")
    if not all(type(flag) is bool for flag in flags):
        raise ValueError("added_tokens: a flag is neither true nor false")
    return token


def _truncation(values: Mapping[str, Any] | None) -> Truncation | None:
    if values is None:
        return None
    truncation = Truncation(**values)
    if not _are_counts(truncation.max_length, truncation.stride):
        raise ValueError("truncation: a length is no number")
    return truncation


def _padding(values: Mapping[str, Any] | None) -> Padding | None:
    if values is None:
        return None
    padding = Padding(**values)
    length = 0 if padding.length is None else padding.length
    if not _are_counts(length, padding.multiple, padding.pad_id) or padding.multiple == 0:
        raise ValueError("padding: a length or an id is no number")
    if max(length, padding.multiple) >= 2**31 or padding.pad_id >= 2**32:
        raise ValueError("padding: a length or an id is too large")
    return padding


def _are_counts(*values: object) -> bool:
    return all(type(value) is int and value >= 0 for value in values)
