"""The steps of which a model file's pipeline consists, as frozen dataclasses.

A file's ``Sequence`` of steps is kept flat.  A step that only the Hugging Face object understands
is an :class:`Other`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from tokcy.errors import ModelFileError

__all__ = [
    "Behavior",
    "BertPreTokenizer",
    "BertProcessing",
    "BpeDecoder",
    "ByteFallback",
    "ByteLevel",
    "CharDelimiterSplit",
    "DecoderStep",
    "Digits",
    "FixedLength",
    "Form",
    "Fuse",
    "Lowercase",
    "Metaspace",
    "NormalForm",
    "NormalizerStep",
    "Other",
    "PostProcessorStep",
    "PreTokenizerStep",
    "Prepend",
    "PrependScheme",
    "Punctuation",
    "Replace",
    "RobertaProcessing",
    "SpecialTokenPiece",
    "Split",
    "Strip",
    "StripAccents",
    "StripDecoder",
    "TemplateProcessing",
    "TextPiece",
    "Whitespace",
    "WhitespaceSplit",
    "WordPiece",
]

Behavior: TypeAlias = Literal[
    "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"
]
Form: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]
PrependScheme: TypeAlias = Literal["always", "first", "never"]


@dataclass(frozen=True, slots=True)
class Other:
    """A section, a step or a model that this package leaves to the Hugging Face object.

    Attributes:
        kind: its ``type`` in the file, or ``None`` if it has none.
        problem: what seems to be wrong with it; Hugging Face has the last word.
    """

    kind: str | None
    problem: ModelFileError | None = None


@dataclass(frozen=True, slots=True)
class NormalForm:
    """Normalizer: one of Unicode's normalization forms, with Unicode 9.0 tables (rule N1)."""

    form: Form


@dataclass(frozen=True, slots=True)
class Lowercase:
    """Normalizer: the lower case of each character by itself (rule N2)."""


@dataclass(frozen=True, slots=True)
class StripAccents:
    """Normalizer: remove combining marks (rule N3)."""


@dataclass(frozen=True, slots=True)
class Strip:
    """Normalizer: remove whitespace at the beginning, at the end or at both (rule N3)."""

    left: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Prepend:
    """Normalizer: put ``content`` before a text that is not empty (rule N3)."""

    content: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Normalizer and decoder: put ``content`` wherever ``pattern`` stands (rules N3, D5)."""

    pattern: str
    is_regex: bool
    content: str


@dataclass(frozen=True, slots=True)
class ByteLevel:
    """Pre-tokenizer, post-processor and decoder of byte-level models (rules P2, O3, D3)."""

    add_prefix_space: bool
    trim_offsets: bool
    use_regex: bool = True


@dataclass(frozen=True, slots=True)
class Split:
    """Pre-tokenizer: cut where ``pattern`` matches (rule P1)."""

    pattern: str
    is_regex: bool
    behavior: Behavior
    invert: bool


@dataclass(frozen=True, slots=True)
class Digits:
    """Pre-tokenizer: cut out numeric characters, one by one or run by run (rule P4)."""

    individual: bool


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Pre-tokenizer: cut at punctuation characters (rule P4)."""

    behavior: Behavior


@dataclass(frozen=True, slots=True)
class Metaspace:
    """Pre-tokenizer: put ``replacement`` for each space, before the text too, and cut there (P3).

    Decoder: put a space for ``replacement``, and nothing in the first token (rule D5).
    """

    replacement: str
    prepend_scheme: PrependScheme
    split: bool


@dataclass(frozen=True, slots=True)
class Whitespace:
    """Pre-tokenizer: words and runs of other characters, without the spaces between (rule P4)."""


@dataclass(frozen=True, slots=True)
class WhitespaceSplit:
    """Pre-tokenizer: what stands between spaces (rule P4)."""


@dataclass(frozen=True, slots=True)
class BertPreTokenizer:
    """Pre-tokenizer: what stands between spaces, with punctuation cut out of it."""


@dataclass(frozen=True, slots=True)
class CharDelimiterSplit:
    """Pre-tokenizer: what stands between two of the character ``delimiter``."""

    delimiter: str


@dataclass(frozen=True, slots=True)
class FixedLength:
    """Pre-tokenizer: pieces of ``length`` characters; what is left over is one too."""

    length: int


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A template's place for the text ``A``, or for the second text ``B`` of a pair."""

    sequence: Literal["A", "B"]


@dataclass(frozen=True, slots=True)
class SpecialTokenPiece:
    """A template's control tokens; ``ids`` is ``None`` if the template does not define them."""

    name: str
    ids: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class TemplateProcessing:
    """Post-processor: control tokens around a single text (rule O2)."""

    single: tuple[TextPiece | SpecialTokenPiece, ...]


@dataclass(frozen=True, slots=True)
class RobertaProcessing:
    """Post-processor: ``cls`` A ``sep``, and offsets without spaces (rules O3, O4)."""

    sep_id: int
    cls_id: int
    trim_offsets: bool
    add_prefix_space: bool


@dataclass(frozen=True, slots=True)
class BertProcessing:
    """Post-processor: ``cls`` A ``sep`` (rule O4)."""

    sep_id: int
    cls_id: int


@dataclass(frozen=True, slots=True)
class ByteFallback:
    """Decoder: make text of tokens that stand for single bytes, such as ``<0x0A>`` (rule D4)."""


@dataclass(frozen=True, slots=True)
class Fuse:
    """Decoder: join what there is so far to one text."""


@dataclass(frozen=True, slots=True)
class StripDecoder:
    """Decoder: take ``content`` away at the ends, so many times at most (rule D5)."""

    content: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class BpeDecoder:
    """Decoder: put a space for ``suffix``, and nothing in the last token (rule D5)."""

    suffix: str


@dataclass(frozen=True, slots=True)
class WordPiece:
    """Decoder: take ``prefix`` away, or put a space where it is missing, but for the first token.

    With ``cleanup``, then take the space before some English contractions and punctuation away,
    in each token by itself (rule D5).
    """

    prefix: str
    cleanup: bool


NormalizerStep: TypeAlias = (
    NormalForm | Lowercase | StripAccents | Strip | Prepend | Replace | Other
)
PreTokenizerStep: TypeAlias = (
    ByteLevel
    | Split
    | Digits
    | Punctuation
    | Metaspace
    | Whitespace
    | WhitespaceSplit
    | BertPreTokenizer
    | CharDelimiterSplit
    | FixedLength
    | Other
)
PostProcessorStep: TypeAlias = (
    ByteLevel | TemplateProcessing | RobertaProcessing | BertProcessing | Other
)
DecoderStep: TypeAlias = (
    ByteLevel
    | Replace
    | Metaspace
    | ByteFallback
    | Fuse
    | StripDecoder
    | BpeDecoder
    | WordPiece
    | Other
)
