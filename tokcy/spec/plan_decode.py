"""How tokens become text: the decoder's steps, ordered for the compiled decoder.

A decoder maps lists of texts to lists of texts. What it does to one text depends on that text and
on whether it is the first or the last, so nearly all of it can be done at load, token by token:

1. `token_steps` on the text of every token that is kept;
2. with `byte_fallback`, runs of tokens that stand for bytes become text (rule D4), and every text
   after that goes through `run_steps`;
3. all texts are joined; with `byte_level` each gives its bytes, and what all of them are as text
   is found out now (rule D3);
4. `text_steps` on the text as a whole, if the decoder goes on behind the joining.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, TypeAlias

from .steps import (
    BpeDecoder,
    ByteFallback,
    ByteLevel,
    DecoderStep,
    Fuse,
    Metaspace,
    Replace,
    StripDecoder,
    WordPiece,
)

__all__ = [
    "DecoderPlan",
    "JoinWords",
    "StripStart",
    "Substitute",
    "UnplannableDecoderError",
    "plan_decoder",
]

_MAX_GROWTH = 8.0  # times; the texts of all tokens are kept in memory


@dataclass(frozen=True, slots=True)
class Substitute:
    """Put something else wherever ``pattern`` stands.

    Attributes:
        pattern: the empty one stands once, before the text.
        contents: what is put there in a text that is neither first nor last, the first, the last,
            and the first and last at once.
    """

    pattern: str
    contents: tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class StripStart:
    """Take ``character`` away from the beginning, ``most`` times at most."""

    character: str
    most: int


@dataclass(frozen=True, slots=True)
class JoinWords:
    """Take ``prefix`` away from the beginning of a text that is not the first, or add a space."""

    prefix: str


TextStep: TypeAlias = Substitute | StripStart | JoinWords

_SPACED = Substitute("", (" ", "", " ", ""))
_CLEANUP = tuple(
    Substitute(pattern, (content,) * 4)
    for pattern, content in (
        *((" " + mark, mark) for mark in (".", "?", "!", ",")),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" do not", " don't"),
        *((" " + end, end) for end in ("'s", "'ve", "'re")),
    )
)


@dataclass(frozen=True, slots=True)
class DecoderPlan:
    """What the compiled decoder does; see the top of this module."""

    token_steps: tuple[TextStep, ...] = ()
    byte_fallback: bool = False
    run_steps: tuple[TextStep, ...] = ()
    byte_level: bool = False
    text_steps: tuple[TextStep, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DecoderPlan:
        """The plan that `to_json` gave.

        Raises:
            ValueError: it is none; KeyError and TypeError likewise.
        """
        flags = values["byte_fallback"], values["byte_level"]
        if not all(type(flag) is bool for flag in flags):
            raise ValueError("decoder: a flag is neither true nor false")
        tokens, runs, text = (
            tuple(map(_step_from_json, values[name]))
            for name in ("token_steps", "run_steps", "text_steps")
        )
        if _growth(tokens, runs, text) > _MAX_GROWTH:
            raise ValueError("decoder: steps that make a text too long")
        return cls(tokens, flags[0], runs, flags[1], text)


class UnplannableDecoderError(Exception):
    """A decoder that does not run natively; its text says why."""


def plan_decoder(steps: tuple[DecoderStep, ...] | None) -> DecoderPlan:
    """The plan for a decoder without steps of type `Other`.

    Raises:
        UnplannableDecoderError: there is none.
    """
    if steps is None:  # all tokens, joined by spaces
        return DecoderPlan(token_steps=(_SPACED,))
    chains: list[list[TextStep]] = [[], [], []]
    stage = 0  # of what `chains` holds: steps on tokens, behind byte fallback, on the joined text
    byte_fallback = byte_level = False
    for step in steps:
        if isinstance(step, Fuse):
            stage = 2
        elif isinstance(step, ByteFallback):
            if stage > 0:
                raise UnplannableDecoderError("ByteFallback after ByteFallback, ByteLevel or Fuse")
            byte_fallback, stage = True, 1
        elif isinstance(step, ByteLevel):
            if stage == 2:
                raise UnplannableDecoderError("ByteLevel after ByteLevel or Fuse")
            byte_level, stage = True, 2
        elif isinstance(step, WordPiece):
            if stage < 2 and step.prefix:  # the joined text is the first
                chains[stage].append(JoinWords(step.prefix))
            chains[stage] += _CLEANUP if step.cleanup else ()
        else:
            chains[stage].append(_text_step(step))
    if (growth := _growth(*chains)) > _MAX_GROWTH:
        raise UnplannableDecoderError(f"whose steps make a text {growth:.0f} times as long")
    tokens, runs, text = map(tuple, chains)
    return DecoderPlan(tokens, byte_fallback, runs, byte_level, text)


def _text_step(step: DecoderStep) -> TextStep:
    if isinstance(step, Metaspace):
        first = " " if step.prepend_scheme == "never" else ""
        return Substitute(step.replacement, (" ", first, " ", first))
    if isinstance(step, StripDecoder):
        if step.stop:  # Hugging Face panics on some texts
            raise UnplannableDecoderError("Strip with a stop other than 0")
        return StripStart(step.content, min(step.start, 2**31 - 1))
    if isinstance(step, BpeDecoder):
        name, pattern, contents = "BPEDecoder", step.suffix, (" ", " ", "", "")
    elif isinstance(step, Replace):
        if step.is_regex:
            raise UnplannableDecoderError("Replace with a regex")
        name, pattern, contents = "Replace", step.pattern, (step.content,) * 4
    else:
        raise AssertionError(step)
    if not pattern:
        raise UnplannableDecoderError(f"{name} of an empty text")
    return Substitute(pattern, contents)


def _growth(*chains: Iterable[TextStep]) -> float:
    """How many times as long as a token's text what the steps make of it may be."""
    growth = 1.0
    for step in chain(*chains):
        if isinstance(step, Substitute) and step != _SPACED:
            longest = max(len(content.encode()) for content in step.contents)
            growth *= max(1.0, longest / len(step.pattern.encode()))
    return growth


def _step_from_json(values: Mapping[str, Any]) -> TextStep:
    if "most" in values:
        strip = StripStart(**values)
        if type(strip.character) is not str or len(strip.character) != 1:
            raise ValueError("decoder: no character")
        if type(strip.most) is not int or not 0 <= strip.most < 2**31:
            raise ValueError("decoder: no number of characters")
        return strip
    if "prefix" in values:
        words = JoinWords(**values)
        if type(words.prefix) is not str or not words.prefix:
            raise ValueError("decoder: no prefix")
        return words
    step = Substitute(values["pattern"], tuple(values["contents"]))
    if len(step.contents) != 4 or not all(type(text) is str for text in step.contents):
        raise ValueError("decoder: no contents")
    if step != _SPACED and (type(step.pattern) is not str or not step.pattern):
        raise ValueError("decoder: no pattern")
    return step
