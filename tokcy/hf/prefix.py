"""Which model files encode what follows an added token as they encode it by itself.

Hugging Face cuts a text at the added tokens that are not normalized, and normalizes, splits and
merges what lies between by itself. What follows such a token, given as a text, is the same unless

* a token found there depends on what stood before: one of a single word;
* the token before took whitespace along, which ends otherwise where the text does: rstrip;
* a part of the pipeline asks whether a text begins here: Metaspace with "first";
* merging is random: dropout;
* the result is cut or filled up as a whole: truncation and padding.

Parts that are not known here are taken to be of that kind. Special tokens around the whole text
are for the caller to look after.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokcy.spec import AddedToken

__all__ = ["goes_on_anywhere"]

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
