"""What a tokenizer does with conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np

from tokcy.backend import Ids
from tokcy.batch import TokenBatch
from tokcy.errors import ChatTemplateError
from tokcy.prefix_cache import PrefixCache
from tokcy.spec import AddedToken, TokenizerConfig
from tokcy.spec.config import NAMED_TOKENS

from .doubt import ControlTokens
from .messages import is_batch
from .rendering import ChatTemplate, Conversation
from .trace import TEMPLATE

__all__ = ["ChatMethods"]

_NOT_HERE = frozenset(
    [
        "max_length",
        "padding",
        "return_assistant_tokens_mask",
        "return_dict",
        "return_tensors",
        "sanitize_control_tokens",
        "tokenizer_kwargs",
        "truncation",
    ]
)
"""Options of the method in `transformers`, which would else be taken for template variables."""


_Conversation = Sequence[Mapping[str, Any]]
_Tools = Sequence[Any] | None


class ChatMethods:
    """A part of `Tokenizer`."""

    if TYPE_CHECKING:

        @property
        def config(self) -> TokenizerConfig: ...

        @property
        def added_tokens(self) -> tuple[AddedToken, ...]: ...

        def encode_segments(
            self,
            segments: Iterable[tuple[str, bool]],
            *,
            join: bool = False,
            add_special_tokens: bool = False,
            chunking: str | None = None,
            num_threads: SupportsIndex | None = None,
            prefix_cache: PrefixCache | None = None,
        ) -> Ids: ...

    def render_segments(
        self,
        messages: Any,
        tools: _Tools = None,
        *,
        documents: Sequence[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        trust_content: bool = False,
        **template_kwargs: Any,
    ) -> list[tuple[str, bool]]:
        """One conversation as the template has it, and which text the template itself wrote.

        Args:
            messages: dicts with ``"role"`` and what the template asks for, dataclasses or pydantic
                models.
            tools: JSON schemas of functions, as dicts.
            documents: dicts, for templates that take some.
            chat_template: the name of one of ``config.chat_templates``, or a Jinja source. By
                default ``"tool_use"`` if there are tools and such a template, else ``"default"``.
            add_generation_prompt: let the template end with the beginning of an answer.
            continue_final_message: leave the last message open, so that the model goes on with
                it; or the name of its field that is left open, if that is not ``"content"``.
            trust_content: take the text of messages for the template's, as `transformers` does:
                then a message can hold control tokens.
            template_kwargs: further variables of the template. They are not trusted.

        Returns:
            (text, allow_special) pairs for `encode_segments`: ``True`` for what the template
            wrote, its named special tokens included. The texts in a row are what `transformers`
            renders. None is empty.

        Raises:
            ChatTemplateError: there is no such template, or it is none, or it refuses this
                conversation; says why.
            ChatProvenanceError: a control token of which it cannot be told who wrote it.
            MissingExtraError: jinja2 is not there.
        """
        if is_batch(messages):
            raise ChatTemplateError("render_segments takes one conversation, not several")
        template, conversation = self._prepared(
            messages,
            tools,
            documents,
            chat_template,
            add_generation_prompt,
            continue_final_message,
            template_kwargs,
        )
        if trust_content:
            text = template.render(conversation)
            return [(text, True)] if text else []
        traced = template.render_traced(conversation)
        self._control_tokens.refuse_doubtful(traced, template.name)
        # To take lost text for data is safe, and where it would matter it was refused.
        segments: list[tuple[str, bool]] = []
        for text, mark in traced.segments():
            trusted = mark == TEMPLATE
            if segments and segments[-1][1] == trusted:
                text = segments.pop()[0] + text
            segments.append((text, trusted))
        return segments

    @overload
    def apply_chat_template(
        self,
        messages: _Conversation,
        tools: _Tools = None,
        *,
        tokenize: Literal[True] = True,
        **options: Any,
    ) -> Ids: ...

    @overload
    def apply_chat_template(
        self,
        messages: Sequence[_Conversation],
        tools: _Tools = None,
        *,
        tokenize: Literal[True] = True,
        **options: Any,
    ) -> TokenBatch: ...

    @overload
    def apply_chat_template(
        self,
        messages: _Conversation,
        tools: _Tools = None,
        *,
        tokenize: Literal[False],
        **options: Any,
    ) -> str: ...

    @overload
    def apply_chat_template(
        self,
        messages: Sequence[_Conversation],
        tools: _Tools = None,
        *,
        tokenize: Literal[False],
        **options: Any,
    ) -> list[str]: ...

    @overload
    def apply_chat_template(
        self,
        messages: Any,
        tools: _Tools = None,
        *,
        tokenize: bool = True,
        **options: Any,
    ) -> Any: ...

    def apply_chat_template(
        self,
        messages: Any,
        tools: _Tools = None,
        *,
        documents: Sequence[Any] | None = None,
        chat_template: str | None = None,
        add_generation_prompt: bool = False,
        continue_final_message: bool | str = False,
        tokenize: bool = True,
        trust_content: bool = False,
        chunking: str | None = None,
        num_threads: SupportsIndex | None = None,
        prefix_cache: PrefixCache | None = None,
        **template_kwargs: Any,
    ) -> Any:
        """The token ids of a conversation; no message, tool or document becomes a control token.

        Where none holds one, the ids are those of ``apply_chat_template`` in `transformers`.

        Args:
            messages: a conversation as in `render_segments`, or a list of conversations.
            tokenize: with ``False`` the text is returned, of which no one knows any longer what in
                it is to be trusted.
            chunking, num_threads, prefix_cache: as in `encode_segments`.

        The other arguments are those of `render_segments`.

        Returns:
            uint32[n]; a `TokenBatch` for a list of conversations; a str or a list of them with
            ``tokenize=False``.

        Raises:
            ChatTemplateError, ChatProvenanceError, MissingExtraError: as in `render_segments`.
        """
        options: dict[str, Any] = {
            "documents": documents,
            "chat_template": chat_template,
            "add_generation_prompt": add_generation_prompt,
            "continue_final_message": continue_final_message,
            **template_kwargs,
        }
        if is_batch(messages):
            own: dict[str, Any] = {
                "tokenize": tokenize,
                "trust_content": trust_content,
                "chunking": chunking,
                "num_threads": num_threads,
                "prefix_cache": prefix_cache,
            }
            found = [self.apply_chat_template(m, tools, **options, **own) for m in messages]
            if not tokenize:
                return found
            offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
            return TokenBatch._of(np.concatenate(found), offsets)
        if not tokenize:
            pairs = self.render_segments(messages, tools, trust_content=True, **options)
            return "".join(text for text, _ in pairs)
        return self.encode_segments(
            self.render_segments(messages, tools, trust_content=trust_content, **options),
            join=True,
            add_special_tokens=False,
            chunking=chunking,
            num_threads=num_threads,
            prefix_cache=prefix_cache,
        )

    def _prepared(
        self,
        messages: Any,
        tools: _Tools,
        documents: Sequence[Any] | None,
        chat_template: str | None,
        add_generation_prompt: bool,
        continue_final_message: bool | str,
        variables: Mapping[str, Any],
    ) -> tuple[ChatTemplate, Conversation]:
        if foreign := sorted(_NOT_HERE & set(variables)):
            raise TypeError(
                f"{', '.join(foreign)}: these options of transformers' apply_chat_template are not "
                "offered here, and are no variables of a template"
            )
        if continue_final_message and add_generation_prompt:
            raise ChatTemplateError(
                "continue_final_message leaves the last message open, and add_generation_prompt "
                "begins a new one: only one of them makes sense"
            )
        field = continue_final_message if isinstance(continue_final_message, str) else "content"
        conversation = Conversation(
            messages,
            tools,
            documents,
            self._named_tokens,
            variables,
            add_generation_prompt,
            field if continue_final_message else None,
        )
        return ChatTemplate(*self._template(chat_template, tools)), conversation

    def _template(self, wanted: str | None, tools: _Tools) -> tuple[str, str]:
        """The source and the name of the template to use."""
        templates = self.config.chat_templates
        if wanted is None:
            wanted = "tool_use" if tools is not None and "tool_use" in templates else "default"
            if wanted not in templates:
                names = ", ".join(map(repr, sorted(templates)))
                known = f"but others: {names}" if names else "nor any other"
                raise ChatTemplateError(
                    f"the model has no default chat template, {known}; name one or pass a Jinja "
                    "source as chat_template"
                )
        return (templates[wanted], wanted) if wanted in templates else (wanted, "<string>")

    @cached_property
    def _named_tokens(self) -> dict[str, str]:
        """Variables of every template."""
        found = self.config.special_tokens
        names = [name for name in NAMED_TOKENS if name in found]
        return {name: found[name].content for name in [*names, *(set(found) - set(names))]}

    @cached_property
    def _control_tokens(self) -> ControlTokens:
        return ControlTokens(token.content for token in self.added_tokens)
