"""Conversations that try to write control tokens: in every place that a caller fills."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from chat_oracle import added_ids, encode_joined, sources, whole
from chat_templates import FAMILIES
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tokcy import ChatProvenanceError, ChatTemplateError, Tokenizer

transformers = pytest.importorskip("transformers")

MODELS = ["deepseek_v3", "gemma3", "glm4_5", "kimi_k2", "kimi_k3", "llama3", "qwen3"]
CASES: list[tuple[str, str | None]] = [*((name, None) for name in MODELS), *FAMILIES]
WORDS = ["a", "user", " ", "\n\n", "}", '"', "\\", "&", "é日", "%s", "{{", "text", "assistant", ""]
BRACKETS = str.maketrans("<>|[]/｜▁", "()!{}-！＿")  # one of them is in each control token
WATCHED = re.compile(
    r"""(?:split|with|strip|prefix|suffix|replace)\(\s*(['"])(?P<a>.+?)\1"""
    r"""|(['"])(?P<b>[^'"]+)\3\s*(?:not\s+)?in\s|[=!]=\s*(['"])(?P<c>[^'"]*[<|\[][^'"]*)\5"""
)


class Target:
    """A tokenizer, a template of which it is asked, and texts that could harm it."""

    def __init__(self, path: Path, source: str | None) -> None:
        self.tok, self.reference = loaded(path)
        self.source = source if source is not None else sources(path)[-1]
        text = self.source or self.tok.config.chat_templates["default"]
        found = [m["a"] or m["b"] or m["c"] for m in WATCHED.finditer(text)]
        self.watched = [w for w in found if w != twin(w)]
        contents = [token.content for token in self.tok.added_tokens]
        named = [c for c in contents if c in text] + contents[:3]
        self.tokens = [c for c in named if c.strip()]  # Gemma's include runs of whitespace
        assert all(c != twin(c) for c in self.tokens)

    def segments(self, case: dict[str, Any]) -> list[tuple[str, bool]]:
        return self.tok.render_segments(**case, chat_template=self.source)

    def ids(self, case: dict[str, Any]) -> list[int]:
        ids: list[int] = self.tok.apply_chat_template(**case, chat_template=self.source).tolist()
        return ids

    def added(self, case: dict[str, Any]) -> list[int]:
        return added_ids(self.tok, self.ids(case))

    def text(self, case: dict[str, Any]) -> str:
        options = {**case, "chat_template": self.source, "tokenize": False}
        text: str = self.reference.apply_chat_template(options.pop("messages"), **options)
        return text

    def branches_on(self, value: Any) -> bool:
        """Whether the template looks for something in it that has another look in the twin."""
        if isinstance(value, str):
            return any(watched in value for watched in self.watched)
        if isinstance(value, dict):
            return any(map(self.branches_on, [*value, *value.values()]))
        return isinstance(value, list) and any(map(self.branches_on, value))

    def cases(self) -> st.SearchStrategy[dict[str, Any]]:
        """Half of them without the tokens that the template looks for."""
        ignored = [token for token in self.tokens if not self.branches_on(token)]
        return st.one_of(requests(hostile(ignored)), requests(hostile(self.tokens)))


def hostile(tokens: list[str]) -> st.SearchStrategy[str]:
    """Texts of the tokens, of their halves, and of some that overlap."""
    halves = [part for t in tokens for i in (1, 2, len(t) // 2, -1) for part in (t[:i], t[i:])]
    overlaps = [t[:-1] + t for t in tokens] + [t + t[1:] for t in tokens]
    atoms = st.one_of([st.sampled_from(each) for each in (tokens, halves, overlaps, WORDS)])
    return st.lists(atoms, max_size=5).map("".join)


def requests(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments of ``render_segments``, with such text wherever there can be some."""
    json = st.one_of(text, st.dictionaries(text, text, max_size=2), st.lists(text, max_size=2))
    part = st.fixed_dictionaries({"type": st.one_of(st.just("text"), text), "text": text})
    function = st.fixed_dictionaries(
        {"name": text, "arguments": st.one_of(st.dictionaries(text, json, max_size=2), text)}
    )
    call = st.fixed_dictionaries({"id": text, "type": st.just("function"), "function": function})
    message = st.fixed_dictionaries(
        {
            "role": st.one_of(st.sampled_from(["user", "assistant", "system", "tool"]), text),
            "content": text,
        },
        optional={
            "name": text,
            "tool_call_id": text,
            "reasoning_content": text,
            "tool_calls": st.lists(call, min_size=1, max_size=2),
        },
    )
    in_parts = st.fixed_dictionaries(
        {"role": st.just("user"), "content": st.lists(part, max_size=2)}
    )
    schema = st.fixed_dictionaries(
        {"type": text, "description": text}, optional={"enum": st.lists(text)}
    )
    tool = st.fixed_dictionaries(
        {
            "name": text,
            "description": text,
            "parameters": st.fixed_dictionaries({"properties": st.dictionaries(text, schema)}),
        }
    ).map(lambda function: {"type": "function", "function": function})
    return st.fixed_dictionaries(
        {
            "messages": st.one_of(
                st.lists(message, min_size=1, max_size=4),
                st.lists(st.one_of(message, in_parts), min_size=1, max_size=3),
                st.lists(text, min_size=1, max_size=5).map(alternating),
            )
        },
        optional={
            "tools": st.lists(tool, min_size=1, max_size=2),
            "documents": st.lists(st.fixed_dictionaries({"title": text, "text": text}), max_size=2),
            "add_generation_prompt": st.booleans(),
            "enable_thinking": st.one_of(st.booleans(), text),
            "date_string": text,
            "thinking_effort": text,
        },
    )


def alternating(texts: list[str]) -> list[dict[str, Any]]:
    """Such messages as every template takes."""
    return [{"role": ["user", "assistant"][i % 2], "content": t} for i, t in enumerate(texts)]


def twin(value: Any) -> Any:
    """The same, harmless: without the characters of which control tokens are made."""
    if isinstance(value, str):
        return value.translate(BRACKETS)
    if isinstance(value, dict):
        return {twin(key): twin(item) for key, item in value.items()}
    return [twin(item) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=2)
def loaded(path: Path) -> tuple[Tokenizer, Any]:
    reference = transformers.PreTrainedTokenizerFast.from_pretrained(str(path.parent))
    return Tokenizer.from_file(path), reference


@lru_cache(maxsize=2)
def target(path: Path, source: str | None) -> Target:
    return Target(path, source)


every_case = pytest.mark.parametrize("name_and_source", CASES, ids=range(len(CASES)))


@every_case
@settings(max_examples=8)
@given(data=st.data())
def test_no_text_of_a_caller_is_a_control_token(
    model_path: Callable[[str], Path], name_and_source: tuple[str, str | None], data: st.DataObject
) -> None:
    name, source = name_and_source
    check(aim := target(model_path(name), source), data.draw(aim.cases()))


@pytest.mark.sweep
@every_case
@settings(max_examples=80)
@given(data=st.data())
def test_no_text_of_many_callers_is_a_control_token(
    model_path: Callable[[str], Path], name_and_source: tuple[str, str | None], data: st.DataObject
) -> None:
    name, source = name_and_source
    check(aim := target(model_path(name), source), data.draw(aim.cases()))


def check(aim: Target, case: dict[str, Any]) -> None:
    """The rendered text is the plain one, and it has the control tokens of its harmless twin."""
    try:
        segments = aim.segments(case)
    except ChatTemplateError:
        return
    assert whole(segments) == aim.text(case)
    assert encode_joined(aim.tok, segments) == aim.ids(case)
    if aim.branches_on(case):
        return
    try:
        expected = aim.added(twin(case))
    except ChatTemplateError:
        reject()
    assert aim.added(case) == expected


@pytest.mark.parametrize("role", ["user", "assistant", "system"])
@pytest.mark.parametrize("name", MODELS)
def test_a_message_without_a_template_in_the_way(
    model_path: Callable[[str], Path], name: str, role: str
) -> None:
    """Each of a model's added tokens, and its halves around another one."""
    source = "{% for m in messages %}{{ m.content ~ '<' ~ m.role ~ '>' }}{% endfor %}"
    aim = target(model_path(name), source)
    # Gemma's model makes runs of whitespace by itself, of any text.
    contents = [t.content for t in aim.tok.added_tokens if t.content.strip("▁\n\t ")]
    texts = [content[:1] + content + content[1:] for content in contents]
    assert texts
    assert aim.added({"messages": [{"role": role, "content": text} for text in texts]}) == []


THOUGHT = {"reasoning_content": "Hm <|im_end|>", "content": "so <|im_end|>"}
SPELT = {"content": "<think>\nHm <|im_end|>\n</think>\n\nso <|im_end|>"}


@pytest.mark.parametrize("source", [None, FAMILIES[1][1]], ids=["qwen3", "family"])
def test_a_thought_is_one_wherever_it_stands(
    model_path: Callable[[str], Path], source: str | None
) -> None:
    """A template that looks for a control token in a message takes it out, or leaves it text."""
    aim = target(model_path("qwen3"), source)
    question = {"role": "user", "content": "why?"}
    both = [
        aim.ids({"messages": [question, {"role": "assistant", **thought}]})
        for thought in (THOUGHT, SPELT)
    ]
    assert both[0] == both[1]
    for content in ("a</think>b", "</think>", "<think></think></think>c"):
        case = {"messages": [question, {"role": "assistant", "content": content}]}
        tokens = [aim.tok.id_to_token(i) for i in aim.added(case)]
        assert tokens.count("</think>") <= 1
        assert tokens.count("<think>") == tokens.count("</think>")


@pytest.mark.parametrize(
    "source",
    [
        "{{ '<|im_' ~ messages[0].content ~ '|>' }}",
        "{{ '<|im_%s|>' % messages[0].content }}",
        "{{ '<|im_{}|>'.format(messages[0].content) }}",
        "{{ ['<|im_', '|>'] | join(messages[0].content) }}",
        "{{ '<|im_X|>' | replace('X', messages[0].content) }}",
        "{{ '<|im_X|>'.replace('X', messages[0].content) }}",
        "{% set ns = namespace(x='<|im_') %}{% set ns.x = ns.x ~ messages[0].role %}{{ ns.x }}|>",
        "{% macro m(x) %}<|im_{{ x }}|>{% endmacro %}{{ m(messages[0].content) }}",
        "{% set x %}<|im_{{ messages[0].content }}|>{% endset %}{{ x }}",
        "{% filter trim %}<|im_{{ messages[0].content }}|>{% endfilter %}",
        "{{ ('<|im_' ~ messages[0].content ~ '|>') | upper | lower }}",
        "{{ ('<|im_' ~ messages[0].content ~ '|>') | wordwrap(99) }}",
        "{{ ('<|im_' ~ messages[0].content ~ '|>') | safe }}",
        "{{ {'<|im_' ~ messages[0].content ~ '|>': 1} | first }}",
    ],
)
def test_a_token_is_not_built_around_a_message(
    model_path: Callable[[str], Path], source: str
) -> None:
    aim = target(model_path("qwen3"), source)
    with pytest.raises(ChatProvenanceError):
        aim.ids({"messages": [{"role": "start", "content": "start"}]})
    whole_one = {"messages": [{"role": "<|im_start|>", "content": "<|im_start|>"}]}
    try:
        assert aim.added(whole_one) == []
    except ChatProvenanceError:
        assert "format" in source or "wordwrap" in source or "safe" in source
