"""The surface of `tokenizers` 0.2x that the Hugging Face backend uses, over its 1.x rewrite.

That one encodes and decodes, and tells neither its vocabulary nor offsets. The vocabulary is read
from the model file here, and offsets are refused.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import count
from typing import Any

import tokenizers

from tokcy.errors import TokcyError
from tokcy.spec import AddedToken

__all__ = ["AnyTokenizer", "NextTokenizer"]

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class NextTokenizer:
    """A ``tokenizers.Tokenizer`` of release 1, with the methods of one of release 0.2x."""

    def __init__(self, sections: dict[str, Any]) -> None:
        self._sections = sections
        self.encode_special_tokens = False

    @classmethod
    def from_str(cls, text: str) -> NextTokenizer:
        made = cls(json.loads(text))
        if made.model.get("vocab"):  # or else another model is to come, and this one is refused
            made._tokenizer  # noqa: B018  # so that errors come now
        return made

    @cached_property
    def _tokenizer(self) -> Any:
        """Made of the sections as they are now; there is no way but through a file."""
        added = [
            {"id": token_id, "content": token.content}
            | {flag: getattr(token, flag) for flag in _FLAGS}
            for token_id, token in self.get_added_tokens_decoder().items()
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokenizer.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**self._sections, "added_tokens": added}, file)
            return tokenizers.Tokenizer.from_file(path)

    def add_tokens(self, tokens: Iterable[AddedToken]) -> None:
        listed = [
            {"id": 0, "content": token.content, **{flag: getattr(token, flag) for flag in _FLAGS}}
            for token in tokens
        ]
        added = [*(self._sections.get("added_tokens") or ()), *listed]
        self._change("added_tokens", added)
        self._tokenizer  # noqa: B018  # so that errors come now

    @property
    def model(self) -> dict[str, Any]:
        """The section of the file."""
        model: dict[str, Any] = self._sections["model"]
        return model

    @model.setter
    def model(self, model: dict[str, Any]) -> None:
        self._change("model", model)

    def _change(self, section: str, content: Any) -> None:
        self._sections = {**self._sections, section: content}
        for made_of_it in ("_tokenizer", "_vocab", "_added", "_tokens"):
            self.__dict__.pop(made_of_it, None)

    @property
    def padding(self) -> object:
        return self._tokenizer.padding

    @property
    def truncation(self) -> object:
        """The section of the file."""
        return self._sections.get("truncation")

    @property
    def normalizer(self) -> object:
        """None where the file has none; another cannot be called by itself."""
        if self._sections.get("normalizer") is not None:
            raise self.lacks("does not say what its normalizer makes of a text")
        return None

    def without_lengths(self) -> NextTokenizer:
        """One that neither cuts nor fills up."""
        made = NextTokenizer({**self._sections, "truncation": None, "padding": None})
        made.encode_special_tokens = self.encode_special_tokens
        return made

    @staticmethod
    def lacks(what: str) -> TokcyError:
        """The error for what this release does not do."""
        return TokcyError(f"tokenizers {tokenizers.__version__} {what}; releases before 1.0 do")

    # ---------------------------------------------------------------- encoding

    def encode(self, text: str, add_special_tokens: bool) -> NextEncoding:
        return self.encode_batch_fast([text], add_special_tokens)[0]

    def encode_batch_fast(self, texts: list[str], add_special_tokens: bool) -> list[NextEncoding]:
        options = {"encode_special_tokens": self.encode_special_tokens}
        found = self._tokenizer.encode_batch(
            texts, add_special_tokens=add_special_tokens, **options
        )
        return [
            NextEncoding(self, text, encoding.ids)
            for text, encoding in zip(texts, found, strict=True)
        ]

    def encode_batch(self, texts: list[str], add_special_tokens: bool) -> list[NextEncoding]:
        raise self.lacks("gives no offsets")

    def bare_ids(self, text: str, add_special_tokens: bool) -> list[int]:
        """The ids of a text that is neither cut nor filled up."""
        options = {"add_special_tokens": add_special_tokens, "padding": None, "truncation": None}
        ids: list[int] = self._tokenizer.encode(text, **options).ids
        return ids

    def decode_batch(self, rows: list[list[int]], skip_special_tokens: bool) -> list[str]:
        return [self._tokenizer.decode(ids, skip_special_tokens) for ids in rows]

    # -------------------------------------------------------------- vocabulary

    @cached_property
    def _vocab(self) -> Mapping[str, int]:
        vocab = self.model.get("vocab") or {}
        if isinstance(vocab, list):  # of Unigram: pairs of a token and its score
            return {token: i for i, (token, _) in enumerate(vocab)}
        found: Mapping[str, int] = vocab
        return found

    @cached_property
    def _added(self) -> dict[str, AddedToken]:
        """By content, with the ids that rule A1 gives."""
        free = count(len(self._vocab))
        found: dict[str, AddedToken] = {}
        for token in self._sections.get("added_tokens") or ():
            content = token["content"]
            if not content:
                continue
            before = found.get(content)
            token_id = self._vocab.get(content) if before is None else before.id
            flags = {flag: token[flag] for flag in _FLAGS}
            flags["special"] |= before is not None and before.special
            found[content] = AddedToken(
                content, next(free) if token_id is None else token_id, **flags
            )
        return found

    @cached_property
    def _tokens(self) -> dict[int, str]:
        tokens = {token_id: token for token, token_id in self._vocab.items()}
        return tokens | {token.id: token.content for token in self._added.values()}

    def token_to_id(self, token: str) -> int | None:
        added = self._added.get(token)
        return self._vocab.get(token) if added is None else added.id

    def id_to_token(self, token_id: int) -> str | None:
        return self._tokens.get(token_id)

    def get_vocab(self, with_added_tokens: bool) -> dict[str, int]:
        added = {token.content: token.id for token in self._added.values()}
        return {**self._vocab, **(added if with_added_tokens else {})}

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        return {token.id: token for token in self._added.values()}


class NextEncoding:
    """The ids of a text, and which of them were put around it."""

    def __init__(self, tokenizer: NextTokenizer, text: str, ids: list[int]) -> None:
        self._tokenizer = tokenizer
        self._text = text
        self.ids = ids

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for what the post-processor and the padding put around the text."""
        plain = self._tokenizer.bare_ids(self._text, add_special_tokens=False)
        around = self._tokenizer.bare_ids("", add_special_tokens=True)
        kept = min(len(plain), len(self.ids) - len(around))  # the rest was cut off
        ends = (plain[:kept], plain[len(plain) - kept :])
        starts = range(len(self.ids) - kept + 1)
        begin = next((i for i in starts if self.ids[i : i + kept] in ends), 0)
        return [int(not begin <= i < begin + kept) for i in range(len(self.ids))]


AnyTokenizer: type[tokenizers.Tokenizer] = (
    tokenizers.Tokenizer if hasattr(tokenizers.Tokenizer, "from_str") else NextTokenizer  # type: ignore[assignment]
)
"""What makes a tokenizer, whichever release is installed."""
