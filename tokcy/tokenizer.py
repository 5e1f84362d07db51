"""The one public class: a model's tokenizer, whoever does its work."""

from __future__ import annotations

import logging
import operator
import os
from collections.abc import Iterable
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokcy.arrayfile import MAGIC
from tokcy.backend import Backend, CacheInfo, Ids, Offsets
from tokcy.batch import TokenBatch, as_integers
from tokcy.collector import collector_paused
from tokcy.errors import TokcyError, TokenIdError
from tokcy.hf import HuggingFaceBackend
from tokcy.loading import find_pretrained, read_model_file
from tokcy.native import NativeBackend, native_backend
from tokcy.saved import load_backend, pack_backend, write_file
from tokcy.spec import AddedToken, Unsupported, plan_native, read_tokenizer_json
from tokcy.stream import DecodeStream

__all__ = ["Tokenizer"]

logger = logging.getLogger("tokcy")

StrPath = str | os.PathLike[str]

_UINT32 = np.dtype(np.uint32)


class Tokenizer:
    """Text to token ids and back, exactly as the model's Hugging Face tokenizer does it.

    Made by `from_file`, `from_pretrained` or `from_json`. Nothing changes it afterwards (its
    merge cache fills, which no result shows), so threads may share it and copies are the object
    itself. It pickles as the model file it was read from.

    >>> tok = Tokenizer.from_pretrained("Qwen/Qwen3-8B")      # doctest: +SKIP
    >>> tok.encode("Hello, world")                            # doctest: +SKIP
    array([9707,   11, 1879], dtype=uint32)
    """

    def __init__(self, data: bytes, source: str = "<string>") -> None:
        """Read the bytes of a ``tokenizer.json``; `from_file` and its kin are the usual way.

        Args:
            data: the file's content.
            source: its name, for messages.

        Raises:
            ModelFileError: no tokenizer can be made of it; names the field and the value.
        """
        self._data = data
        self._source = source
        self._fallback_reason: str | None = None
        self._backend: Backend = self._make_backend()

    @collector_paused()
    def _make_backend(self) -> Backend:
        if self._data.startswith(MAGIC):
            return load_backend(self._data, self._source)
        spec = read_tokenizer_json(self._data, source=self._source)
        plan = plan_native(spec)
        if not isinstance(plan, Unsupported):
            return native_backend(plan)
        self._fallback_reason = plan.reason
        backend = HuggingFaceBackend(self._data, source=self._source, problem=plan.problem)
        logger.warning(
            "%s runs on Hugging Face tokenizers, more slowly: %s", self._source, plan.reason
        )
        return backend

    # ------------------------------------------------------------------ making

    @classmethod
    def from_file(cls, path: StrPath) -> Tokenizer:
        """Load a ``tokenizer.json``, or what `save` wrote.

        Raises:
            ModelNotFoundError: there is no such file.
            ModelFileError: no tokenizer can be made of it.
        """
        return cls(read_model_file(path), os.fspath(path))

    @classmethod
    def from_json(cls, text: str | bytes | bytearray | memoryview) -> Tokenizer:
        """Load from the content of a ``tokenizer.json``.

        Raises:
            ModelFileError: no tokenizer can be made of it.
            TypeError: neither text nor bytes.
        """
        if isinstance(text, str):
            return cls(text.encode("utf-8", "surrogatepass"))
        if isinstance(text, bytes | bytearray | memoryview):  # `bytes` takes integers, too
            return cls(bytes(text))
        raise TypeError(f"text must be str or bytes, not {type(text).__name__}")

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: StrPath,
        *,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: StrPath | None = None,
        local_files_only: bool = False,
    ) -> Tokenizer:
        """Load the ``tokenizer.json`` of a folder or of a hub repository.

        Args:
            name_or_path: a folder, a file, or a hub id such as ``"Qwen/Qwen3-8B"``.
            revision, token, cache_dir, local_files_only: as in ``huggingface_hub``, which does
                the download and obeys ``HF_HOME``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE``.

        Raises:
            ModelNotFoundError: neither a path nor a repository leads to such a file.
            ModelFileError: no tokenizer can be made of it.
        """
        return cls.from_file(
            find_pretrained(
                name_or_path,
                revision=revision,
                token=token,
                cache_dir=cache_dir,
                local_files_only=local_files_only,
            )
        )

    # ------------------------------------------------------------------ saving

    def save(self, path: StrPath) -> None:
        """Write tokcy's own form of this tokenizer, which `from_file` loads several times faster.

        One file, of 4 to 8 MB for the vocabularies of today, under any name. It holds all that
        this class uses, and not the ``tokenizer.json`` that it came from: keep that, as another
        version of tokcy may ask for a file of its own. The file appears, or is replaced, only
        once it is whole.

        Raises:
            TokcyError: Hugging Face's object does the work, so there is nothing to save.
            OSError: the file cannot be written.
        """
        if not isinstance(self._backend, NativeBackend):
            raise TokcyError(
                f"{self._source} runs on Hugging Face tokenizers and has no saved form: "
                f"{self._fallback_reason}"
            )
        data = self._data
        if not data.startswith(MAGIC):
            data = pack_backend(self._backend, self._source)
        write_file(path, data)

    # ---------------------------------------------------------------- encoding

    def encode(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
    ) -> Ids:
        """The token ids of one text. Other Python threads run meanwhile.

        Args:
            text: any str that UTF-8 can express.
            add_special_tokens: let the post-processor put its tokens around the text.
            allow_special: recognise added tokens spelt out in the text. With ``False`` none is,
                so the text of a user can never become a control token.
            num_threads: at most so many threads; by default see ``tokcy.set_num_threads``.
                Short texts use one.

        Returns:
            uint32[n].

        Raises:
            EncodeTypeError: not a str, or one with a lone surrogate.
        """
        return self._backend.encode(text, add_special_tokens, allow_special, num_threads)

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
    ) -> TokenBatch:
        """The token ids of many texts, without a Python object per id or text.

        Args:
            texts: strings; the other arguments are those of `encode`.

        Returns:
            A `TokenBatch`: uint32 ids of all texts and int64 offsets; indexes to NumPy views.

        Raises:
            EncodeTypeError: an item is no str that UTF-8 can express; says which.
        """
        return TokenBatch._of(
            *self._backend.encode_batch(texts, add_special_tokens, allow_special, num_threads)
        )

    def encode_with_offsets(
        self, text: str, *, add_special_tokens: bool = True, allow_special: bool = True
    ) -> tuple[Ids, Offsets]:
        """The token ids of one text, and where in it each comes from.

        Returns:
            (ids uint32[n], offsets int64[n, 2]): as Hugging Face gives them, ``text[begin:end]``
            in characters; (0, 0) for what the post-processor adds; the whole character for a
            token that holds a part of it.

        Raises:
            EncodeTypeError: as in `encode`.
        """
        return self._backend.encode_with_offsets(text, add_special_tokens, allow_special)

    def count(
        self,
        text: str,
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
    ) -> int:
        """``len(encode(text, …))``, without making the array."""
        return self._backend.count(text, add_special_tokens, allow_special, num_threads)

    def count_batch(
        self,
        texts: Iterable[str],
        *,
        add_special_tokens: bool = True,
        allow_special: bool = True,
        num_threads: SupportsIndex | None = None,
    ) -> NDArray[np.int64]:
        """int64[k]: the number of ids of each text."""
        _, offsets = self._backend.encode_batch(
            texts, add_special_tokens, allow_special, num_threads
        )
        return np.diff(offsets)

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
        """
        limit = operator.index(max_tokens)
        if limit < 0:
            raise ValueError(f"max_tokens must be at least 0, not {limit}")
        options = {"add_special_tokens": add_special_tokens, "allow_special": allow_special}
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
        return self._backend.decode(_as_ids(ids), skip_special_tokens)

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
        return self._backend.decode_bytes(_as_ids(ids), skip_special_tokens)

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
        return self._backend.decode_stream(_as_ids(prompt_ids), skip_special_tokens)

    # -------------------------------------------------------------- vocabulary

    def token_to_id(self, token: str) -> int | None:
        """The id of a token as the model file writes it, or None."""
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

    @property
    def source(self) -> str:
        """Name of the file that this was read from."""
        return self._source

    @property
    def backend(self) -> str:
        """Who does the work: ``"tokcy"`` or ``"huggingface"``."""
        return self._backend.name

    @property
    def fallback_reason(self) -> str | None:
        """Why Hugging Face's object does the work, or None where it does not."""
        return self._fallback_reason

    def cache_info(self) -> CacheInfo:
        """The merge cache: a dict of counts, empty on the Hugging Face backend.

        ``hits`` and ``misses`` of pieces so far, ``entries`` now and ``max_entries``, ``bytes``
        of memory, which do not grow, and ``generation``: how often a full cache was renewed.
        """
        return self._backend.cache_info()

    def __repr__(self) -> str:
        reason = f", {self._fallback_reason}" if self._fallback_reason else ""
        return f"<Tokenizer {self._source!r}: {len(self):,} tokens, backend {self.backend}{reason}>"

    def __reduce__(self) -> tuple[type[Tokenizer], tuple[bytes, str]]:
        return type(self), (self._data, self._source)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Tokenizer:
        return self


def _as_ids(ids: ArrayLike) -> Ids:
    """A contiguous array uint32[n] of any integers."""
    if isinstance(ids, np.ndarray) and ids.dtype is _UINT32 and ids.ndim == 1:
        flags = ids.flags
        if flags.c_contiguous and flags.aligned:
            return ids
    if isinstance(ids, bytes | bytearray):  # NumPy takes only the one for an array of integers
        raise TypeError(f"ids must be a sequence of integers, not {type(ids).__name__}")
    array = as_integers(ids, "ids")
    if array.dtype != np.uint32 and array.size:
        lowest, highest = int(array.min()), int(array.max())
        if lowest < 0 or highest >= 2**32:
            wrong = lowest if lowest < 0 else highest
            raise TokenIdError(f"token id {wrong} is not between 0 and 2**32 - 1")
    return np.require(array, dtype=np.uint32, requirements=["C", "A"])
