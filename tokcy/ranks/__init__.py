"""Models in tiktoken's formats: tokens with ranks, which are all that merging goes by.

``rankfile`` and ``tekken`` read the two kinds of files, ``known`` has what public rank files do
not say themselves, ``load`` puts these together, and ``plan`` makes of them what the engine is
built from.
"""

from .known import ENCODINGS
from .load import load_encoding, load_if_rank_model, load_rank_model
from .plan import TiktokenBackend

__all__ = [
    "ENCODINGS",
    "TiktokenBackend",
    "load_encoding",
    "load_if_rank_model",
    "load_rank_model",
]
