"""What is measured of a library: its fastest ways from ``str`` to ids and back.

Special tokens in the text are recognised, and none are added.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from bench.chat import Segment, kimi_pieces

Ids = NDArray[np.uint32]

#: Of a cache of what requests begin with.
CACHE_BYTES = 64 << 20


class UnsuitedModelError(Exception):
    """A library cannot do a model, and why."""


class Library(ABC):
    """One model, loaded by one library; each method is the library's fastest way to its result."""

    #: What `importlib` and `pip` call it.
    package: ClassVar[str]
    #: Takes seconds for a megabyte or so, and is measured on less text.
    slow: ClassVar[bool] = False
    #: Spreads one text over threads, as many as it is told; as this need not pay, it is also
    #: measured with one.
    splits_texts: ClassVar[bool] = False
    #: Is asked by questions that name it, and by no others.
    only_named: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, model: Path) -> None: ...

    @classmethod
    def in_transformers(cls, model: Path) -> Any:
        """The tokenizer of `transformers` for a model, when the library has patched it."""
        cls.patch_transformers()
        transformers = importlib.import_module("transformers")
        return transformers.PreTrainedTokenizerFast.from_pretrained(model.parent)

    @classmethod
    def patch_transformers(cls) -> None:
        raise UnsuitedModelError("has no patch")

    @abstractmethod
    def encode(self, text: str) -> Ids: ...

    def encode_list(self, text: str) -> list[int]:
        ids: list[int] = self.encode(text).tolist()
        return ids

    @abstractmethod
    def encode_batch(self, texts: list[str]) -> Any:
        """Arrays, or what the library has nearest to them."""

    def flat(self, batch: Any) -> Ids:
        """All ids of what `encode_batch` returned, one text after the other."""
        return np.concatenate(batch).astype(np.uint32, copy=False)

    @abstractmethod
    def encode_batch_list(self, texts: list[str]) -> list[list[int]]: ...

    def encode_segments(self, segments: Sequence[Segment]) -> Ids:
        """With Kimi's cuts, which are made in Python where the library does not know of them."""
        return self.encode_uncut(kimi_pieces(segments))

    def encode_uncut(self, segments: Sequence[Segment]) -> Ids:
        """Each segment by itself, and added tokens only where it allows them."""
        raise UnsuitedModelError("has no typed segments")

    def new_prefix_cache(self) -> Any:
        """An empty cache of what requests begin with, for the two methods that follow."""
        raise UnsuitedModelError("has no such cache")

    def encode_cached(self, text: str, cache: Any) -> Ids:
        raise UnsuitedModelError("has no such cache")

    def encode_segments_cached(self, segments: Sequence[Segment], cache: Any) -> Ids:
        raise UnsuitedModelError("has no such cache")

    def decode_input(self, ids: Ids) -> Any:
        """The ids as `decode` takes them fastest."""
        return ids

    @abstractmethod
    def decode(self, ids: Any) -> str: ...

    def cache_bytes(self) -> int | None:
        """Memory of the cache, where the library tells it."""
        return None


class Saver(Library):
    """A library with a saved form of its own, which its class loads as it does a model file."""

    #: File name of the saved form.
    saved_as: ClassVar[str]

    @classmethod
    @abstractmethod
    def save(cls, model: Path, path: Path) -> None:
        """Write the saved form of a model file."""


class Tokcy(Saver):
    package = "tokcy"
    splits_texts = True
    saved_as = "tokenizer.tokcy"

    backend: ClassVar[Literal["tokcy", "huggingface"]] = "tokcy"

    def __init__(self, model: Path) -> None:
        from tokcy import Tokenizer

        self.tokenizer = Tokenizer.from_file(model, backend=self.backend)

    @classmethod
    def save(cls, model: Path, path: Path) -> None:
        cls(model).tokenizer.save(path)

    @classmethod
    def patch_transformers(cls) -> None:
        from tokcy import patch_hf

        patch_hf(strict=True)

    def encode(self, text: str) -> Ids:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def encode_list(self, text: str) -> list[int]:
        return self.tokenizer.encode_to_list(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, add_special_tokens=False)

    def flat(self, batch: Any) -> Ids:
        ids: Ids = batch.values
        return ids

    def encode_batch_list(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer.encode_batch(texts, add_special_tokens=False).to_list()

    def encode_segments(self, segments: Sequence[Segment]) -> Ids:
        return self.tokenizer.encode_segments(segments, chunking="kimi")

    def encode_uncut(self, segments: Sequence[Segment]) -> Ids:
        return self.tokenizer.encode_segments(segments)

    @cached_property
    def _prefix_cache(self) -> Any:
        from tokcy import PrefixCache

        return PrefixCache(max_bytes=CACHE_BYTES, read_only=True)

    def new_prefix_cache(self) -> Any:
        """One that was emptied: what it reads of a model at its first text is read once."""
        self._prefix_cache.clear()
        return self._prefix_cache

    def encode_cached(self, text: str, cache: Any) -> Ids:
        return self.tokenizer.encode(text, add_special_tokens=False, prefix_cache=cache)

    def encode_segments_cached(self, segments: Sequence[Segment], cache: Any) -> Ids:
        return self.tokenizer.encode_segments(segments, prefix_cache=cache)

    def decode(self, ids: Any) -> str:
        return self.tokenizer.decode(ids)

    def cache_bytes(self) -> int | None:
        return self.tokenizer.cache_info()["bytes"]


class TokcyOnTokenizers(Tokcy):
    """tokcy for a model that it leaves to tokenizers, as any model may be."""

    slow = True
    only_named = True
    backend = "huggingface"
