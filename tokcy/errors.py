"""The errors that tokcy raises, each a subclass of the standard exception it stands for."""

from __future__ import annotations

__all__ = [
    "ChatProvenanceError",
    "ChatTemplateError",
    "EncodeTypeError",
    "FallbackError",
    "MissingExtraError",
    "ModelFileError",
    "ModelNotFoundError",
    "OutputError",
    "PatchError",
    "PatternError",
    "SettingError",
    "TokcyError",
    "TokenIdError",
]


class TokcyError(Exception):
    """Base of every error that tokcy raises on purpose."""


class ModelFileError(TokcyError, ValueError):
    """A model file says something that no tokenizer can be made of.

    Attributes:
        source: the file (or ``"<string>"``) that was read.
        field: the JSON path at fault, such as ``"model.merges[17]"``, or ``None``.
    """

    def __init__(self, reason: str, *, source: str = "<string>", field: str | None = None) -> None:
        where = source if field is None else f"{source}: {field}"
        super().__init__(f"{where}: {reason}")
        self.reason = reason
        self.source = source
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_model_file_error, (self.reason, self.source, self.field))


def _rebuild_model_file_error(reason: str, source: str, field: str | None) -> ModelFileError:
    return ModelFileError(reason, source=source, field=field)


class FallbackError(TokcyError):
    """A model does not run on the backend that was asked for, and on no other by request.

    Attributes:
        source: the file (or ``"<string>"``) that was read.
        reason: why it does not, as a sentence fragment.
    """

    def __init__(self, reason: str, *, source: str = "<string>") -> None:
        super().__init__(f"{source}: {reason}")
        self.reason = reason
        self.source = source

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild_fallback_error, (self.reason, self.source))


def _rebuild_fallback_error(reason: str, source: str) -> FallbackError:
    return FallbackError(reason, source=source)


class ModelNotFoundError(TokcyError, FileNotFoundError):
    """A path or hub id does not lead to a tokenizer file."""


class PatternError(TokcyError, ValueError):
    """A split pattern uses what the compiler cannot turn into an exact scanner.

    Attributes:
        reason: what is not supported, as a sentence fragment.
        pattern: the whole pattern.
        position: index into ``pattern`` of the construct at fault.
        source: the file that was read, if the whole model hangs on the pattern.
    """

    def __init__(self, reason: str, pattern: str, position: int, source: str | None = None) -> None:
        where = "" if source is None else f"{source}: "
        super().__init__(f"{where}{reason} at position {position} of split pattern {pattern!r}")
        self.reason = reason
        self.pattern = pattern
        self.position = position
        self.source = source

    def __reduce__(self) -> tuple[object, ...]:
        return (PatternError, (self.reason, self.pattern, self.position, self.source))


class SettingError(TokcyError, ValueError):
    """An environment variable of tokcy's has a value that means nothing."""


class EncodeTypeError(TokcyError, TypeError):
    """The text to encode is no ``str``, or is one that UTF-8 cannot express."""


class TokenIdError(TokcyError, OverflowError):
    """A token id is negative or does not fit in 32 bits."""


class OutputError(TokcyError, ValueError):
    """The array that ids are to be written to cannot take them."""


class ChatTemplateError(TokcyError, ValueError):
    """A chat template cannot be read or used, or refuses a conversation."""


class ChatProvenanceError(ChatTemplateError):
    """It cannot be told whether a control token comes from the template or from a message."""


class PatchError(TokcyError, RuntimeError):
    """The installed `tokenizers` has other methods than those that `patch_hf` can replace."""


class MissingExtraError(TokcyError, ImportError):
    """A package is not installed, or is too old, that only an extra of tokcy's asks for."""
