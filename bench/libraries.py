"""The libraries by name, and what keeps them to one thread."""

from __future__ import annotations

import importlib
import importlib.metadata

from bench.library import Library, Tokcy, TokcyOnTokenizers
from bench.peers import (
    Basetenkenizer,
    Fastokens,
    Gigatoken,
    Snaptokens,
    Tiktoken,
    Tokenizers,
    TokenizersRC,
)

#: Environment variables that keep the libraries to one thread, except basetenkenizer, which heeds
#: none; its CPU time is the sum over its threads.
ONE_THREAD = {
    "FASTOKENS_BPE_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKCY_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

#: In the order of the table. The first is the one whose ids the others must give.
LIBRARIES: dict[str, type[Library]] = {
    "tokenizers": Tokenizers,
    "tokcy": Tokcy,
    "tokcy, on tokenizers": TokcyOnTokenizers,
    "tiktoken": Tiktoken,
    "fastokens": Fastokens,
    "snaptokens": Snaptokens,
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
    if library == "gigatoken":
        importlib.import_module("awkward")  # it does so with its first batch
