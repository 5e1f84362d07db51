"""Rank files, as tiktoken writes them: a line for each token, its bytes in base64 and its rank."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

import numpy as np

from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError

__all__ = ["Ranks", "make_vocabulary", "read_ranks"]

MAX_TOKEN_BYTES = 4096  # all cuts of a token are looked at; the longest in the known files has 512
MAX_RANK = 2**28

_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/= \t\r\n]")
_TOKEN = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ordinary tokens of a model.

    Attributes:
        tokens: their bytes, distinct, in order of rank.
        ids: rising. A rank file's ranks are its ids, and may leave out some numbers.
    """

    tokens: Sequence[bytes]
    ids: Sequence[int]

    def sha256(self) -> str:
        """Of the file that tiktoken would write, whatever the one that was read looks like."""
        lines = (
            b"%s %d\n" % (base64.b64encode(token), rank)
            for token, rank in zip(self.tokens, self.ids, strict=True)
        )
        return hashlib.sha256(b"".join(lines)).hexdigest()


def read_ranks(data: bytes, source: str) -> Ranks:
    """Read a rank file.

    Raises:
        ModelFileError: a line that is not ``BASE64 RANK``, a token or a rank that stands twice, no
            line at all; says which line.
    """
    pairs = [line.split() for line in data.splitlines() if line]
    try:
        tokens = [binascii.a2b_base64(token) for token, _ in pairs]
        ranks = [int(rank) for _, rank in pairs]
    except ValueError:
        _find_fault(data, source)
    # What these functions are lenient about.
    n_characters = sum(len(token) for token, _ in pairs)
    n_bytes = sum(map(len, tokens))
    is_sound = (
        _NO_BASE64.search(data) is None
        and 4 * (n_bytes + data.count(b"=")) == 3 * n_characters
        and all(rank.isdigit() for _, rank in pairs)
        and len(set(tokens)) == len(set(ranks)) == len(pairs) > 0
        and max(ranks) < MAX_RANK
        and min(map(len, tokens)) > 0
        and max(map(len, tokens)) <= MAX_TOKEN_BYTES
    )
    if not is_sound:
        _find_fault(data, source)
    if any(rank > after for rank, after in pairwise(ranks)):
        order = sorted(range(len(ranks)), key=ranks.__getitem__)
        tokens = [tokens[i] for i in order]
        ranks = [ranks[i] for i in order]
    return Ranks(tokens, ranks)


def _find_fault(data: bytes, source: str) -> NoReturn:
    """Raise the error that says which line is at fault and why."""
    tokens: dict[bytes, int] = {}
    ranks: dict[int, int] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if not line:
            continue
        reason = _fault_of_line(line, tokens, ranks, number)
        if reason is not None:
            shown = repr(line[:60])[1:] + ("..." if len(line) > 60 else "")
            raise ModelFileError(f"{reason}: {shown}", source=source, field=f"line {number}")
    raise ModelFileError("the file has no ranks", source=source)


def _fault_of_line(
    line: bytes, tokens: dict[bytes, int], ranks: dict[int, int], number: int
) -> str | None:
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
    if token in tokens:
        return f"the token stands already in line {tokens[token]}"
    if rank in ranks:
        return f"the rank stands already in line {ranks[rank]}"
    tokens[token] = ranks[rank] = number
    return None


def make_vocabulary(ranks: Ranks, source: str) -> Vocabulary:
    """The vocabulary of these tokens, and all their merges.

    Raises:
        ModelFileError: a byte is no token by itself, or ids are far beyond the number of tokens.
    """
    lengths = np.fromiter(map(len, ranks.tokens), dtype=np.uint32, count=len(ranks.tokens))
    offsets = np.concatenate((np.zeros(1, np.uint32), np.cumsum(lengths, dtype=np.uint32)))
    tables = {
        "arena": b"".join(ranks.tokens),
        "offsets": offsets.view(np.uint8),
        "is_bytes": np.ones(len(ranks.tokens), np.uint8),
        "ids": np.array(ranks.ids, dtype=np.uint32).view(np.uint8),
    }
    try:
        vocabulary = Vocabulary.from_ranks(tables)
    except ValueError:
        raise ModelFileError(
            f"rank {max(ranks.ids)} among {len(ranks.ids)} tokens is too far off", source=source
        ) from None
    if not vocabulary.has_all_bytes():
        known = set(ranks.tokens)
        missing = next(byte for byte in range(256) if bytes([byte]) not in known)
        raise ModelFileError(
            f"the byte 0x{missing:02X} is no token, so not every text can be encoded", source=source
        )
    return vocabulary
