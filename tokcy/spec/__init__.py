"""What a model file says, and whether this package can do it itself."""

from .config import ConfigFile, ConfigFiles, DeclaredConfig, TokenizerConfig
from .config_reader import read_config
from .config_tokens import misnumbered, tokens_to_add, with_token_ids, with_tokens_added
from .model import AddedToken, Padding, TokenizerSpec, Truncation
from .normalizing import normalizer_of
from .plan import (
    NativePlan,
    PostProcessor,
    Unsupported,
    largest_added_id,
    may_meet_unknown,
    plan_native,
)
from .plan_decode import DecoderPlan
from .plan_text import TextPlan
from .tokenizer_json import read_tokenizer_json

__all__ = [
    "AddedToken",
    "ConfigFile",
    "ConfigFiles",
    "DeclaredConfig",
    "DecoderPlan",
    "NativePlan",
    "Padding",
    "PostProcessor",
    "TextPlan",
    "TokenizerConfig",
    "TokenizerSpec",
    "Truncation",
    "Unsupported",
    "largest_added_id",
    "may_meet_unknown",
    "misnumbered",
    "normalizer_of",
    "plan_native",
    "read_config",
    "read_tokenizer_json",
    "tokens_to_add",
    "with_token_ids",
    "with_tokens_added",
]
