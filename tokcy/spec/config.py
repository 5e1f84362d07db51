"""What the files beside a ``tokenizer.json`` say: ``tokenizer_config.json`` and its kin.

Hugging Face `tokenizers` knows nothing of them: the reference is what `transformers` 5.24 makes of
a folder with its ``PreTrainedTokenizerFast`` (alias ``TokenizersBackend``).  What a class of one
model does there beyond that, as building another pipeline than the file's, is not followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .model import AddedToken

__all__ = [
    "ADDED_TOKENS_FILE",
    "CHAT_TEMPLATE_FILE",
    "CHAT_TEMPLATE_FOLDER",
    "CONFIG_FILE",
    "NAMED_TOKENS",
    "SPECIAL_TOKENS_FILE",
    "ConfigFile",
    "ConfigFiles",
    "DeclaredConfig",
    "DeclaredToken",
    "TokenizerConfig",
]

CONFIG_FILE = "tokenizer_config.json"
SPECIAL_TOKENS_FILE = "special_tokens_map.json"
ADDED_TOKENS_FILE = "added_tokens.json"
CHAT_TEMPLATE_FILE = "chat_template.jinja"
CHAT_TEMPLATE_FOLDER = "additional_chat_templates"


class ConfigFile(NamedTuple):
    """One of the files: where it was found, for messages, and its content."""

    path: str
    data: bytes


ConfigFiles = Mapping[str, ConfigFile]
"""The files that are there by name, which for a chat template holds its folder."""

NAMED_TOKENS = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)
"""The names that every tokenizer of `transformers` knows, in its order."""


@dataclass(frozen=True)
class TokenizerConfig:
    """What the files beside a ``tokenizer.json`` say, as ``Tokenizer.config``.

    Attributes:
        files: names of the files that were read; empty if there was none.
        special_tokens: the named ones (``"eos_token"``, ``"image_token"``, …), with their ids.
        extra_special_tokens: those without a name.
        chat_templates: Jinja sources by name; a single one is called ``"default"``.
        model_max_length: how many tokens the model takes, or None if nothing says it.
        add_bos_token, add_eos_token: as declared, or None.  Like `transformers` 5, `encode` leaves
            it to the post-processor of ``tokenizer.json`` which tokens stand around a text.
        clean_up_tokenization_spaces: as declared.  `decode` never does that, as `transformers`
            does not for BPE models.
        split_special_tokens: special tokens in a text are ordinary text.
        padding_side, truncation_side: ``"left"`` or ``"right"``.
        tokenizer_class: the class of `transformers` that the file names.
    """

    files: tuple[str, ...] = ()
    special_tokens: Mapping[str, AddedToken] = field(default_factory=dict)
    extra_special_tokens: tuple[AddedToken, ...] = ()
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    model_max_length: int | float | None = None
    add_bos_token: bool | None = None
    add_eos_token: bool | None = None
    clean_up_tokenization_spaces: bool = False
    split_special_tokens: bool = False
    padding_side: str = "right"
    truncation_side: str = "right"
    tokenizer_class: str | None = None

    @property
    def chat_template(self) -> str | None:
        """The default chat template, or None."""
        return self.chat_templates.get("default")


class DeclaredToken(NamedTuple):
    """A token as a configuration declares it.

    Attributes:
        is_text: it was a mere string, which `transformers` never takes for equal to an object.
        normalized: ``None`` where the file does not say; then it is ``not special``.
    """  # not a dataclass, as a file may have 100,000 of them

    content: str
    is_text: bool = False
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool | None = None
    special: bool = False

    def with_id(self, token_id: int) -> AddedToken:
        normalized = not self.special if self.normalized is None else self.normalized
        return AddedToken(
            self.content,
            token_id,
            self.single_word,
            self.lstrip,
            self.rstrip,
            normalized,
            self.special,
        )


@dataclass(frozen=True, slots=True)
class DeclaredConfig:
    """What the files say, before the tokens have their ids in force.

    Attributes:
        named: the named special tokens in the order in which `transformers` looks at them.
        extra: special tokens without a name.
        numbered: token by declared id: ``added_tokens_decoder``, or ``added_tokens.json``.
        completes: there is no ``added_tokens_decoder``: then ``added_tokens`` of the model file
            count as further numbered tokens.
        rest: everything else.
    """

    named: Mapping[str, DeclaredToken]
    extra: tuple[DeclaredToken, ...]
    numbered: Mapping[int, DeclaredToken]
    completes: bool
    rest: TokenizerConfig
