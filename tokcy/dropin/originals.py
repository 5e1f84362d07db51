"""Hugging Face's own methods, for whoever must not get a replaced one."""

from __future__ import annotations

from typing import Any

import tokenizers
from tokenizers import processors

__all__ = ["Originals", "original"]

_METHODS = (
    *("encode", "encode_batch", "encode_batch_fast", "decode", "decode_batch", "post_process"),
    *("enable_truncation", "no_truncation", "enable_padding", "no_padding"),
)
_ASYNC_METHODS = (  # since 0.22
    *("async_encode", "async_encode_batch", "async_encode_batch_fast", "async_decode_batch"),
)


class Originals:
    """The attributes of ``tokenizers.Tokenizer`` and its kin as they were before the patch."""

    encode: Any
    encode_batch: Any
    encode_batch_fast: Any
    decode: Any
    decode_batch: Any
    post_process: Any
    async_encode: Any
    async_encode_batch: Any
    async_encode_batch_fast: Any
    async_decode_batch: Any
    enable_truncation: Any
    no_truncation: Any
    enable_padding: Any
    no_padding: Any
    truncation: Any
    padding: Any
    encode_special_tokens: Any
    set_encode_special_tokens: Any
    merge: Any
    process: Any

    def __init__(self) -> None:
        self.take()

    def take(self) -> None:
        """Remember those of now, which must be Hugging Face's."""
        own = vars(tokenizers.Tokenizer)
        for name in (*_METHODS, *_ASYNC_METHODS):
            setattr(self, name, own.get(name))
        self.truncation = own["truncation"].__get__
        self.padding = own["padding"].__get__
        self.encode_special_tokens = own["encode_special_tokens"].__get__
        self.set_encode_special_tokens = own["encode_special_tokens"].__set__
        self.merge = tokenizers.Encoding.merge
        self.process = vars(processors.PostProcessor)["process"]


original = Originals()
