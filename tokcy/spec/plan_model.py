"""The model's part of a plan: its vocabulary in its alphabet, and cuts that the merges prove."""

from __future__ import annotations

import numpy as np

from tokcy._vocab import Vocabulary
from tokcy.pattern import SplitTables, border_split

from .model import BpeModel

__all__ = ["UnplannableModelError", "plan_borders", "plan_vocabulary", "spelled_vocabulary"]

_MARKS = ("continuing_subword_prefix", "end_of_word_suffix")


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
    if not vocabulary.ids_are_dense:
        raise UnplannableModelError(
            f"token id {vocabulary.max_id} in a vocabulary of {vocabulary.n_entries} is not "
            "supported natively"
        )
    if not vocabulary.ids_are_distinct:
        raise UnplannableModelError("two vocabulary entries with one id are not supported natively")
    if any(getattr(model, mark) for mark in _MARKS):
        return _marked(model, byte_level=byte_level, folded=folded)
    if not byte_level:
        return _characters(model, folded)
    if (model.byte_fallback or model.unk_token is not None) and not vocabulary.has_all_bytes():
        cause = "byte_fallback" if model.byte_fallback else "unk_token"
        raise UnplannableModelError(
            f"{cause} with an incomplete byte alphabet is not supported natively"
        )
    return vocabulary


def spelled_vocabulary(model: BpeModel, *, byte_level: bool, folded: bool) -> Vocabulary:
    """The same, whether or not the model runs natively."""
    prefix, suffix = model.continuing_subword_prefix or "", model.end_of_word_suffix or ""
    unk_token, fuse_unk = model.unk_token, model.fuse_unk
    if not byte_level:
        return model.vocabulary.characters(
            folded=folded,
            byte_fallback=model.byte_fallback and not (prefix or suffix),
            prefix=prefix,
            suffix=suffix,
            unk_token=unk_token,
            fuse_unk=fuse_unk,
        )
    if not (prefix or suffix):
        return model.vocabulary
    return model.vocabulary.marked(
        prefix=prefix, suffix=suffix, unk_token=unk_token, fuse_unk=fuse_unk
    )


def _marked(model: BpeModel, *, byte_level: bool, folded: bool) -> Vocabulary:
    """The vocabulary of a model that marks the places of tokens in a piece (rule M4)."""
    names = " and ".join(mark for mark in _MARKS if getattr(model, mark))
    if model.ignore_merges:  # which looks for pieces without the marks
        raise UnplannableModelError(f"{names} with ignore_merges is not supported natively")
    if byte_level and not all(_is_plain(getattr(model, mark) or "") for mark in _MARKS):
        raise UnplannableModelError(
            f"{names} beyond ASCII with ByteLevel is not supported natively"
        )
    vocabulary = spelled_vocabulary(model, byte_level=byte_level, folded=folded)
    if vocabulary.lacks_characters():
        _check_lacking(model, vocabulary, names)
    if not vocabulary.marks_keep_places():
        raise UnplannableModelError(f"merges out of place for {names} are not supported natively")
    if not vocabulary.marks_are_clear():
        raise UnplannableModelError(f"{names} that run together are not supported natively")
    return vocabulary


def _is_plain(text: str) -> bool:
    """Whether each character is printable ASCII, which in ByteLevel's alphabet is itself."""
    return all("!" <= character <= "~" for character in text)


def _has_byte_names(vocabulary: Vocabulary) -> bool:
    return any(vocabulary.token_to_id(f"<0x{byte:02X}>") is not None for byte in range(256))


def _check_lacking(model: BpeModel, vocabulary: Vocabulary, names: str) -> None:
    """Refuse what some character, being no entry in its place, would become."""
    if model.byte_fallback and _has_byte_names(vocabulary):
        # The names of the marks' bytes come with those of the character's.
        raise UnplannableModelError(f"{names} with byte_fallback is not supported natively")
    if model.unk_token is not None:
        _check_unknown(model, vocabulary, [])
        if vocabulary.byte_level and not _is_plain(model.unk_token):  # it may be trimmed otherwise
            raise UnplannableModelError(
                "unk_token beyond ASCII with ByteLevel is not supported natively"
            )


def _check_unknown(model: BpeModel, vocabulary: Vocabulary, special: list[int]) -> None:
    """Refuse an unknown token that is no entry, and merges of that or of other special tokens."""
    if not vocabulary.is_complete() and model.unk_token is not None:
        if vocabulary.unknown_id < 0:  # an error, once a character is unknown
            raise UnplannableModelError("unk_token that is no entry is not supported natively")
        special = [*special, vocabulary.unknown_id]
    if vocabulary.merges_name(special):
        raise UnplannableModelError(
            "merges of unk_token or tokens such as <0x0A> are not supported natively"
        )


def _characters(model: BpeModel, folded: bool) -> Vocabulary:
    vocabulary = spelled_vocabulary(model, byte_level=False, folded=folded)
    if folded and vocabulary.token_to_id("▁") is None:  # else three byte tokens would be one
        raise UnplannableModelError("a vocabulary without '▁' is not supported natively")
    _check_unknown(model, vocabulary, vocabulary.byte_names())
    if model.byte_fallback and model.ignore_merges:  # a piece may be written like such a token
        raise UnplannableModelError("byte_fallback with ignore_merges is not supported natively")
    return vocabulary


def plan_borders(
    splits: tuple[SplitTables, ...], vocabulary: Vocabulary, ignore_merges: bool
) -> tuple[SplitTables, ...]:
    """The splits, or one of our own where there is none, which changes no id.

    Under ignore_merges a part of a piece may have other ids than the same bytes as a piece; so it
    has where tokens are marked by their place.
    """
    marked = vocabulary.prefix or vocabulary.suffix
    if splits or ignore_merges or marked or not vocabulary.is_complete():
        return splits
    joined = np.frombuffer(vocabulary.joined_ascii(), dtype=np.bool_).reshape(128, 128)
    borders = border_split(joined)
    return splits if borders is None else (borders,)
