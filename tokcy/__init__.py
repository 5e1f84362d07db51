"""Text to token ids and back, exactly as Hugging Face ``tokenizers`` does it.

>>> from tokcy import Tokenizer
>>> tok = Tokenizer.from_pretrained("Qwen/Qwen3-8B")      # doctest: +SKIP
>>> tok.encode("Hello, world")                            # doctest: +SKIP
array([9707,   11, 1879], dtype=uint32)
"""

import logging
from importlib.metadata import version

from tokcy import _runtime  # noqa: F401  # first: it decides how OpenMP is loaded
from tokcy._scratch import scratch_info
from tokcy.batch import TokenBatch
from tokcy.build import build_info
from tokcy.dropin.patch import patch_hf, patched_hf, unpatch_hf
from tokcy.errors import (
    ChatProvenanceError,
    ChatTemplateError,
    EncodeTypeError,
    FallbackError,
    MissingExtraError,
    ModelFileError,
    ModelNotFoundError,
    OutputError,
    PatchError,
    PatternError,
    SettingError,
    TokcyError,
    TokenIdError,
)
from tokcy.prefix_cache import PrefixCache
from tokcy.spec import AddedToken, TokenizerConfig
from tokcy.stream import DecodeStream
from tokcy.threads import get_num_threads, set_num_threads
from tokcy.tokenizer import Tokenizer

__all__ = [
    "AddedToken",
    "ChatProvenanceError",
    "ChatTemplateError",
    "DecodeStream",
    "EncodeTypeError",
    "FallbackError",
    "MissingExtraError",
    "ModelFileError",
    "ModelNotFoundError",
    "OutputError",
    "PatchError",
    "PatternError",
    "PrefixCache",
    "SettingError",
    "TokcyError",
    "TokenBatch",
    "TokenIdError",
    "Tokenizer",
    "TokenizerConfig",
    "__version__",
    "build_info",
    "get_num_threads",
    "patch_hf",
    "patched_hf",
    "scratch_info",
    "set_num_threads",
    "unpatch_hf",
]

__version__ = version("tokcy")

logging.getLogger("tokcy").addHandler(logging.NullHandler())
