"""A prefix cache that is full: who has to go, and what may not be in the way of others."""

from __future__ import annotations

from random import Random

import pytest
from growing import growing_texts
from test_prefix_cache import MODEL, PARTS, TOK, ids_of
from test_prefix_exact import TEMPLATE, make

import tokcy

MAX_BYTES = 200_000
CALLS = {"copies": False, "views": True}


def words(choose: Random, size: int) -> str:
    """Text of some bytes with an added token for each 50 of them."""
    return "".join("".join(choose.choices("abcdefgh ", k=47)) + "<e>" for _ in range(size // 50))


def known(text: str, cache: tokcy.PrefixCache) -> int:
    """How many ids of a text were known; all are right."""
    before = cache.cached_tokens
    assert TOK.encode(text, prefix_cache=cache).tolist() == ids_of(text)
    assert cache.bytes <= cache.max_bytes
    return cache.cached_tokens - before


@pytest.mark.parametrize("read_only", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("second", [100, 5_000, 20_000, 35_000])
@pytest.mark.parametrize("first", [15_000, 25_000, 35_000])
def test_one_long_text_does_not_keep_the_others_out(
    first: int, second: int, read_only: bool
) -> None:
    choose = Random(first + second)
    cache = tokcy.PrefixCache(MAX_BYTES, read_only=read_only)
    long = words(choose, first)
    known(long, cache)
    assert known(long, cache) == len(ids_of(long))
    for _ in range(5):
        text = words(choose, second)
        known(text, cache)
        assert known(text, cache) == len(ids_of(text))


def test_a_text_that_is_longer_than_the_cache_makes_nobody_go() -> None:
    choose = Random(1)
    cache = tokcy.PrefixCache(MAX_BYTES)
    kept = words(choose, 30_000)
    known(kept, cache)
    known(words(choose, 60_000), cache)
    assert known(kept, cache) == len(ids_of(kept))
    assert cache.evictions == 0


def test_what_a_text_goes_on_from_stays() -> None:
    """Even where the text does not fit beside it."""
    choose = Random(2)
    cache = tokcy.PrefixCache(MAX_BYTES)
    start = words(choose, 25_000)
    known(start, cache)
    longer = start + words(choose, 25_000)
    for _ in range(3):
        assert known(longer, cache) >= len(ids_of(start)) - 200
    assert known(start, cache) == len(ids_of(start))


@pytest.mark.parametrize("read_only", CALLS.values(), ids=CALLS)
def test_what_is_left_of_a_long_text_takes_no_more_than_a_short_one(read_only: bool) -> None:
    """Its beginning is used on, and was cut off in many steps; the rest has gone."""

    def others_kept(start: str, longer: list[str]) -> int:
        choose = Random(3)
        cache = tokcy.PrefixCache(1_700_000, read_only=read_only)
        for text in longer:
            known(text, cache)
        others = [words(choose, 4_000) for _ in range(150)]
        for text in others:
            known(start, cache)
            known(text, cache)
        assert cache.evictions > 0
        n = 0
        while known(others[-1 - n], cache):
            n += 1
        return n

    choose = Random(4)
    long = words(choose, 200_000)
    longer = [long]
    for size in (106_000, 58_000, 34_000, 22_000):
        longer.append(long[:size] + words(choose, 500))
    start = long[:22_000]
    assert abs(others_kept(start, longer) - others_kept(start, [start])) < 10


@pytest.mark.parametrize("read_only", CALLS.values(), ids=CALLS)
def test_a_conversation_may_take_nearly_all_memory(read_only: bool) -> None:
    """What it took before goes for what it takes now."""
    choose = Random(7)
    cache = tokcy.PrefixCache(MAX_BYTES, read_only=read_only)
    text = ""
    while len(text) + 4 * len(ids_of(text)) < 0.85 * MAX_BYTES:
        text += words(choose, 1_000)
        known(text, cache)
        assert known(text, cache) == len(ids_of(text))


def test_ids_of_a_shared_beginning_are_kept_once() -> None:
    choose = Random(6)
    cache = tokcy.PrefixCache()
    start = words(choose, 20_000)
    most = len(start) + 4 * len(ids_of(start))
    for _ in range(10):
        text = start
        for _ in range(5):
            text += words(choose, 5_000)
            known(text, cache)
        # There may be room for half as many ids as there are.
        most += len(text) - len(start) + 6 * (len(ids_of(text)) - len(ids_of(start)))
    assert cache.bytes < 1.05 * most


def test_ids_of_a_post_processor_are_counted() -> None:
    special = {"<e>": {"id": "<e>", "ids": [600] * 200, "tokens": ["<e>"] * 200}}
    tok = make({**MODEL, "post_processor": {**TEMPLATE, "special_tokens": special}})
    choose = Random(5)
    for _ in range(30):
        cache = tokcy.PrefixCache(choose.choice([4_000, 9_000]), read_only=choose.random() < 0.5)
        for text in growing_texts(choose, PARTS, 60):
            expected = tok.encode(text).tolist()
            assert tok.encode(text, prefix_cache=cache).tolist() == expected
            assert cache.bytes <= cache.max_bytes
        assert cache.evictions > 0
