"""Segments with a prefix cache: those that are known are compared where they are, others placed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_prefix_exact import E, make, model_with, token

import tokcy
from tokcy._prefix import PrefixStore, PrefixView
from tokcy._prepare import Preparer
from tokcy._resume import encode_in_pieces

Ids = NDArray[np.uint32]
Segments = list[tuple[str, bool]]

KEY = b"k" * 16
TOK = make(model_with([E, token("<f>", rstrip=True), token("aba"), token("the", single_word=True)]))
ENGINE = TOK._backend.engine  # type: ignore[attr-defined]
FINDER = Preparer(TOK.added_tokens)
#: Of all widths, and empty ones; the last ones are longer than what a cut needs around it.
TEXTS = [
    *["", "<e>", "<f>", " ", "aba", "ba", "the", "hello the end", "é", "中文<e>", "🙂", "ab" * 9],
    *["é the<e>" * 30, "中" * 99, "a🙂" * 50, "the end of it " * 20],
]


def expected_of(segments: Sequence[Any], chunked: bool = False) -> list[int]:
    ids: list[int] = ENGINE.encode_segments(segments, False, False, chunked, None).tolist()
    return ids


def growing_segments(choose: Random, n: int) -> Iterator[Segments]:
    """Mostly one of those before and more, or a variant of it."""
    seen: list[Segments] = [[]]
    for _ in range(n):
        segments = list(choose.choice(seen[-6:]))
        kind = choose.random()
        if kind < 0.2:
            del segments[choose.randrange(len(segments) + 1) :]
        elif kind < 0.4 and segments:
            at = choose.randrange(len(segments))
            text, flag = segments[at]
            segments[at] = choose.choice([(text, not flag), (text + "a", flag), (text[:-1], flag)])
        for _ in range(choose.randrange(9)):
            segments.append((choose.choice(TEXTS), choose.random() < 0.5))
        segments = segments[:80]
        seen.append(segments)
        yield segments


def store(choose: Random, max_bytes: int) -> PrefixStore:
    return PrefixStore(max_bytes, apart=choose.choice([0, 30]), views=choose.random() < 0.5)


@pytest.mark.parametrize("seed", range(8))
def test_compared_or_placed(seed: int) -> None:
    """Pairs that are lists are all placed: the same ids, and as many of them are known."""
    n_hits = 0
    for max_bytes in (1 << 20, 9_000, 1_500):
        views = [PrefixView(store(Random(seed), max_bytes), KEY) for _ in range(2)]
        for segments in growing_segments(Random(seed), 150):
            expected = expected_of(segments)
            lists = [list(pair) for pair in segments]
            for given, view in zip((segments, lists), views, strict=True):
                found = ENGINE.encode_segments(given, False, False, False, None, known=view)
                assert found.tolist() == expected
                assert view.store.bytes <= max_bytes
        one, other = views
        assert (one.hits, one.cached_tokens) == (other.hits, other.cached_tokens)
        assert one.store.entries == other.store.entries
        n_hits += one.hits
    assert n_hits > 100


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [24_999, 25_000, 25_001, 60_000])
def test_those_that_are_cut(size: int, chunked: bool) -> None:
    view = PrefixView(PrefixStore(8 << 20), KEY)
    segments: Segments = []
    turn = [("the end", False), ("a" * size, False), ("é" + " " * size, True), ("<e>", True)]
    for _ in range(6):
        segments += turn
        found = ENGINE.encode_segments(segments, False, False, chunked, None, known=view)
        assert found.tolist() == expected_of(segments, chunked)
    assert view.uncached_tokens < 2 * len(found)


class Text(str):
    """Some libraries have such."""


@pytest.mark.parametrize(
    "odd",
    [
        ("hello", 1),
        ("hello", 0),
        ("hello", np.True_),
        ("hello", ""),
        (Text("hello"), False),
        ["a", 1],
    ],
)
def test_what_is_no_plain_pair(odd: Any) -> None:
    cache = tokcy.PrefixCache()
    before: Segments = [("hello", False), ("<e>", True)] * 20
    for n in range(1, 9):
        segments = [*before, odd, *before[:n], odd]
        expected = TOK.encode_segments(segments)
        assert (
            expected.tolist()
            == TOK.encode_segments([(str(t), bool(f)) for t, f in segments]).tolist()
        )
        for given in (segments, tuple(segments), iter(segments)):
            assert TOK.encode_segments(given, prefix_cache=cache).tolist() == expected.tolist()
    assert cache.hits == 23


@pytest.mark.parametrize("at", [0, 1, 39, 40, 41])
@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (("a\ud800", False), r"segments\[%d\]: .*'\\ud800' at index 1"),
        (("é\ud800", False), r"segments\[%d\]: .*'\\ud800' at index 1"),
        ((5, False), r"segments\[%d\]: text must be str, not int"),
        ("ab", r"segments\[%d\]: must be \(text, allow_special\), not 'ab'"),
        (("a", True, 1), r"segments\[%d\]: must be"),
    ],
)
def test_errors_tell_where(at: int, bad: Any, match: str) -> None:
    cache = tokcy.PrefixCache()
    segments: list[Any] = [("hello", False), ("中<e>", True)] * 21
    expected = TOK.encode_segments(segments, prefix_cache=cache).tolist()
    broken = [*segments[:at], bad, *segments[at + 1 :]]
    with pytest.raises(tokcy.EncodeTypeError, match=match % at):
        TOK.encode_segments(broken, prefix_cache=cache)
    assert TOK.encode_segments(segments, prefix_cache=cache).tolist() == expected
    assert cache.hits == 1


def encode(view: PrefixView, segments: Segments, meanwhile: Callable[[], object]) -> Ids:
    """The ids of segments; between their look-up and their storing something else happens."""

    def encode_all(pieces: Segments) -> list[Ids]:
        meanwhile()
        return [ENGINE.encode(piece, False, trusted) for piece, trusted in pieces]

    return encode_in_pieces(view, FINDER, segments, encode_all)


@pytest.mark.parametrize("seed", range(8))
def test_the_tree_changes_meanwhile(seed: int) -> None:
    """What was known goes, or others branch off within it, before the rest is stored."""
    choose = Random(seed)
    lists = list(growing_segments(choose, 40))
    expected = {id(segments): expected_of(segments) for segments in lists}
    n_hits = 0
    for max_bytes in (1_500, 6_000, 30_000):
        view = PrefixView(store(choose, max_bytes), KEY)

        def others(view: PrefixView = view) -> None:
            if choose.random() < 0.2:
                view.store.clear()
            for _ in range(choose.randrange(3)):
                segments = choose.choice(lists)
                found = encode(view, segments, lambda: None)
                assert found.tolist() == expected[id(segments)]

        for _ in range(200):
            segments = choose.choice(lists)
            assert encode(view, segments, others).tolist() == expected[id(segments)]
            assert view.store.bytes <= max_bytes
        n_hits += view.hits
        view.store.clear()
        assert (view.store.bytes, view.store.entries) == (0, 0)
    assert n_hits > 200


def test_sixteen_threads() -> None:
    """Whoever finds the lock held has its segments placed: the ids are the same."""
    view = PrefixView(PrefixStore(30_000, apart=0), KEY)
    lists = list(growing_segments(Random(5), 60))
    expected = [expected_of(segments) for segments in lists]

    def work(seed: int) -> None:
        choose = Random(seed)
        for _ in range(150):
            i = choose.randrange(len(lists))
            found = ENGINE.encode_segments(lists[i], False, False, False, None, known=view)
            assert found.tolist() == expected[i]

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert view.hits > 1_000


@pytest.mark.parametrize("views", [False, True])
def test_another_beginning_comes_meanwhile(views: bool) -> None:
    """What was not placed cannot be compared again, and the rest would agree with the other."""
    view = PrefixView(PrefixStore(1 << 20, apart=0, views=views), KEY)
    ends = [("z and the other" + " end" * 9 + str(i), False) for i in range(3)]

    def meanwhile() -> None:
        view.store.clear()
        encode(view, [("z", False), ("z", False), ends[0]], lambda: None)

    encode(view, [("q", False), ("z", False), ends[1]], lambda: None)
    encode(view, [("q", False), ("z", False), ends[2]], meanwhile)
    for first in "qz":
        for end in ends:
            segments = [(first, False), ("z", False), end]
            assert encode(view, segments, lambda: None).tolist() == expected_of(segments)
