"""Smaller files and texts that still show a difference, for the message of a failed test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipelines import steps_of
from synthetic import Model

__all__ = ["shrunk", "shrunk_file"]

LISTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
PLAIN_MODEL = {
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
}
PLAIN_TOKEN = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)


def shrunk(items: Any, fails: Callable[[Any], bool]) -> Any:
    """A list or string without what can be left out while ``fails`` holds, as it does for all."""
    size = len(items)
    while size:
        begin = 0
        while begin < len(items):
            rest = items[:begin] + items[begin + size :]
            if fails(rest):
                items = rest
            else:
                begin += size
        size //= 2
    return items


def shrunk_file(file: Model, fails: Callable[[Model], bool]) -> Model:
    """A file without the sections, steps, flags, tokens, merges and entries that do not matter."""

    def attempt(candidate: Model) -> None:
        nonlocal file
        if fails(candidate):
            file = candidate

    for name in ("truncation", "padding"):
        attempt({**file, name: None})
    for name, list_name in LISTS.items():
        steps = list(steps_of(file[name]))
        steps = shrunk(steps, lambda some: fails(_with_steps(file, name, list_name, some)))  # noqa: B023
        attempt(_with_steps(file, name, list_name, steps))
    for name, plain in PLAIN_MODEL.items():
        attempt({**file, "model": {**file["model"], name: plain}})
    tokens = shrunk(file["added_tokens"], lambda some: fails({**file, "added_tokens": some}))
    file = {**file, "added_tokens": tokens}
    for i in range(len(tokens)):
        for name, plain in PLAIN_TOKEN.items():
            tokens = list(file["added_tokens"])
            tokens[i] = {**tokens[i], name: plain}
            attempt({**file, "added_tokens": tokens})
    for name, make in (("merges", list), ("vocab", dict)):
        value = file["model"][name]
        items = list(value.items() if isinstance(value, dict) else value)
        items = shrunk(items, lambda some: fails(_with_model(file, name, make(some))))  # noqa: B023
        file = _with_model(file, name, make(items))
    return file


def _with_steps(file: Model, name: str, list_name: str, steps: list[Model]) -> Model:
    if len(steps) > 1:
        return {**file, name: {"type": "Sequence", list_name: steps}}
    return {**file, name: steps[0] if steps else None}


def _with_model(file: Model, name: str, value: Any) -> Model:
    return {**file, "model": {**file["model"], name: value}}
