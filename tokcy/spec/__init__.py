"""What a model file says, and whether this package can do it itself."""

from .model import AddedToken, Padding, TokenizerSpec, Truncation
from .normalizing import normalizer_of
from .plan import NativePlan, PostProcessor, Unsupported, plan_native
from .plan_decode import DecoderPlan
from .plan_text import TextPlan
from .tokenizer_json import read_tokenizer_json

__all__ = [
    "AddedToken",
    "DecoderPlan",
    "NativePlan",
    "Padding",
    "PostProcessor",
    "TextPlan",
    "TokenizerSpec",
    "Truncation",
    "Unsupported",
    "normalizer_of",
    "plan_native",
    "read_tokenizer_json",
]
