"""The native backend: a planned BPE pipeline, run by the compiled engine."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from tokcy._bpe import Bpe
from tokcy._decode import Decoder
from tokcy._engine import Engine
from tokcy._prefix import PrefixView
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer
from tokcy._stream import StreamState
from tokcy.backend import CacheInfo, Ids, Offsets, Segment, control_token_error
from tokcy.lengths import Lengths
from tokcy.offsets import SpaceTrimmer
from tokcy.spec import AddedToken, NativePlan, normalizer_of
from tokcy.stream import DecodeStream
from tokcy.threads import resolve_num_threads

__all__ = ["NativeBackend", "native_backend", "preparer_of"]


def native_backend(plan: NativePlan, tables: dict[str, Any] | None = None) -> NativeBackend:
    """The backend for a plan; arguments and errors are those of `NativeBackend`."""
    if plan.truncation is None and plan.padding is None:
        return NativeBackend(plan, tables)
    return FittingBackend(plan, tables)


def preparer_of(plan: NativePlan) -> Preparer:
    """The compiled form of what the plan does to a text before it is split."""
    text = plan.text
    return Preparer(
        plan.added_tokens,
        normalizer_of(text.normalizer),
        normalizer_of(text.span_normalizer),
        text.prefix,
        text.prefix_first,
    )


class NativeBackend:
    """Encodes and decodes as the plan says; immutable, shared by threads."""

    name = "tokcy"
    pads = False

    def __init__(self, plan: NativePlan, tables: dict[str, Any] | None = None) -> None:
        """Build the engine.

        Args:
            plan: what to build.
            tables: what `tables` of a backend with this plan gave; then the vocabulary needs no
                merges, and the splits are fused.

        Raises:
            SettingError: the environment asks for no number of threads.
            ValueError: the tables do not fit the plan.
        """
        resolve_num_threads(None)  # now, and not with the first text that is long enough
        vocabulary = plan.vocabulary
        post = plan.post_processor
        self.engine = Engine(
            preparer_of(plan),
            PreTokenizer(plan.text.splits, fuse=tables is None),
            Bpe(vocabulary, plan.ignore_merges, tables),
            post.prefix_ids,
            post.suffix_ids,
        )
        self.plan = plan
        self._vocabulary = vocabulary
        self._post = post
        self.added_tokens: tuple[AddedToken, ...] = plan.added_tokens
        self._added_ids = {token.content: token.id for token in plan.added_tokens}
        self._added_contents = {token.id: token.content for token in plan.added_tokens}
        self._added_contents.update(plan.token_forms)

    def tables(self) -> dict[str, bytes]:
        """What was found out of the vocabulary's merges; see `Bpe.tables`."""
        return self.engine.model.tables()

    def encode(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids:
        if not allow_special:
            self._refuse_control_ids(text)
        return self.engine.encode(text, add_special_tokens, allow_special, num_threads, known)

    def encode_to_list(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> list[int]:
        if not allow_special:
            self._refuse_control_ids(text)
        return self.engine.encode_to_list(
            text, add_special_tokens, allow_special, num_threads, known
        )

    def encode_batch(
        self,
        texts: Iterable[str],
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
    ) -> tuple[Ids, Offsets]:
        if not allow_special and len(self._control_ids):
            texts = list(texts)
            for index, text in enumerate(texts):
                self._refuse_control_ids(text, f"texts[{index}]: ")
        return self.engine.encode_batch(texts, add_special_tokens, allow_special, num_threads)

    def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool,
        joined: bool,
        chunked: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids:
        segments = list(segments)
        ids = self.engine.encode_segments(
            segments, add_special_tokens, joined, chunked, num_threads, known=known
        )
        if len(self._control_ids):  # the segments are known to be sound by now
            self._refuse_control_ids_of_segments(segments, joined, chunked)
        return ids

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> int:
        if not allow_special:
            self._refuse_control_ids(text)
        return self.engine.count(text, add_special_tokens, allow_special, num_threads, known)

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool, allow_special: bool
    ) -> tuple[Ids, Offsets]:
        if not allow_special:
            self._refuse_control_ids(text)
        ids, offsets, is_added = self._locate(text, add_special_tokens, allow_special)
        offsets = self.trim(text, ids, offsets, is_added)
        if add_special_tokens:
            prefix = np.array(self._post.prefix_ids, dtype=np.uint32)
            suffix = np.array(self._post.suffix_ids, dtype=np.uint32)
            ids = np.concatenate([prefix, ids, suffix])
            offsets = np.pad(offsets, ((len(prefix), len(suffix)), (0, 0)))
        return ids, offsets

    def trim(self, text: str, ids: Ids, offsets: Offsets, is_added: NDArray[np.bool_]) -> Offsets:
        """The offsets int64[n, 2] of consecutive ids of a text as the post-processor leaves them.

        The first of the ids is treated as the first of the text (rule O3).
        """
        if self._post.trim_offsets and len(ids):
            return self._trimmer.trim(text, ids, offsets, is_added)
        return offsets

    def _locate(
        self, text: str, add_special_tokens: bool, allow_special: bool
    ) -> tuple[Ids, Offsets, NDArray[np.bool_]]:
        """The ids of the text that remain, their offsets, and which are added tokens."""
        return self.engine.encode_offsets(text, allow_special)

    def decode(self, ids: Ids, skip_special_tokens: bool) -> str:
        return self._decoder.decode(ids, skip_special_tokens)

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool) -> bytes:
        return self._decoder.decode_bytes(ids, skip_special_tokens)

    def decode_stream(self, prompt_ids: Ids, skip_special_tokens: bool) -> DecodeStream:
        state = StreamState(self._decoder, skip_special_tokens)
        return DecodeStream(state, self.plan.decoder.text_steps, prompt_ids)

    def token_to_id(self, token: str) -> int | None:
        found = self._added_ids.get(token)
        return self._vocabulary.token_to_id(token) if found is None else found

    def id_to_token(self, token_id: int) -> str | None:
        content = self._added_contents.get(token_id)
        return self._vocabulary.id_to_token(token_id) if content is None else content

    def get_vocab(self, with_added_tokens: bool) -> dict[str, int]:
        vocab = self._vocabulary.as_dict()
        return {**vocab, **self._added_ids} if with_added_tokens else vocab

    def vocab_size(self, with_added_tokens: bool) -> int:
        return self._vocabulary.n_entries + (self._n_beyond if with_added_tokens else 0)

    def cache_info(self) -> CacheInfo:
        return self.engine.model.cache_info()

    @cached_property
    def _n_beyond(self) -> int:
        """How many added tokens are no entries of the model's."""
        contents = self._added_ids
        return sum(self._vocabulary.token_to_id(content) is None for content in contents)

    def _refuse_control_ids(self, text: str, where: str = "") -> None:
        """Raise TokcyError if the model makes a control token of plain text."""
        if len(self._control_ids):
            self._refuse(self.engine.encode(text, False, False, None), where)

    def _refuse_control_ids_of_segments(
        self, segments: list[Segment], joined: bool, chunked: bool
    ) -> None:
        """The same where some of a text, or all of it, is not to become a control token.

        Joined segments merge with each other, so any that is not trusted has all of them refused.
        """
        if joined:
            if not all(flag for _, flag in segments):
                self._refuse(
                    self.engine.encode_segments(segments, False, True, chunked, plain_only=True)
                )
            return
        for index, segment in enumerate(segments):
            if not segment[1]:
                ids = self.engine.encode_segments([segment], False, False, chunked)
                self._refuse(ids, f"segments[{index}]: ")

    def _refuse(self, ids: Ids, where: str = "") -> None:
        found = ids[np.isin(ids, self._control_ids)]
        if len(found):
            raise control_token_error(self.id_to_token(int(found[0])), where)

    @cached_property
    def _control_ids(self) -> Ids:
        """Ids of control tokens that the model may make by itself; hardly a model has any.

        What a character becomes that is no entry is none of them: it is no one's control token.
        """
        ids = [
            token.id
            for token in self.added_tokens
            if token.special
            and token.id != self._vocabulary.unknown_id
            and self._vocabulary.has_id(token.id)
        ]
        if not self.engine.model.ignore_merges:
            ids = self.engine.model.made_by_merging(ids)
        return np.array(ids, dtype=np.uint32)

    @cached_property
    def _decoder(self) -> Decoder:
        shown = self._added_contents
        special = {token.content for token in self.added_tokens if token.special}
        return Decoder(
            self._vocabulary,
            shown,
            [token_id for token_id, text in shown.items() if text in special],
            self.plan.decoder,
        )

    @cached_property
    def _trimmer(self) -> SpaceTrimmer:
        largest = self._vocabulary.max_id
        tokens = [self._vocabulary.token_bytes(i) or b"" for i in range(largest + 1)]
        matches = {
            token.id: self._added_contents[token.id]
            for token in self.added_tokens
            if token.normalized and not (token.lstrip or token.rstrip)
        }
        return SpaceTrimmer(tokens, self._post.add_prefix_space, matches)


class FittingBackend(NativeBackend):
    """A native backend for a file that sets truncation or padding, which others need not ask."""

    def __init__(self, plan: NativePlan, tables: dict[str, Any] | None = None) -> None:
        super().__init__(plan, tables)
        post = plan.post_processor
        self._lengths = Lengths(
            plan.truncation, plan.padding, len(post.prefix_ids), len(post.suffix_ids)
        )
        self.pads = plan.padding is not None

    def encode(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids:
        ids = super().encode(text, add_special_tokens, allow_special, num_threads, known)
        return self._lengths.fit(ids, bool(add_special_tokens))

    def encode_to_list(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> list[int]:
        ids = self.encode(text, add_special_tokens, allow_special, num_threads, known)
        row: list[int] = ids.tolist()
        return row

    def encode_batch(
        self,
        texts: Iterable[str],
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
    ) -> tuple[Ids, Offsets]:
        batch = super().encode_batch(texts, add_special_tokens, allow_special, num_threads)
        return self._lengths.fit_batch(*batch, bool(add_special_tokens))

    def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool,
        joined: bool,
        chunked: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids:
        ids = super().encode_segments(
            segments, add_special_tokens, joined, chunked, num_threads, known
        )
        return self._lengths.fit(ids, bool(add_special_tokens))

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> int:
        n = super().count(text, add_special_tokens, allow_special, num_threads, known)
        return self._lengths.count(n, bool(add_special_tokens))

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool, allow_special: bool
    ) -> tuple[Ids, Offsets]:
        ids, offsets = super().encode_with_offsets(text, add_special_tokens, allow_special)
        padding = self._lengths.n_padding(len(ids))
        return self._lengths.fill(ids), np.pad(offsets, (padding, (0, 0)))

    def _locate(
        self, text: str, add_special_tokens: bool, allow_special: bool
    ) -> tuple[Ids, Offsets, NDArray[np.bool_]]:
        ids, offsets, is_added = super()._locate(text, add_special_tokens, allow_special)
        kept = self._lengths.kept(len(ids), bool(add_special_tokens))
        return ids[kept], offsets[kept], is_added[kept]
