"""Where a model's tokenizer file is: a path, a folder, or a repository of the hub."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokcy._pages import read_pages
from tokcy.arrayfile import MAGIC, is_saved
from tokcy.errors import ModelNotFoundError

__all__ = ["TOKENIZER_FILE", "find_pretrained", "find_rank_file", "read_model_file"]

TOKENIZER_FILE = "tokenizer.json"

RANK_FILES = ("tiktoken.model", "*.tiktoken", "tekken.json", "tokenizer.model")
"""Where there is no `TOKENIZER_FILE`, in this order."""

StrPath = str | os.PathLike[str]

#: What the system says of a name that no file has, or can have.
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP)


def read_model_file(path: StrPath) -> bytes | memoryview:
    """The content of a model file; read-only memory in large pages, if it is tokcy's saved form.

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
    if stat.S_ISREG(mode):  # what is read of a pipe cannot be read again
        with file.open("rb", buffering=0) as opened:
            if is_saved(opened.read(len(MAGIC))):
                opened.seek(0)
                return read_pages(opened, os.fstat(opened.fileno()).st_size)
    return file.read_bytes()


def find_pretrained(
    name_or_path: StrPath,
    *,
    revision: str | None,
    token: str | bool | None,
    cache_dir: StrPath | None,
    local_files_only: bool,
    beside: Sequence[str] = (),
) -> Path:
    """The tokenizer file of a folder, or of a hub repository, downloaded if need be.

    Args:
        name_or_path: a file, a folder or a hub id.
        revision, token, cache_dir, local_files_only: for ``huggingface_hub``.
        beside: patterns of files to download along with it, where the repository has them.

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
    patterns = [TOKENIZER_FILE, *beside]
    return _download(name, patterns, revision, token, cache_dir, local_files_only)


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
    names = ", ".join(RANK_FILES)
    if (folder / TOKENIZER_FILE).is_file():
        raise ModelNotFoundError(
            f"the folder {folder} has none of {names}, but a {TOKENIZER_FILE}, which "
            "from_pretrained reads"
        )
    raise ModelNotFoundError(f"there is no {TOKENIZER_FILE} in the folder {folder}, nor {names}")


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
    patterns: Sequence[str],
    revision: str | None,
    token: str | bool | None,
    cache_dir: StrPath | None,
    local_files_only: bool,
) -> Path:
    # Half a second to import, and only hub ids need it.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    from tqdm import tqdm

    class NoBar(tqdm):  # type: ignore[misc]  # it would show even if nothing is downloaded
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "disable": True})

    def fetch(names: Sequence[str]) -> Path:
        folder = snapshot_download(
            repo_id,
            allow_patterns=list(names),
            revision=revision,
            token=token,
            cache_dir=None if cache_dir is None else Path(cache_dir),
            local_files_only=local_files_only,
            tqdm_class=NoBar,
        )
        return Path(folder)

    absent = f"there is no folder {repo_id!r}, and the hub gives no {TOKENIZER_FILE} for that id"
    try:
        folder = fetch(patterns)
        if (folder / TOKENIZER_FILE).is_file():
            return folder / TOKENIZER_FILE
        return find_rank_file(fetch([*patterns, *RANK_FILES]))
    except HFValidationError:
        raise ModelNotFoundError(f"{repo_id!r} is neither a path nor a hub id") from None
    except ModelNotFoundError:
        raise ModelNotFoundError(f"{absent}, nor {', '.join(RANK_FILES)}") from None
    except (OSError, HfHubHTTPError) as error:  # no such repository or revision; no network
        reason = str(error).strip().splitlines()[0]
        raise ModelNotFoundError(f"{absent}: {reason}") from error
