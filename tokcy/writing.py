"""Files that appear, or are replaced, only once they are whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["whole_file"]


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write; whoever opens ``path`` finds the old content or all of the new one.

    Raises:
        OSError: it cannot be written; of ``path``, whatever the name it has meanwhile.
    """
    unfinished = f"{os.fspath(path)}.{secrets.token_hex(4)}.part"
    try:
        with open(unfinished, "xb") as file:
            yield file
        os.replace(unfinished, path)
    except OSError as error:
        if error.filename != unfinished:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(unfinished)
