"""What a model file says, and whether this package can do it itself."""

from .config import ConfigFile, ConfigFiles, DeclaredConfig, TokenizerConfig, read_config
from .config_tokens import misnumbered, tokens_to_add, with_token_ids, with_tokens_added
from .model import AddedToken, Padding, TokenizerSpec, Truncation
from .plan import NativePlan, PostProcessor, Unsupported, plan_native
from .tokenizer_json import read_tokenizer_json

__all__ = [
    "AddedToken",
    "ConfigFile",
    "ConfigFiles",
    "DeclaredConfig",
    "NativePlan",
    "Padding",
    "PostProcessor",
    "TokenizerConfig",
    "TokenizerSpec",
    "Truncation",
    "Unsupported",
    "misnumbered",
    "plan_native",
    "read_config",
    "read_tokenizer_json",
    "tokens_to_add",
    "with_token_ids",
    "with_tokens_added",
]
