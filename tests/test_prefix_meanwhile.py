"""A prefix cache that changes between the look-up of a text and its storing.

Other threads do that. Here it is done where the text is encoded piece by piece, so that it happens
each time.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from growing import growing_texts
from numpy.typing import NDArray
from test_prefix_cache import PARTS
from test_prefix_exact import E, make, model_with, token

from tokcy._prefix import PrefixStore, PrefixView
from tokcy._prepare import Preparer
from tokcy._resume import encode_in_pieces

Ids = NDArray[np.uint32]

KEY = b"k" * 16
# Of texts that differ the ids may be the same.
TOK = make(
    model_with([E, token("<f>"), token("<g>", rstrip=True)], normalizer={"type": "Lowercase"})
)
ENGINE = TOK._backend.engine  # type: ignore[attr-defined]
FINDER = Preparer(TOK.added_tokens)


def ids_of(text: str) -> list[int]:
    ids: list[int] = TOK.encode(text).tolist()
    return ids


def encode(view: PrefixView, text: str, meanwhile: Callable[[], object] = lambda: None) -> Ids:
    """The ids of a text; between its look-up and its storing something else happens."""

    def encode_all(pieces: list[tuple[str, bool]]) -> list[Ids]:
        meanwhile()
        return [ENGINE.encode(piece, False, True) for piece, _ in pieces]

    return encode_in_pieces(view, FINDER, [(text, True)], encode_all)


def test_a_text_that_goes_on_and_then_one_that_ends_there() -> None:
    """Where both have a cut, that of the one that ends there is not the other's."""
    view = PrefixView(PrefixStore(1 << 20, apart=0), KEY)
    start = "hello<e>the end<e>"
    longer = start + "a b c" * 9

    def meanwhile() -> None:
        view.store.clear()
        encode(view, start)

    encode(view, longer + "hello")
    assert encode(view, longer + "<f>the", meanwhile).tolist() == ids_of(longer + "<f>the")
    for end in ("", "the end", "<f>", "<f>the", "<f>the end"):
        text = longer + end
        assert ENGINE.encode(text, False, True, None, view).tolist() == ids_of(text)


@pytest.mark.parametrize("seed", range(12))
def test_texts_within_texts(seed: int) -> None:
    """While one is encoded others come and go, and while these are, still others."""
    choose = Random(seed)
    stores = [
        PrefixStore(size, apart=choose.choice([0, 30]), views=choose.random() < 0.7, wide_from=0)
        for size in (1500, 4000, 9000)
    ]
    texts = list(growing_texts(choose, [*PARTS, "HELLO the end", "A B c", "WORD" * 20], 60))
    expected = {text: ids_of(text) for text in texts}
    given = []

    def some(view: PrefixView, depth: int) -> None:
        for _ in range(choose.randrange(4)):
            text = choose.choice(texts)
            if choose.random() < 0.05:
                view.store.clear()
            if choose.random() < 0.3:
                found = ENGINE.encode(text, False, True, None, view)
            elif depth:
                found = encode(view, text, lambda: some(view, depth - 1))
            else:
                found = encode(view, text)
            assert found.tolist() == expected[text]
            assert view.store.bytes <= view.store.max_bytes
            given.append((found, expected[text]))

    for store in stores:
        view = PrefixView(store, KEY)
        for _ in range(300):
            some(view, 2)
        assert view.hits > 20
        assert store.evictions > 20
        store.clear()
        assert (store.bytes, store.entries) == (0, 0)
    assert all(found.tolist() == ids for found, ids in given)
