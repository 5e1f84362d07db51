"""A file of named arrays behind a JSON header; ``docs/saved-form.md`` describes it.

Nothing in such a file is taken for granted: what `unpack` returns has the checksum, and every
array lies within the file. What the arrays may hold is for the reader to check.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tokcy.errors import ModelFileError

__all__ = ["MAGIC", "VERSION", "Arrays", "checksum", "is_saved", "pack", "unpack"]

Arrays = dict[str, NDArray[Any]]

MAGIC = b"tokcy\x1a\r\n"  # which no text begins with, nor survives being taken for one
VERSION = 5
ALIGNMENT = 64

# Behind the magic, in this order: version, size of the header, size of the file, checksum of all
# that follows (`checksum`). Little-endian on every machine.
_PREFIX = struct.Struct("<IIQI")
_WRONG = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
_BEGIN = len(MAGIC) + _PREFIX.size


def is_saved(data: bytes | memoryview) -> bool:
    """Whether a file that begins so is one of these."""
    return data[: len(MAGIC)] == MAGIC


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes of a file with this header and these arrays, C-contiguous."""
    listed: dict[str, Any] = {}
    offset = 0  # from where the arrays begin
    for name, array in arrays.items():
        listed[name] = {"dtype": array.dtype.name, "shape": array.shape, "offset": offset}
        offset = _aligned(offset + array.nbytes)
    full = {**header, "byte_order": sys.byteorder, "arrays": listed}
    text = json.dumps(full, separators=(",", ":")).encode()
    text += b" " * (_aligned(_BEGIN + len(text)) - _BEGIN - len(text))
    body = bytearray(len(text) + offset)
    body[: len(text)] = text
    for name, array in arrays.items():
        at = len(text) + listed[name]["offset"]
        body[at : at + array.nbytes] = array.tobytes()
    prefix = _PREFIX.pack(VERSION, len(text), _BEGIN + len(body), checksum(body, len(text)))
    return MAGIC + prefix + bytes(body)


def unpack(data: bytes | memoryview, source: str) -> tuple[dict[str, Any], Arrays]:
    """(header, arrays): these read-only, and pointing into ``data``.

    Raises:
        ModelFileError: it is not such a file, is damaged, or not of this version and byte order.
    """

    def refuse(field: str, reason: str) -> ModelFileError:
        return ModelFileError(reason, source=source, field=field)

    if not is_saved(data):
        raise refuse("magic", "not a saved tokenizer")
    if len(data) < _BEGIN:
        raise refuse("size", f"the file breaks off after {len(data)} bytes")
    version, header_size, size, sealed = _PREFIX.unpack_from(data, len(MAGIC))
    if version != VERSION:
        raise refuse("version", f"{version}, and this tokcy reads {VERSION}")
    if size != len(data):
        raise refuse("size", f"the file has {len(data)} bytes and not {size}")
    body = memoryview(data)[_BEGIN:]
    if checksum(body, header_size) != sealed:
        raise refuse("checksum", "the file is damaged")
    try:
        header = json.loads(bytes(body[:header_size]))
        listed = header["arrays"]
        byte_order = header["byte_order"]
        if byte_order != sys.byteorder:
            raise refuse("byte_order", f"{byte_order!r}, and this machine is {sys.byteorder}")
        content = body[header_size:]
        arrays = {name: _array(content, **place) for name, place in listed.items()}
    except _WRONG as error:
        if isinstance(error, ModelFileError):
            raise
        raise refuse("header", f"{type(error).__name__}: {error}") from error
    return header, arrays


def checksum(body: bytes | bytearray | memoryview, header_size: int) -> int:
    """The CRC-32 of the header and of the sums of rows and columns of what follows, and its rest.

    Rows of 512 numbers of 64 bits. A CRC of all of it would take 4 of the 30 ms that loading takes.
    """
    view = memoryview(body)
    begin = min(header_size, len(view))
    n_rows = (len(view) - begin) // (512 * 8)
    rows: NDArray[np.uint64] = np.ndarray((n_rows, 512), "<u8", view, begin)
    crc = zlib.crc32(view[:begin])
    for sums in (rows.sum(axis=0), rows.sum(axis=1)):
        crc = zlib.crc32(sums.astype("<u8").tobytes(), crc)
    return zlib.crc32(view[begin + rows.nbytes :], crc)


def _array(content: memoryview, dtype: str, shape: list[int], offset: int) -> NDArray[Any]:
    kind = np.dtype(dtype)
    if kind.kind not in "ui" or offset % ALIGNMENT:
        raise ValueError(f"array of {dtype} at {offset}")
    count = 1
    for length in shape:
        if not 0 <= length <= len(content):
            raise ValueError(f"array of shape {shape}")
        count *= length
    found = np.frombuffer(content, kind, count, offset) if count else np.empty(0, kind)
    return found.reshape(shape)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
