"""The ids of beginnings that many texts share, kept for the next text: `PrefixCache`."""

from __future__ import annotations

import hashlib
import json
import operator
import os
import threading
from typing import TYPE_CHECKING, Any, SupportsIndex
from weakref import WeakKeyDictionary

from tokcy._prefix import PrefixStore, PrefixView

if TYPE_CHECKING:
    from tokcy.backend import Ids
    from tokcy.loaded import LoadedModel

__all__ = ["PrefixCache"]

_fingerprints: WeakKeyDictionary[LoadedModel, bytes] = WeakKeyDictionary()
_COUNTS = ("hits", "misses", "cached_tokens", "uncached_tokens")


class PrefixCache:
    """Remembers encoded texts, so that one that begins like another is encoded from there on.

    Prompts of a conversation repeat all that was said before, and those of an application its
    instructions. With a cache only what is new is encoded; the ids are always those that `encode`
    gives without. One object serves any number of tokenizers and threads, and is bounded.

    A text goes on from the end of an added token, such as ``<|im_end|>``, or of a segment. What
    has neither gains only where the whole text comes again.

    >>> cache = PrefixCache()
    >>> tok.encode(prompt, prefix_cache=cache)      # doctest: +SKIP
    """

    def __init__(self, max_bytes: SupportsIndex = 64 << 20, *, read_only: bool = False) -> None:
        """Make an empty cache.

        Args:
            max_bytes: of memory: texts, ids and what holds them together. What was not used for
                longest goes first; a text that does not fit by itself is not kept.
            read_only: give arrays that nobody can write to, so that mostly nothing has to be
                copied: those of a conversation are views of one memory, which each keeps alive.

        Raises:
            TypeError: not an integer.
            ValueError: negative.
        """
        limit = operator.index(max_bytes)
        if isinstance(max_bytes, bool):
            raise TypeError("max_bytes must be an integer, not bool")
        if not 0 <= limit < 2**63:
            raise ValueError(f"max_bytes must be at least 0 and below 2**63, not {limit}")
        if not isinstance(read_only, bool):
            raise TypeError(f"read_only must be True or False, not {read_only!r}")
        self._store = PrefixStore(limit, views=read_only)
        # Nobody who cannot read this memory can make two tokenizers share a key.
        self._secret = os.urandom(32)
        self._lock = threading.Lock()
        self._views: dict[tuple[bytes, str], PrefixView] = {}
        self._view_of: WeakKeyDictionary[LoadedModel, PrefixView] = WeakKeyDictionary()

    # -------------------------------------------------------------------- counts

    @property
    def hits(self) -> int:
        """Texts of which a beginning was there."""
        return self.info()["hits"]

    @property
    def misses(self) -> int:
        """Texts of which nothing was there."""
        return self.info()["misses"]

    @property
    def cached_tokens(self) -> int:
        """Ids that were there."""
        return self.info()["cached_tokens"]

    @property
    def uncached_tokens(self) -> int:
        """Ids that had to be made. With `cached_tokens` these are all but the post-processor's."""
        return self.info()["uncached_tokens"]

    @property
    def bytes(self) -> int:
        """Memory in use."""
        return self._store.bytes

    @property
    def max_bytes(self) -> int:
        """Memory that may be used."""
        return self._store.max_bytes

    @property
    def read_only(self) -> bool:
        """Whether arrays cannot be written to."""
        return self._store.views

    @property
    def entries(self) -> int:
        """Pieces of text that are kept, each going on from another or from none."""
        return self._store.entries

    @property
    def evictions(self) -> int:
        """Pieces of text that had to go for others."""
        return self._store.evictions

    def info(self) -> dict[str, int]:
        """All of these by name."""
        views = self._all_views()
        counts = {name: sum(getattr(view, name) for _, view in views) for name in _COUNTS}
        kept = ("bytes", "max_bytes", "entries", "evictions")
        return {**counts, **{name: getattr(self._store, name) for name in kept}}

    def info_by_source(self) -> dict[str, dict[str, int]]:
        """What was counted, by `Tokenizer.source`."""
        found: dict[str, dict[str, int]] = {}
        for source, view in self._all_views():
            row = found.setdefault(source, dict.fromkeys(_COUNTS, 0))
            for name in _COUNTS:
                row[name] += getattr(view, name)
        return found

    def clear(self) -> None:
        """Forget all texts; the counts stay."""
        self._store.clear()

    def __repr__(self) -> str:
        info = self.info()
        return (
            f"<PrefixCache: {info['bytes']:,} of {info['max_bytes']:,} bytes, "
            f"{info['hits']:,} hits, {info['misses']:,} misses>"
        )

    def __reduce__(self) -> Any:
        raise TypeError("a PrefixCache belongs to its process and cannot be pickled or copied")

    # -------------------------------------------------------------- for a tokenizer

    def _view(self, tokenizer: LoadedModel) -> PrefixView:
        """What a tokenizer encodes with: the store, its own key, and its own counts."""
        view = self._view_of.get(tokenizer)
        if view is None:
            mark = hashlib.blake2b(fingerprint(tokenizer), digest_size=16, key=self._secret)
            key = mark.digest()
            with self._lock:
                view = self._views.setdefault((key, tokenizer.source), PrefixView(self._store, key))
                self._view_of[tokenizer] = view
        return view

    def _given(self, ids: Ids) -> Ids:
        """The ids as they are given away."""
        if self.read_only:
            ids.flags.writeable = False
        return ids

    def _all_views(self) -> list[tuple[str, PrefixView]]:
        with self._lock:
            return [(source, view) for (_, source), view in self._views.items()]


def fingerprint(tokenizer: LoadedModel) -> bytes:
    """32 bytes that two tokenizers have in common only if they give the same ids for all texts.

    It is of the files that they were made of, or of the saved form where these do not tell all.
    That takes some 10 ms, once for each tokenizer.
    """
    known = _fingerprints.get(tokenizer)
    if known is not None:
        return known
    digest = hashlib.blake2b(digest_size=32)

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)

    _, (data, _, *rest) = tokenizer.__reduce__()
    add(tokenizer.backend.encode())
    add(data)
    for name, content in sorted(rest[0].items()) if rest else ():
        add(name.encode())
        add(json.dumps(content, sort_keys=True, default=repr).encode())
    return _fingerprints.setdefault(tokenizer, digest.digest())
