"""Rank files, as tiktoken writes them: a line for each token, its bytes in base64 and its rank."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError

__all__ = ["MAX_RANK", "MAX_TOKEN_BYTES", "Ranks", "make_vocabulary", "read_ranks"]

MAX_TOKEN_BYTES = 4096  # all cuts of a token are looked at; the longest in the known files has 512
MAX_RANK = 2**28
MAX_MERGES = 2**21 - 257  # that the engine has numbers for; o200k has 446,189

_TOKEN = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")

# Of each byte: what it stands for in base64.
_PADDING, _WRONG = 64, 255
_BASE64 = np.full(256, _WRONG, np.uint8)
_BASE64[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")] = range(65)


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ordinary tokens of a model, in order of rank.

    Attributes:
        arena: their bytes, one after another.
        lengths: uint32 [n], how many bytes each has.
        ids: uint32 [n], rising. A rank file's ranks are its ids, and may leave out some numbers.
    """

    arena: bytes
    lengths: NDArray[np.uint32]
    ids: NDArray[np.uint32]

    @staticmethod
    def of(tokens: Sequence[bytes], ids: Sequence[int]) -> Ranks:
        """Of distinct ids, in any order."""
        order = sorted(range(len(ids)), key=ids.__getitem__)
        tokens = [tokens[i] for i in order]
        lengths = np.fromiter(map(len, tokens), dtype=np.uint32, count=len(tokens))
        return Ranks(b"".join(tokens), lengths, np.array(ids, dtype=np.uint32)[order])

    def tokens(self) -> list[bytes]:
        ends = np.cumsum(self.lengths).tolist()
        return [self.arena[begin:end] for begin, end in pairwise([0, *ends])]

    def sha256(self) -> str:
        """Of the file that tiktoken would write, whatever the one that was read looks like."""
        lines = (
            b"%s %d\n" % (base64.b64encode(token), rank)
            for token, rank in zip(self.tokens(), self.ids.tolist(), strict=True)
        )
        return hashlib.sha256(b"".join(lines)).hexdigest()


def read_ranks(data: bytes, source: str) -> Ranks:
    """Read a rank file. That tokens are distinct is seen in `make_vocabulary`.

    Raises:
        ModelFileError: a line that is not ``BASE64 RANK``, a rank that stands twice, no line at
            all; says which line.
    """
    return _read_arrays(data) or _read_lines(data, source)


def _read_arrays(data: bytes) -> Ranks | None:
    """Read a file that is just as tiktoken writes it, or None: in a quarter of the time."""
    text = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(text <= 0x20)  # of tokens and ranks, by turns
    if len(ends) == 0 or len(ends) % 2 or ends[-1] != len(text) - 1:
        return None
    if (text[ends[0::2]] != 0x20).any() or (text[ends[1::2]] != 0x0A).any():
        return None
    sizes = np.diff(ends, prepend=-1) - 1
    ranks = _read_numbers(text, ends[1::2], sizes[1::2])
    if ranks is None or (ranks[1:] <= ranks[:-1]).any():
        return None
    inside = np.repeat(np.arange(len(ends)) % 2 == 0, sizes + 1)
    inside[ends] = False
    decoded = _decode(_BASE64[text[inside]], sizes[0::2])
    return None if decoded is None else Ranks(*decoded, ranks)


def _read_numbers(
    text: NDArray[np.uint8], ends: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.uint32] | None:
    """The decimal numbers of so many digits that end there, or None."""
    if sizes.min() < 1 or sizes.max() > 9:
        return None
    numbers = np.zeros(len(ends), dtype=np.uint32)
    for place in range(sizes.max()):
        there = sizes > place
        digits = text[ends[there] - 1 - place] - np.uint8(0x30)
        if (digits > 9).any():
            return None
        numbers[there] += digits.astype(np.uint32) * np.uint32(10**place)
    return None if numbers.max() >= MAX_RANK else numbers


def _decode(
    digits: NDArray[np.uint8], sizes: NDArray[np.intp]
) -> tuple[bytes, NDArray[np.uint32]] | None:
    """The bytes of tokens of so many digits of base64, and the length of each; or None."""
    if sizes.min() == 0 or (sizes % 4).any() or sizes.max() > MAX_TOKEN_BYTES:
        return None
    quads = digits.reshape(-1, 4)
    is_padding = quads == _PADDING
    last = np.cumsum(sizes // 4) - 1  # quad of each token: only that may be padded
    n_padding = is_padding[last].sum(axis=1)
    is_wrong = (
        (quads == _WRONG).any()
        or is_padding[:, :2].any()
        or (is_padding[:, 2] & ~is_padding[:, 3]).any()
        or is_padding.sum() != n_padding.sum()
    )
    if is_wrong:
        return None
    plain = np.where(is_padding, 0, quads).astype(np.uint8)
    triples = (plain[:, :3] << np.array([2, 4, 6], np.uint8)) | (
        plain[:, 1:] >> np.array([4, 2, 0], np.uint8)
    )
    kept = np.ones_like(triples, dtype=np.bool_)
    kept[:, 1:] = ~is_padding[:, 2:]
    return triples[kept].tobytes(), (sizes // 4 * 3 - n_padding).astype(np.uint32)


def _read_lines(data: bytes, source: str) -> Ranks:
    """The same of whatever tiktoken itself would read."""
    tokens: dict[bytes, int] = {}
    lines: dict[int, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        reason = _read_line(line, number, tokens, lines)
        if reason is not None:
            shown = repr(line[:60])[1:] + ("..." if len(line) > 60 else "")
            raise ModelFileError(f"{reason}: {shown}", source=source, field=f"line {number}")
    if not tokens:
        raise ModelFileError("the file has no ranks", source=source)
    return Ranks.of([*tokens], [*tokens.values()])


def _read_line(
    line: bytes, number: int, tokens: dict[bytes, int], lines: dict[int, int]
) -> str | None:
    """Add a token, with its rank, and a rank, with the number of its line; or what is wrong."""
    fields = line.split()
    if len(fields) != 2:
        return "not a token in base64 and its rank"
    if _TOKEN.fullmatch(fields[0]) is None:
        return "the token is no base64"
    if not fields[1].isdigit() or len(fields[1]) > 9 or int(fields[1]) >= MAX_RANK:
        return f"the rank is no whole number from 0 to {MAX_RANK - 1}"
    token, rank = binascii.a2b_base64(fields[0]), int(fields[1])
    if not 0 < len(token) <= MAX_TOKEN_BYTES:
        return f"a token of {len(token)} bytes"
    if rank in lines:
        return f"the rank stands already in line {lines[rank]}"
    if token in tokens:
        return f"the token stands already in line {lines[tokens[token]]}"
    tokens[token] = rank
    lines[rank] = number
    return None


def make_vocabulary(ranks: Ranks, source: str) -> Vocabulary:
    """The vocabulary of these tokens, and all their merges.

    Raises:
        ModelFileError: a token has two ranks, a byte is no token by itself, ids are far beyond the
            number of tokens, or there are too many merges.
    """
    offsets = np.zeros(len(ranks.lengths) + 1, dtype=np.uint32)
    np.cumsum(ranks.lengths, out=offsets[1:])
    tables = {
        "arena": ranks.arena,
        "offsets": offsets.view(np.uint8),
        "kinds": np.ones(len(ranks.ids), np.uint8),
        "ids": ranks.ids.view(np.uint8),
    }
    try:
        vocabulary = Vocabulary.from_ranks(tables)
    except ValueError:
        raise _fault_of(ranks, source) from None
    if not vocabulary.has_all_bytes():
        known = set(ranks.tokens())
        missing = next(byte for byte in range(256) if bytes([byte]) not in known)
        raise ModelFileError(
            f"the byte 0x{missing:02X} is no token, so not every text can be encoded", source=source
        )
    if vocabulary.n_merges > MAX_MERGES:
        raise ModelFileError(
            f"its tokens can be cut in two others in {vocabulary.n_merges} ways, and at most "
            f"{MAX_MERGES} are supported",
            source=source,
        )
    return vocabulary


def _fault_of(ranks: Ranks, source: str) -> ModelFileError:
    ids: dict[bytes, int] = {}
    for token, number in zip(ranks.tokens(), ranks.ids.tolist(), strict=True):
        if token in ids:
            reason = f"the token {token!r} has two ids, {ids[token]} and {number}"
            return ModelFileError(reason, source=source)
        ids[token] = number
    reason = f"id {number} among {len(ids)} tokens is too far off"
    return ModelFileError(reason, source=source)
