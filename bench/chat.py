"""Chats of typed segments as Kimi K3 renders them, with a text of their own for each round.

A segment is a text and whether the template wrote it. The markers of K3 are such segments; the
names of tags, the attributes and the bodies of messages are not, and control strings that a body
quotes must come out as ordinary ids. Four messages, of which one is the assistant's, make exactly
54 segments.

The bodies mix windows of real text in many languages, code, JSON, tables and logs with made ones:
records with ids and hashes, punctuation, and sentences that quote control strings. The windows of
one kind are dealt out one after the other, in an order that is random but always the same, so
that a round shares no window with the rounds before it while there are enough of them.
"""

from __future__ import annotations

import json
import random
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

#: A text, and whether control tokens are recognised in it.
Segment = tuple[str, bool]

MODEL = "kimi_k3"
MARKERS = ("<|open|>", "<|sep|>", "<|close|>", "<|end_of_msg|>")
QUOTED = (*MARKERS, "<|im_end|>", "[BOS]", "<think>")

#: Shares of the characters, with which a token has 2.9 of them on average.
WEIGHTS = {
    "prose": 0.46,
    "code": 0.22,
    "data": 0.12,
    "scripts": 0.10,
    "records": 0.04,
    "punctuation": 0.03,
    "control strings": 0.03,
}
CORPORA = {
    "prose": ("english_prose", "latex"),
    "code": ("python", "js_ts", "c", "rust_go_java", "diffs"),
    "data": ("json", "logs"),
    "scripts": ("zh", "ja", "ko", "ru", "ar", "hi", "th", "emoji", "mixed_all_languages"),
}
WINDOW_CHARS = 400
LONGEST_WINDOW = 2_000
#: Python counts these as space and basetenkenizer does not, so that its cuts differ.
SEPARATORS = str.maketrans("", "", "\x1c\x1d\x1e\x1f")


@dataclass(frozen=True)
class Size:
    """So many chats, each with so many characters in the bodies of its messages."""

    name: str
    chars: int
    rounds: int
    #: The role and the share of the characters of each message.
    messages: tuple[tuple[str, float], ...] = (
        ("system", 0.05),
        ("user", 0.80),
        ("assistant", 0.05),
        ("user", 0.10),
    )


WARM_UP = Size("warm-up", 29_000, 1)
SIZES = (
    Size("tiny", 200, 200),
    Size("10k", 29_000, 15),
    Size("100k", 290_000, 7),
    Size("1M", 2_900_000, 4),
    Size("1M in 1,020 segments", 2_900_000, 2, (("user", 1 / 85),) * 85),
)
#: Chats of 10,000 tokens, of which so many come at once as the name says.
AT_ONCE = (Size("1", 29_000, 16), Size("8", 29_000, 64), Size("64", 29_000, 192))


class Material:
    """Windows of real text by kind, and where among them the chats of each size begin."""

    def __init__(self, windows: dict[str, list[str]]) -> None:
        self._windows = windows
        self._ends = {kind: list(accumulate(map(len, texts))) for kind, texts in windows.items()}

    @classmethod
    def read(cls, path: Path) -> Material:
        return cls(json.loads(path.read_bytes()))

    def chats(self, size: Size, *before: Size) -> Iterator[list[Segment]]:
        """One chat for each round; the sizes before have used the windows before."""
        used = sum(one.chars * one.rounds for one in before)
        for turn in range(size.rounds):
            bodies = self._bodies(used + turn * size.chars, f"{size.name}/{turn}")
            yield render(
                [(role, next(bodies)(round(size.chars * share))) for role, share in size.messages]
            )

    def _bodies(self, used: int, seed: str) -> Iterator[Callable[[int], str]]:
        """Endless functions that give the next characters of one endless text."""
        items = self._items(used, random.Random(seed))
        rest = ""

        def take(chars: int) -> str:
            nonlocal rest
            parts = [rest]
            size = len(rest)
            while size < chars:
                parts.append(next(items))
                size += len(parts[-1])
            text = "".join(parts)
            rest = text[chars:]
            return text[:chars]

        while True:
            yield take

    def _items(self, used: int, choose: random.Random) -> Iterator[str]:
        """Endless items, of which each kind has its share of the characters."""
        decks = {kind: self._deal(kind, int(used * WEIGHTS[kind])) for kind in self._windows}
        decks |= {kind: _made(kind, choose) for kind in WEIGHTS if kind not in decks}
        given = dict.fromkeys(WEIGHTS, 0)
        while True:
            # Of the kinds that are behind their share a random one, so that their order varies.
            total = sum(given.values())
            behind = [kind for kind in WEIGHTS if given[kind] <= WEIGHTS[kind] * total]
            kind = choose.choice(behind)
            item = next(decks[kind])
            given[kind] += len(item)
            yield item

    def _deal(self, kind: str, start: int) -> Iterator[str]:
        windows, ends = self._windows[kind], self._ends[kind]
        position = bisect_right(ends, start % ends[-1])
        while True:
            yield windows[position % len(windows)]
            position += 1


def windows_of(texts: Sequence[str]) -> list[str]:
    """Whole lines of some hundred characters together, of all texts in random order."""
    windows = []
    for text in texts:
        lines: list[str] = []
        size = 0
        for line in text.translate(SEPARATORS).splitlines(keepends=True):
            lines.append(line)
            size += len(line)
            if size >= WINDOW_CHARS:
                windows.append("".join(lines)[:LONGEST_WINDOW])
                lines, size = [], 0
    random.Random(0).shuffle(windows)
    return windows


def _made(kind: str, choose: random.Random) -> Iterator[str]:
    make = {"records": _record, "punctuation": _punctuation, "control strings": _quoting}[kind]
    while True:
        yield make(choose)


def _record(choose: random.Random) -> str:
    content = {
        "request_id": f"{choose.getrandbits(128):032x}",
        "sha256": f"{choose.getrandbits(256):064x}",
        "timestamp": f"2026-{choose.randint(1, 12):02}-{choose.randint(1, 28):02}T"
        f"{choose.randint(0, 23):02}:{choose.randint(0, 59):02}:{choose.random() * 59:09.6f}Z",
        "score": choose.random(),
        "shape": [[choose.randint(0, 4096) for _ in range(3)] for _ in range(2)],
    }
    return json.dumps(content, indent=choose.choice((None, 2))) + "\n"


def _punctuation(choose: random.Random) -> str:
    marks = "".join(choose.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=choose.randint(5, 30)))
    return f"{marks} {choose.randrange(10 ** choose.randint(1, 12))}\n"


def _quoting(choose: random.Random) -> str:
    return (
        f"The user wrote {choose.choice(QUOTED)} and then {choose.choice(QUOTED)}"
        f" in request {choose.getrandbits(64):016x}.\n"
    )


def render(messages: Sequence[tuple[str, str]]) -> list[Segment]:
    """The segments of messages, each a role and a body; 12 of them, or 18 of an assistant's."""
    segments: list[Segment] = []
    for role, body in messages:
        segments += opening("message", role=role)
        if role == "assistant":
            segments += [*opening("response"), (body, False), *closing("response")]
        else:
            segments.append((body, False))
        segments += [*closing("message"), ("<|end_of_msg|>", True)]
    return [segment for segment in segments if segment[0]]


def opening(tag: str, **attributes: str) -> list[Segment]:
    segments: list[Segment] = [("<|open|>", True), (tag, False)]
    for key, value in attributes.items():
        segments += [(f" {key}", False), ('="', False), (value, False), ('"', False)]
    return [*segments, ("<|sep|>", True)]


def closing(tag: str) -> list[Segment]:
    return [("<|close|>", True), (tag, False), ("<|sep|>", True)]


#: Kimi's Python tokenizer encodes blocks of so many characters by themselves,
BLOCK_CHARS = 400_000
#: and in them no more than so many in a row that are all space or all not space.
RUN_CHARS = 25_000
_SHORT_RUNS = re.compile(rf"(?:\S{{1,{RUN_CHARS}}}(?!\S)|\s{{1,{RUN_CHARS}}}(?!\s))*")


def kimi_pieces(segments: Sequence[Segment]) -> list[Segment]:
    """The segments, cut where Kimi's tokenizer cuts: the fastest way in Python that was tried."""
    pieces: list[Segment] = []
    for segment in segments:
        text, trusted = segment
        if len(text) <= RUN_CHARS:
            pieces.append(segment)
        else:
            pieces += [(piece, trusted) for piece in _cut(text)]
    return pieces


def _cut(text: str) -> Iterator[str]:
    for start in range(0, len(text), BLOCK_CHARS):
        block = text[start : start + BLOCK_CHARS]
        begin = 0
        while begin < len(block):
            match = _SHORT_RUNS.match(block, begin)
            # What follows the match, if anything, is a run that is too long.
            end = (begin if match is None else match.end()) + RUN_CHARS
            yield block[begin:end]
            begin = end
