"""Texts whose pieces all fall on one line of the merge cache."""

from __future__ import annotations

import json
import time

import numpy as np
import synthetic
from numpy.typing import NDArray

from tokcy import Tokenizer

# As in tokcy/_lines.h: the line of a key is given by the high bits of a sum of products.
HEAD_FACTOR = np.uint64(0x9E3779B97F4A7C15)
TAIL_FACTOR = np.uint64(0xC2B2AE3D27D4EB4F)
LINE_BITS = 19  # of the largest cache


def random_words(n: int, first: bytes, last: int, seed: int) -> NDArray[np.uint8]:
    """n rows of eight bytes: letters, but for what they begin or end with."""
    rows = np.random.default_rng(seed).integers(ord("a"), ord("z") + 1, (n, 8), dtype=np.uint8)
    if first:
        rows[:, 0] = first[0]
    if last:
        rows[:, 7] = last
    return rows


def words_of_one_line(n_heads: int = 40_000, n_tails: int = 250_000) -> list[bytes]:
    """Pieces of fifteen bytes, a space and letters, some 19,000 of one line."""
    heads, tails = random_words(n_heads, b" ", 0, 0), random_words(n_tails, b"", 15, 1)
    sums = np.sort(tails.view("<u8").ravel() * TAIL_FACTOR)
    tails = tails[np.argsort(tails.view("<u8").ravel() * TAIL_FACTOR)]
    wanted = np.uint64(1 << 63) - heads.view("<u8").ravel() * HEAD_FACTOR
    behind = wanted + np.uint64((1 << (64 - LINE_BITS)) - 1)
    begin, end = np.searchsorted(sums, wanted), np.searchsorted(sums, behind, "right")
    return [
        heads[i].tobytes() + tails[j].tobytes()[:7]
        for i in range(n_heads)
        for j in range(begin[i], end[i])
    ]


def test_words_of_one_line() -> None:
    model = synthetic.trained_model()
    words = words_of_one_line()
    crafted = b"".join(words).decode()
    keys = np.frombuffer(b"".join(w + b"\x0f" for w in words), "<u8").reshape(-1, 2)
    lines = (keys[:, 0] * HEAD_FACTOR + keys[:, 1] * TAIL_FACTOR) >> np.uint64(64 - LINE_BITS)
    assert len(keys) > 15_000
    assert len(set(lines.tolist())) == 1
    n = len(crafted) // 15
    heads, tails = random_words(n, b" ", 0, 2), random_words(n, b"", 15, 3)
    plain = np.hstack([heads, tails[:, :7]]).tobytes().decode()
    oracle = synthetic.load(model)
    times: dict[str, list[float]] = {}
    for text in (plain, crafted):
        tok = Tokenizer.from_json(json.dumps(model))
        size = tok.cache_info()["bytes"]
        times[text] = []
        for _ in range(5):
            begin = time.process_time()
            ids = tok.encode(text)
            times[text].append(time.process_time() - begin)
            assert ids.tolist() == oracle.encode(text).ids
        assert tok.cache_info()["bytes"] == size
    # What has no room in the cache is merged anew each time, which is what an unseen text takes.
    assert min(times[crafted]) < 5 * times[plain][0]


def tokens_of_one_hash(n: int) -> list[str]:
    """Tokens of fifteen bytes with one hash, so of one line however many lines there are."""
    inverse = pow(int(HEAD_FACTOR), -1, 1 << 64)
    tokens = []
    for i in range(1, n + 1):
        tail = i | 15 << 56
        head = (0x123456789ABCDEF0 - tail * int(TAIL_FACTOR)) * inverse % (1 << 64)
        key = head.to_bytes(8, "little") + tail.to_bytes(8, "little")
        tokens.append("".join(synthetic.BYTES[byte] for byte in key[:15]))
    return tokens


def test_a_vocabulary_of_one_line() -> None:
    """Its tokens have no room in any cache, and are found out by merging."""
    model = synthetic.model_from_merges([("a", "b")], extra_tokens=tokens_of_one_hash(100))
    tok, oracle = Tokenizer.from_json(json.dumps(model)), synthetic.load(model)
    assert tok.cache_info()["bytes"] < 200_000_000
    assert tok.encode("abba").tolist() == oracle.encode("abba").ids
