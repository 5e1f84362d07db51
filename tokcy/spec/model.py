"""What a model file says, as frozen dataclasses.

Every pipeline section is a tuple of steps (see `steps`) in the order in which they run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError

from .steps import DecoderStep, NormalizerStep, Other, PostProcessorStep, PreTokenizerStep

__all__ = [
    "AddedToken",
    "BpeModel",
    "Direction",
    "Padding",
    "Strategy",
    "TokenizerSpec",
    "Truncation",
]

Direction: TypeAlias = Literal["Left", "Right"]
Strategy: TypeAlias = Literal["LongestFirst", "OnlyFirst", "OnlySecond"]


class AddedToken(NamedTuple):
    """A token that is recognised in the text before the model sees it.

    Attributes:
        content: the text that is matched.
        id: the token's id.  In a :class:`TokenizerSpec` this is what the file declares, which
            Hugging Face ignores (rule A1); everywhere else it is the id in force.
        single_word: match only where no word character stands on either side.
        lstrip: the match takes the whitespace before it.
        rstrip: the match takes the whitespace after it.
        normalized: match in normalized text instead of the raw text.
        special: a control token, left out by ``decode(..., skip_special_tokens=True)``.
    """  # not a dataclass, as a file may have 100,000 of them

    content: str
    id: int
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False
    special: bool = False


@dataclass(frozen=True, slots=True)
class BpeModel:
    """A byte-pair-encoding model.

    Attributes:
        vocabulary: the entries, and the merges in order of rank, ``#version`` lines left out
            (rules M1, M2); without merges if there is a problem.
        problem: the first merge that names a token which is no entry. Other models than
            byte-level ones have other rules for that, so it counts once the model runs natively.
    """

    vocabulary: Vocabulary
    problem: ModelFileError | None = None
    dropout: float | None = None
    unk_token: str | None = None
    continuing_subword_prefix: str | None = None
    end_of_word_suffix: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False


@dataclass(frozen=True, slots=True)
class Truncation:
    """Texts of too many ids are cut (rule O5).

    Attributes:
        max_length: ids that remain, the post-processor's among them.
        strategy: which text of a pair is cut.
        stride: ids that consecutive parts of a text share; it must be less than what remains of
            the text.
        direction: where ids are taken away.
    """

    max_length: int
    strategy: Strategy = "LongestFirst"
    stride: int = 0
    direction: Direction = "Right"


@dataclass(frozen=True, slots=True)
class Padding:
    """Texts are filled up to one length (rule O6).

    Attributes:
        length: ids of each text, or ``None`` for as many as the longest of a batch has.
        multiple: that length is rounded up to a multiple of it.
        pad_id: the id to fill with.
        direction: where the filling goes.
    """

    length: int | None
    multiple: int
    pad_id: int
    direction: Direction = "Right"


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """A whole ``tokenizer.json``.

    Attributes:
        source: the file's name, for messages.
        decoder: the steps, or ``None`` if the file has no decoder (tokens are then joined by
            spaces, which is not what an empty Sequence does).
        pad_token: the token that the file's padding names, if it sets any.
        truncation, padding: ``None`` if the file sets none.
    """

    source: str
    model: BpeModel | Other
    added_tokens: tuple[AddedToken, ...] = ()
    pad_token: str | None = None
    normalizer: tuple[NormalizerStep, ...] = ()
    pre_tokenizer: tuple[PreTokenizerStep, ...] = ()
    post_processor: tuple[PostProcessorStep, ...] = ()
    decoder: tuple[DecoderStep, ...] | None = None
    truncation: Truncation | Other | None = None
    padding: Padding | Other | None = None
