"""The libraries that are compared, each by its fastest way from ``str`` to an array of ids.

Special tokens in the text are recognised, and none are added. A library is imported only when
it is asked for, since each runs in a process of its own, some in another environment.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint32]

#: Environment variables that keep the libraries to one thread.
ONE_THREAD = {
    "FASTOKENS_BPE_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKCY_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class Library(Protocol):
    """One model, loaded by one library."""

    package: ClassVar[str]

    def __init__(self, model: Path) -> None: ...

    def encode(self, text: str) -> Ids: ...

    def encode_batch(self, texts: list[str]) -> object: ...


class Tokcy(Library):
    package = "tokcy"

    def __init__(self, model: Path) -> None:
        from tokcy import Tokenizer

        self.tokenizer = Tokenizer.from_file(model)
        if self.tokenizer.fallback_reason:
            raise NotImplementedError(self.tokenizer.fallback_reason)

    def encode(self, text: str) -> Ids:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def encode_batch(self, texts: list[str]) -> object:
        return self.tokenizer.encode_batch(texts, add_special_tokens=False)


class Tokenizers(Library):
    package = "tokenizers"

    def __init__(self, model: Path) -> None:
        import tokenizers

        self.tokenizer = tokenizers.Tokenizer.from_file(str(model))

    def encode(self, text: str) -> Ids:
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        return np.array(ids, dtype=np.uint32)

    def encode_batch(self, texts: list[str]) -> object:
        encodings = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]


class TokenizersRC(Library):
    """The rewrite of tokenizers; it cannot be installed beside the release."""

    package = "tokenizers"

    def __init__(self, model: Path) -> None:
        import tokenizers

        self.tokenizer: Any = tokenizers.Tokenizer.from_file(str(model))

    def encode(self, text: str) -> Ids:
        ids: Ids = self.tokenizer.encode(text, add_special_tokens=False).ids_array
        return ids

    def encode_batch(self, texts: list[str]) -> object:
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        return [encoding.ids_array for encoding in encodings]


class Tiktoken(Library):
    package = "tiktoken"

    def __init__(self, model: Path) -> None:
        import tiktoken

        content = json.loads(model.read_text(encoding="utf-8"))
        splits = [
            part["pattern"]["Regex"]
            for part in _parts(content["pre_tokenizer"])
            if part["type"] == "Split"
        ]
        if content["model"]["type"] != "BPE" or len(splits) != 1:
            raise NotImplementedError("not a BPE model with one split pattern")
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

    def encode_batch(self, texts: list[str]) -> object:
        return self.encoding.encode_batch(texts, allowed_special="all")


class Fastokens(Library):
    package = "fastokens"

    def __init__(self, model: Path) -> None:
        import fastokens

        self.tokenizer = fastokens.Tokenizer.from_file(str(model))

    def encode(self, text: str) -> Ids:
        return np.frombuffer(self.tokenizer.encode_batch_flat([text])[0], dtype=np.uint32)

    def encode_batch(self, texts: list[str]) -> object:
        return self.tokenizer.encode_batch_flat(texts)


class Gigatoken(Library):
    package = "gigatoken"

    def __init__(self, model: Path) -> None:
        import gigatoken

        self.tokenizer = gigatoken.Tokenizer(str(model))

    def encode(self, text: str) -> Ids:
        ids: Ids = self.tokenizer.encode(text)
        return ids

    def encode_batch(self, texts: list[str]) -> object:
        return self.tokenizer.encode_batch(texts)


class Basetenkenizer(Library):
    package = "basetenkenizer"

    def __init__(self, model: Path) -> None:
        import basetenkenizer

        self.tokenizer = basetenkenizer.Tokenizer.from_file(str(model))

    def encode(self, text: str) -> Ids:
        ids: Ids = self.tokenizer.encode(text).into_numpy()["ids"]
        return ids

    def encode_batch(self, texts: list[str]) -> object:
        return [encoding.into_numpy()["ids"] for encoding in self.tokenizer.encode_batch(texts)]


#: In the order of the table. The first is the one whose ids the others must give.
LIBRARIES: dict[str, type[Library]] = {
    "tokenizers": Tokenizers,
    "tokcy": Tokcy,
    "tiktoken": Tiktoken,
    "fastokens": Fastokens,
    "gigatoken": Gigatoken,
    "basetenkenizer": Basetenkenizer,
    "tokenizers-rc": TokenizersRC,
}


def version(library: str) -> str:
    """The version of a library that is installed in this environment."""
    return importlib.metadata.version(LIBRARIES[library].package)


def preload(library: str) -> None:
    """Import the library, so that importing is no part of what is measured."""
    importlib.import_module(LIBRARIES[library].package)


def _parts(pre_tokenizer: dict[str, Any]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = pre_tokenizer.get("pretokenizers", [pre_tokenizer])
    return parts


def _byte_characters() -> list[str]:
    """The characters that stand for the 256 bytes in byte-level vocabularies, by byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]
