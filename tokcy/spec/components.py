"""Readers for normalizer, pre-tokenizer and post-processor sections.

What is certainly an error for Hugging Face is an error here.  Whatever this module does not know,
or has seen in a form that serde may or may not accept, becomes :class:`Other`, so that the
Hugging Face object decides.  Unknown members are ignored, as serde does here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, get_args

from tokcy.errors import ModelFileError

from .fields import Node, shown
from .steps import (
    Behavior,
    BertPreTokenizer,
    BertProcessing,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    FixedLength,
    Lowercase,
    Metaspace,
    NormalForm,
    NormalizerStep,
    Other,
    PostProcessorStep,
    Prepend,
    PrependScheme,
    PreTokenizerStep,
    Punctuation,
    Replace,
    RobertaProcessing,
    SpecialTokenPiece,
    Split,
    Strip,
    StripAccents,
    TemplateProcessing,
    TextPiece,
    Whitespace,
    WhitespaceSplit,
)

__all__ = [
    "read_byte_level",
    "read_metaspace",
    "read_normalizer",
    "read_post_processor",
    "read_pre_tokenizer",
    "read_replace",
    "read_steps",
]

_BEHAVIORS: tuple[Behavior, ...] = get_args(Behavior)
_PREPEND_SCHEMES: tuple[PrependScheme, ...] = get_args(PrependScheme)
_MAX_NESTING = 32

_Step = TypeVar("_Step")


def read_normalizer(node: Node) -> tuple[NormalizerStep, ...]:
    """The steps of ``normalizer``; ``()`` for null."""
    if node.value is None:
        return ()
    return read_steps(node, "normalizers", _NORMALIZERS)


def read_pre_tokenizer(node: Node) -> tuple[PreTokenizerStep, ...]:
    """The steps of ``pre_tokenizer``; ``()`` for null."""
    if node.value is None:
        return ()
    return read_steps(node, "pretokenizers", _PRE_TOKENIZERS)


def read_post_processor(node: Node) -> tuple[PostProcessorStep, ...]:
    """The steps of ``post_processor``; ``()`` for null."""
    if node.value is None:
        return ()
    return _read_post_steps(node)


def read_steps(
    node: Node, list_name: str, readers: Mapping[str, Callable[[Node], _Step]], depth: int = 0
) -> tuple[_Step | Other, ...]:
    """The steps of a section, those of a ``Sequence`` one after another.

    Args:
        list_name: the member of a ``Sequence`` that holds its steps.
        readers: by ``type``.
    """
    kind = _kind(node)
    if kind == "Sequence" and depth < _MAX_NESTING:
        return tuple(
            step
            for item in node.child(list_name).items()
            for step in read_steps(item, list_name, readers, depth + 1)
        )
    reader = readers.get(kind) if kind is not None else None
    return (Other(kind),) if reader is None else (reader(node),)


def _kind(node: Node) -> str | None:
    kind = node.value.get("type") if type(node.value) is dict else None
    return kind if type(kind) is str else None


def read_byte_level(node: Node) -> ByteLevel:
    return ByteLevel(
        add_prefix_space=node.child("add_prefix_space").boolean(),
        trim_offsets=node.child("trim_offsets").boolean(),
        use_regex=node.child("use_regex").boolean() if "use_regex" in node.value else True,
    )


def read_replace(node: Node) -> Replace:
    pattern, is_regex = _read_pattern(node.child("pattern"))
    return Replace(pattern, is_regex, node.child("content").string())


def _read_strip(node: Node) -> Strip:
    return Strip(node.child("strip_left").boolean(), node.child("strip_right").boolean())


def _read_pattern(pattern: Node) -> tuple[str, bool]:
    """A pattern, and whether it is a regular expression."""
    if type(pattern.value) is not dict or list(pattern.value) not in (["Regex"], ["String"]):
        raise pattern.error(
            f'must be {{"Regex": …}} or {{"String": …}}, not {shown(pattern.value)}'
        )
    (form,) = pattern.value
    return pattern.child(form).string(), form == "Regex"


def _read_split(node: Node) -> Split | Other:
    text, is_regex = _read_pattern(node.child("pattern"))
    behavior = node.child("behavior").variant(_BEHAVIORS)
    invert = node.child("invert").boolean()
    if behavior is None:
        return Other("Split")
    return Split(text, is_regex, behavior, invert)


def _read_digits(node: Node) -> Digits:
    return Digits(node.child("individual_digits").boolean())


def _read_punctuation(node: Node) -> Punctuation | Other:
    if "behavior" not in node.value:
        return Punctuation("Isolated")
    behavior = node.child("behavior").variant(_BEHAVIORS)
    return Other("Punctuation") if behavior is None else Punctuation(behavior)


def read_metaspace(node: Node) -> Metaspace | Other:
    replacement = node.child("replacement").character()
    scheme: PrependScheme = "always"
    if "prepend_scheme" in node.value:
        named = node.child("prepend_scheme").variant(_PREPEND_SCHEMES)
        if named is None:
            return Other("Metaspace")
        scheme = named
    if _optional_boolean(node, "add_prefix_space") is False and scheme != "never":
        raise node.child("add_prefix_space").error(f"does not match prepend_scheme {scheme!r}")
    if node.value.get("str_rep") is not None:
        node.child("str_rep").string()
    return Metaspace(replacement, scheme, _optional_boolean(node, "split") is not False)


def _optional_boolean(node: Node, name: str) -> bool | None:
    return None if node.value.get(name) is None else node.child(name).boolean()


def _read_char_delimiter(node: Node) -> CharDelimiterSplit | Other:
    delimiter = node.value.get("delimiter")
    if type(delimiter) is not str or len(delimiter) != 1:
        return Other("CharDelimiterSplit")
    return CharDelimiterSplit(delimiter)


def _read_fixed_length(node: Node) -> FixedLength | Other:
    length = node.value.get("length", 5)
    return FixedLength(length) if type(length) is int and length > 0 else Other("FixedLength")


_NORMALIZERS: Mapping[str, Callable[[Node], NormalizerStep]] = {
    "NFC": lambda node: NormalForm("NFC"),
    "NFD": lambda node: NormalForm("NFD"),
    "NFKC": lambda node: NormalForm("NFKC"),
    "NFKD": lambda node: NormalForm("NFKD"),
    "Lowercase": lambda node: Lowercase(),
    "Prepend": lambda node: Prepend(node.child("prepend").string()),
    "Replace": read_replace,
    "Strip": _read_strip,
    "StripAccents": lambda node: StripAccents(),
}
_PRE_TOKENIZERS: Mapping[str, Callable[[Node], PreTokenizerStep]] = {
    "BertPreTokenizer": lambda node: BertPreTokenizer(),
    "ByteLevel": read_byte_level,
    "CharDelimiterSplit": _read_char_delimiter,
    "Digits": _read_digits,
    "FixedLength": _read_fixed_length,
    "Metaspace": read_metaspace,
    "Punctuation": _read_punctuation,
    "Split": _read_split,
    "Whitespace": lambda node: Whitespace(),
    "WhitespaceSplit": lambda node: WhitespaceSplit(),
}


def _read_post_steps(node: Node, depth: int = 0) -> tuple[PostProcessorStep, ...]:
    """Post-processors are untagged: the first form that fits is taken, whatever its ``type``.

    Only ByteLevel and Sequence look at their type.  A section that fits no form keeps the complaint
    of the form that it names.
    """
    kind = _kind(node)
    if type(node.value) is not dict or depth == _MAX_NESTING:
        return (Other(kind),)
    problem: ModelFileError | None = None
    for name, reader in _POST_PROCESSORS.items():
        if name == "ByteLevel" and name != kind:
            continue
        try:
            return (reader(node),)
        except ModelFileError as error:
            problem = error if name == kind else problem
    if kind == "Sequence":
        try:
            items = node.child("processors").items()
            return tuple(step for item in items for step in _read_post_steps(item, depth + 1))
        except ModelFileError as error:
            problem = error
    return (Other(kind, problem),)


def _read_roberta(node: Node) -> RobertaProcessing:
    return RobertaProcessing(
        sep_id=_read_token_pair(node.child("sep")),
        cls_id=_read_token_pair(node.child("cls")),
        trim_offsets=node.child("trim_offsets").boolean(),
        add_prefix_space=node.child("add_prefix_space").boolean(),
    )


def _read_bert(node: Node) -> BertProcessing:
    return BertProcessing(
        sep_id=_read_token_pair(node.child("sep")), cls_id=_read_token_pair(node.child("cls"))
    )


def _read_token_pair(node: Node) -> int:
    """The id of ``["</s>", 2]``."""
    items = list(node.items())
    if len(items) != 2:
        raise node.error(f"must be a token and its id, not {shown(node.value)}")
    items[0].string()
    return items[1].u32()


def _read_template(node: Node) -> TemplateProcessing | Other:
    special_ids = _read_special_tokens(node.child("special_tokens"))
    single = _read_template_pieces(node.child("single"), special_ids)
    pair = _read_template_pieces(node.child("pair"), special_ids)
    if single is None or pair is None:
        return Other("TemplateProcessing")
    return TemplateProcessing(single)


def _read_special_tokens(node: Node) -> dict[str, tuple[int, ...] | None]:
    """Name → ids; ``None`` for an entry that contradicts itself, which Hugging Face accepts."""
    special_ids: dict[str, tuple[int, ...] | None] = {}
    for name in node.object():
        entry = node.child(name)
        entry.object()
        inner_name = entry.child("id").string()
        ids = tuple(item.u32() for item in entry.child("ids").items())
        tokens = [item.string() for item in entry.child("tokens").items()]
        sound = inner_name == name and len(ids) == len(tokens)
        special_ids[name] = ids if sound else None
    return special_ids


def _read_template_pieces(
    node: Node, special_ids: Mapping[str, tuple[int, ...] | None]
) -> tuple[TextPiece | SpecialTokenPiece, ...] | None:
    """The pieces of a template, or ``None`` if a piece has serde's positional spelling."""
    pieces: list[TextPiece | SpecialTokenPiece] = []
    for item in node.items():
        if type(item.value) is not dict or list(item.value) not in (["Sequence"], ["SpecialToken"]):
            raise item.error(
                f'must be {{"Sequence": …}} or {{"SpecialToken": …}}, not {shown(item.value)}'
            )
        (form,) = item.value
        body = item.child(form)
        if type(body.value) is list:
            return None
        body.object()
        name = body.child("id")
        body.child("type_id").u32()
        if form == "SpecialToken":
            pieces.append(SpecialTokenPiece(name.string(), special_ids.get(name.value)))
        elif name.value == "A" or name.value == "B":
            pieces.append(TextPiece(name.value))
        elif type(name.value) is dict:
            return None
        else:
            raise name.error(f'must be "A" or "B", not {shown(name.value)}')
    return tuple(pieces)


_POST_PROCESSORS: Mapping[str, Callable[[Node], PostProcessorStep]] = {
    "RobertaProcessing": _read_roberta,
    "BertProcessing": _read_bert,
    "ByteLevel": read_byte_level,
    "TemplateProcessing": _read_template,
}
