"""What happens to a text before the model sees it: normalizer and pre-tokenizer, ordered for the
compiled rooms.

`Preparer` normalizes each section between added tokens, and then changes each span of text as a
pre-tokenizer does that works on whole spans: Metaspace, or ByteLevel with its prefix space. What
follows are splits, which `PreTokenizer` makes.

Many models put "▁" in place of every space, and would so have every text written anew. No text has
both then, and the engine works on the *folded* text, in which each "▁" is a space. Nearly always
that is the text as it came. The vocabulary is folded in the same way, and so are the splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tokcy import unicode as ucd
from tokcy.errors import PatternError
from tokcy.pattern import (
    GPT2_PATTERN,
    SplitTables,
    charset_split,
    compile_split,
    fixed_length_split,
    literal_split,
    may_be_empty,
    word_split,
)

from .model import AddedToken
from .normalizing import normalizer_of
from .steps import (
    BertPreTokenizer,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    FixedLength,
    Metaspace,
    NormalForm,
    NormalizerStep,
    Prepend,
    PreTokenizerStep,
    Punctuation,
    Replace,
    Split,
    Whitespace,
    WhitespaceSplit,
)

__all__ = ["TextPlan", "UnplannableTextError", "plan_text"]

_MARK = "▁"
_FOLD = Replace(_MARK, False, " ")
_MARK_SPACES = Replace(" ", False, _MARK)


@dataclass(frozen=True, slots=True)
class TextPlan:
    """The way of a text up to the model.

    Attributes:
        normalizer: done to each section between added tokens that are found in the raw text.
        span_normalizer: done to each span of text between the added tokens found after that.
        prefix: what each span of text begins with then; it is put there where it is missing.
        prefix_first: the prefix is only for the span that begins where the raw text does.
        byte_level: the model sees the text as bytes, in ByteLevel's alphabet; else as characters.
        folded: the text that the model sees has a space for every "▁", and no other spaces.
        splits: the stages of the pre-tokenizer, in order.
    """

    normalizer: tuple[NormalizerStep, ...] = ()
    span_normalizer: tuple[NormalizerStep, ...] = ()
    prefix: str = ""
    prefix_first: bool = False
    byte_level: bool = True
    folded: bool = False
    splits: tuple[SplitTables, ...] = ()


class UnplannableTextError(Exception):
    """Text that cannot be prepared exactly; the message is a reason for the user."""


def plan_text(
    normalizer: tuple[NormalizerStep, ...],
    pre_tokenizer: tuple[PreTokenizerStep, ...],
    added_tokens: Sequence[AddedToken],
) -> TextPlan:
    """The plan for these steps, none of which is an :class:`Other`.

    Raises:
        UnplannableTextError: there is none.
    """
    try:
        _check_normalizer(normalizer)
        _check_order(pre_tokenizer)
        first = pre_tokenizer[0] if pre_tokenizer else None
        byte_level = any(isinstance(step, ByteLevel) for step in pre_tokenizer)
        if isinstance(first, Metaspace):
            folded = not byte_level and first.replacement == _MARK
        else:
            folded = not byte_level and _marks_spaces(normalizer)
        span_normalizer: tuple[NormalizerStep, ...] = (_FOLD,) if folded else ()
        prefix, prefix_first = "", False
        if isinstance(first, ByteLevel) and first.add_prefix_space:
            prefix = " "
        elif isinstance(first, Metaspace):
            mark = " " if folded else first.replacement
            if not folded and mark != " ":
                span_normalizer = (Replace(" ", False, mark),)
            prefix = mark if first.prepend_scheme != "never" else ""
            prefix_first = first.prepend_scheme == "first"
        elif folded and not any(t.normalized and (t.lstrip or t.rstrip) for t in added_tokens):
            # Only a token that takes the spaces beside it tells a space from "▁".
            normalizer, span_normalizer = _folding_early(normalizer), ()
        normalizer_of(normalizer)
        splits = _plan_splits(pre_tokenizer, folded)
    except PatternError as error:
        raise UnplannableTextError(str(error)) from error
    return TextPlan(normalizer, span_normalizer, prefix, prefix_first, byte_level, folded, splits)


def _check_normalizer(steps: tuple[NormalizerStep, ...]) -> None:
    """Refuse what puts something before the first character of which no character is the source.

    Hugging Face loses count at such a place: the next step panics, or doubles text.
    """
    for step in steps:
        if isinstance(step, Prepend) and not step.content:
            raise UnplannableTextError("a Prepend of nothing is not supported natively")
        if isinstance(step, Replace) and (
            may_be_empty(step.pattern) if step.is_regex else not step.pattern
        ):
            raise UnplannableTextError("a Replace of empty matches is not supported natively")


def _check_order(steps: tuple[PreTokenizerStep, ...]) -> None:
    if sum(isinstance(step, ByteLevel) for step in steps) > 1:
        raise UnplannableTextError(
            "more than one ByteLevel pre-tokenizer is not supported natively"
        )
    for step in steps[1:]:
        if isinstance(step, ByteLevel) and step.add_prefix_space:
            raise UnplannableTextError(
                "add_prefix_space after another pre-tokenizer is not supported natively"
            )
        if isinstance(step, Metaspace):
            raise UnplannableTextError(
                "Metaspace after another pre-tokenizer is not supported natively"
            )


def _marks_spaces(steps: tuple[NormalizerStep, ...]) -> bool:
    """Whether "▁" certainly stands for every space behind these steps."""
    marked = False
    for step in steps:
        marked = step == _MARK_SPACES or (marked and not _may_make_spaces(step))
    return marked


def _may_make_spaces(step: NormalizerStep) -> bool:
    match step:
        case Prepend(content) | Replace(content=content):
            return " " in content
        case NormalForm(form):
            return form in ("NFKC", "NFKD")
    return False


def _folding_early(steps: tuple[NormalizerStep, ...]) -> tuple[NormalizerStep, ...]:
    """These steps and then folding, with less to do."""
    before, after = list(steps), list[NormalizerStep]()
    while before:
        match before[-1]:
            case Prepend(content):
                after.insert(0, Prepend(content.replace(_MARK, " ")))
            case last if last != _MARK_SPACES:
                break
        before.pop()
    return (*before, _FOLD, *after)


def _plan_splits(steps: tuple[PreTokenizerStep, ...], folded: bool) -> tuple[SplitTables, ...]:
    """The split stages; those after ByteLevel see byte-level characters (rule R9)."""
    splits: list[SplitTables] = []
    byte_level = False
    for step in steps:
        splits += _compile(step, byte_level, folded)
        byte_level = byte_level or isinstance(step, ByteLevel)
    return tuple(tables for tables in splits if not tables.cuts_nothing)


def _compile(step: PreTokenizerStep, byte_level: bool, folded: bool) -> list[SplitTables]:
    match step:
        case ByteLevel():
            if not step.use_regex:
                return []
            step = Split(GPT2_PATTERN, is_regex=True, behavior="Isolated", invert=False)
        case Metaspace():
            if not step.split:
                return []
            step = Split(step.replacement, False, "MergedWithNext", invert=False)
        case CharDelimiterSplit(delimiter):
            step = Split(delimiter, is_regex=False, behavior="Removed", invert=False)
        case FixedLength(length):
            return [fixed_length_split(length, byte_level=byte_level, folded=folded)]
        case Whitespace():
            words, spaces = ucd.rust_set("word"), ucd.rust_set("whitespace")
            return [word_split(words, spaces, byte_level=byte_level, folded=folded)]
    if isinstance(step, Split):
        compiler = compile_split if step.is_regex else literal_split
        return [
            compiler(
                step.pattern,
                behavior=step.behavior,
                invert=step.invert,
                byte_level=byte_level,
                folded=folded,
            )
        ]
    return [
        charset_split(ucd.rust_set(name), behavior=behavior, byte_level=byte_level, folded=folded)
        for name, behavior in _sets(step)
    ]


def _sets(step: PreTokenizerStep) -> list[tuple[str, str]]:
    """The splits at characters of a set, as (set, behaviour), that a step makes."""
    match step:
        case Digits(individual):
            return [("numeric", "Isolated" if individual else "Contiguous")]
        case Punctuation(behavior):
            return [("punctuation", behavior)]
        case WhitespaceSplit():
            return [("whitespace", "Removed")]
        case BertPreTokenizer():
            return [("whitespace", "Removed"), ("punctuation", "Isolated")]
    raise AssertionError(step)
