"""Which files say more of a model than its ``tokenizer.json``, and what is in them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tokcy.errors import ModelNotFoundError
from tokcy.spec.config import (
    ADDED_TOKENS_FILE,
    CHAT_TEMPLATE_FILE,
    CHAT_TEMPLATE_FOLDER,
    CONFIG_FILE,
    SPECIAL_TOKENS_FILE,
    ConfigFile,
    ConfigFiles,
)

__all__ = ["CONFIG_PATTERNS", "ConfigArgument", "find_config"]

StrPath = str | os.PathLike[str]

ConfigArgument: TypeAlias = bool | StrPath | Mapping[str, Any]
"""``config=`` of a tokenizer's constructors; see `find_config`."""

_FILES = (CONFIG_FILE, SPECIAL_TOKENS_FILE, ADDED_TOKENS_FILE, CHAT_TEMPLATE_FILE)

CONFIG_PATTERNS = (*_FILES, f"{CHAT_TEMPLATE_FOLDER}/*.jinja")
"""What to download of a repository for `find_config`."""


def find_config(config: ConfigArgument, model: StrPath | None = None) -> ConfigFiles:
    """The files that go with a model file.

    Args:
        config: ``True`` for those in the folder of the model file, ``False`` for none, another
            folder, a file for ``tokenizer_config.json`` alone, or the content of such a file.
        model: the model file, if it is one.

    Raises:
        ModelNotFoundError: there is no file or folder of that name.
        TypeError: ``config`` is nothing of that.
    """
    if isinstance(config, bool):
        return _read_folder(Path(model).parent) if config and model is not None else {}
    if isinstance(config, Mapping):
        return {CONFIG_FILE: ConfigFile("config", json.dumps(dict(config)).encode())}
    if not isinstance(config, str | os.PathLike):
        kind = type(config).__name__
        raise TypeError(f"config must be a bool, a path or a mapping, not {kind}")
    path = Path(config)
    if path.is_dir():
        return _read_folder(path)
    if not path.is_file():
        raise ModelNotFoundError(f"there is no file or folder {os.fspath(config)!r} for config")
    return {CONFIG_FILE: _read(path)}


def _read_folder(folder: Path) -> ConfigFiles:
    found = {name: _read(folder / name) for name in _FILES if (folder / name).is_file()}
    for path in sorted((folder / CHAT_TEMPLATE_FOLDER).glob("*.jinja")):
        found[f"{CHAT_TEMPLATE_FOLDER}/{path.name}"] = _read(path)
    return found


def _read(path: Path) -> ConfigFile:
    return ConfigFile(str(path), path.read_bytes())
