"""A template and a conversation → text of which each character's origin is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from tokcy.errors import ChatProvenanceError, ChatTemplateError, MissingExtraError, TokcyError

from .messages import CONTINUE_TAG, mark_to_continue, plain, plain_messages, plain_tools
from .trace import TEMPLATE, TracedStr

__all__ = ["ChatTemplate", "Conversation"]

_OLDEST_JINJA = (3, 1, 6)  # those before have known ways out of the sandbox

Render = Callable[..., str]


@dataclass(frozen=True)
class Conversation:
    """What is rendered.

    Attributes:
        messages, tools, documents: as the caller gave them.
        special_tokens: the tokenizer's, by name.
        variables: further variables of the template, which go before the tokens.
        add_generation_prompt: a variable, too.
        continue_final: the field of the last message that is to be left open, or None.
    """

    messages: Any
    tools: Sequence[Any] | None
    documents: Sequence[Any] | None
    special_tokens: Mapping[str, str]
    variables: Mapping[str, Any]
    add_generation_prompt: bool
    continue_final: str | None

    def context(self, source: str, traced: bool) -> tuple[dict[str, Any], str | None]:
        """The template's variables, and the text that it shall leave open."""
        messages = plain_messages(self.messages, traced)
        open_text = None
        if self.continue_final is not None:
            open_text = mark_to_continue(messages, self.continue_final, source)
        tokens = {
            name: TracedStr(token, TEMPLATE) if traced else token
            for name, token in self.special_tokens.items()
        }
        variables = {name: plain(value, traced) for name, value in self.variables.items()}
        context = {
            **tokens,
            **variables,
            "messages": messages,
            "tools": plain(plain_tools(self.tools, "tools"), traced),
            "documents": plain(plain_tools(self.documents, "documents"), traced),
            "add_generation_prompt": self.add_generation_prompt,
        }
        return context, open_text


class ChatTemplate:
    """A compiled template, and its `name`.

    Args:
        source: in Jinja's language.
        name: for messages.

    Raises:
        ChatTemplateError: it is no Jinja template; names the line.
        MissingExtraError: jinja2 is not there, or is too old.
    """

    def __init__(self, source: str, name: str) -> None:
        _require_jinja()
        self._source = source
        self.name = name
        self._plain = self._attempt(partial(_compiled, source, False))

    def render(self, conversation: Conversation) -> str:
        """The text, as `transformers` renders it.

        Raises:
            ChatTemplateError: the template refuses the conversation, or fails.
        """
        text, end = self._rendered(conversation)
        return text[:end]

    def render_traced(self, conversation: Conversation) -> TracedStr:
        """The same text, traced.

        Raises:
            ChatTemplateError: as in `render`.
            ChatProvenanceError: the traced text differs from the plain one, as it does where a
                template is random.
        """
        from .environment import at_one_time

        with at_one_time():
            text, end = self._rendered(conversation)
            context, _ = conversation.context(self._source, traced=True)
            render = self._attempt(partial(_compiled, self._source, True))
            traced = self._attempt(partial(render, **context))
        if not isinstance(traced, TracedStr) or str.__ne__(traced, text):
            raise ChatProvenanceError(
                f"chat template {self.name!r}: its text is another one when it is traced, so it "
                "cannot be told who wrote what; trust_content=True renders it as transformers does"
            )
        return traced[:end]

    def _rendered(self, conversation: Conversation) -> tuple[str, int]:
        """The whole text, and where to end it."""
        context, open_text = conversation.context(self._source, traced=False)
        text = self._attempt(partial(self._plain, **context))
        return text, len(text) if open_text is None else self._open_end(text, open_text)

    def _open_end(self, text: str, open_text: str) -> int:
        """Where the text ends if the final message is to be continued."""
        tag = CONTINUE_TAG.strip()
        if open_text.strip() not in text or tag not in text:
            raise ChatTemplateError(
                f"chat template {self.name!r}: the final message to be continued is not in the "
                "text, or only a part of it"
            )
        end = text.rindex(tag)
        # Where the template strips the message, so must its open end.
        return end if text.startswith(CONTINUE_TAG, end) else len(text[:end].rstrip())

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """What the work gives, with an error of ours for all that a template may raise."""
        from jinja2 import TemplateSyntaxError

        try:
            return work()
        except TokcyError:
            raise
        except TemplateSyntaxError as error:
            raise ChatTemplateError(
                f"chat template {self.name!r}: line {error.lineno}: {error.message}"
            ) from error
        except Exception as error:
            kind = type(error).__name__
            raise ChatTemplateError(f"chat template {self.name!r}: {kind}: {error}") from error


def _require_jinja() -> None:
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError(
            "chat templates need jinja2; install it with: pip install 'tokcy[chat]'"
        ) from error
    version = tuple(int(part) for part in jinja2.__version__.split(".")[:3] if part.isdigit())
    if version < _OLDEST_JINJA:
        raise MissingExtraError(
            f"chat templates need jinja2 3.1.6 or later, not {jinja2.__version__}, whose sandbox "
            "has known holes; install it with: pip install -U 'tokcy[chat]'"
        )


@lru_cache(maxsize=64)
def _compiled(source: str, traced: bool) -> Render:
    from .environment import ChatEnvironment
    from .tracing import TracingEnvironment

    environment = TracingEnvironment() if traced else ChatEnvironment()
    return environment.from_string(source).render
