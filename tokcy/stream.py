"""Text of ids that come one by one, such as those of a model that writes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from tokcy.errors import TokenIdError
from tokcy.spec.plan_decode import JoinWords, StripStart, TextStep

Ids = NDArray[np.uint32]

__all__ = ["DecodeStream", "State", "WholeState"]


class State(Protocol):
    """Where a stream is; see `StreamState` of `_stream.pyx`."""

    def push(self, token_id: SupportsIndex) -> str: ...

    def feed(self, ids: Ids) -> str: ...

    def finish(self) -> str: ...

    def copy(self) -> Self: ...


class DecodeStream:
    """The text of ids, as soon as no later id can change it.

    What `step` has given since the stream was made, and `flush` after it, is what `decode` gives of
    the prompt's ids and these, behind the text that was certain with the prompt alone. So it does
    not matter where the ids are cut: a character that is spread over several tokens comes whole,
    and one that never becomes whole comes as U+FFFD, with the next token or with `flush`. In models
    with byte fallback the text of a run of byte tokens comes when the run is over, as one byte
    that does not fit makes U+FFFD of all of them.

    A step takes constant time, unless the file's decoder is one that only Hugging Face knows, such
    as CTC: then each decodes all ids so far, and what has been given stays as it is.
    A stream belongs to one thread; ``copy.copy`` makes one that goes on by itself.

    >>> stream = tok.decode_stream(prompt_ids)               # doctest: +SKIP
    >>> for token_id in generated:                           # doctest: +SKIP
    ...     print(stream.step(token_id), end="")
    >>> print(stream.flush())                                # doctest: +SKIP
    """

    __slots__ = ("_state", "_steps")

    def __init__(self, state: State, text_steps: Sequence[TextStep], prompt_ids: Ids) -> None:
        self._state = state
        self._steps = [
            _Strip(step.character, step.most)
            if isinstance(step, StripStart)
            else _Substitution(step.pattern, step.contents[3])
            for step in text_steps
            if not isinstance(step, JoinWords)  # of the one text, which is the first
        ]
        if len(prompt_ids):
            self._through_steps(state.feed(prompt_ids))

    def step(self, token_id: SupportsIndex) -> str:
        """The text that this id makes certain, often none; an unknown id gives none.

        Raises:
            TypeError: not an integer.
            TokenIdError: it is negative or needs more than 32 bits.
        """
        text = self._state.push(token_id)
        return self._through_steps(text) if self._steps and text else text

    def flush(self) -> str:
        """What has been kept back, at the end of the text.

        A stream may go on after it, as after a break in the text.
        """
        text = self._through_steps(self._state.finish())
        for number, step in enumerate(self._steps):
            rest = step.finish()
            for later in self._steps[number + 1 :]:
                rest = later.feed(rest)
            text += rest
        return text

    def __copy__(self) -> DecodeStream:
        made = DecodeStream.__new__(DecodeStream)
        made._state = self._state.copy()
        made._steps = [step.copy() for step in self._steps]
        return made

    def _through_steps(self, text: str) -> str:
        for step in self._steps:
            text = step.feed(text)
        self._steps = [step for step in self._steps if not step.is_over]
        return text


class _Strip:
    """Takes a character away from the beginning, so many times at most."""

    def __init__(self, character: str, left: int) -> None:
        self._character = character
        self._left = left

    @property
    def is_over(self) -> bool:
        return self._left == 0

    def feed(self, text: str) -> str:
        n = 0
        while n < len(text) and n < self._left and text[n] == self._character:
            n += 1
        self._left = self._left - n if n == len(text) else 0
        return text[n:]

    def finish(self) -> str:
        return ""

    def copy(self) -> _Strip:
        return _Strip(self._character, self._left)


class _Substitution:
    """Puts the content for a pattern; keeps back what may be the beginning of one."""

    is_over = False

    def __init__(self, pattern: str, content: str, kept: str = "") -> None:
        self._pattern = pattern
        self._content = content
        self._kept = kept

    def feed(self, text: str) -> str:
        *before, rest = (self._kept + text).split(self._pattern)
        kept = min(len(rest), len(self._pattern) - 1)
        while kept and not self._pattern.startswith(rest[-kept:]):
            kept -= 1
        self._kept = rest[len(rest) - kept :]
        return self._content.join([*before, rest[: len(rest) - kept]])

    def finish(self) -> str:
        rest, self._kept = self._kept, ""
        return rest

    def copy(self) -> _Substitution:
        return _Substitution(self._pattern, self._content, self._kept)


class WholeState:
    """The state of a stream whose decoder is only known from outside.

    It decodes all ids at each step, keeps U+FFFD at the end back, and gives what the text has
    become longer by. Where a decoder changes text that it has given, that text stays.
    """

    def __init__(self, decode: Callable[[list[int]], str]) -> None:
        self._decode = decode
        self._ids: list[int] = []
        self._given = ""

    def push(self, token_id: SupportsIndex) -> str:
        number = operator.index(token_id)
        if not 0 <= number < 2**32:
            raise TokenIdError(f"token id {number} is not between 0 and 2**32 - 1")
        self._ids.append(number)
        return self._grown(self._decode(self._ids).rstrip("\ufffd"))

    def feed(self, ids: Ids) -> str:
        self._ids.extend(ids.tolist())
        return self._grown(self._decode(self._ids).rstrip("\ufffd"))

    def finish(self) -> str:
        return self._grown(self._decode(self._ids))

    def copy(self) -> WholeState:
        made = WholeState(self._decode)
        made._ids, made._given = self._ids.copy(), self._given
        return made

    def _grown(self, text: str) -> str:
        if not text.startswith(self._given):
            return ""
        grown = text[len(self._given) :]
        self._given = text
        return grown
