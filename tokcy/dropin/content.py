"""What a tokenizer of Hugging Face's is, as the files that a `tokcy.Tokenizer` is made of."""

from __future__ import annotations

import tempfile
from typing import Any, NamedTuple

import tokenizers

from tokcy.backend import Backend
from tokcy.config_files import find_config
from tokcy.errors import TokcyError
from tokcy.hf.calls import hugging_face_errors, leave_alone
from tokcy.spec import ConfigFiles
from tokcy.spec.config import ConfigFile

from .patch import is_installed
from .surface import check_surface
from .twins import without_lengths
from .wrapping import backend_of

__all__ = ["Content", "check_made", "content_of"]


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
        files = find_config({"split_special_tokens": True}) if backend.encode_special_tokens else {}
        return Content(text.encode(), name, files)


def _saved(tokenizer: Any, name: str) -> ConfigFiles:
    """The files that `transformers` puts beside the model file."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        found = find_config(folder)
    return {file: ConfigFile(f"{name}/{file}", content.data) for file, content in found.items()}


def check_made(tokenizer: Any, made: Backend) -> None:
    """Make sure that what was made of a tokenizer's files does what the tokenizer does.

    Raises:
        TokcyError: it does not, as its past counts, or that cannot be told.
    """
    from .comparison import difference  # release 1 of tokenizers would not let this be imported
    from .originals import original

    theirs = backend_of(tokenizer)
    copy = leave_alone(tokenizers.Tokenizer.from_str(theirs.to_str()))
    copy.encode_special_tokens = theirs.encode_special_tokens
    reason = difference(
        theirs, made, lambda text, _: original.encode(copy, text, add_special_tokens=False)
    )
    if reason is not None:
        raise TokcyError(f"{type(tokenizer).__name__} cannot be taken over: {reason}")
