"""Which backend a model is to run on, by the rules of NVIDIA Dynamo's frontend.

The argument counts over the environment, and that over the default.  A model that the native engine
cannot do runs on Hugging Face `tokenizers`, with one warning, unless that is forbidden.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from tokcy.errors import SettingError

__all__ = ["BackendChoice", "BackendName", "choose_backend"]

BackendName: TypeAlias = Literal["auto", "tokcy", "huggingface"]

_BACKEND_VARIABLE = "TOKCY_BACKEND"
_FALLBACK_VARIABLE = "TOKCY_FALLBACK"
_SWITCH = {"0": False, "1": True}


@dataclass(frozen=True, slots=True)
class BackendChoice:
    """What is asked for.

    Attributes:
        backend: ``"auto"`` and ``"tokcy"`` for the native engine wherever it can do the model,
            ``"huggingface"`` for `tokenizers` in any case.
        fallback: whether `tokenizers` may do what the engine cannot.
        origin: who asks, for messages.
    """

    backend: BackendName = "auto"
    fallback: bool = True
    origin: str = "backend"

    @property
    def native(self) -> bool:
        return self.backend != "huggingface"


def choose_backend(backend: str | None, fallback: bool | None) -> BackendChoice:
    """The choice for these arguments, ``None`` being for the environment to decide.

    Raises:
        ValueError: there is no backend of that name.
        SettingError: the environment asks for something that there is not.
    """
    origin = "backend"
    if backend is None:
        backend = os.environ.get(_BACKEND_VARIABLE, "").strip() or None
        origin = _BACKEND_VARIABLE if backend is not None else "the default"
    if backend is None:
        backend = "auto"
    if backend not in get_args(BackendName):
        names = ", ".join(map(repr, get_args(BackendName)))
        error = ValueError if origin == "backend" else SettingError
        raise error(f"{origin} must be one of {names}, not {backend!r}")
    if fallback is None:
        fallback = _fallback_by_environment()
    return BackendChoice(backend, bool(fallback), origin)  # type: ignore[arg-type]


def _fallback_by_environment() -> bool:
    value = os.environ.get(_FALLBACK_VARIABLE, "").strip() or "1"
    if value not in _SWITCH:
        raise SettingError(f"{_FALLBACK_VARIABLE} must be 0 or 1, not {value!r}")
    return _SWITCH[value]
