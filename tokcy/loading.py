"""Where a model's tokenizer file is: a path, a folder, or a repository of the hub."""

from __future__ import annotations

import os
from pathlib import Path

from tokcy.errors import ModelNotFoundError

__all__ = ["TOKENIZER_FILE", "find_pretrained", "read_model_file"]

TOKENIZER_FILE = "tokenizer.json"

StrPath = str | os.PathLike[str]


def read_model_file(path: StrPath) -> bytes:
    """The bytes of a model file.

    Raises:
        ModelNotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    file = Path(path)
    if file.is_dir():
        raise ModelNotFoundError(
            f"{file} is a folder; from_pretrained reads {TOKENIZER_FILE} in it"
        )
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise ModelNotFoundError(f"there is no file {file}") from None


def find_pretrained(
    name_or_path: StrPath,
    *,
    revision: str | None,
    token: str | bool | None,
    cache_dir: StrPath | None,
    local_files_only: bool,
) -> Path:
    """The ``tokenizer.json`` of a folder, or of a hub repository, downloaded if need be.

    Raises:
        ModelNotFoundError: neither leads to one.
    """
    path = Path(name_or_path)
    if path.is_dir():
        if (path / TOKENIZER_FILE).is_file():
            return path / TOKENIZER_FILE
        raise ModelNotFoundError(f"there is no {TOKENIZER_FILE} in the folder {path}")
    if path.is_file():
        return path
    return _download(str(name_or_path), revision, token, cache_dir, local_files_only)


def _download(
    repo_id: str,
    revision: str | None,
    token: str | bool | None,
    cache_dir: StrPath | None,
    local_files_only: bool,
) -> Path:
    # Half a second to import, and only hub ids need it.
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HFValidationError

    try:
        file = hf_hub_download(
            repo_id,
            TOKENIZER_FILE,
            revision=revision,
            token=token,
            cache_dir=None if cache_dir is None else Path(cache_dir),
            local_files_only=local_files_only,
        )
    except HFValidationError:
        raise ModelNotFoundError(f"{repo_id!r} is neither a path nor a hub id") from None
    except (
        OSError,
        EntryNotFoundError,
    ) as error:  # of the hub: no such repository, file or revision; no network
        reason = str(error).strip().splitlines()[0]
        raise ModelNotFoundError(
            f"there is no folder {repo_id!r}, and the hub gives no {TOKENIZER_FILE} for that id: "
            f"{reason}"
        ) from error
    return Path(file)
