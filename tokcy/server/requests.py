"""What may be asked: each endpoint's fields, checked, as one of three kinds of task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tokcy.backend import Ids
from tokcy.server.errors import RequestError

__all__ = [
    "ChatTask",
    "IdsTask",
    "Task",
    "TextTask",
    "read_count",
    "read_detokenize",
    "read_tokenize",
]

_ABSENT = object()


@dataclass(frozen=True, slots=True)
class TextTask:
    """Texts to encode; one that did not come in a list is alone in `texts`."""

    model: str | None
    texts: list[str]
    in_list: bool
    add_special_tokens: bool
    allow_special: bool
    token_strs: bool = False


@dataclass(frozen=True, slots=True)
class ChatTask:
    """A conversation to render and encode; `options` are those of `render_segments`."""

    model: str | None
    messages: list[dict[str, Any]]
    options: dict[str, Any]
    add_special_tokens: bool
    token_strs: bool = False


@dataclass(frozen=True, slots=True)
class IdsTask:
    """Ids to decode."""

    model: str | None
    ids: Ids
    skip_special_tokens: bool


Task: TypeAlias = TextTask | ChatTask | IdsTask

_PROMPT_FIELDS = ("model", "prompt", "add_special_tokens", "allow_special")
_CHAT_FIELDS = (
    "model",
    "messages",
    "tools",
    "add_generation_prompt",
    "continue_final_message",
    "add_special_tokens",
    "chat_template",
    "chat_template_kwargs",
)
#: What a request must not set as a variable of its template: the arguments of the calls that
#: render and encode, among them those by which a message could become a control token.
NO_VARIABLES = frozenset(
    {*_CHAT_FIELDS, "self", "trust_content", "tokenize", "join", "chunking", "num_threads"}
    | {"prefix_cache", "segments", "out", "template_kwargs"}
)
_IDS_FIELDS = ("model", "tokens", "skip_special_tokens")


def read_tokenize(body: Any) -> TextTask | ChatTask:
    """The task of ``POST /tokenize``.

    Raises:
        RequestError: a field is missing, unknown or of the wrong type.
    """
    return _read_text(body, ("return_token_strs",), lists=False)


def read_count(body: Any) -> TextTask | ChatTask:
    """The task of ``POST /count``, where ``prompt`` may be a list; errors as in `read_tokenize`."""
    return _read_text(body, (), lists=True)


def read_detokenize(body: Any) -> IdsTask:
    """The task of ``POST /detokenize``; errors as in `read_tokenize`."""
    fields = _Fields(body, _IDS_FIELDS)
    tokens = fields.take("tokens", _is_ids, "a list of integers")
    return IdsTask(
        fields.text("model"), _as_ids(tokens), fields.flag("skip_special_tokens", default=False)
    )


class _Fields:
    """The fields of a request; null stands for one that is left out, but for one that must be."""

    def __init__(self, body: Any, known: tuple[str, ...]) -> None:
        if not isinstance(body, dict):
            raise RequestError(f"the body must be a JSON object, not {_kind(body)}")
        unknown = [name for name in body if name not in known]
        if unknown:
            names = ", ".join(repr(name[:100]) for name in unknown[:10])
            raise RequestError(
                f"unknown field {names}; known are {', '.join(known)}", param=unknown[0][:100]
            )
        self._body = body

    def take(
        self, name: str, fits: Callable[[Any], bool], what: str, default: Any = _ABSENT
    ) -> Any:
        value = self._body.get(name)
        if value is None and default is not _ABSENT:
            return default
        if value is None and name not in self._body:
            raise RequestError(f"the field {name} is missing", param=name)
        if not fits(value):
            raise RequestError(f"{name} must be {what}, not {_kind(value)}", param=name)
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        return bool(self.take(name, lambda value: isinstance(value, bool), "a boolean", default))

    def text(self, name: str) -> str | None:
        found: str | None = self.take(name, lambda v: isinstance(v, str), "a string", None)
        return found


def _read_text(body: Any, more: tuple[str, ...], lists: bool) -> TextTask | ChatTask:
    if isinstance(body, dict) and ("prompt" in body) == ("messages" in body):
        both = "both" if "prompt" in body else "neither"
        raise RequestError(f"give either prompt or messages; there is {both}", param="prompt")
    if isinstance(body, dict) and "messages" in body:
        return _read_chat(_Fields(body, _CHAT_FIELDS + more))
    fields = _Fields(body, _PROMPT_FIELDS + more)
    if lists:
        prompt = fields.take("prompt", _is_text_or_texts, "a string or a list of strings")
    else:
        prompt = fields.take("prompt", lambda value: isinstance(value, str), "a string")
    in_list = not isinstance(prompt, str)
    return TextTask(
        fields.text("model"),
        list(prompt) if in_list else [prompt],
        in_list,
        fields.flag("add_special_tokens", default=True),
        fields.flag("allow_special", default=True),
        bool(more) and fields.flag("return_token_strs", default=False),
    )


def _read_chat(fields: _Fields) -> ChatTask:
    messages = fields.take("messages", _is_objects, "a list of objects")
    if not messages:
        raise RequestError("messages must not be empty", param="messages")
    options = {
        "tools": fields.take("tools", _is_objects, "a list of objects", None),
        "add_generation_prompt": fields.flag("add_generation_prompt", default=True),
        "continue_final_message": fields.flag("continue_final_message", default=False),
        "chat_template": fields.text("chat_template"),
    }
    if options["add_generation_prompt"] and options["continue_final_message"]:
        raise RequestError(
            "continue_final_message goes with add_generation_prompt false",
            param="continue_final_message",
        )
    more = fields.take("chat_template_kwargs", lambda v: isinstance(v, dict), "an object", {})
    for name in more:
        if name in NO_VARIABLES or not name.isidentifier():
            raise RequestError(
                f"chat_template_kwargs must not have {name[:100]!r}", param="chat_template_kwargs"
            )
    return ChatTask(
        fields.text("model"),
        messages,
        {**options, **more},
        fields.flag("add_special_tokens", default=False),
        fields.flag("return_token_strs", default=False),
    )


def _is_text_or_texts(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str)


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _is_ids(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (
        isinstance(value, list) and all(type(item) is int for item in value)
    )


def _as_ids(tokens: Any) -> Ids:
    if not isinstance(tokens, np.ndarray):
        for token in tokens:
            if not 0 <= token < 2**32:
                raise RequestError(f"token id {str(token)[:40]} is out of range", param="tokens")
    ids: Ids = np.asarray(tokens, dtype=np.uint32)
    return ids


def _kind(value: Any) -> str:
    """What JSON calls the type of a value; of a list the first item that may be at fault."""
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    names |= {dict: "an object", type(None): "null"}
    if isinstance(value, list):
        kinds = sorted({names.get(type(item), "a list") for item in value[:1000]})
        return f"a list of {', '.join(kinds)}" if kinds else "an empty list"
    return names.get(type(value), "a list")
