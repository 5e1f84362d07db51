"""From the content of a model's files to the backend that does its work."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tokcy.arrayfile import is_saved
from tokcy.backend import Backend
from tokcy.choice import BackendChoice
from tokcy.collector import collector_paused
from tokcy.errors import FallbackError, TokcyError
from tokcy.hf import HuggingFaceBackend
from tokcy.native import native_backend
from tokcy.ranks import TiktokenBackend, load_if_rank_model
from tokcy.saved import load_backend
from tokcy.spec import (
    AddedToken,
    ConfigFiles,
    DeclaredConfig,
    NativePlan,
    TokenizerConfig,
    TokenizerSpec,
    Unsupported,
    misnumbered,
    plan_native,
    read_config,
    read_tokenizer_json,
    tokens_to_add,
    with_token_ids,
    with_tokens_added,
)

__all__ = ["Made", "make_backend", "with_config"]

logger = logging.getLogger("tokcy")

_SHOWN_TOKENS = 5


class Made(NamedTuple):
    """A backend, why it is not the native one, and the configuration with ids."""

    backend: Backend
    fallback_reason: str | None
    config: TokenizerConfig


@collector_paused()
def make_backend(
    data: bytes | memoryview, source: str, files: ConfigFiles, choice: BackendChoice
) -> Made:
    """The backend for a model file.

    Args:
        data: a ``tokenizer.json``, a file in tiktoken's formats, or tokcy's saved form.
        source: its name, for messages.
        files: what stands beside it and counts.
        choice: who is to do the work.

    Raises:
        ModelFileError: no tokenizer can be made of the files.
        FallbackError: the model does not run on the backend that was chosen.
    """
    if is_saved(data):
        return _load_saved(data, source, files, choice)
    data = bytes(data)
    ranks = load_if_rank_model(data, source, files)
    if ranks is not None:
        return with_config(ranks, files)
    spec = read_tokenizer_json(data, source=source)
    declared = read_config(files, spec.pad_token) if files else None
    in_file = spec.added_tokens
    if declared is not None:
        additions = tokens_to_add(declared, in_file)
        tokens = with_tokens_added(in_file, additions, normalizes=spec.normalizer != ())
        spec = replace(spec, added_tokens=tokens)
    plan = _plan(spec, declared) if choice.native else None
    if isinstance(plan, NativePlan):
        return _made(native_backend(plan), None, declared, source)
    reason = None if plan is None else plan.reason
    if plan is not None and not choice.fallback:
        raise FallbackError(plan.reason, source=source) from plan.problem
    backend = HuggingFaceBackend(
        data,
        source=source,
        problem=spec.model.problem if plan is None else plan.problem,
        added=_new_or_changed(spec.added_tokens, in_file),
        encode_special_tokens=declared is not None and declared.rest.split_special_tokens,
    )
    if reason is not None:
        logger.warning("%s runs on Hugging Face tokenizers, more slowly: %s", source, reason)
    return _made(backend, reason, declared, source)


def with_config(backend: TiktokenBackend, files: ConfigFiles) -> Made:
    """A backend that takes the tokens of ``tokenizer_config.json`` by its own rules."""
    config = read_config(files) if files else None
    if config is None:
        return Made(backend, None, TokenizerConfig())
    return Made(backend, None, with_token_ids(config, backend.added_tokens))


def _plan(spec: TokenizerSpec, declared: DeclaredConfig | None) -> NativePlan | Unsupported:
    if declared is not None and declared.rest.split_special_tokens:
        return Unsupported("split_special_tokens is not supported natively")
    return plan_native(spec)


def _new_or_changed(
    tokens: Sequence[AddedToken], in_file: Sequence[AddedToken]
) -> tuple[AddedToken, ...]:
    """The tokens that the file lists in another way or not at all."""
    return tuple(
        token for i, token in enumerate(tokens) if i >= len(in_file) or token != in_file[i]
    )


def _made(
    backend: Backend, reason: str | None, declared: DeclaredConfig | None, source: str
) -> Made:
    if declared is None:
        return Made(backend, reason, TokenizerConfig())
    tokens = backend.added_tokens
    wrong = [f"{text!r} {had} -> {got}" for text, had, got in misnumbered(declared, tokens)]
    if wrong:
        shown = wrong[:_SHOWN_TOKENS] + ["…"] * (len(wrong) > _SHOWN_TOKENS)
        logger.warning(
            "%s: ids in force that differ from the declared ones, as in transformers (%d): %s",
            source,
            len(wrong),
            ", ".join(shown),
        )
    return Made(backend, reason, with_token_ids(declared, tokens))


def _load_saved(
    data: bytes | memoryview, source: str, files: ConfigFiles, choice: BackendChoice
) -> Made:
    if files:
        raise TokcyError(
            f"{source} is tokcy's saved form, which holds its configuration: config= is for a "
            "tokenizer.json"
        )
    backend, config = load_backend(data, source)
    if not choice.native and not isinstance(backend, TiktokenBackend):
        raise FallbackError(
            f"this is tokcy's saved form, which Hugging Face tokenizers does not run, and "
            f"{choice.origin} says {choice.backend!r}",
            source=source,
        )
    return Made(backend, None, config)
