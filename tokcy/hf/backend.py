"""The Hugging Face backend: a real ``tokenizers.Tokenizer`` behind the methods of the native one.

It serves every model file whose pipeline is not on the native whitelist.  Works with tokenizers
0.21 to 0.23, and but for offsets with the candidates for 1.0; whatever that raises, Rust panics
included, comes out as one of tokcy's errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
import tokenizers
from tokenizers import Encoding, Tokenizer

from tokcy._decode import Decoder
from tokcy._prefix import PrefixView
from tokcy._segments import parts_of
from tokcy._stream import StreamState
from tokcy.backend import CacheInfo, Ids, Offsets, Segment, control_token_error
from tokcy.errors import EncodeTypeError, ModelFileError, TokcyError
from tokcy.spec import AddedToken, DecoderPlan
from tokcy.stream import DecodeStream, WholeState

from .calls import check_num_threads, check_text, encode_text, hugging_face_errors, leave_alone
from .decoding import compiled_decoder
from .next import AnyTokenizer
from .plain import PlainTwin, plain_twin
from .prefix import KnownEncoder
from .segments import SegmentEncoder

__all__ = ["HuggingFaceBackend"]


class HuggingFaceBackend:
    """A model file, run by Hugging Face ``tokenizers``.

    Truncation and padding that the file sets stay in force, as they do there (rules O5, O6): a
    batch with padding has texts of one length.  ``num_threads`` is checked but left unused, as
    Hugging Face has its own thread pool.

    With ``allow_special=False`` no added token is recognised in the text; what the post-processor
    adds is still added.  Where the model by itself turns part of a text into a control token,
    which no switch of Hugging Face's prevents, such a text is refused with :class:`TokcyError`.
    """

    name = "huggingface"

    def __init__(
        self,
        data: bytes,
        *,
        source: str = "<string>",
        problem: ModelFileError | None = None,
        added: tuple[AddedToken, ...] = (),
        encode_special_tokens: bool = False,
    ) -> None:
        """Load a model file.

        Args:
            data: the content of a ``tokenizer.json``.
            source: its name, for messages.
            problem: the error to raise if Hugging Face refuses the file, where there is a better
                one than its own.
            added: tokens to add to those of the file, which gives them their ids (rule A1).
            encode_special_tokens: special tokens in a text are ordinary text.

        Raises:
            ModelFileError: Hugging Face refuses the file.
        """
        self._data = data
        self._source = source
        self._added = added
        self._encode_special_tokens = encode_special_tokens
        try:
            with hugging_face_errors():
                self._tokenizer = leave_alone(AnyTokenizer.from_str(data.decode("utf-8")))
                if added:
                    self._tokenizer.add_tokens(list(map(_to_add, added)))
                if encode_special_tokens:
                    self._tokenizer.encode_special_tokens = True
        except TokcyError as error:
            if problem is not None:
                raise problem from error
            raise ModelFileError(f"tokenizers refuses it: {error}", source=source) from error

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (self._data, self._source, self._added, self._encode_special_tokens))

    def __repr__(self) -> str:
        model = type(self._tokenizer.model).__name__
        return f"<HuggingFaceBackend {self._source!r}: {model}>"

    @property
    def tokenizer(self) -> Tokenizer:
        """Hugging Face's object, which is not to be changed."""
        return self._tokenizer

    @cached_property
    def _content(self) -> dict[str, Any]:
        """The file without its vocabulary and merges, which are nine tenths and of no use here."""
        content: dict[str, Any] = json.loads(self._data)
        for name in ("vocab", "merges"):
            content["model"].pop(name, None)
        return content

    # ------------------------------------------------------------- text to ids

    def encode(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids:
        """uint32[n]; EncodeTypeError if not text, TokcyError if Hugging Face fails on it."""
        if known is not None:
            return self._encode_known(text, add_special_tokens, allow_special, num_threads, known)
        encoding = self._encode(text, add_special_tokens, allow_special, num_threads)
        return self._ids(encoding, allow_special)

    def encode_to_list(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> list[int]:
        """The same ids as Hugging Face gives them; errors as in `encode`."""
        if known is not None:
            row: list[int] = self.encode(
                text, add_special_tokens, allow_special, num_threads, known
            ).tolist()
            return row
        encoding = self._encode(text, add_special_tokens, allow_special, num_threads)
        if not allow_special:
            self._ids(encoding, allow_special)
        ids: list[int] = encoding.ids
        return ids

    def _encode(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
    ) -> Encoding:
        check_text(text)
        check_num_threads(num_threads)
        tokenizer = self._tokenizer_for(allow_special)
        with hugging_face_errors():
            return encode_text(tokenizer, text, bool(add_special_tokens))

    def _encode_known(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView,
    ) -> Ids:
        """The ids of a text whose beginning may be stored; of others all are made anew."""
        if allow_special and self._known.may_serve(bool(add_special_tokens)):
            check_num_threads(num_threads)
            return self._known.encode(text, known)
        ids = self.encode(text, add_special_tokens, allow_special, num_threads)
        known.count(0, len(ids))
        return ids

    @cached_property
    def _known(self) -> KnownEncoder:
        return KnownEncoder(self._tokenizer, self.added_tokens, self._content)

    def encode_batch(
        self,
        texts: Iterable[str],
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
    ) -> tuple[Ids, Offsets]:
        """(values uint32[n], offsets int64[k + 1]); errors as in `encode`."""
        if isinstance(texts, str | bytes):
            raise EncodeTypeError(f"texts must be a sequence of str, not {type(texts).__name__}")
        held = list(texts)
        for index, text in enumerate(held):
            check_text(text, f"texts[{index}]: ")
        check_num_threads(num_threads)
        tokenizer = self._tokenizer_for(allow_special)
        special = bool(add_special_tokens)
        with hugging_face_errors():
            encodings = tokenizer.encode_batch_fast(held, add_special_tokens=special)
        rows = [
            self._ids(encoding, allow_special, f"texts[{index}]: ")
            for index, encoding in enumerate(encodings)
        ]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return np.concatenate(rows) if rows else np.empty(0, dtype=np.uint32), offsets

    def encode_segments(
        self,
        segments: Iterable[Segment],
        add_special_tokens: bool,
        joined: bool,
        chunked: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> Ids:
        """uint32[n]; TokcyError also where joined texts cannot be told apart exactly."""
        check_num_threads(num_threads)
        parts = parts_of(segments, joined, chunked)
        special = bool(add_special_tokens) and self._known.adds_tokens
        with hugging_face_errors():
            return self._segments.encode(parts, special, known)

    @cached_property
    def _segments(self) -> SegmentEncoder:
        return SegmentEncoder(
            self._tokenizer,
            self._tokenizer_for(False),
            self.added_tokens,
            self._content.get("pre_tokenizer"),
            self._known,
            lambda encoding: self._ids(encoding, allow_special=False),
        )

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool, allow_special: bool
    ) -> tuple[Ids, Offsets]:
        """(ids uint32[n], offsets int64[n, 2] in characters); errors as in `encode`."""
        check_text(text)
        tokenizer = self._tokenizer_for(allow_special)
        special = bool(add_special_tokens)
        with hugging_face_errors():
            (encoding,) = tokenizer.encode_batch([text], add_special_tokens=special)
        ids = self._ids(encoding, allow_special)
        return ids, np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)

    def count(
        self,
        text: str,
        add_special_tokens: bool,
        allow_special: bool,
        num_threads: SupportsIndex | None,
        known: PrefixView | None = None,
    ) -> int:
        """The length of what `encode` gives."""
        return len(self.encode(text, add_special_tokens, allow_special, num_threads, known))

    @property
    def pads(self) -> bool:
        return self._tokenizer.padding is not None

    def _ids(self, encoding: Encoding, allow_special: bool, where: str = "") -> Ids:
        ids = np.array(encoding.ids, dtype=np.uint32)
        if not allow_special and len(self._plain.control_ids):
            from_text = np.array(encoding.special_tokens_mask, dtype=np.uint32) == 0
            found = ids[from_text & np.isin(ids, self._plain.control_ids)]
            if len(found):
                raise control_token_error(self.id_to_token(int(found[0])), where)
        return ids

    def _tokenizer_for(self, allow_special: bool) -> Tokenizer:
        return self._tokenizer if allow_special else self._plain.tokenizer

    @cached_property
    def _plain(self) -> PlainTwin:
        return plain_twin(self._tokenizer, self.added_tokens, self._content, self._data)

    # ------------------------------------------------------------- ids to text

    def decode(self, ids: Ids, skip_special_tokens: bool) -> str:
        """The text of ids; TokcyError if the file's decoder fails on them."""
        skip = bool(skip_special_tokens)
        with hugging_face_errors():  # unlike `decode`, `decode_batch` releases the GIL
            (text,) = self._tokenizer.decode_batch([ids.tolist()], skip_special_tokens=skip)
        return text

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool) -> bytes:
        """The UTF-8 of `decode`, as Hugging Face gives no bytes: U+FFFD for what is not UTF-8."""
        return self.decode(ids, skip_special_tokens).encode("utf-8")

    def decode_stream(self, prompt_ids: Ids, skip_special_tokens: bool) -> DecodeStream:
        """A stream of the compiled decoder where the file's decoder has a plan."""
        skip = bool(skip_special_tokens)
        if self._decoder is None:
            state = WholeState(lambda ids: self.decode(np.array(ids, dtype=np.uint32), skip))
            return DecodeStream(state, (), prompt_ids)
        decoder, plan = self._decoder
        return DecodeStream(StreamState(decoder, skip), plan.text_steps, prompt_ids)

    @cached_property
    def _decoder(self) -> tuple[Decoder, DecoderPlan] | None:
        return compiled_decoder(self._tokenizer, self._content, self._source)

    # -------------------------------------------------------------- vocabulary

    def token_to_id(self, token: str) -> int | None:
        try:
            return self._tokenizer.token_to_id(token)
        except UnicodeEncodeError:  # a lone surrogate, which no token has
            return None

    def id_to_token(self, token_id: int) -> str | None:
        return self._tokenizer.id_to_token(token_id) if 0 <= token_id < 2**32 else None

    def get_vocab(self, with_added_tokens: bool) -> dict[str, int]:
        return self._tokenizer.get_vocab(with_added_tokens=bool(with_added_tokens))

    def vocab_size(self, with_added_tokens: bool) -> int:
        return len(self.get_vocab(with_added_tokens))

    @property
    def added_tokens(self) -> tuple[AddedToken, ...]:
        """The added tokens, by id."""
        return tuple(
            AddedToken(
                content=token.content,
                id=token_id,
                single_word=token.single_word,
                lstrip=token.lstrip,
                rstrip=token.rstrip,
                normalized=token.normalized,
                special=token.special,
            )
            for token_id, token in sorted(self._tokenizer.get_added_tokens_decoder().items())
        )

    def cache_info(self) -> CacheInfo:
        """Empty: Hugging Face tells nothing about its cache."""
        return {}


def _rebuild(
    data: bytes, source: str, added: tuple[AddedToken, ...], encode_special_tokens: bool
) -> HuggingFaceBackend:
    return HuggingFaceBackend(
        data, source=source, added=added, encode_special_tokens=encode_special_tokens
    )


def _to_add(token: AddedToken) -> Any:
    """The token as ``add_tokens`` takes it."""
    if not hasattr(Tokenizer, "from_str"):
        return token
    return tokenizers.AddedToken(
        token.content,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
        special=token.special,
    )
