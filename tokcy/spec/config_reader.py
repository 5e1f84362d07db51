"""Reader for ``tokenizer_config.json`` and its kin; `config` says what they are."""

from __future__ import annotations

import json
from typing import Any

from tokcy.errors import ModelFileError

from .config import (
    ADDED_TOKENS_FILE,
    CHAT_TEMPLATE_FILE,
    CHAT_TEMPLATE_FOLDER,
    CONFIG_FILE,
    NAMED_TOKENS,
    SPECIAL_TOKENS_FILE,
    ConfigFile,
    ConfigFiles,
    DeclaredConfig,
    DeclaredToken,
    TokenizerConfig,
)
from .fields import U32_MAX, Node, shown

__all__ = ["read_config"]

_EXTRA = "extra_special_tokens"
_ADDITIONAL = "additional_special_tokens"
_SPECIFIC = "model_specific_special_tokens"
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
_BOOLEANS = {bool}
_MAX_DIGITS = 100  # of an id; thousands are more than `int` takes


def read_config(files: ConfigFiles, pad_token: str | None = None) -> DeclaredConfig:
    """What the files say.

    Args:
        files: the files.
        pad_token: that of the model file's padding, if it has one, which counts where no other is
            declared.

    Raises:
        ModelFileError: a file says what cannot be; names it, the field and the value.
    """
    config = _read_object(files, CONFIG_FILE)
    completes = "added_tokens_decoder" not in config.value
    overriding = files if completes else {}
    special_map = _read_object(overriding, SPECIAL_TOKENS_FILE)
    added = _read_object(overriding, ADDED_TOKENS_FILE)
    named, extra, listed = _special_tokens(config, special_map, added, pad_token)
    numbered = dict(listed)  # of an id that stands twice, the last counts
    if not completes:
        numbered = _added_tokens_decoder(config.child("added_tokens_decoder"))
    values = _Values(config)
    rest = TokenizerConfig(
        files=tuple(file.path for file in files.values()),
        chat_templates=_chat_template_files(files) or _chat_templates(config),
        model_max_length=values.number("model_max_length"),
        add_bos_token=values.boolean("add_bos_token"),
        add_eos_token=values.boolean("add_eos_token"),
        clean_up_tokenization_spaces=values.boolean("clean_up_tokenization_spaces") or False,
        split_special_tokens=values.boolean("split_special_tokens") or False,
        padding_side=values.side("padding_side"),
        truncation_side=values.side("truncation_side"),
        tokenizer_class=values.string("tokenizer_class"),
    )
    return DeclaredConfig(named, extra, numbered, completes, rest)


def _read_object(files: ConfigFiles, name: str) -> Node:
    """A file's JSON object; an empty one if there is no such file."""
    if name not in files:
        return Node({}, name)
    file = files[name]
    try:
        value = json.loads(_text(file))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"not valid JSON: {error}", source=file.path) from None
    node = Node(value, file.path)
    node.object()
    return node


def _text(file: ConfigFile) -> str:
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ModelFileError(
            f"not UTF-8: {error.reason} at byte {error.start}", source=file.path
        ) from None


def _chat_template_files(files: ConfigFiles) -> dict[str, str]:
    """The templates that have files of their own, which replace all that stand in the config."""
    found = {}
    if CHAT_TEMPLATE_FILE in files:
        found["default"] = _text(files[CHAT_TEMPLATE_FILE])
    for path, file in files.items():
        folder, _, name = path.rpartition("/")
        if folder == CHAT_TEMPLATE_FOLDER:
            found[name.removesuffix(".jinja")] = _text(file)
    return found


class _Values:
    """The plain fields of ``tokenizer_config.json``; null is as good as absent."""

    def __init__(self, config: Node) -> None:
        self._config = config

    def _given(self, name: str) -> Node | None:
        return None if self._config.value.get(name) is None else self._config.child(name)

    def boolean(self, name: str) -> bool | None:
        node = self._given(name)
        return None if node is None else node.boolean()

    def string(self, name: str) -> str | None:
        node = self._given(name)
        return None if node is None else node.string()

    def number(self, name: str) -> int | float | None:
        node = self._given(name)
        if node is not None and type(node.value) not in (int, float):
            raise node.type_error("a number")
        return None if node is None else node.value

    def side(self, name: str) -> str:
        node = self._given(name)
        if node is None:
            return "right"
        if node.value not in ("left", "right"):
            raise node.error(f'must be "left" or "right", not {shown(node.value)}')
        return node.string()


def _chat_templates(config: Node) -> dict[str, str]:
    """``chat_template``: one, or a list of named ones."""
    if config.value.get("chat_template") is None:
        return {}
    node = config.child("chat_template")
    if type(node.value) is str:
        return {"default": node.value}
    if type(node.value) is not list:
        raise node.type_error("a string or a list of named templates")
    templates = {}
    for item in node.items():
        item.object()
        templates[item.child("name").string()] = item.child("template").string()
    return templates


# ------------------------------------------------------------------------------------ the tokens


def _special_tokens(
    config: Node, special_map: Node, added: Node, pad_token: str | None
) -> tuple[dict[str, DeclaredToken], tuple[DeclaredToken, ...], list[tuple[int, DeclaredToken]]]:
    """The named special tokens, the others, and what ``added_tokens.json`` lists.

    The two names for the others, their two forms, and a second file that overrides the first,
    have a history: the order of these steps is that of `transformers`.
    """
    fields = {name: config.child(name) for name in config.value}
    if _ADDITIONAL in fields and not (_EXTRA in fields and fields[_EXTRA].value):
        fields[_EXTRA] = fields.pop(_ADDITIONAL)
    specific = {
        name: fields.pop(name)
        for name in list(fields)
        if _is_model_specific(name) and type(fields[name].value) is str
    }
    specific |= _pop_named_extra(fields)
    if not specific and _SPECIFIC in fields:
        specific = _members(fields[_SPECIFIC])
    _override(fields, special_map)
    specific |= _pop_named_extra(fields)
    listed = _added_tokens_file(added, _contents_so_far(fields))
    _replace_named(fields, {token.content: token for _, token in listed})
    if _EXTRA not in fields and _ADDITIONAL in fields:
        fields[_EXTRA] = fields[_ADDITIONAL]
    if pad_token is not None:
        fields.setdefault("pad_token", Node(pad_token, config.source, "pad_token"))

    named: dict[str, DeclaredToken | None] = {
        name: _read_token(fields[name]) if name in fields else None for name in NAMED_TOKENS
    }
    for name, node in fields.items():
        if _is_model_specific(name) and (type(node.value) is str or _is_object_token(node)):
            named[name] = _read_token(node)
    named |= {name: _read_token(node) for name, node in specific.items()}
    extra = fields.get(_EXTRA)
    tokens = () if extra is None or extra.value is None else map(_read_token, extra.items())
    found = {name: token for name, token in named.items() if token is not None}
    return found, tuple(token for token in tokens if token is not None), listed


def _replace_named(fields: dict[str, Node], listed: dict[str, DeclaredToken]) -> None:
    """The named tokens that ``added_tokens.json`` has, too, are what they are there."""
    for name in NAMED_TOKENS:
        token = _read_token(fields[name]) if name in fields else None
        if token is not None and token.content in listed:
            fields[name] = _Overriding(listed[token.content], fields[name])


def _contents_so_far(fields: dict[str, Node]) -> set[str]:
    """Contents of the special tokens, without the objects of ``tokenizer_config.json``.

    `transformers` turns those into tokens only after it has read ``added_tokens.json``.
    """
    values = [fields[name].value for name in NAMED_TOKENS if name in fields]
    if _EXTRA in fields and type(fields[_EXTRA].value) is list:
        values += fields[_EXTRA].value
    contents = {value.content for value in values if isinstance(value, DeclaredToken)}
    return contents | {value for value in values if type(value) is str}


def _is_model_specific(name: str) -> bool:
    return name.endswith("_token") and name not in NAMED_TOKENS


def _is_object_token(node: Node) -> bool:
    if isinstance(node.value, DeclaredToken):
        return True
    return type(node.value) is dict and node.value.get("__type") == "AddedToken"


def _members(node: Node) -> dict[str, Node]:
    return {name: node.child(name) for name in node.object()}


def _pop_named_extra(fields: dict[str, Node]) -> dict[str, Node]:
    """The extra special tokens, taken out of ``fields``, if they have names."""
    if _EXTRA in fields and type(fields[_EXTRA].value) is dict:
        return _members(fields.pop(_EXTRA))
    return {}


def _override(fields: dict[str, Node], special_map: Node) -> None:
    """What ``special_tokens_map.json`` says counts; its objects are tokens, whatever their type."""
    for name, node in _members(special_map).items():
        value = node.value
        if type(value) is dict and name != _EXTRA:
            value = _special_object(node)
        elif type(value) is list:
            value = [
                _special_object(item) if type(item.value) is dict else item.value
                for item in node.items()
            ]
            if name == _EXTRA and name in fields:
                before = fields[name].value or []
                if type(before) not in (str, list):  # a string is a list of its characters there
                    raise fields[name].type_error("a list")
                texts = {item for item in before if type(item) is str}
                value = [*before, *(i for i in value if type(i) is not str or i not in texts)]
        fields[name] = _Overriding(value, node)


class _Overriding(Node):
    """A value of which some objects have become tokens, which JSON has not."""

    __slots__ = ("_in_file",)

    def __init__(self, value: Any, in_file: Node) -> None:
        super().__init__(value, in_file.source, in_file.path)
        self._in_file = in_file

    def type_error(self, wanted: str) -> ModelFileError:
        return self._in_file.type_error(wanted)


def _special_object(node: Node) -> DeclaredToken:
    return _read_object_token(node)._replace(special=True)


def _read_token(node: Node) -> DeclaredToken | None:
    """A special token: its text, or an object that says it is one; nothing for null."""
    if node.value is None or isinstance(node.value, DeclaredToken):
        return node.value
    if type(node.value) is str:
        return DeclaredToken(_content(node), is_text=True, special=True)
    if _is_object_token(node):
        return _read_object_token(node)
    raise node.type_error('a string, or an object with "__type": "AddedToken"')


def _read_object_token(node: Node) -> DeclaredToken:
    values = node.object()
    flags = {name: values[name] for name in _FLAGS if name in values}
    if not _BOOLEANS.issuperset(map(type, flags.values())):
        flags = {name: node.child(name).boolean() for name in flags}
    content = values.get("content")
    if type(content) is not str or not content.isascii():
        content = _content(node.child("content"))
    return DeclaredToken(content, **flags)


def _content(node: Node) -> str:
    content = node.string()
    try:
        content.encode("utf-8")
    except UnicodeEncodeError:
        raise node.error(f"lone surrogate in {content[:60]!a}") from None
    return content


def _added_tokens_decoder(node: Node) -> dict[int, DeclaredToken]:
    tokens = {}
    for name, member in _members(node).items():
        is_number = name.isascii() and name.isdigit() and len(name) <= _MAX_DIGITS
        if not (is_number and int(name) <= U32_MAX):
            raise node.error(f"{shown(name)} is no token id")
        tokens[int(name)] = _read_object_token(member)
    return tokens


def _added_tokens_file(node: Node, special: set[str]) -> list[tuple[int, DeclaredToken]]:
    return [
        (
            member.u32(),
            DeclaredToken(
                _content(Node(content, node.source, member.path)),
                normalized=content not in special,
                special=content in special,
            ),
        )
        for content, member in _members(node).items()
    ]
