"""A prefix cache that gives views of its memory: read-only, and what was given never changes."""

from __future__ import annotations

import gc
import itertools
import threading
from random import Random
from typing import Any

import numpy as np
import pytest
from test_prefix_cache import MODEL, PARTS, TOK, conversation, ids_of
from test_prefix_exact import TEMPLATE, E, make, model_with, token

import tokcy
from tokcy._prefix import PrefixStore, PrefixView

Given = list[tuple[Any, list[int]]]


def encode(text: str, cache: tokcy.PrefixCache, given: Given) -> Any:
    """The ids, which are right, and are noted to be looked at again."""
    found, expected = TOK.encode(text, prefix_cache=cache), ids_of(text)
    assert found.tolist() == expected
    given.append((found, expected))
    return found


def unchanged(given: Given) -> bool:
    return all(found.tolist() == expected for found, expected in given)


def test_the_turns_of_a_conversation_share_their_ids() -> None:
    cache, given = tokcy.PrefixCache(read_only=True), Given()
    prompts = conversation(Random(1), 60)
    found = [encode(prompt, cache, given) for prompt in prompts]
    shared = sum(np.shares_memory(a, b) for a, b in itertools.pairwise(found))
    assert shared > 40  # all but where the room was used up
    assert unchanged(given)
    size = 4 * len(found[-1])
    assert cache.bytes < len(prompts[-1].encode()) + 2 * size


@pytest.mark.parametrize("backend", ["tokcy", "huggingface"])
def test_nobody_can_write(backend: str) -> None:
    tok = make(MODEL, backend)
    cache = tokcy.PrefixCache(read_only=True)
    assert cache.read_only
    for text in ("hello<e>the end<f>", "hello<e>the end<f>", "hello<e>the", "", "no token"):
        found = tok.encode(text, prefix_cache=cache)
        assert found.tolist() == ids_of(text)
        assert found.dtype == np.uint32
        assert found.ndim == 1
        with pytest.raises(ValueError, match="read-only"):
            found[:] = 0
        if len(found) and found.base is not None:
            with pytest.raises(ValueError, match="WRITEABLE"):
                found.flags.writeable = True


@pytest.mark.parametrize("backend", ["tokcy", "huggingface"])
def test_usually_everybody_can(backend: str) -> None:
    tok = make(MODEL, backend)
    cache = tokcy.PrefixCache()
    assert not cache.read_only
    for text in ("hello<e>the end<f>", "hello<e>the end<f>", "hello<e>the"):
        found = tok.encode(text, prefix_cache=cache)
        assert found.tolist() == ids_of(text)
        found[:] = 0


def test_branches_do_not_disturb_each_other() -> None:
    """Who goes on first takes the room behind the last ids; the others do not get it."""
    choose = Random(2)
    cache, given = tokcy.PrefixCache(read_only=True), Given()
    prompts = [""]
    for _ in range(300):
        start = choose.choice(prompts[-6:])
        text = start + "".join(choose.choices(PARTS, k=choose.randrange(40)))
        encode(text, cache, given)
        prompts.append(text)
    assert unchanged(given)


def test_branches_take_no_more_than_what_is_their_own() -> None:
    start = conversation(Random(3), 100)[-1]
    cache, given = tokcy.PrefixCache(read_only=True), Given()
    encode(start, cache, given)
    alone = cache.bytes
    for i in range(100):
        encode(f"{start}{i} is<e> the number", cache, given)
    assert cache.bytes < alone + 100 * 1000
    assert unchanged(given)


def test_a_long_branch_gets_all_its_ids_together() -> None:
    cache, given = tokcy.PrefixCache(read_only=True), Given()
    for name in ("one", "other"):
        prompts = [f"the system<e>{name}<e>{prompt}" for prompt in conversation(Random(4), 30)]
        found = [encode(prompt, cache, given) for prompt in prompts]
        assert np.shares_memory(found[-1], found[-2])
    assert unchanged(given)


def test_what_was_given_outlives_the_cache() -> None:
    cache, given = tokcy.PrefixCache(20_000, read_only=True), Given()
    for seed in range(20):
        for prompt in conversation(Random(seed), 10):
            encode(prompt, cache, given)
    assert cache.evictions > 10
    cache.clear()
    del cache
    gc.collect()
    assert unchanged(given)


@pytest.mark.parametrize("behind", [False, True])
def test_ids_of_a_post_processor(behind: bool) -> None:
    """One cache gives the ids with them and without."""
    end = {"SpecialToken": {"id": "<e>", "type_id": 0}}
    single = [*TEMPLATE["single"], *[end] * behind]
    template = {**TEMPLATE, "single": single}
    tok = make(model_with([E, token("<f>")], post_processor=template))
    cache, given = tokcy.PrefixCache(read_only=True), Given()
    choose = Random(5)
    for prompt in conversation(choose, 40):
        for special in choose.sample([True, False, True], 3):
            expected = tok.encode(prompt, add_special_tokens=special).tolist()
            found = tok.encode(prompt, add_special_tokens=special, prefix_cache=cache)
            assert found.tolist() == expected
            assert not found.flags.writeable
            given.append((found, expected))
    assert unchanged(given)


def test_segments_and_lists_and_counts() -> None:
    cache = tokcy.PrefixCache(read_only=True)
    segments: list[tuple[str, bool]] = []
    for i in range(30):
        segments += [("<e>", True), (f"{i} the <e> end " * 9, False)]
        expected = TOK.encode_segments(segments)
        found = TOK.encode_segments(segments, prefix_cache=cache)
        assert np.array_equal(found, expected)
        assert not found.flags.writeable
        text = "<e>".join(text for text, _ in segments)
        assert TOK.count(text, prefix_cache=cache) == len(ids_of(text))
        assert TOK.encode_to_list(text, prefix_cache=cache) == ids_of(text)


@pytest.mark.parametrize("max_bytes", [30_000, 1 << 24])
def test_sixteen_threads_go_on_from_the_same_turn(max_bytes: int) -> None:
    cache = tokcy.PrefixCache(max_bytes, read_only=True)
    given: list[Given] = [[] for _ in range(16)]
    start = threading.Barrier(16)

    def work(seed: int) -> None:
        choose = Random(seed)
        text = "the system<e>"
        for turn in Random(0).choices(PARTS, k=60):
            start.wait()
            text += turn * 9
            for more in ("", f"{choose.randrange(4)}<f>" * 20):
                found = TOK.encode(text + more, prefix_cache=cache)
                given[seed].append((found, ids_of(text + more)))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(unchanged, given))
    assert sum(map(len, given)) == 16 * 120
    assert cache.bytes <= max_bytes


@pytest.mark.parametrize("bad", [1, None, "yes"])
def test_bad_read_only(bad: Any) -> None:
    with pytest.raises(TypeError, match="read_only"):
        tokcy.PrefixCache(read_only=bad)


# ------------------------------------------------------------------- strings compared in place

LETTERS = ["aé\x7f", "aé中ࠀ", "aé中🙂", "é", "中", "🙂"]


@pytest.mark.parametrize("letters", LETTERS)
def test_strings_of_every_width(letters: str) -> None:
    """They differ anywhere, also within a character, and short and long ones are mixed."""
    engine = TOK._backend.engine  # type: ignore[attr-defined]
    choose = Random(letters)
    stores = [PrefixStore(1 << 24, apart=0, views=True, wide_from=n) for n in (0, 300, 1 << 40)]
    views = [PrefixView(store, b"k" * 16) for store in stores]
    seen = [""]
    for _ in range(300):
        text = choose.choice(seen[-9:])
        at = choose.randrange(len(text) + 1)
        if choose.random() < 0.3:
            text = text[:at] + choose.choice(letters) + text[at + 1 :]
        size = choose.choice([3, 40, 700])
        text += "".join(choose.choices(letters + "aaaaaaa bcd", k=size))
        text += choose.choice(["<e>", "<e>a", "<", "<e>" + letters[-1]])
        text = text[:3000]
        seen.append(text)
        expected = engine.encode(text, False, True, None).tolist()
        for view in views:
            assert engine.encode(text, False, True, None, view).tolist() == expected
    assert len({view.cached_tokens for view in views}) == 1
    assert views[0].cached_tokens > views[0].uncached_tokens


@pytest.mark.parametrize("at", [0, 4_000, 6_000, 9_999])
def test_a_surrogate_behind_what_is_known(at: int) -> None:
    cache = tokcy.PrefixCache(read_only=True)
    text = "é the<e>中" * 1_250
    TOK.encode(text, prefix_cache=cache)
    broken = text[:at] + "\ud800" + text[at + 1 :]
    with pytest.raises(tokcy.EncodeTypeError, match=rf"surrogate '\\ud800' at index {at},"):
        TOK.encode(broken, prefix_cache=cache)
    assert TOK.encode(text, prefix_cache=cache).tolist() == ids_of(text)
