"""The one public class: a model's tokenizer, whoever does its work."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokcy.aio import AsyncEncoding
from tokcy.backend import CacheInfo, Ids, Offsets, Segment
from tokcy.batch import TokenBatch, as_ids, write_ids
from tokcy.chat import ChatMethods
from tokcy.loaded import LoadedModel
from tokcy.prefix_cache import PrefixCache
from tokcy.segments import encode_batch_in_chunks, encode_in_chunks, is_chunked
from tokcy.spec import AddedToken
from tokcy.stream import DecodeStream

__all__ = ["Tokenizer"]


class Tokenizer(ChatMethods, LoadedModel, AsyncEncoding):
    """Text to token ids and back, exactly as the model's Hugging Face tokenizer does it.

    Made by `from_file`, `from_pretrained`, `from_json`, `from_hf` or `from_tiktoken`. Nothing
    changes it afterwards (its merge cache fills, which no result shows), so threads may share it
    and copies are the object itself. It pickles as the files it was read from, or in its saved
    form.

    >>> tok = Tokenizer.from_pretrained("Qwen/Qwen3-8B")      # doctest: +SKIP
    >>> tok.encode("Hello, world")                            # doctest: +SKIP
    array([9707,   11, 1879], dtype=uint32)
    """

    # ---------------------------------------------------------------- encoding

    def encode(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
        chunking: str | None = None,
        prefix_cache: PrefixCache | None = None,
    ) -> Ids:
        """The token ids of one text. Other Python threads run meanwhile.

        Args:
            text: any str that UTF-8 can express.
            add_special_tokens: let the post-processor put its tokens around the text.
            allow_special: recognise added tokens spelt out in the text. With ``False`` none is,
                so the text of a user can never become a control token: where the model by itself
                makes one of plain text, the text is refused.
            num_threads: at most so many threads; by default see ``tokcy.set_num_threads``.
                Short texts use one.
            chunking: ``"kimi"`` cuts long texts where the code that comes with Kimi does before
                it calls tiktoken, and with Llama 3 and 4: every 400,000 characters, and every
                25,000 in a row that are whitespace or that are not. It changes ids at the cuts.
                `tokenizers` knows no such cuts.
            prefix_cache: where beginnings of texts are kept, so that only what follows a known
                one is encoded.

        Returns:
            uint32[n].

        Raises:
            EncodeTypeError: not a str, or one with a lone surrogate.
            TokcyError: under ``allow_special=False`` the model makes a control token of the text.
        """
        known = None if prefix_cache is None else prefix_cache._view(self)
        if chunking is not None:
            ids = encode_in_chunks(
                self._backend, text, chunking, add_special_tokens, allow_special, num_threads, known
            )
        else:
            ids = self._backend.encode(text, add_special_tokens, allow_special, num_threads, known)
        return ids if prefix_cache is None else prefix_cache._given(ids)

    def encode_to_list(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
        chunking: str | None = None,
        prefix_cache: PrefixCache | None = None,
    ) -> list[int]:
        """``encode(text, …).tolist()``, but made several times as fast, without an array.

        As in `TokenBatch.to_list`, which does the same for many texts, the integers are made
        once per process and kept.

        Raises:
            EncodeTypeError, TokcyError: as in `encode`.
        """
        known = None if prefix_cache is None else prefix_cache._view(self)
        if chunking is not None:
            ids: list[int] = encode_in_chunks(
                self._backend, text, chunking, add_special_tokens, allow_special, num_threads, known
            ).tolist()
            return ids
        return self._backend.encode_to_list(
            text, add_special_tokens, allow_special, num_threads, known
        )

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
        chunking: str | None = None,
    ) -> TokenBatch:
        """The token ids of many texts, without a Python object per id or text.

        Args:
            texts: strings; the other arguments are those of `encode`.

        Returns:
            A `TokenBatch`: uint32 ids of all texts and int64 offsets; indexes to NumPy views.

        Raises:
            EncodeTypeError: an item is no str that UTF-8 can express; says which.
            TokcyError: as in `encode`; says for which item.
        """
        if chunking is not None:
            return TokenBatch._of(
                *encode_batch_in_chunks(
                    self._backend, texts, chunking, add_special_tokens, allow_special, num_threads
                )
            )
        return TokenBatch._of(
            *self._backend.encode_batch(texts, add_special_tokens, allow_special, num_threads)
        )

    def encode_segments(
        self,
        segments: Iterable[Segment],
        *,
        add_special_tokens: bool = False,
        join: bool = False,
        chunking: str | None = None,
        out: Ids | None = None,
        num_threads: SupportsIndex | None = None,
        prefix_cache: PrefixCache | None = None,
    ) -> Ids:
        """The token ids of a prompt whose parts are trusted or not, such as a chat.

        Args:
            segments: (text, allow_special) pairs. In a text whose flag is false no added token is
                recognised, as with ``encode(text, allow_special=False)``.
            add_special_tokens: let the post-processor put its tokens around the whole.
            join: take the segments for one text, in which an added token is only recognised where
                all of it is trusted; everything else is split and merged across their borders.
                Without it each segment is a text by itself, and nothing crosses a border.
            chunking: as in `encode`, of each segment, or of the joined text.
            out: an array to write the ids to: uint32, of one dimension, contiguous, writable.
            num_threads, prefix_cache: as in `encode`.

        Returns:
            uint32[n]; with ``out`` its first n items.

        Raises:
            EncodeTypeError: a segment is no such pair, or its text none that UTF-8 can express;
                says which.
            OutputError: ``out`` is another kind of array, or too small; says how many ids it needs.
            TokcyError: the model makes a control token of text that is not trusted.
            ValueError: there is no such way to cut.
        """
        known = None if prefix_cache is None else prefix_cache._view(self)
        ids = self._backend.encode_segments(
            segments, add_special_tokens, join, is_chunked(chunking), num_threads, known
        )
        if out is not None:
            return write_ids(ids, out)
        return ids if prefix_cache is None else prefix_cache._given(ids)

    def encode_with_offsets(
        self, text: str, *, add_special_tokens: bool = True, allow_special: bool = True
    ) -> tuple[Ids, Offsets]:
        """The token ids of one text, and where in it each comes from.

        Returns:
            (ids uint32[n], offsets int64[n, 2]): as Hugging Face gives them, ``text[begin:end]``
            in characters; (0, 0) for what the post-processor adds; the whole character for a
            token that holds a part of it.

        Raises:
            EncodeTypeError, TokcyError: as in `encode`.
        """
        return self._backend.encode_with_offsets(text, add_special_tokens, allow_special)

    def count(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
        chunking: str | None = None,
        prefix_cache: PrefixCache | None = None,
    ) -> int:
        """``len(encode(text, …))``, without making the array.

        Raises:
            EncodeTypeError, TokcyError: as in `encode`.
        """
        known = None if prefix_cache is None else prefix_cache._view(self)
        if chunking is not None:
            ids = encode_in_chunks(
                self._backend, text, chunking, add_special_tokens, allow_special, num_threads, known
            )
            return len(ids)
        return self._backend.count(text, add_special_tokens, allow_special, num_threads, known)

    def count_batch(
        self,
        texts: Iterable[str],
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
        chunking: str | None = None,
    ) -> NDArray[np.int64]:
        """int64[k]: the number of ids of each text.

        Raises:
            EncodeTypeError, TokcyError: as in `encode_batch`.
        """
        batch = self.encode_batch(
            texts,
            add_special_tokens=add_special_tokens,
            allow_special=allow_special,
            num_threads=num_threads,
            chunking=chunking,
        )
        return np.diff(batch.offsets)

    def truncate(
        self,
        text: str,
        max_tokens: SupportsIndex,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
    ) -> str:
        """A beginning of ``text`` that encodes to at most ``max_tokens`` ids.

        It is cut behind the last token that fits, and further back where that token ends inside
        a character or where the cut text by itself needs more ids.

        Args:
            max_tokens: includes what the post-processor adds, so it must be at least
                ``count("")``.

        Raises:
            ValueError: ``max_tokens`` is negative, or even the empty text needs more.
            EncodeTypeError, TokcyError: as in `encode`.
        """
        limit = operator.index(max_tokens)
        if limit < 0:
            raise ValueError(f"max_tokens must be at least 0, not {limit}")
        options: dict[str, Any] = {
            "add_special_tokens": add_special_tokens,
            "allow_special": allow_special,
        }
        least = self.count("", **options)
        if limit < least:
            raise ValueError(f"max_tokens is {limit}, but an empty text encodes to {least} tokens")
        ids, offsets = self.encode_with_offsets(text, **options)
        if len(ids) <= limit:
            return text
        offsets = offsets[offsets[:, 1] > 0]  # (0, 0) has what was added: special tokens, padding
        # Where the text of the tokens from the i-th on begins.
        begins = np.minimum.accumulate(np.append(offsets[:, 0], len(text))[::-1])[::-1]
        # Padding may be in `least` and give way to the text.
        added = 0 if self._backend.pads else least
        for keep in range(min(limit - added, len(offsets)), 0, -1):
            # The next token's text must stay whole: it may share a character with this one.
            cut = text[: min(offsets[keep - 1, 1], begins[keep])]
            if self.count(cut, **options) <= limit:
                return cut
        return ""

    # ---------------------------------------------------------------- decoding

    def decode(self, ids: ArrayLike, *, skip_special_tokens: bool = False) -> str:
        """The text of token ids; unknown ids give nothing, broken UTF-8 gives U+FFFD.

        Args:
            ids: integers in an array or sequence.
            skip_special_tokens: leave special tokens out.

        Raises:
            TypeError: not integers.
            TokenIdError: an id is negative or needs more than 32 bits.
        """
        return self._backend.decode(as_ids(ids), skip_special_tokens)

    def decode_batch(
        self, batch: TokenBatch | Iterable[ArrayLike], *, skip_special_tokens: bool = False
    ) -> list[str]:
        """The text of each of several id sequences."""
        return [self.decode(ids, skip_special_tokens=skip_special_tokens) for ids in batch]

    def decode_bytes(self, ids: ArrayLike, *, skip_special_tokens: bool = False) -> bytes:
        """The bytes that token ids stand for, broken UTF-8 and all.

        Of tokens for byte fallback these are their bytes, where `decode` has U+FFFD for each byte
        of a run that is not UTF-8 as a whole.

        On the Hugging Face backend, which has no such method, it is the UTF-8 of `decode`.
        """
        return self._backend.decode_bytes(as_ids(ids), skip_special_tokens)

    def decode_stream(
        self, prompt_ids: ArrayLike = (), skip_special_tokens: bool = False
    ) -> DecodeStream:
        """A `DecodeStream`, which gives the text of ids that come one by one.

        Args:
            prompt_ids: what stands before, and is not given again. It matters where a character
                begins in there, or the first token of a text loses a space.
            skip_special_tokens: leave special tokens out.

        Raises:
            TypeError, TokenIdError: as in `decode`.
        """
        return self._backend.decode_stream(as_ids(prompt_ids), skip_special_tokens)

    # -------------------------------------------------------------- vocabulary

    def token_to_id(self, token: str) -> int | None:
        """The id of a token as the model file writes it, or None.

        Raises:
            TypeError: ``token`` is no str.
        """
        if not isinstance(token, str):
            raise TypeError(f"token must be str, not {type(token).__name__}")
        return self._backend.token_to_id(token)

    def id_to_token(self, token_id: SupportsIndex) -> str | None:
        """A token as the model file writes it (byte-level characters and all), or None."""
        number = operator.index(token_id)
        return self._backend.id_to_token(number) if 0 <= number < 2**32 else None

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """token → id, a new dict."""
        return self._backend.get_vocab(with_added_tokens)

    @property
    def vocab_size(self) -> int:
        """Entries of the model; ``len(tokenizer)`` also counts the added tokens beyond them."""
        return self._backend.vocab_size(with_added_tokens=False)

    def __len__(self) -> int:
        return self._backend.vocab_size(with_added_tokens=True)

    @property
    def added_tokens(self) -> tuple[AddedToken, ...]:
        """The tokens that are recognised in text before the model sees it, with their ids."""
        return self._backend.added_tokens

    # ------------------------------------------------------------------- state

    def cache_info(self) -> CacheInfo:
        """The merge cache: a dict of counts, empty on the Hugging Face backend.

        ``hits`` and ``misses`` of pieces so far, ``entries`` now and ``max_entries``, ``bytes``
        of memory, which do not grow, and ``generation``: how often a full cache was renewed.
        """
        return self._backend.cache_info()

    def __repr__(self) -> str:
        reason = f", {self._fallback_reason}" if self._fallback_reason else ""
        return f"<Tokenizer {self._source!r}: {len(self):,} tokens, backend {self.backend}{reason}>"
