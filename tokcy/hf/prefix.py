"""Texts whose beginnings are stored, encoded by Hugging Face from one added token to another.

Texts in a row can go on from the end of each, if they encode the same each time. Hugging Face cuts
a text at the added tokens that are not normalized, and normalizes, splits and merges what lies
between by itself. So what follows such a token, given as a text, is the same, too, unless

* a token found there depends on what stood before: one of a single word;
* the token before took whitespace along, which ends otherwise where the text does: rstrip;
* a part of the pipeline asks whether a text begins here: Metaspace with "first";
* merging is random: dropout;
* the result is cut or filled up as a whole: truncation and padding.

Parts that are not known here are taken to be of that kind. Special tokens around the whole text
are for the caller to look after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from tokcy._prefix import PrefixView
from tokcy._prepare import Preparer
from tokcy._resume import encode_in_pieces
from tokcy.backend import Ids
from tokcy.spec import AddedToken

from .calls import check_text, encode_text, hugging_face_errors

__all__ = ["KnownEncoder", "goes_on_anywhere"]

Sections = list[tuple[str, bool]]

_MODELS = {"BPE", "Unigram", "WordLevel", "WordPiece"}
_NORMALIZERS = {
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "Nmt",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
}
_PRE_TOKENIZERS = {
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "Metaspace",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
}


class KnownEncoder:
    """Encodes what follows a known beginning; made once, shared by threads.

    Args:
        tokenizer: which it is.
        added: its added tokens.
        content: of the ``tokenizer.json``, which Hugging Face has accepted.
    """

    def __init__(
        self, tokenizer: Tokenizer, added: tuple[AddedToken, ...], content: dict[str, Any]
    ) -> None:
        self._tokenizer = tokenizer
        self._goes_on = (
            isinstance(tokenizer, Tokenizer)
            and not tokenizer.encode_special_tokens
            and goes_on_anywhere(content, added)
        )
        found = [token for token in added if not token.normalized] if self._goes_on else []
        self._finder = Preparer(found)
        self.is_steady = not content["model"].get("dropout")

    def may_serve(self, add_special_tokens: bool) -> bool:
        """Whether texts can go on from any added token, and nothing is put around the whole."""
        return self._goes_on and not (add_special_tokens and self.adds_tokens)

    @cached_property
    def adds_tokens(self) -> bool:
        """Whether the post-processor puts tokens around a text."""
        with hugging_face_errors():
            return bool(encode_text(self._tokenizer, "", True).ids)

    def encode(self, text: str, known: PrefixView) -> Ids:
        """uint32[n]; where `may_serve` says so.

        Raises:
            EncodeTypeError: not a str, or not expressible in UTF-8.
            TokcyError: Hugging Face fails on it.
        """
        check_text(text)
        return encode_in_pieces(known, self._finder, [(text, True)], self._encode_all)

    def _encode_all(self, pieces: Sections) -> list[Ids]:
        texts = [text for text, _ in pieces]
        with hugging_face_errors():
            encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.uint32) for encoding in encodings]

    def encode_sections(
        self, sections: Sections, known: PrefixView, encode: Callable[[str, bool], Ids]
    ) -> Ids:
        """uint32[n] of texts in a row; where `is_steady`.

        Args:
            sections: each with whether it is trusted. None of no text has ids.
            encode: gives the ids of one, or of what follows an added token in one that is trusted.
        """

        def encode_all(pieces: Sections) -> list[Ids]:
            return [encode(text, trusted) for text, trusted in pieces]

        return encode_in_pieces(known, self._finder, sections, encode_all)


def goes_on_anywhere(content: dict[str, Any], added_tokens: Iterable[AddedToken]) -> bool:
    """Whether text behind any added token encodes as it does by itself.

    Args:
        content: of the ``tokenizer.json``, which Hugging Face has accepted.
        added_tokens: of the tokenizer.
    """
    model = content["model"]
    return (
        content.get("truncation") is None
        and content.get("padding") is None
        and model.get("type", "BPE") in _MODELS
        and not model.get("dropout")
        and not any(token.single_word or token.rstrip for token in added_tokens)
        and all(part.get("type") in _NORMALIZERS for part in _parts(content.get("normalizer")))
        and all(
            part.get("type") in _PRE_TOKENIZERS and part.get("prepend_scheme") != "first"
            for part in _parts(content.get("pre_tokenizer"))
        )
    )


def _parts(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    """A component and those in it."""
    if component is None:
        return []
    inner = component.get("normalizers") or component.get("pretokenizers") or []
    return [component, *(part for each in inner for part in _parts(each))]
