"""How a tokenizer is made of files, saved and copied: all of it but what it does."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeVar

from tokcy.arrayfile import is_saved
from tokcy.choice import BackendChoice, choose_backend
from tokcy.config_files import CONFIG_PATTERNS, ConfigArgument, find_config
from tokcy.errors import TokcyError
from tokcy.info import describe
from tokcy.loading import find_pretrained, find_rank_file, read_model_file
from tokcy.making import Made, make_backend, with_config
from tokcy.native import NativeBackend
from tokcy.ranks import ENCODINGS, TiktokenBackend, load_encoding, load_rank_model
from tokcy.saved import pack_backend
from tokcy.spec import ConfigFiles, TokenizerConfig
from tokcy.writing import whole_file

__all__ = ["LoadedModel"]

StrPath = str | os.PathLike[str]

_Self = TypeVar("_Self", bound="LoadedModel")


class LoadedModel:
    """A model's files and the backend made of them; `Tokenizer` is what is made of this."""

    def __init__(
        self,
        data: bytes | memoryview,
        source: str = "<string>",
        config: ConfigFiles | None = None,
        backend: str | None = None,
        fallback: bool | None = None,
    ) -> None:
        """Read the bytes of a model file; `from_file` and its kin are the usual way.

        Args:
            data: the file's content.
            source: its name, for messages.
            config: the content of the files beside it, by name.
            backend, fallback: as in `from_file`.

        Raises:
            ModelFileError: no tokenizer can be made of it; names the field and the value.
            FallbackError: as in `from_file`.
        """
        files = dict(config or {})
        self._choice = choose_backend(backend, fallback)
        self._hold(data, source, files, make_backend(data, source, files, self._choice))

    def _hold(self, data: bytes | memoryview, source: str, files: ConfigFiles, made: Made) -> None:
        self._data = data
        self._source = source
        self._config_files = files
        self._backend, self._fallback_reason, self._config = made

    # ------------------------------------------------------------------ making

    @classmethod
    def from_file(
        cls: type[_Self],
        path: StrPath,
        *,
        config: ConfigArgument = True,
        backend: str | None = None,
        fallback: bool | None = None,
    ) -> _Self:
        """Load a ``tokenizer.json``, a file in tiktoken's formats, or what `save` wrote.

        Args:
            path: the file.
            config: what else says which tokens there are, as in `transformers`: with ``True``
                ``tokenizer_config.json`` and its kin in the same folder, where there are any;
                with ``False`` nothing, or where there is no such file, it is the tokens of
                Hugging Face `tokenizers`; or another folder, the path of another such file, or
                its content as a mapping.
            backend: ``"auto"`` or ``"tokcy"`` for the native engine wherever it can do the model,
                ``"huggingface"`` for `tokenizers`; ``None`` leaves it to ``TOKCY_BACKEND``, and
                without that it is ``"auto"``. It says nothing of tiktoken's formats.
            fallback: whether `tokenizers` may do what the engine cannot; ``None`` leaves it to
                ``TOKCY_FALLBACK`` (0 or 1), and without that it may.

        Raises:
            ModelNotFoundError: there is no such file.
            ModelFileError: no tokenizer can be made of it.
            FallbackError: it does not run natively, and ``fallback`` is false.
            ValueError: there is no such backend.
        """
        data = read_model_file(path)
        if config is True and is_saved(data):  # which holds its configuration
            config = False
        return cls(data, os.fspath(path), find_config(config, path), backend, fallback)

    @classmethod
    def from_json(
        cls: type[_Self],
        text: str | bytes | bytearray | memoryview,
        *,
        config: ConfigArgument = False,
        backend: str | None = None,
        fallback: bool | None = None,
    ) -> _Self:
        """Load from the content of a ``tokenizer.json``.

        Args:
            text: the content.
            config, backend, fallback: as in `from_file`.

        Raises:
            ModelFileError: no tokenizer can be made of it.
            FallbackError: as in `from_file`.
            TypeError: neither text nor bytes.
        """
        if isinstance(text, str):
            data = text.encode("utf-8", "surrogatepass")
        elif isinstance(text, bytes | bytearray | memoryview):  # `bytes` takes integers, too
            data = bytes(text)
        else:
            raise TypeError(f"text must be str or bytes, not {type(text).__name__}")
        return cls(data, "<string>", find_config(config), backend, fallback)

    @classmethod
    def from_pretrained(
        cls: type[_Self],
        name_or_path: StrPath,
        *,
        config: ConfigArgument = True,
        backend: str | None = None,
        fallback: bool | None = None,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_dir: StrPath | None = None,
        local_files_only: bool = False,
    ) -> _Self:
        """Load the ``tokenizer.json`` of a folder or of a hub repository.

        Where there is none, ``tiktoken.model``, ``*.tiktoken``, ``tekken.json`` or
        ``tokenizer.model`` stands in, the first of these; see `from_tiktoken`. What `save` wrote
        is loaded only where its path is given.

        Args:
            name_or_path: a folder, a file, or a hub id such as ``"Qwen/Qwen3-8B"``.
            config, backend, fallback: as in `from_file`.
            revision, token, cache_dir, local_files_only: as in ``huggingface_hub``, which does
                the download and obeys ``HF_HOME``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE``.

        Raises:
            ModelNotFoundError: neither a path nor a repository leads to such a file.
            ModelFileError: no tokenizer can be made of it.
            FallbackError: as in `from_file`.
        """
        path = find_pretrained(
            name_or_path,
            revision=revision,
            token=token,
            cache_dir=cache_dir,
            local_files_only=local_files_only,
            beside=CONFIG_PATTERNS if config is True else (),
        )
        return cls.from_file(path, config=config, backend=backend, fallback=fallback)

    @classmethod
    def from_tiktoken(
        cls: type[_Self],
        name_or_path: StrPath,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        ranks: StrPath | None = None,
    ) -> _Self:
        """Load a model in tiktoken's formats, to give the ids that tiktoken gives.

        All special tokens are recognised in text under ``allow_special=True``, as with tiktoken's
        ``allowed_special="all"``, and none under ``False``, as with ``encode_ordinary``. Nothing
        is put around a text. Ordinary tokens are spelt in GPT-2's byte alphabet (``Ġthe``).

        Args:
            name_or_path: the name of an encoding, such as ``"cl100k_base"``, or a file or folder:
                a rank file (``*.tiktoken``, ``tiktoken.model``, a ``tokenizer.model`` of that
                kind) or ``tekken.json``. Of a folder's files the first that `from_pretrained`
                would take but ``tokenizer.json``.
            pattern: how text is split, in tiktoken's syntax. A rank file does not tell; it is
                known of the public ones, by their content.
            special_tokens: content → id, in place of those known of the file, those in a
                ``tokenizer_config.json`` beside it, or those in ``tekken.json``.
            ranks: the rank file of a named encoding. By default it is looked for in tiktoken's
                cache, and the package tiktoken, if installed, is asked for it.

        Raises:
            ModelNotFoundError: there is no such file, or no ranks of that encoding.
            ModelFileError: the file is unsound, or of a model that is not known and no pattern
                is given; says which line or field.
            PatternError: the pattern cannot be compiled exactly.
            TypeError: ``pattern`` is no str, or ``special_tokens`` no mapping of str to int.
        """
        options: dict[str, Any] = {"pattern": pattern, "special_tokens": special_tokens}
        if isinstance(name_or_path, str) and name_or_path in ENCODINGS:
            source = name_or_path
            files: ConfigFiles = {}
            data, options["known"] = load_encoding(source, ranks)
        elif ranks is not None:
            raise ValueError(f"ranks goes with the name of an encoding, not {name_or_path!r}")
        else:
            path = find_rank_file(name_or_path)
            source, data = str(path), bytes(read_model_file(path))
            files = find_config(True, path)
        made = with_config(load_rank_model(data, source, files, **options), files)
        self = cls.__new__(cls)
        self._choice = BackendChoice()
        self._hold(data, source, files, made)
        return self

    @classmethod
    def from_hf(
        cls: type[_Self],
        tokenizer: Any,
        *,
        backend: str | None = None,
        fallback: bool | None = None,
    ) -> _Self:
        """Make one that does what a tokenizer of Hugging Face's does now.

        What happens to that one later changes nothing here.

        Args:
            tokenizer: a ``tokenizers.Tokenizer``, whose truncation and padding stay in force, or a
                fast tokenizer of `transformers`, which also brings its special tokens, templates
                and whatever else it would save.
            backend, fallback: as in `from_file`.

        Raises:
            FallbackError: as in `from_file`.
            PatchError: the installed `tokenizers` is release 1 or another that is not known.
            TokcyError: it cannot be saved, or what it saves is not what it does now: its added
                tokens may have been made before its normalizer was changed, for one.
            TypeError: it is neither.
        """
        from tokcy.dropin.content import check_made, content_of

        data, source, files = content_of(tokenizer)
        self = cls(data, source, files, backend, fallback)
        check_made(tokenizer, self._backend)
        return self

    # ------------------------------------------------------------------ saving

    def save(self, path: StrPath) -> None:
        """Write tokcy's own form of this tokenizer, which `from_file` loads several times faster.

        One file, of 1 to 12 MB for the vocabularies of today, under any name. It holds all that
        this class uses, and not the ``tokenizer.json`` that it came from: keep that, as another
        version of tokcy may ask for a file of its own. The file appears, or is replaced, only
        once it is whole.

        Raises:
            TokcyError: Hugging Face's object does the work, so there is nothing to save; or a model
                of characters may lack some, of which the saved form says nothing.
            OSError: the file cannot be written.
        """
        if not isinstance(self._backend, NativeBackend):
            raise TokcyError(
                f"{self._source} runs on Hugging Face tokenizers and has no saved form: "
                f"{self._fallback_reason or 'that backend was asked for'}"
            )
        data = self._saved_form()
        with whole_file(path) as file:
            file.write(data)

    def _saved_form(self) -> bytes:
        assert isinstance(self._backend, NativeBackend)
        if is_saved(self._data):
            return bytes(self._data)
        return pack_backend(self._backend, self._config, self._source)

    # ------------------------------------------------------------------- state

    @property
    def source(self) -> str:
        """Name of the file that this was read from."""
        return self._source

    @property
    def backend(self) -> str:
        """Who does the work: ``"tokcy"``, ``"tiktoken"`` (tokcy's engine with that library's
        rules), or ``"huggingface"``."""
        return self._backend.name

    @property
    def fallback_reason(self) -> str | None:
        """Why Hugging Face's object does the work, or None where it does not or was asked for."""
        return self._fallback_reason

    @property
    def config(self) -> TokenizerConfig:
        """What ``tokenizer_config.json`` and its kin say: special tokens by name, templates, …"""
        return self._config

    def describe(self) -> dict[str, Any]:
        """What was read, the pipeline in words, who does the work: ``tokcy info --json``."""
        return describe(
            self._data,
            self._source,
            self._config_files,
            self._backend,
            self._fallback_reason,
            self._config,
        )

    def __reduce__(self: _Self) -> tuple[type[_Self], tuple[Any, ...]]:
        if isinstance(self._backend, TiktokenBackend):
            # A rank file does not have all that such a tokenizer was made of.
            return type(self), (self._saved_form(), self._source)
        choice = self._choice
        arguments = (self._config_files, choice.backend, choice.fallback)
        return type(self), (bytes(self._data), self._source, *arguments)

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, memo: dict[int, Any]) -> _Self:
        return self
