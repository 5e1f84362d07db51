"""What a tokenizer of Hugging Face's is, as the files that a `tokcy.Tokenizer` is made of."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import tokenizers

from tokcy.config_files import find_config
from tokcy.errors import TokcyError
from tokcy.hf import HuggingFaceBackend
from tokcy.hf.calls import hugging_face_errors, leave_alone
from tokcy.native import NativeBackend
from tokcy.spec import ConfigFiles
from tokcy.spec.config import ConfigFile

from .encoding import Encoder
from .patch import is_installed
from .surface import check_surface
from .twins import without_lengths
from .wrapping import backend_of

__all__ = ["Content", "check_made", "content_of"]

# Of a token for padding, `transformers` would make one that is recognised in text.
_SPLITTING = {"split_special_tokens": True, "pad_token": None}


class Content(NamedTuple):
    """A ``tokenizer.json``, a name for it, and the files that stand beside it, by name."""

    data: bytes
    source: str
    files: ConfigFiles


def content_of(tokenizer: Any) -> Content:
    """The files of a tokenizer as it is now.

    Of one of `transformers` they are those that it saves, but for the truncation and padding that
    its last call has left behind.

    Raises:
        PatchError: this release of `tokenizers` has other methods.
        TokcyError: it cannot be saved.
        TypeError: it is no tokenizer of `tokenizers`, nor a fast one of `transformers`.
    """
    backend = backend_of(tokenizer)
    if not is_installed():
        check_surface()
    name = str(getattr(tokenizer, "name_or_path", "") or f"<{type(tokenizer).__name__}>")
    with hugging_face_errors():
        text = backend.to_str()
        if hasattr(tokenizer, "save_pretrained"):
            return Content(without_lengths(text).encode(), name, _saved(tokenizer, name))
        as_text = backend.encode_special_tokens
        return Content(text.encode(), name, find_config(_SPLITTING) if as_text else {})


def _saved(tokenizer: Any, name: str) -> ConfigFiles:
    """The files that `transformers` puts beside the model file."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        found = find_config(folder)
    return {file: ConfigFile(f"{name}/{file}", content.data) for file, content in found.items()}


def check_made(tokenizer: Any, made: Any) -> None:
    """Make sure that what was made of a tokenizer's files encodes as the tokenizer does.

    Where `transformers` makes other tokens of the files that it saves (special ones of those that
    it calls by a name), the tokens that count are those.

    Args:
        tokenizer: what `content_of` was given.
        made: the backend, native or Hugging Face's.

    Raises:
        TokcyError: it does not, as the object's past counts; or that cannot be told.
    """
    from .comparison import encoding_differs, tokens_differ  # not to be had with release 1

    theirs = backend_of(tokenizer)
    reason = tokens_differ(theirs, made) if theirs is tokenizer else None
    reason = reason or encoding_differs(theirs, _encoding_of(made, theirs))
    if reason is not None:
        raise TokcyError(f"{type(tokenizer).__name__} cannot be taken over: {reason}")


def _encoding_of(
    made: NativeBackend | HuggingFaceBackend, theirs: tokenizers.Tokenizer
) -> Callable[[str, Any], Any]:
    """The Encoding of a text under the options that are on the original."""
    from .gate import set_on
    from .originals import original

    if isinstance(made, HuggingFaceBackend):
        private = copy.copy(made).tokenizer
    elif theirs.encode_special_tokens:  # which a call of `transformers` has left behind
        private = leave_alone(tokenizers.Tokenizer.from_str(theirs.to_str()))
    else:
        encoder = Encoder(made, None)
        return lambda text, settings: encoder.encode(text, False, *settings[:2])

    def encode(text: str, settings: Any) -> Any:
        set_on(private, settings)
        return original.encode(private, text, add_special_tokens=False)

    return encode
