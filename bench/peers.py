"""The other libraries, each by the fastest of its ways that were tried.

A library is imported only when it is asked for, since each runs in a process of its own, some
in another environment.
"""

from __future__ import annotations

import importlib
import json
import shutil
from collections.abc import Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench.chat import Segment
from bench.library import CACHE_BYTES, Ids, Library, Saver, UnsuitedModelError

NONE: frozenset[str] = frozenset()


class Tokenizers(Library):
    package = "tokenizers"
    slow = True

    def __init__(self, model: Path) -> None:
        import tokenizers

        self.tokenizer = tokenizers.Tokenizer.from_file(str(model))
        self._model = model

    @classmethod
    def patch_transformers(cls) -> None:
        """Nothing to do: it is what `transformers` is built on."""

    @cached_property
    def _ordinary(self) -> Any:
        """The same without added tokens; an option ignores only those that are called special."""
        import tokenizers

        content = json.loads(self._model.read_bytes())
        content["added_tokens"] = []
        return tokenizers.Tokenizer.from_str(json.dumps(content))

    def encode(self, text: str) -> Ids:
        return np.array(self.encode_list(text), dtype=np.uint32)

    def encode_uncut(self, segments: Sequence[Segment]) -> Ids:
        encoded = [
            iter(tokenizer.encode_batch_fast(texts, add_special_tokens=False))
            for tokenizer, texts in (
                (self._ordinary, [text for text, trusted in segments if not trusted]),
                (self.tokenizer, [text for text, trusted in segments if trusted]),
            )
        ]
        ids = [next(encoded[trusted]).ids for _, trusted in segments]
        return np.array(list(chain.from_iterable(ids)), dtype=np.uint32)

    def encode_list(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def encode_batch(self, texts: list[str]) -> Any:
        return self.encode_batch_list(texts)

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        encodings = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode_input(self, ids: Ids) -> Any:
        return ids.tolist()

    def decode(self, ids: Any) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)


class TokenizersRC(Library):
    """The rewrite of tokenizers; it cannot be installed beside the release."""

    package = "tokenizers"

    def __init__(self, model: Path) -> None:
        import tokenizers

        self.tokenizer: Any = tokenizers.Tokenizer.from_file(str(model))

    def encode(self, text: str) -> Ids:
        ids: Ids = self.tokenizer.encode(text, add_special_tokens=False).ids_array
        return ids

    def encode_batch(self, texts: list[str]) -> Any:
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [encoding.ids_array for encoding in encodings]

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: Any) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False)
        return text


class Tiktoken(Library):
    package = "tiktoken"
    slow = True

    def __init__(self, model: Path) -> None:
        import tiktoken

        content = json.loads(model.read_text(encoding="utf-8"))
        splits = [
            part["pattern"]["Regex"]
            for part in _parts(content["pre_tokenizer"])
            if part["type"] == "Split"
        ]
        if content["model"]["type"] != "BPE" or len(splits) != 1:
            raise UnsuitedModelError("not a BPE model with one split pattern")
        added = {token["content"]: token["id"] for token in content["added_tokens"]}
        byte_of = {character: byte for byte, character in enumerate(_byte_characters())}
        self.encoding = tiktoken.Encoding(
            "bench",
            pat_str=splits[0],
            mergeable_ranks={
                bytes(byte_of[character] for character in token): rank
                for token, rank in content["model"]["vocab"].items()
                if token not in added
            },
            special_tokens=added,
        )

    def encode(self, text: str) -> Ids:
        ids: Ids = self.encoding.encode_to_numpy(text, allowed_special="all")
        return ids

    def encode_uncut(self, segments: Sequence[Segment]) -> Ids:
        encode = self.encoding.encode_to_numpy
        parts = [
            encode(text, allowed_special="all" if trusted else NONE, disallowed_special=NONE)
            for text, trusted in segments
        ]
        return np.concatenate(parts)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self.encoding.encode(text, allowed_special="all")
        return ids

    def encode_batch(self, texts: list[str]) -> Any:
        return self.encode_batch_list(texts)

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        ids: list[list[int]] = self.encoding.encode_batch(texts, allowed_special="all")
        return ids

    def decode_input(self, ids: Ids) -> Any:
        return ids.tolist()

    def decode(self, ids: Any) -> str:
        text: str = self.encoding.decode(ids)
        return text


class Fastokens(Library):
    package = "fastokens"
    splits_texts = True

    def __init__(self, model: Path) -> None:
        self.tokenizer: Any = importlib.import_module(self.package).Tokenizer.from_file(str(model))

    @classmethod
    def patch_transformers(cls) -> None:
        importlib.import_module(cls.package).patch_transformers()

    def encode(self, text: str) -> Ids:
        return np.frombuffer(self.tokenizer.encode_batch_flat([text])[0], dtype=np.uint32)

    def encode_uncut(self, segments: Sequence[Segment]) -> Ids:
        return np.asarray(self.tokenizer.encode_segments(segments).ids, dtype=np.uint32)

    def new_prefix_cache(self) -> Any:
        """It belongs to the tokenizer; that it is made anew empties it."""
        self.tokenizer.enable_segment_cache(CACHE_BYTES)

    def encode_cached(self, text: str, cache: Any) -> Ids:
        return self.encode(text)

    def encode_segments_cached(self, segments: Sequence[Segment], cache: Any) -> Ids:
        return self.encode_uncut(segments)

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_flat(texts)

    def flat(self, batch: Any) -> Ids:
        return np.frombuffer(batch[0], dtype=np.uint32)

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]

    def decode_input(self, ids: Ids) -> Any:
        return ids.tolist()

    def decode(self, ids: Any) -> str:
        text: str = self.tokenizer.decode(ids)
        return text


class Snaptokens(Fastokens, Saver):
    """A fork of fastokens, with the same methods."""

    package = "snaptokens"
    saved_as = "tokenizer.tkz"
    encode_uncut = Library.encode_uncut

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        ids, offsets = self.tokenizer.encode_batch_flat(texts)  # 40% less than with `.ids`
        numbers: list[int] = np.frombuffer(ids, dtype=np.uint32).tolist()
        borders: list[int] = np.frombuffer(offsets, dtype=np.uint64).tolist()
        return [numbers[begin:end] for begin, end in pairwise(borders)]

    @classmethod
    def save(cls, model: Path, path: Path) -> None:
        import snaptokens

        copy = path.with_suffix(".json")
        shutil.copyfile(model, copy)
        snaptokens.Tokenizer.from_file(str(copy), tkz_cache=True)  # writes beside the copy


class Gigatoken(Library):
    """`encode` keeps to one thread; a batch of one text may use two from 2 MB on, and takes longer.

    It refuses the tokenizer.json of Kimi, but takes the file that Kimi is published with.
    """

    package = "gigatoken"

    def __init__(self, model: Path) -> None:
        import gigatoken

        try:
            self.tokenizer = gigatoken.Tokenizer(str(model))
        except RuntimeError:
            self._ranks = model.with_name("tiktoken.model")
            if not self._ranks.exists():
                raise
            added = json.loads(model.read_bytes())["added_tokens"]
            special = {token["content"]: token["id"] for token in added}
            self.tokenizer = gigatoken.Tokenizer.from_tiktoken(self._ranks, "kimi", special)

    @cached_property
    def _ordinary(self) -> Any:
        """The same without added tokens."""
        import gigatoken

        return gigatoken.Tokenizer.from_tiktoken(self._ranks, "kimi", {})

    def encode(self, text: str) -> Ids:
        ids: Ids = self.tokenizer.encode(text)
        return ids

    def encode_uncut(self, segments: Sequence[Segment]) -> Ids:
        encode = (self._ordinary.encode, self.tokenizer.encode)
        return np.concatenate([encode[trusted](text) for text, trusted in segments])

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts)

    def flat(self, batch: Any) -> Ids:
        flatten = importlib.import_module("awkward").flatten
        return np.asarray(flatten(batch), dtype=np.uint32)

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        ids: list[list[int]] = self.tokenizer.encode_batch_list(texts)
        return ids

    def decode(self, ids: Any) -> str:
        data: bytes = self.tokenizer.decode(ids)
        return data.decode("utf-8", "replace")


class Basetenkenizer(Library):
    """It spreads texts over threads of its own, whose number nothing but the affinity limits."""

    package = "basetenkenizer"

    def __init__(self, model: Path) -> None:
        import basetenkenizer

        self.tokenizer = basetenkenizer.Tokenizer.from_file(str(model))

    @classmethod
    def patch_transformers(cls) -> None:
        importlib.import_module(cls.package).patch_transformers()

    def encode(self, text: str) -> Ids:
        ids: Ids = self.tokenizer.encode(text).into_numpy()["ids"]
        return ids

    def encode_segments(self, segments: Sequence[Segment]) -> Ids:
        ids: Ids = self.tokenizer.encode_segments(segments, tiktoken_safe=True).into_numpy()["ids"]
        return ids

    def encode_uncut(self, segments: Sequence[Segment]) -> Ids:
        ids: Ids = self.tokenizer.encode_segments(segments, tiktoken_safe=False).into_numpy()["ids"]
        return ids

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def encode_batch(self, texts: list[str]) -> Any:
        return [encoding.into_numpy()["ids"] for encoding in self.tokenizer.encode_batch(texts)]

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]

    def decode_input(self, ids: Ids) -> Any:
        return ids.tolist()

    def decode(self, ids: Any) -> str:
        text: str = self.tokenizer.decode(ids)
        return text


def _parts(pre_tokenizer: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    return parts


def _byte_characters() -> list[str]:
    """The characters that stand for the 256 bytes in byte-level vocabularies, by byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]
