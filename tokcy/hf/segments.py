"""Texts of which some stretches are trusted, for the Hugging Face backend.

Hugging Face looks for added tokens in whole texts. Where each place that any of them stands at is
trusted, or none is, that is what is wanted, with all of them or without any. Else the text has to
be encoded in sections, which is only the same for some models; for the others it is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from tokcy._prefix import PrefixView
from tokcy.backend import Ids
from tokcy.errors import TokcyError
from tokcy.spec import AddedToken

from .calls import encode_text, leave_alone
from .next import NextTokenizer
from .prefix import KnownEncoder

__all__ = ["SegmentEncoder"]

Stretches = list[tuple[str, bool]]
"""A text in parts, each with whether it is trusted."""


class SegmentEncoder:
    """Encodes them; made once, shared by threads.

    Args:
        tokenizer: has all added tokens, and what goes around and is cut of the whole.
        plain: its twin that has no added tokens.
        added: these.
        pre_tokenizer: the section of the model file.
        known: encodes texts whose beginnings are stored.
        check: raises TokcyError for an encoding of the twin that holds a control token.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        plain: Tokenizer,
        added: tuple[AddedToken, ...],
        pre_tokenizer: Any,
        known: KnownEncoder,
        check: Callable[[Encoding], object],
    ) -> None:
        self._whole = tokenizer
        self._trusted = _without_lengths(tokenizer)
        self._plain = _without_lengths(plain)
        self._added = added
        self._normalizes = any(token.normalized for token in added)
        # A text's beginning is treated in another way than a section's by Metaspace (rule P3).
        self._is_exact_in_sections = (
            not any(t.normalized or t.lstrip or t.rstrip or t.single_word for t in added)
            and not tokenizer.encode_special_tokens
            and '"first"' not in json.dumps(pre_tokenizer)
        )
        self._known = known
        self._check = check

    def encode(
        self,
        parts: list[Stretches],
        add_special_tokens: bool,
        known: PrefixView | None = None,
    ) -> Ids:
        """The ids of some texts in a row, and around them what the post-processor puts there.

        Args:
            parts: the texts.
            add_special_tokens: whether it does.
            known: where beginnings of texts in a row are stored.

        Raises:
            TokcyError: the model makes a control token of what is not trusted, or a text cannot be
                encoded exactly.
        """
        sections = [section for part in parts for section in self._sections_of(part)]
        is_whole = add_special_tokens or self._trusted is not self._whole
        if known is not None and not is_whole and self._may_store:
            return self._known.encode_sections(sections, known, self._ids)
        encodings = [self._encoding(text, flag) for text, flag in sections]
        if is_whole:
            ids = self._post_process(encodings, add_special_tokens).ids
        else:
            ids = list(chain.from_iterable(encoding.ids for encoding in encodings))
        if known is not None:
            known.count(0, len(ids))
        return np.array(ids, dtype=np.uint32)

    @cached_property
    def _may_store(self) -> bool:
        """Whether texts encode the same each time, and no text to nothing."""
        nothing = [self._encoding("", flag).ids for flag in (True, False)]
        return self._known.is_steady and not any(nothing)

    def _ids(self, text: str, trusted: bool) -> Ids:
        return np.array(self._encoding(text, trusted).ids, dtype=np.uint32)

    def _post_process(self, encodings: list[Encoding], add_special_tokens: bool) -> Encoding:
        if isinstance(self._whole, NextTokenizer):
            raise self._whole.lacks("neither puts tokens around ids, nor cuts or fills them up")
        merged = Encoding.merge(encodings, growing_offsets=True)
        return self._whole.post_process(merged, None, add_special_tokens)

    def _encoding(self, text: str, trusted: bool) -> Encoding:
        if trusted:
            return encode_text(self._trusted, text, False)
        encoding = encode_text(self._plain, text, False)
        self._check(encoding)
        return encoding

    def _sections_of(self, stretches: Stretches) -> Stretches:
        """What of a text is encoded by itself, with all added tokens or with none."""
        if len(stretches) == 1:
            return stretches
        text = "".join(stretch for stretch, _ in stretches)
        if all(flag for _, flag in stretches):
            return [(text, True)]
        if not any(flag for _, flag in stretches):
            return [(text, False)]
        trusted, others = self._places(text, stretches)
        if not others:
            return [(text, True)]
        if not trusted:
            return [(text, False)]
        if not self._is_exact_in_sections:
            raise TokcyError(
                "text that is not trusted holds an added token, or a part of one that trusted text "
                "completes; on the Hugging Face backend this model can then not be encoded exactly"
            )
        return list(_sections(text, trusted))

    def _places(
        self, text: str, stretches: Stretches
    ) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Where added tokens stand in a text, also where they overlap: in one trusted stretch, and
        else."""
        ends = _trusted_ends(stretches)
        trusted: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        for token in self._added:
            for begin in _places_of(text, token.content):
                end = begin + len(token.content)
                within = any(first <= begin and end <= last for first, last in ends)
                (trusted if within else others).append((begin, end))
        if self._normalizes and self._stands_in_normalized(text):
            everywhere = (0, len(text))  # what of it came from where is not known
            trusted.append(everywhere)
            others.append(everywhere)
        return trusted, others

    def _stands_in_normalized(self, text: str) -> bool:
        """Whether a token that is looked for after normalization stands in the text then."""
        normalizer = self._whole.normalizer
        if normalizer is None:
            return False
        normal = normalizer.normalize_str(text)
        contents = [normalizer.normalize_str(t.content) for t in self._added if t.normalized]
        return any(content and content in normal for content in contents)


def _without_lengths(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, or a copy of it without truncation and padding, which are for the whole."""
    if tokenizer.truncation is None and tokenizer.padding is None:
        return tokenizer
    if isinstance(tokenizer, NextTokenizer):
        return tokenizer.without_lengths()
    copy = leave_alone(Tokenizer.from_str(tokenizer.to_str()))
    copy.encode_special_tokens = tokenizer.encode_special_tokens
    copy.no_truncation()
    copy.no_padding()
    return copy


def _trusted_ends(stretches: Stretches) -> list[tuple[int, int]]:
    """Where the trusted stretches begin and end."""
    found = []
    at = 0
    for stretch, flag in stretches:
        if flag:
            found.append((at, at + len(stretch)))
        at += len(stretch)
    return found


def _places_of(text: str, content: str) -> Iterator[int]:
    at = text.find(content) if content else -1
    while at >= 0:
        yield at
        at = text.find(content, at + 1)


def _sections(text: str, tokens: list[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    """The tokens at these places, leftmost and then longest first, and the texts between them."""
    at = 0
    for begin, end in sorted(tokens, key=lambda place: (place[0], -place[1])):
        if begin < at:
            continue
        if at < begin:
            yield text[at:begin], False
        yield text[begin:end], True
        at = end
    if at < len(text):
        yield text[at:], False
