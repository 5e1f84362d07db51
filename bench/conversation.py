"""A conversation with an agent, as Kimi K3 renders it: the tools, a system prompt, then 40 turns.

Of each turn everything up to its last answer is encoded, and all turns before it. A turn is what
a user asks, calls of tools and what they return: real messages about real sources.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.chat import Segment, closing, opening

TURNS = 40
#: Of the JSON of all rows, which makes the last request 200,000 tokens long.
CHARS = 835_000

Message = dict[str, Any]


class Conversation:
    """What each request encodes: a text, or the segments of which it consists."""

    def __init__(self, rows: list[Message]) -> None:
        segments = [*_tools(rows[0]["tools"]), *_message(rows[0]["messages"][0])]
        requests: list[list[Segment]] = []
        for row in rows:
            *asked, answer = row["messages"][1:]
            for message in asked:
                segments += _message(message)
            prompt = [*opening("message", role="assistant"), *opening("think")]
            requests.append(segments + prompt)
            segments += _message(answer)
        texts = ["".join(text for text, _ in request) for request in requests]
        self.ways: dict[str, list[Any]] = {"text": texts, "segments": requests}

    @classmethod
    def read(cls, path: Path) -> Conversation:
        """The conversation of the first rows that are neither too short nor too long."""
        rows: list[Message] = []
        for line in path.read_text(encoding="utf-8").splitlines():
            if len(rows) < TURNS and abs(len(line) - CHARS // TURNS) < CHARS // TURNS // 3:
                rows.append(json.loads(line))
        return cls(rows)


class Arriving(Sequence[Any]):
    """The requests, each made anew when it is taken, as a server makes it of what it receives.

    So it has just been written when it is encoded. Of requests that were made long before, most of
    the time with a cache is for fetching them from memory.
    """

    def __init__(self, requests: list[Any]) -> None:
        self._received = [
            request.encode() if isinstance(request, str) else [(s.encode(), f) for s, f in request]
            for request in requests
        ]

    def __len__(self) -> int:
        return len(self._received)

    def __getitem__(self, index: Any) -> Any:
        received = self._received[index]
        if isinstance(received, bytes):
            return received.decode()
        return [(text.decode(), flag) for text, flag in received]


def _tools(tools: list[Any]) -> Iterator[Segment]:
    content = json.dumps(tools, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    yield from opening("message", role="system", type="tool-declare")
    yield (
        f"# Tools\nHere are the available tools, described in JSONSchema.\n\n"
        f"```json\n{content}\n```",
        False,
    )
    yield from _end()


def _message(message: Message) -> Iterator[Segment]:
    role = message["role"]
    if role == "tool":
        _, _, index = message["tool_call_id"].rpartition(":")
        yield from opening("message", role=role, tool=message["name"], index=index)
    else:
        yield from opening("message", role=role)
    if role == "assistant":
        yield from _element("think", message["reasoning_content"])
        yield from _element("response", message["content"])
        if "tool_calls" in message:
            yield from opening("tools")
            for index, call in enumerate(message["tool_calls"], 1):
                yield from _call(call["function"], index)
            yield from closing("tools")
    else:
        yield (message["content"], False)
    yield from _end()


def _call(function: dict[str, str], index: int) -> Iterator[Segment]:
    yield from opening("call", tool=function["name"], index=str(index))
    for key, value in json.loads(function["arguments"]).items():
        kind = "string" if isinstance(value, str) else "number"
        text = value if isinstance(value, str) else json.dumps(value)
        yield from _element("argument", text, key=key, type=kind)
    yield from closing("call")


def _element(tag: str, text: str, **attributes: str) -> Iterator[Segment]:
    yield from opening(tag, **attributes)
    if text:
        yield (text, False)
    yield from closing(tag)


def _end() -> Iterator[Segment]:
    yield from closing("message")
    yield ("<|end_of_msg|>", True)
