"""The model's part of a plan: its vocabulary in its alphabet, and cuts that the merges prove."""

from __future__ import annotations

import numpy as np

from tokcy._vocab import Vocabulary
from tokcy.pattern import SplitTables, border_split

from .model import BpeModel

__all__ = ["UnplannableModelError", "plan_borders", "plan_vocabulary"]


class UnplannableModelError(Exception):
    """A model that does not run natively; its text says why."""


def plan_vocabulary(model: BpeModel, *, byte_level: bool, folded: bool) -> Vocabulary:
    """The model's vocabulary as the engine needs it.

    Args:
        model: the model.
        byte_level: whether pieces are written with one character per byte before the model sees
            them, so that its tokens are.
        folded: whether texts and tokens have a space wherever the model has "▁".

    Raises:
        UnplannableModelError: the model does not run natively.
    """
    vocabulary = model.vocabulary
    if model.dropout:
        raise UnplannableModelError("dropout is not supported natively")
    if model.continuing_subword_prefix:
        raise UnplannableModelError("continuing_subword_prefix is not supported natively")
    if not vocabulary.ids_are_dense:
        raise UnplannableModelError(
            f"token id {vocabulary.max_id} in a vocabulary of {vocabulary.n_entries} is not "
            "supported natively"
        )
    if not vocabulary.ids_are_distinct:
        raise UnplannableModelError("two vocabulary entries with one id are not supported natively")
    if byte_level:
        if (model.byte_fallback or model.unk_token is not None) and not vocabulary.has_all_bytes():
            cause = "byte_fallback" if model.byte_fallback else "unk_token"
            raise UnplannableModelError(
                f"{cause} with an incomplete byte alphabet is not supported natively"
            )
        return _with_ends(model) if model.end_of_word_suffix else vocabulary
    if model.end_of_word_suffix:
        raise UnplannableModelError(
            "end_of_word_suffix without ByteLevel is not supported natively"
        )
    return _characters(model, folded)


def _with_ends(model: BpeModel) -> Vocabulary:
    assert model.end_of_word_suffix is not None
    vocabulary = model.vocabulary.with_suffix(model.end_of_word_suffix)
    if model.ignore_merges:  # which looks for pieces without the suffix
        raise UnplannableModelError(
            "end_of_word_suffix with ignore_merges is not supported natively"
        )
    if not (vocabulary.has_all_bytes() and vocabulary.has_all_ends()):
        raise UnplannableModelError(
            "end_of_word_suffix with an incomplete byte alphabet is not supported natively"
        )
    if not vocabulary.ends_are_last():
        raise UnplannableModelError("merges behind end_of_word_suffix are not supported natively")
    return vocabulary


def _characters(model: BpeModel, folded: bool) -> Vocabulary:
    vocabulary = model.vocabulary.characters(
        folded=folded,
        byte_fallback=model.byte_fallback,
        unk_token=model.unk_token,
        fuse_unk=model.fuse_unk,
    )
    special = vocabulary.byte_names()
    if not vocabulary.is_complete() and model.unk_token is not None:
        if vocabulary.unknown_id < 0:  # an error, once a character is unknown
            raise UnplannableModelError("unk_token that is no entry is not supported natively")
        special.append(vocabulary.unknown_id)
    if folded and vocabulary.token_to_id("▁") is None:  # else three byte tokens would be one
        raise UnplannableModelError("a vocabulary without '▁' is not supported natively")
    if vocabulary.merges_name(special):
        raise UnplannableModelError(
            "merges of unk_token or tokens such as <0x0A> are not supported natively"
        )
    if model.byte_fallback and model.ignore_merges:  # a piece may be written like such a token
        raise UnplannableModelError("byte_fallback with ignore_merges is not supported natively")
    return vocabulary


def plan_borders(
    splits: tuple[SplitTables, ...], vocabulary: Vocabulary, ignore_merges: bool
) -> tuple[SplitTables, ...]:
    """The splits, or one of our own where there is none, which changes no id.

    Under ignore_merges a part of a piece may have other ids than the same bytes as a piece.
    """
    if splits or ignore_merges or not vocabulary.is_complete() or vocabulary.suffix:
        return splits
    joined = np.frombuffer(vocabulary.joined_ascii(), dtype=np.bool_).reshape(128, 128)
    borders = border_split(joined)
    return splits if borders is None else (borders,)
