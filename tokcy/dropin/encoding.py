"""Texts → `Encoding`: what Hugging Face's ``Tokenizer.encode`` returns, made of tokcy's ids.

Only the ids are encoded at once. Where they come from is found out when it is first asked for, by
encoding the text again, which takes less than making the lists of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokcy._encoding import Cut, Encoding, Filling, encoding_of, encodings_of
from tokcy.backend import Ids, Offsets
from tokcy.errors import TokcyError
from tokcy.native import NativeBackend
from tokcy.pattern.borders import is_border_split

__all__ = ["ByteEncoder", "Encoder", "FastEncoder", "Surroundings"]

Settings = Mapping[str, Any]  # what ``truncation`` and ``padding`` of a ``tokenizers`` object give
Located = tuple[Ids, Offsets, NDArray[np.bool_], NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a post-processor puts around a single text, and how it marks the text (rules O1-O4).

    Attributes:
        ids_before, tokens_before, type_ids_before: of what it puts before the text.
        ids_after, tokens_after, type_ids_after: and behind it.
        type_id: of the ids of the text, but not of its overflowing parts, which keep 0.
        marks_text: whether it says which ids are the text's; without any post-processor they
            count as the text's all, padding too.
    """

    ids_before: tuple[int, ...] = ()
    tokens_before: tuple[str, ...] = ()
    type_ids_before: tuple[int, ...] = ()
    ids_after: tuple[int, ...] = ()
    tokens_after: tuple[str, ...] = ()
    type_ids_after: tuple[int, ...] = ()
    type_id: int = 0
    marks_text: bool = False

    @classmethod
    def of(cls, section: Mapping[str, Any] | None) -> Surroundings:
        """Those of a ``post_processor`` as ``tokenizers`` writes it, if it runs natively."""
        if section is None:
            return cls()
        steps = section["processors"] if section["type"] == "Sequence" else [section]
        for step in steps:
            if step["type"] == "TemplateProcessing":
                return _of_template(step)
            if step["type"] in ("RobertaProcessing", "BertProcessing"):
                (cls_token, cls_id), (sep_token, sep_id) = step["cls"], step["sep"]
                return cls(
                    *((cls_id,), (cls_token,), (0,)),
                    *((sep_id,), (sep_token,), (0,)),
                    marks_text=True,
                )
            if step["type"] == "Sequence":
                inner = cls.of(step)
                if inner.ids_before or inner.ids_after or inner.type_id:
                    return inner
        return cls(marks_text=True)


def _of_template(step: Mapping[str, Any]) -> Surroundings:
    sides: list[tuple[list[int], list[str], list[int]]] = [([], [], [])]
    text_type = 0
    for piece in step["single"]:
        if "Sequence" in piece:
            text_type = piece["Sequence"]["type_id"]
            sides.append(([], [], []))
            continue
        special = step["special_tokens"][piece["SpecialToken"]["id"]]
        ids, tokens, type_ids = sides[-1]
        ids += special["ids"]
        tokens += special["tokens"]
        type_ids += [piece["SpecialToken"]["type_id"]] * len(special["ids"])
    before, after = sides
    return Surroundings(
        *(tuple(before[0]), tuple(before[1]), tuple(before[2])),
        *(tuple(after[0]), tuple(after[1]), tuple(after[2])),
        type_id=text_type,
        marks_text=True,
    )


class _TokenTexts(dict[int, str]):
    """id → the model's token, looked up once."""

    def __init__(self, backend: NativeBackend) -> None:
        self._vocabulary = backend.plan.vocabulary

    def __missing__(self, token_id: int) -> str:
        # That of an added token which is no entry is not wanted.
        text = self._vocabulary.id_to_token(token_id) or ""
        self[token_id] = text
        return text


class Encoder:
    """Makes Encodings of plain single texts; immutable, shared by threads.

    Args:
        backend: encodes the texts; what its file says of truncation and padding is not asked.
        post_processor: the section of the file, as ``tokenizers`` writes it.
        reference: what Hugging Face makes of a text, without special tokens, truncation and
            padding. Asked only for ``tokens``, where an added token that is normalized and takes
            spaces stands in a text that a normalizer changes: the spaces are then not known here.
    """

    def __init__(
        self,
        backend: NativeBackend,
        post_processor: Mapping[str, Any] | None,
        reference: Callable[[str], Any] | None = None,
    ) -> None:
        plan = backend.plan
        self._backend = backend
        self.surroundings = Surroundings.of(post_processor)
        # Without a split of the file's there is one of tokcy's own, or none.
        self._spans_are_words = all(map(is_border_split, plan.text.splits))
        self._texts = _TokenTexts(backend)
        self._forms: dict[int, str] = {}
        self._unknown_forms: set[int] = set()
        forms = dict(plan.token_forms)
        changes = bool(plan.text.normalizer or plan.text.folded or plan.text.prefix)
        for token in plan.added_tokens:
            if token.normalized and not (token.lstrip or token.rstrip):
                self._forms[token.id] = forms.get(token.id, token.content)
            elif token.normalized and changes:
                self._unknown_forms.add(token.id)
        self._reference = reference if self._unknown_forms else None

    def encode(
        self,
        text: str,
        add_special_tokens: bool = True,
        truncation: Settings | None = None,
        padding: Settings | None = None,
    ) -> Encoding:
        """The Encoding of one text.

        Raises:
            EncodeTypeError: not a str, or not expressible in UTF-8.
            TokcyError: the text is too long, and Hugging Face fails to cut it.
        """
        ids = self._backend.engine.encode(text, False, True)
        cut = None if truncation is None else self._cut(truncation, add_special_tokens)
        filling = None if padding is None else _filling(padding)
        return encoding_of(self, text, ids, add_special_tokens, cut, filling)

    def encode_batch(
        self,
        texts: Sequence[str],
        add_special_tokens: bool = True,
        truncation: Settings | None = None,
        padding: Settings | None = None,
    ) -> list[Encoding]:
        """The Encodings of many texts, encoded in one call and filled up to the longest of them.

        Each keeps the ids of all of them in memory, 4 bytes an id, as long as its own are not
        changed. Errors are those of `encode`.
        """
        texts = list(texts)
        if len(texts) == 1:  # as `transformers` calls for each text by itself
            return [self.encode(texts[0], add_special_tokens, truncation, padding)]
        values, offsets = self._backend.engine.encode_batch(texts, False, True)
        cut = None if truncation is None else self._cut(truncation, add_special_tokens)
        filling = None if padding is None else _filling(padding)
        return encodings_of(self, texts, values, offsets, add_special_tokens, cut, filling)

    def _cut(self, truncation: Settings, special: bool) -> Cut:
        around = self.surroundings
        added = len(around.ids_before) + len(around.ids_after) if special else 0
        # Where the post-processor alone adds more, Hugging Face's limit wraps around.
        limit = min((truncation["max_length"] - added) % 2**64, 2**63 - 1)
        problem = None
        if limit and truncation["strategy"] == "only_second":
            problem = "only a second text may be cut, and there is none"
        elif limit and truncation["stride"] >= limit:
            problem = (
                f"the stride, {truncation['stride']}, must be less than the length that is left "
                f"for the text, {limit}"
            )
        return Cut(limit, truncation["stride"], truncation["direction"] == "left", problem)

    # ------------------------------------------------------- what Encodings ask for

    def locate(self, text: str) -> Located:
        """ids uint32[n], offsets int64[n, 2] with all spaces, is_added bool[n], words int64[n]."""
        engine = self._backend.engine
        return engine.encode_words(text, True, spans_are_words=self._spans_are_words)

    def trim(self, text: str, located: Located, kept: slice) -> Offsets:
        """The offsets int64[n, 2] of consecutive ids of a text."""
        ids, offsets, is_added, _ = located
        return self._backend.trim(text, ids[kept], offsets[kept], is_added[kept])

    def tokens(self, text: str, located: Located) -> list[str]:
        """The text of each id of a text: the model's token, or what was matched (rule A7).

        Raises:
            TokcyError: it needs the reference, and there is none.
        """
        ids, offsets, is_added, _ = located
        listed: list[int] = ids.tolist()
        added = np.flatnonzero(is_added).tolist()
        if self._unknown_forms and any(listed[i] in self._unknown_forms for i in added):
            if self._reference is None:
                raise TokcyError("tokens: what an added token has matched is not known natively")
            found: list[str] = self._reference(text).tokens
            return found
        texts = [self._texts[token_id] for token_id in listed]
        for i in added:
            form = self._forms.get(listed[i])
            texts[i] = text[offsets[i, 0] : offsets[i, 1]] if form is None else form
        return texts


class FastEncoder(Encoder):
    """Makes the Encodings of ``encode_batch_fast``, which does not look where ids come from."""

    def locate(self, text: str) -> Located:
        n = self._backend.engine.count(text, False, True)
        ids = np.empty(0, dtype=np.uint32)  # which nobody asks for
        nowhere = np.zeros((n, 2), dtype=np.int64)
        return ids, nowhere, np.zeros(n, dtype=np.bool_), np.full(n, -1, dtype=np.int64)

    def trim(self, text: str, located: Located, kept: slice) -> Offsets:
        return located[1][kept]

    def tokens(self, text: str, located: Located) -> list[str]:
        return [""] * len(located[1])


class ByteEncoder(Encoder):
    """Makes the Encodings of ``async_encode``, whose offsets are in bytes of UTF-8."""

    def trim(self, text: str, located: Located, kept: slice) -> Offsets:
        trimmed = super().trim(text, located, kept)
        if text.isascii():
            return trimmed
        whole = located[1][kept]
        # Hugging Face takes off as many as there are spaces, whatever the unit is.
        return _bytes_before(text)[whole] + (trimmed - whole)


def _bytes_before(text: str) -> NDArray[np.int64]:
    """int64[n + 1]: where in the UTF-8 each character begins, and where the last ends."""
    characters = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    sizes = 1 + sum((characters >= first).astype(np.int64) for first in (0x80, 0x800, 0x10000))
    return np.concatenate([[0], np.cumsum(sizes)])


def _filling(padding: Settings) -> Filling:
    return Filling(
        padding["pad_id"],
        padding["pad_type_id"],
        padding["pad_token"],
        padding["direction"] == "left",
        -1 if padding["length"] is None else padding["length"],
        padding["pad_to_multiple_of"] or 1,
    )
