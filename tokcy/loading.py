"""Where a model's tokenizer file is: a path, a folder, or a repository of the hub."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tokcy.errors import ModelNotFoundError

__all__ = ["TOKENIZER_FILE", "find_pretrained", "find_rank_file", "read_model_file"]

TOKENIZER_FILE = "tokenizer.json"

RANK_FILES = ("tiktoken.model", "*.tiktoken", "tekken.json", "tokenizer.model")
"""Where there is no `TOKENIZER_FILE`, in this order."""

#: What of these the hub is asked for, which has no patterns; of ``*.tiktoken`` that is Qwen's.
_RANK_FILES_OF_HUB = ("tiktoken.model", "qwen.tiktoken", "tekken.json", "tokenizer.model")

StrPath = str | os.PathLike[str]

#: What the system says of a name that no file has, or can have.
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP)


def read_model_file(path: StrPath) -> bytes:
    """The bytes of a model file.

    Raises:
        ModelNotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    _refuse_empty(path)
    file = Path(path)
    mode = _mode(file)
    if mode is None:
        raise ModelNotFoundError(f"there is no file {_shown(path)}")
    if stat.S_ISDIR(mode):
        raise ModelNotFoundError(
            f"{file} is a folder; from_pretrained reads {TOKENIZER_FILE} in it"
        )
    return file.read_bytes()


def find_pretrained(
    name_or_path: StrPath,
    *,
    revision: str | None,
    token: str | bool | None,
    cache_dir: StrPath | None,
    local_files_only: bool,
) -> Path:
    """The tokenizer file of a folder, or of a hub repository, downloaded if need be.

    Raises:
        ModelNotFoundError: neither leads to one.
    """
    _refuse_empty(name_or_path)
    path = Path(name_or_path)
    mode = _mode(path)
    if mode is not None and stat.S_ISDIR(mode):
        if (path / TOKENIZER_FILE).is_file():
            return path / TOKENIZER_FILE
        return find_rank_file(path)
    if mode is not None:
        return path
    name = os.fspath(name_or_path)
    if _is_no_hub_id(name):
        raise ModelNotFoundError(f"there is no file or folder {name!r}, nor can it be a hub id")
    return _download(name, revision, token, cache_dir, local_files_only)


def find_rank_file(path: StrPath) -> Path:
    """The file itself, or the one in a folder that has a model in tiktoken's formats.

    Raises:
        ModelNotFoundError: there is none, or more than one ``*.tiktoken``.
    """
    _refuse_empty(path)
    folder = Path(path)
    mode = _mode(folder)
    if mode is None or not stat.S_ISDIR(mode):
        return folder
    for name in RANK_FILES:
        found = sorted(folder.glob(name))
        if len(found) > 1:
            names = ", ".join(file.name for file in found)
            raise ModelNotFoundError(f"which of {names} in the folder {folder}?")
        if found:
            return found[0]
    raise ModelNotFoundError(
        f"there is no {TOKENIZER_FILE} in the folder {folder}, nor {', '.join(RANK_FILES)}"
    )


def _refuse_empty(path: StrPath) -> None:
    if os.fspath(path) == "":  # for `Path` that is the current folder
        raise ModelNotFoundError("the name of the model is empty")


def _mode(path: Path) -> int | None:
    """What kind of file it is, as in ``os.stat``, or None if there is none of that name."""
    try:
        return path.stat().st_mode
    except ValueError:  # the name holds a NUL or a lone surrogate
        return None
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise


def _shown(path: StrPath) -> str:
    name = os.fspath(path)
    return name if name.isprintable() else repr(name)


def _is_no_hub_id(name: str) -> bool:
    """Whether it can only be a path; hub ids are ``model`` or ``owner/model``."""
    return os.path.isabs(name) or name.startswith((".", "~")) or "\\" in name or name.count("/") > 1


def _download(
    repo_id: str,
    revision: str | None,
    token: str | bool | None,
    cache_dir: StrPath | None,
    local_files_only: bool,
) -> Path:
    # Half a second to import, and only hub ids need it.
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HFValidationError,
        LocalEntryNotFoundError,
    )

    get: Callable[[str], str] = partial(
        hf_hub_download,
        repo_id,
        revision=revision,
        token=token,
        cache_dir=None if cache_dir is None else Path(cache_dir),
        local_files_only=local_files_only,
    )
    try:
        return Path(get(TOKENIZER_FILE))
    except HFValidationError:
        raise ModelNotFoundError(f"{repo_id!r} is neither a path nor a hub id") from None
    except (
        OSError,
        EntryNotFoundError,
    ) as error:  # of the hub: no such repository, file or revision; no network
        is_answer = local_files_only or not isinstance(error, LocalEntryNotFoundError)
        if isinstance(error, EntryNotFoundError) and is_answer:
            for name in _RANK_FILES_OF_HUB:
                with contextlib.suppress(OSError, EntryNotFoundError):
                    file = get(name)
                    with contextlib.suppress(OSError, EntryNotFoundError):
                        get("tokenizer_config.json")  # beside it: it names the special tokens
                    return Path(file)
        reason = str(error).strip().splitlines()[0]
        raise ModelNotFoundError(
            f"there is no folder {repo_id!r}, and the hub gives no {TOKENIZER_FILE} for that id: "
            f"{reason}"
        ) from error
