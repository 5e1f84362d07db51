"""What a model file says, and whether this package can do it itself."""

from .model import AddedToken, Padding, TokenizerSpec, Truncation
from .plan import NativePlan, PostProcessor, Unsupported, plan_native
from .tokenizer_json import read_tokenizer_json

__all__ = [
    "AddedToken",
    "NativePlan",
    "Padding",
    "PostProcessor",
    "TokenizerSpec",
    "Truncation",
    "Unsupported",
    "plan_native",
    "read_tokenizer_json",
]
