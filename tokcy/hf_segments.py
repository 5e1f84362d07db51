"""Which added tokens of a text come from what is trusted, for the Hugging Face backend.

Hugging Face looks for added tokens in whole texts. Where each place that any of them stands at is
trusted, or none is, that is what is wanted, with all of them or without any. Else the text has to
be encoded in sections, which is only the same for some models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tokenizers import Tokenizer

from tokcy.spec import AddedToken

__all__ = ["Occurrences", "is_exact_in_parts"]


class Occurrences:
    """Where the contents of added tokens stand in a text, also where they overlap.

    Attributes:
        all_trusted: each lies in one trusted stretch.
        some_trusted: at least one does.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        added: Iterable[AddedToken],
        stretches: list[tuple[str, bool]],
    ) -> None:
        self._text = "".join(stretch for stretch, _ in stretches)
        self._trusted: list[tuple[int, int]] = []
        every = all(flag for _, flag in stretches)
        self.all_trusted, self.some_trusted = every, every
        ends = self._ends(stretches)
        if every or not ends:
            return
        normalizer = tokenizer.normalizer
        normal = self._text if normalizer is None else normalizer.normalize_str(self._text)
        self.all_trusted = True
        for token in added:
            for begin in _places(self._text, token.content):
                end = begin + len(token.content)
                if any(first <= begin and end <= last for first, last in ends):
                    self._trusted.append((begin, end))
                    self.some_trusted = True
                else:
                    self.all_trusted = False
            content = token.content
            if token.normalized and normalizer is not None:
                content = normalizer.normalize_str(content)
                if content and content in normal:  # wherever that came from
                    self.all_trusted = False
                    self.some_trusted = True

    @staticmethod
    def _ends(stretches: list[tuple[str, bool]]) -> list[tuple[int, int]]:
        """Where the trusted stretches begin and end."""
        found = []
        at = 0
        for stretch, flag in stretches:
            if flag:
                found.append((at, at + len(stretch)))
            at += len(stretch)
        return found

    def sections(self) -> Iterator[tuple[str, bool]]:
        """The trusted tokens, leftmost and then longest first, and the texts between them."""
        at = 0
        for begin, end in sorted(self._trusted, key=lambda place: (place[0], -place[1])):
            if begin < at:
                continue
            if at < begin:
                yield self._text[at:begin], False
            yield self._text[begin:end], True
            at = end
        if at < len(self._text):
            yield self._text[at:], False


def is_exact_in_parts(content: Mapping[str, Any], added: Iterable[AddedToken]) -> bool:
    """Whether the sections between added tokens are encoded alone as they are within a text."""
    plain = all(
        not (token.normalized or token.lstrip or token.rstrip or token.single_word)
        for token in added
    )
    # This one treats the beginning of a text in another way than that of a section (rule P3).
    return plain and '"first"' not in json.dumps(content.get("pre_tokenizer"))


def _places(text: str, content: str) -> Iterator[int]:
    at = text.find(content) if content else -1
    while at >= 0:
        yield at
        at = text.find(content, at + 1)
