"""Control tokens of which it cannot be said who wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokcy.errors import ChatProvenanceError

from .trace import DATA, LOST, TracedStr, marks_of

__all__ = ["ControlTokens"]


class ControlTokens:
    """The contents of a tokenizer's added tokens, found in places that are in doubt."""

    def __init__(self, contents: Iterable[str]) -> None:
        self._contents = frozenset(filter(None, contents))
        self._longest = max(map(len, self._contents), default=0)
        lengths: dict[str, set[int]] = {}
        for content in self._contents:
            lengths.setdefault(content[0], set()).add(len(content))
        self._lengths = lengths

    def refuse_doubtful(self, text: TracedStr, name: str) -> None:
        """Look at all text that is lost, and at short data between parts of the template.

        Raises:
            ChatProvenanceError: it is, or may be, all that a control token of the template's
                lacks. To take it for data is safe, but were it harmless, as a role is, the model
                would see ordinary text where it was trained on a control token.
        """
        marks = marks_of(text)
        end = 0
        for part, mark in text.segments():
            begin, end = end, end + len(part)
            if mark == LOST or (mark == DATA and len(part) < self._longest):
                for start, stop in self._around(text, begin, end):
                    found = marks[start:stop]
                    what = str.__getitem__(text, slice(start, stop))
                    if DATA not in found:
                        raise ChatProvenanceError(_LOST.format(name, what, part))
                    if DATA not in (found[:1], found[-1:]):
                        raise ChatProvenanceError(_SPLICED.format(name, what, part))

    def _around(self, text: TracedStr, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Where tokens stand that share a character with ``text[begin:end]``."""
        first = max(0, begin - self._longest + 1)
        window = str.__getitem__(text, slice(first, end + self._longest))
        for start in range(end - first):
            for length in self._lengths.get(window[start], ()):
                if (
                    first + start + length > begin
                    and window[start : start + length] in self._contents
                ):
                    yield first + start, first + start + length


_HINT = "trust_content=True renders without this distinction, as transformers does"
_LOST = (
    "chat template {0!r}: what it does to text hides whether it wrote all of the control token "
    "{1!r} itself ({2!r:.40} may come from a message); " + _HINT
)
_SPLICED = (
    "chat template {0!r} builds the control token {1!r} around text of a message ({2!r:.40}); pass "
    "that text as tokcy.chat.TrustedText if it is safe; " + _HINT
)
