"""What ``tokcy info`` tells of a model: what was read, in which words, and who does the work."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tokcy.arrayfile import is_saved
from tokcy.backend import Backend
from tokcy.ranks import TiktokenBackend
from tokcy.spec import AddedToken, ConfigFiles, TokenizerConfig
from tokcy.spec.config import ADDED_TOKENS_FILE
from tokcy.spec.fields import shown

__all__ = ["as_text", "describe"]

Facts = dict[str, Any]

_STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_MEMBERS = ("normalizers", "pretokenizers", "processors", "decoders")
_SHOWN_TOKENS = 12
_LABEL_WIDTH = 16


def describe(
    data: bytes | memoryview,
    source: str,
    files: ConfigFiles,
    backend: Backend,
    fallback_reason: str | None,
    config: TokenizerConfig,
) -> Facts:
    """The facts, as values that JSON has.

    Args:
        data: the content of the model file.
        source: its name.
        files: what stands beside it and counts.
        backend, fallback_reason: who does the work, and why it is not the native engine.
        config: what the files say.
    """
    sections = {} if is_saved(data) else _sections(bytes(data))
    read = [{"path": source, "bytes": len(data)}]
    read += [{"path": file.path, "bytes": len(file.data)} for file in files.values()]
    return {
        "files": read,
        "backend": backend.name,
        "fallback_reason": fallback_reason,
        "pipeline": (
            _by_ranks(backend) if isinstance(backend, TiktokenBackend) else _pipeline(sections)
        ),
        "vocab_size": backend.vocab_size(with_added_tokens=False),
        "tokens": backend.vocab_size(with_added_tokens=True),
        "added_tokens": len(backend.added_tokens),
        "special_tokens": _special_tokens(sections, source, files, backend, config),
        "chat_templates": list(config.chat_templates),
        "model_max_length": _finite(config.model_max_length),
        "cache": backend.cache_info(),
    }


def _finite(value: float | None) -> float | None:
    """A number that JSON has: none at all stands for no limit."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _sections(data: bytes) -> Facts:
    """The sections of a ``tokenizer.json``; none of any other file."""
    try:
        found = json.loads(data)
    except ValueError:
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("model"), dict) else {}


def _pipeline(sections: Facts) -> dict[str, list[str]]:
    """The steps of each section, in the order in which they run."""
    if not sections:
        return {}
    steps = {name: [_words(s) for s in _flat(sections.get(name))] for name in _STEPS}
    model = [_model_words(sections["model"])]
    found = {
        "normalizer": steps["normalizer"],
        "pre_tokenizer": steps["pre_tokenizer"],
        "model": model,
        "post_processor": steps["post_processor"],
        "decoder": steps["decoder"],
    }
    for name in ("truncation", "padding"):
        if sections.get(name):
            found[name] = [_words({"type": name.title(), **sections[name]})]
    return found


def _by_ranks(backend: TiktokenBackend) -> dict[str, list[str]]:
    """The same of a model in tiktoken's formats."""
    (split,) = backend.plan.text.splits
    entries = backend.vocab_size(with_added_tokens=False)
    return {
        "pre_tokenizer": [f"Pattern of tiktoken({split.pattern})"],
        "model": [f"Ranks({entries:,} entries)"],
    }


def _flat(section: Any) -> Iterator[Facts]:
    """The steps of a section, which may be a sequence of sequences."""
    if not isinstance(section, dict):
        return
    members = [section[name] for name in _MEMBERS if name in section]
    if not members:
        yield section
    for member in members:
        for step in member:
            yield from _flat(step)


def _words(step: Facts) -> str:
    """A step as ``Type(field=value, …)``, without what is null."""
    if step.get("type") == "TemplateProcessing":
        return f"TemplateProcessing({_template(step.get('single') or ())})"
    fields = ", ".join(
        f"{name}={_value(value)}"
        for name, value in step.items()
        if name != "type" and value is not None
    )
    return f"{step.get('type') or 'without a type'}({fields})"


def _template(pieces: Iterable[Facts]) -> str:
    """What is put around a single text, such as ``<s> $A``."""
    members = [(kind, piece) for part in pieces for kind, piece in part.items()]
    return " ".join(f"${p['id']}" if kind == "Sequence" else p["id"] for kind, p in members)


def _value(value: Any) -> str:
    if isinstance(value, dict) and len(value) == 1:  # {"Regex": …} and {"String": …}
        ((kind, content),) = value.items()
        return f"{kind} {shown(content)}"
    return shown(value)


def _model_words(model: Facts) -> str:
    sizes = [
        f"{len(model[name]):,} {plural}"
        for name, plural in (("vocab", "entries"), ("merges", "merges"))
        if isinstance(model.get(name), list | dict)
    ]
    flags = [
        name if value is True else f"{name}={_value(value)}"
        for name, value in model.items()
        if name not in ("type", "vocab", "merges") and value not in (None, False, "")
    ]
    return f"{model.get('type') or 'without a type'}({', '.join(sizes + flags)})"


def _special_tokens(
    sections: Facts,
    source: str,
    files: ConfigFiles,
    backend: Backend,
    config: TokenizerConfig,
) -> list[Facts]:
    """The added tokens that are special or have a name, by id."""
    names: dict[str, list[str]] = {}
    for name, token in config.special_tokens.items():
        names.setdefault(token.content, []).append(name)
    places = dict(_places(sections, source, files))
    return [
        {
            "id": token.id,
            "content": token.content,
            "special": token.special,
            "names": names.get(token.content, []),
            "declared_in": [path for path, found in places.items() if token.content in found],
        }
        for token in sorted(backend.added_tokens, key=_by_id)
        if token.special or token.content in names
    ]


def _by_id(token: AddedToken) -> int:
    return token.id


def _places(sections: Facts, source: str, files: ConfigFiles) -> Iterator[tuple[str, set[str]]]:
    """Each file's name, and the texts in it that can be tokens."""
    yield source, {token["content"] for token in sections.get("added_tokens") or ()}
    for name, file in files.items():
        if name.endswith(".json"):
            value = json.loads(file.data)
            yield file.path, set(value if name == ADDED_TOKENS_FILE else _strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def as_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """The lines that a person reads: a label and a value, or several values."""
    for name, value in facts.items():
        label = f"{name.replace('_', ' ')}:"
        for line in _lines(name, value):
            yield f"{label:{_LABEL_WIDTH}} {_printable(line)}"
            label = ""


def _printable(line: str) -> str:
    """With escapes for what would steer a terminal, or break the line: a file may hold anything."""
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def _lines(name: str, value: Any) -> Iterable[str]:
    if name == "files":
        return [f"{file['path']} ({file['bytes']:,} bytes)" for file in value]
    if name == "pipeline":
        return [f"{section}: {step}" for section, steps in value.items() for step in steps] or ["-"]
    if name == "special_tokens":
        return _token_lines(value)
    if name == "cache":
        return [", ".join(f"{key} {count:,}" for key, count in value.items()) or "-"]
    if isinstance(value, list):
        return [", ".join(value) or "-"]
    return ["-" if value is None else str(value)]


def _token_lines(tokens: list[Facts]) -> Iterator[str]:
    """First those with a name, then the first of the others."""
    if not tokens:
        yield "-"
    named = [token for token in tokens if token["names"]]
    others = [token for token in tokens if not token["names"]]
    for token in (*named, *others[:_SHOWN_TOKENS]):
        names = f" {', '.join(token['names'])}" if token["names"] else ""
        places = ", ".join(map(os.path.basename, token["declared_in"]))
        yield f"{token['id']} {token['content']!r}{names}{places and f' ({places})'}"
    if len(others) > _SHOWN_TOKENS:
        yield f"… and {len(others) - _SHOWN_TOKENS:,} more; --json lists them all"
