"""What a template may see of messages, tools and documents: plain data, as transformers has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tokcy.errors import ChatTemplateError

from .trace import DATA, TEMPLATE, TracedStr

__all__ = ["TrustedText", "is_batch", "mark_to_continue", "plain", "plain_messages", "plain_tools"]

CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG "  # as transformers has it, where it can be seen
_REASONING_FIELDS = ("reasoning_content", "thinking", "reasoning")


class TrustedText(str):
    """Text in a message that may hold control tokens, as whoever calls vouches for it.

    For what a server itself puts there, such as the placeholder of an image or a role that it has
    checked, in templates that build control tokens of it.
    """

    __slots__ = ()


def plain(value: Any, traced: bool = False) -> Any:
    """A copy made of JSON's types, so that a template gets no object with methods of its own.

    Args:
        value: anything; dataclasses and pydantic models become dicts, and what has no JSON form
            becomes the name of its type in angle brackets.
        traced: make `TracedStr` of all text.
    """
    if isinstance(value, str):
        if traced:
            return TracedStr(value, TEMPLATE if isinstance(value, TrustedText) else DATA)
        return str.__str__(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, Mapping):
        return {plain(key, traced): plain(item, traced) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item, traced) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item, traced) for item in value)
    if isinstance(value, np.generic):
        return plain(value.item(), traced)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {plain(f.name, traced): plain(getattr(value, f.name), traced) for f in fields}
    if callable(dump := getattr(value, "model_dump", None)):
        return plain(dump(), traced)
    return plain(f"<{type(value).__name__}>", traced)


def is_batch(conversation: Any) -> bool:
    """Whether it is several conversations.

    Raises:
        ChatTemplateError: it is empty.
    """
    if isinstance(conversation, list | tuple):
        if not conversation:
            raise ChatTemplateError("the conversation is empty; it needs at least one message")
        return isinstance(conversation[0], list | tuple) or hasattr(conversation[0], "messages")
    return False


def plain_messages(conversation: Any, traced: bool) -> list[dict[str, Any]]:
    """The messages of one conversation, without what is None, their reasoning under all its names.

    Raises:
        ChatTemplateError: a message is nothing that can be a dict.
    """
    found = getattr(conversation, "messages", conversation)
    if isinstance(found, str | Mapping) or not isinstance(found, Sequence):
        kind = type(found).__name__
        raise ChatTemplateError(f"a conversation must be a list of messages, not {kind}")
    return [_message(plain(message, traced), index) for index, message in enumerate(found)]


def _message(message: Any, index: int) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise ChatTemplateError(f"messages[{index}] must be a dict, not {message!r:.80}")
    known = {key: value for key, value in message.items() if value is not None}
    reasoning = [known[name] for name in _REASONING_FIELDS if name in known]
    if not reasoning:
        return known
    return {"thinking": reasoning[0], **known, "reasoning_content": reasoning[0]}


def plain_tools(tools: Sequence[Any] | None, what: str) -> Sequence[Any] | None:
    """The tools or documents, which must be dicts.

    Raises:
        ChatTemplateError: one is not.
    """
    for index, tool in enumerate(tools or ()):
        if not isinstance(tool, dict):
            kind = "a function; pass its JSON schema" if callable(tool) else type(tool).__name__
            raise ChatTemplateError(f"{what}[{index}] must be a dict, not {kind}")
    return tools


def mark_to_continue(messages: list[dict[str, Any]], field: str, source: str) -> str:
    """Put a tag behind the text of the last message that is to be continued; gives that text.

    Raises:
        ChatTemplateError: there is no such text, or the template does not know the field.
    """
    if not messages:
        raise ChatTemplateError("continue_final_message: the conversation is empty")
    last = messages[-1]
    if (text := last.get(field)) is None:
        raise ChatTemplateError(f"continue_final_message: the final message has no {field!r}")
    fields = [field]
    if field in _REASONING_FIELDS:
        fields = [name for name in _REASONING_FIELDS if last.get(name) == text]
    if not any(name in source for name in fields):
        raise ChatTemplateError(f"continue_final_message: the template never reads {field!r}")
    if isinstance(text, list | tuple):
        blocks = [block for block in text if isinstance(block, dict) and "text" in block]
        if not blocks:
            raise ChatTemplateError("continue_final_message: the final message has no text block")
        text = blocks[-1]["text"]
        blocks[-1]["text"] = text + _tag_for(text)
        return str(text)
    for name in fields:
        last[name] = text + _tag_for(text)
    return str(text)


def _tag_for(text: str) -> str:
    return TracedStr(CONTINUE_TAG, DATA) if isinstance(text, TracedStr) else CONTINUE_TAG
