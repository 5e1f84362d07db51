"""The store of a prefix cache: what it finds, its bound and counts, threads and forks."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from random import Random

import numpy as np
import pytest
from growing import growing_texts
from prometheus_client import CollectorRegistry, generate_latest
from test_prefix_exact import E, make, model_with, token

import tokcy
from tokcy._prefix import PrefixStore, PrefixView
from tokcy.prefix_cache import fingerprint
from tokcy.prefix_metrics import PrefixCacheCollector

MODEL = model_with([E, token("<f>"), token("<g>", rstrip=True)])
TOK = make(MODEL)
ENGINE = TOK._backend.engine  # type: ignore[attr-defined]
PARTS = ["<e>", "<f>", "<g> ", "hello the end", "a b c", "e\u0301", "\n", " ", "word" * 20]


def conversation(choose: Random, n_turns: int) -> list[str]:
    """The prompts of a conversation, each the beginning of the next."""
    turns = ["".join(choose.choices(PARTS, k=30)) + "<e>" for _ in range(n_turns)]
    return ["".join(turns[: i + 1]) for i in range(n_turns)]


def ids_of(text: str) -> list[int]:
    ids: list[int] = TOK.encode(text).tolist()
    return ids


# ------------------------------------------------------------------------------------ what is kept


def test_a_conversation_is_encoded_once() -> None:
    cache = tokcy.PrefixCache()
    prompts = conversation(Random(1), 30)
    for prompt in prompts:
        assert TOK.encode(prompt, prefix_cache=cache).tolist() == ids_of(prompt)
    assert (cache.hits, cache.misses) == (29, 1)
    n_ids = len(ids_of(prompts[-1]))
    assert n_ids <= cache.uncached_tokens <= n_ids + 30 * 120  # less than a turn each time
    assert cache.cached_tokens + cache.uncached_tokens == sum(len(ids_of(p)) for p in prompts)


def test_memory_grows_with_the_text_and_not_with_its_turns() -> None:
    """Text, ids and cuts are kept once each, in pieces of some kilobytes."""
    choose = Random(2)
    prompts = conversation(choose, 200)
    cache = tokcy.PrefixCache()
    for prompt in prompts:
        TOK.encode(prompt, prefix_cache=cache)
    size = len(prompts[-1].encode()) + 4 * len(ids_of(prompts[-1]))
    assert cache.bytes < 1.5 * size
    assert cache.entries < 20


def test_branches_share_their_beginning() -> None:
    start = conversation(Random(3), 40)[-1]
    cache = tokcy.PrefixCache()
    TOK.encode(start, prefix_cache=cache)
    alone = cache.bytes
    for i in range(100):
        text = f"{start}{i} is<e> the number"
        assert TOK.encode(text, prefix_cache=cache).tolist() == ids_of(text)
    assert cache.bytes < alone + 100 * 1000
    assert cache.hits == 100


def test_the_whole_text_again_is_known_without_any_added_token() -> None:
    cache = tokcy.PrefixCache()
    for _ in range(2):
        TOK.encode("no token here", prefix_cache=cache)
    assert cache.uncached_tokens == cache.cached_tokens == len(ids_of("no token here"))


def test_nothing_of_an_empty_text() -> None:
    cache = tokcy.PrefixCache()
    for _ in range(2):
        assert TOK.encode("", prefix_cache=cache).tolist() == []
        assert ENGINE.encode_segments([], True, True, False, known=cache._view(TOK)).tolist() == []
        nothing = ENGINE.encode_segments([("", True)], True, True, False, known=cache._view(TOK))
        assert nothing.size == 0
    assert cache.entries == 0


def test_long_texts_and_threads_of_ours() -> None:
    """Long enough for several threads, and for memory that the array takes over."""
    choose = Random(4)
    text = "".join(choose.choices(PARTS, k=120_000))
    cache = tokcy.PrefixCache()
    for end in (700_000, 1_000_000, 1_900_000, len(text)):
        for n in (1, 2, 5):
            found = TOK.encode(text[:end], prefix_cache=cache, num_threads=n)
            assert np.array_equal(found, TOK.encode(text[:end]))
            assert found.flags.writeable


def test_a_result_is_the_callers_own() -> None:
    cache = tokcy.PrefixCache()
    for _ in range(3):
        found = TOK.encode("hello<e>the end<f>", prefix_cache=cache)
        assert found.tolist() == ids_of("hello<e>the end<f>")
        found[:] = 0


# ----------------------------------------------------------------------------------- who shares it


def test_tokenizers_do_not_mix_and_the_same_files_share() -> None:
    other = make(model_with([E, token("<f>"), token("<h>")]))
    cache = tokcy.PrefixCache()
    text = "hello<e>the<h> end<e>"
    for tok in (TOK, other, make(MODEL, "huggingface")):
        assert tok.encode(text, prefix_cache=cache).tolist() == tok.encode(text).tolist()
    assert cache.hits == 0
    assert make(MODEL).encode(text, prefix_cache=cache).tolist() == ids_of(text)
    assert cache.hits == 1
    assert fingerprint(TOK) == fingerprint(make(MODEL)) != fingerprint(other)


def test_configuration_is_part_of_a_tokenizer() -> None:
    assert fingerprint(tokcy.Tokenizer.from_json(TOK._data)) == fingerprint(TOK)
    config = {"added_tokens_decoder": {}, "unk_token": "the"}
    with_config = tokcy.Tokenizer.from_json(TOK._data, config=config)
    assert fingerprint(with_config) != fingerprint(TOK)


def test_trust_and_segments_do_not_mix() -> None:
    view = PrefixView(PrefixStore(1 << 20, apart=0), b"k" * 16)
    text = "the<e>end<f>the"
    for added in (True, False, True):
        assert (
            ENGINE.encode(text, True, added, None, view).tolist()
            == ENGINE.encode(text, True, added).tolist()
        )
    for joined in (True, False, True):
        for cut in range(len(text) + 1):
            for flags in ((True, True), (True, False), (False, True), (False, False)):
                segments = [(text[:cut], flags[0]), (text[cut:], flags[1])]
                assert (
                    ENGINE.encode_segments(segments, True, joined, False, known=view).tolist()
                    == ENGINE.encode_segments(segments, True, joined, False).tolist()
                )


def test_segments_go_on_from_the_end_of_one() -> None:
    view = PrefixView(PrefixStore(1 << 20), b"k" * 16)
    segments = [("hello the end", False), ("plain", True), ("more of it", False)]
    for n in (1, 2, 3):
        ENGINE.encode_segments(segments[:n], True, False, False, known=view)
    ids = [ENGINE.encode_segments(segments[:n], True, False, False).size for n in (1, 2, 3)]
    assert (view.hits, view.misses) == (2, 1)
    assert (view.cached_tokens, view.uncached_tokens) == (ids[0] + ids[1], ids[2])


# ----------------------------------------------------------------------------------------- bounds


@pytest.mark.parametrize("max_bytes", [0, 1, 200, 2000, 5000, 20_000])
def test_bound(max_bytes: int) -> None:
    choose = Random(max_bytes)
    cache = tokcy.PrefixCache(max_bytes)
    for text in growing_texts(choose, PARTS, 500):
        assert TOK.encode(text, prefix_cache=cache).tolist() == ids_of(text)
        assert cache.bytes <= max_bytes
    assert (cache.entries > 0) == (max_bytes >= 2000)
    assert (cache.evictions > 0) == (max_bytes >= 2000)


def test_what_is_used_stays() -> None:
    cache = tokcy.PrefixCache(40_000)
    kept = "the words to keep " * 50 + "<e>"
    for i in range(300):
        TOK.encode(f"{kept}{i % 7}", prefix_cache=cache)
        TOK.encode(f"{i} others " * 40 + "<e>", prefix_cache=cache)
    assert cache.evictions > 100
    assert cache.hits >= 299


def test_a_text_beyond_the_bound_drives_nothing_out() -> None:
    cache = tokcy.PrefixCache(20_000)
    TOK.encode("hello the end<e>" * 10, prefix_cache=cache)
    before = cache.info()
    TOK.encode("<f>" + "a b c<e>" * 10_000, prefix_cache=cache)
    after = cache.info()
    assert (after["bytes"], after["evictions"]) == (before["bytes"], 0)


def test_clear() -> None:
    cache = tokcy.PrefixCache()
    TOK.encode("hello<e>", prefix_cache=cache)
    cache.clear()
    assert (cache.bytes, cache.entries, cache.misses) == (0, 0, 1)
    assert TOK.encode("hello<e>", prefix_cache=cache).tolist() == ids_of("hello<e>")


@pytest.mark.parametrize("bad", [-1, 2**63, 2**70])
def test_bad_bound(bad: int) -> None:
    with pytest.raises(ValueError, match="max_bytes must be"):
        tokcy.PrefixCache(bad)


def test_bad_types() -> None:
    for bad in ("1", 1.5, None, True):
        with pytest.raises(TypeError):
            tokcy.PrefixCache(bad)  # type: ignore[arg-type]
    with pytest.raises(tokcy.EncodeTypeError):
        TOK.encode(b"no", prefix_cache=tokcy.PrefixCache())  # type: ignore[arg-type]
    with pytest.raises(tokcy.EncodeTypeError, match="surrogate"):
        TOK.encode("a\ud800" * 3000, prefix_cache=tokcy.PrefixCache())


def test_is_of_its_process() -> None:
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="PrefixCache"):
            act(tokcy.PrefixCache())


# --------------------------------------------------------------------------- threads and processes


@pytest.mark.parametrize("max_bytes", [5000, 60_000, 1 << 24])
def test_sixteen_threads(max_bytes: int) -> None:
    cache = tokcy.PrefixCache(max_bytes)
    wrong: list[str] = []
    start = threading.Barrier(16)

    def work(seed: int) -> None:
        choose = Random(seed % 4)  # so that several are at the same conversation
        start.wait()
        prompts = conversation(choose, 40)
        for prompt in prompts:
            text = prompt if seed % 2 else prompt[: Random(seed).randrange(len(prompt))]
            if TOK.encode(text, prefix_cache=cache).tolist() != ids_of(text):
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.bytes <= max_bytes
    assert cache.hits + cache.misses == 16 * 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork_while_others_use_it() -> None:
    cache = tokcy.PrefixCache(100_000)
    prompts = conversation(Random(5), 30)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            for prompt in prompts:
                TOK.encode(prompt, prefix_cache=cache)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                right = all(
                    TOK.encode(p, prefix_cache=cache, num_threads=1).tolist()
                    == TOK.encode(p, num_threads=1).tolist()
                    for p in prompts
                )
                os._exit(0 if right else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


# ----------------------------------------------------------------------------------------- counts


def test_counts_for_prometheus() -> None:
    cache = tokcy.PrefixCache()
    for text in ("hello<e>", "hello<e>the", "other<f>"):
        TOK.encode(text, prefix_cache=cache)
    registry = CollectorRegistry()
    registry.register(PrefixCacheCollector(cache, {"<string>": "tiny"}))
    lines = [line.rsplit(" ", 1) for line in generate_latest(registry).decode().splitlines()]
    shown = {name: float(value) for name, value in lines if not name.startswith("#")}
    for name, value in cache.info().items():
        is_total = name in ("hits", "misses", "evictions", "cached_tokens", "uncached_tokens")
        label = '{model="tiny"}' if name.endswith("_tokens") else ""
        total = "_total" if is_total else ""
        assert shown[f"tokcy_tokenizer_cache_{name}{total}{label}"] == value


def test_counts_by_source_and_repr() -> None:
    cache = tokcy.PrefixCache(1000)
    assert repr(cache) == "<PrefixCache: 0 of 1,000 bytes, 0 hits, 0 misses>"
    assert cache.info_by_source() == {}
    TOK.encode("hello", prefix_cache=cache)
    counted = {"hits": 0, "misses": 1, "cached_tokens": 0, "uncached_tokens": len(ids_of("hello"))}
    assert cache.info_by_source() == {"<string>": counted}
    assert cache.max_bytes == 1000
