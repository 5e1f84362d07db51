"""Syntax tree → leftmost-first DFA over character classes.

A Thompson NFA is determinised over *ordered* lists of threads, which keeps a backtracking
engine's choice: threads behind one that has matched are dropped. Assertions look at the class
that is read next, so a match is reported by the transition that reads the class *behind* it.

The automaton is total: where the pattern matches nothing, one character of gap does, with the
lowest priority. Matches therefore come in kinds: ``MATCH``, ``GAP``, and ``SPLIT_GAP`` for the
character behind an empty match, which begins a gap of its own (rule R6).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tokcy.errors import PatternError

from .charset import CharSet
from .classes import MAX_CLASSES, Classes, partition
from .syntax import Alt, Cat, Chars, Look, Node, Repeat

__all__ = ["DEAD", "GAP", "MATCH", "SPLIT_GAP", "START", "Dfa", "build_dfa"]

MATCH, GAP, SPLIT_GAP = 1, 2, 3
DEAD, START = 0, 1
MAX_NFA = 20_000
MAX_STATES = 8_000
_TOO_MANY_STATES = "a pattern that needs too many states is not supported"


@dataclass(frozen=True)
class Dfa:
    """State s reading class c: a match of kind ``accept[s, c]`` (0: none) ends before c, and
    ``next[s, c]`` follows. Column ``classes.count`` stands for the end of text."""

    classes: Classes
    next: npt.NDArray[np.uint16]
    accept: npt.NDArray[np.uint8]


class _Nfa:
    """Nodes as parallel lists; ``mask`` has a bit per class, and one for the end of text."""

    CHARS, LOOK, FORK, ACCEPT = range(4)

    def __init__(self, pattern: str, masks: dict[CharSet, int], end_bit: int) -> None:
        self.pattern = pattern
        self.masks = masks
        self.end_bit = end_bit
        self.op: list[int] = []
        self.mask: list[int] = []
        self.out: list[int] = []
        self.second: list[int] = []

    def add(self, op: int, mask: int, out: int, second: int = -1) -> int:
        if len(self.op) >= MAX_NFA:
            raise PatternError(_TOO_MANY_STATES, self.pattern, 0)
        self.op.append(op)
        self.mask.append(mask)
        self.out.append(out)
        self.second.append(second)
        return len(self.op) - 1

    def build(self, node: Node, out: int) -> int:
        """Nodes for ``node`` that go on to ``out``; the entry."""
        match node:
            case Chars(charset):
                return self.add(self.CHARS, self.masks[charset], out)
            case Look(charset, at_end):
                mask = self.masks[charset] | (self.end_bit if at_end else 0)
                return self.add(self.LOOK, mask, out)
            case Cat(items):
                for item in reversed(items):
                    out = self.build(item, out)
            case Alt(choices):
                entries = [self.build(choice, out) for choice in choices]
                out = entries.pop()
                while entries:
                    out = self.add(self.FORK, 0, entries.pop(), out)
            case Repeat():
                return self.build_repeat(node, out)
        return out

    def build_repeat(self, node: Repeat, out: int) -> int:
        if node.high is None:
            fork = self.add(self.FORK, 0, -1, -1)
            entry = self.build(node.item, fork)
            self.branch(fork, entry, out, node.greedy)
            out = fork
        else:
            leave = out
            for _ in range(node.high - node.low):
                fork = self.add(self.FORK, 0, -1, -1)
                self.branch(fork, self.build(node.item, out), leave, node.greedy)
                out = fork
        for _ in range(node.low):
            out = self.build(node.item, out)
        return out

    def branch(self, fork: int, inside: int, leave: int, greedy: bool) -> None:
        self.out[fork], self.second[fork] = (inside, leave) if greedy else (leave, inside)


def _charsets(node: Node) -> Iterator[CharSet]:
    match node:
        case Chars(charset) | Look(charset):
            yield charset
        case Cat(items) | Alt(items):
            for item in items:
                yield from _charsets(item)
        case Repeat(item):
            yield from _charsets(item)


def build_dfa(node: Node, pattern: str) -> Dfa:
    """The DFA of ``node``; PatternError when it would have more than ``MAX_STATES`` states."""
    charsets = [CharSet.everything(), *_charsets(node)]
    distinct = list(dict.fromkeys(charsets))
    classes = partition(distinct)
    if classes.count > MAX_CLASSES:
        raise PatternError("a pattern with too many character classes is not supported", pattern, 0)
    masks = dict(zip(distinct, classes.members, strict=True))
    return _Determiniser(node, pattern, classes, masks).run()


Threads = tuple[int, ...]


class _Determiniser:
    def __init__(
        self, node: Node, pattern: str, classes: Classes, masks: dict[CharSet, int]
    ) -> None:
        self.pattern = pattern
        self.classes = classes
        self.end_bit = 1 << classes.count
        nfa = self.nfa = _Nfa(pattern, masks, self.end_bit)
        accepts = [nfa.add(nfa.ACCEPT, kind, -1) for kind in (MATCH, GAP, SPLIT_GAP)]
        self.split_gap = accepts[2]
        one_of_gap = nfa.add(nfa.CHARS, self.end_bit - 1, accepts[1])
        # No loop leads back to the root, so its state stands for "nothing read yet" alone.
        self.root = nfa.add(nfa.FORK, 0, nfa.build(node, accepts[0]), one_of_gap)

    def run(self) -> Dfa:
        n_columns = self.classes.count + 1
        numbers: dict[Threads, int] = {(): DEAD, (self.root,): START}
        order = list(numbers)
        following, accepting = [], []
        for state in order:  # grows as states are found
            row_next, row_accept = [DEAD] * n_columns, [0] * n_columns
            for mask, kind, threads in self.branches(state):
                if (number := numbers.get(threads)) is None:
                    number = numbers[threads] = len(order)
                    order.append(threads)
                    if len(order) > MAX_STATES:
                        raise PatternError(_TOO_MANY_STATES, self.pattern, 0)
                while mask:
                    column = mask.bit_length() - 1
                    mask ^= 1 << column
                    row_next[column], row_accept[column] = number, kind
            row_next[-1] = DEAD
            following.append(row_next)
            accepting.append(row_accept)
        accept = np.array(accepting, dtype=np.uint8)
        return Dfa(self.classes, _prune(np.array(following, dtype=np.uint16), accept), accept)

    def branches(self, state: Threads) -> Iterator[tuple[int, int, Threads]]:
        """(mask of classes, kind of match before them, threads behind them) of a state's ways."""
        nfa = self.nfa
        at_root = state == (self.root,)
        pending = [(2 * self.end_bit - 1, list(reversed(state)), set[int](), dict[int, None]())]
        while pending:
            mask, stack, seen, threads = pending.pop()
            kind = 0
            while stack:
                node = stack.pop()
                if node in seen:
                    continue
                seen.add(node)
                op = nfa.op[node]
                if op == nfa.FORK:
                    stack += (nfa.second[node], nfa.out[node])
                    continue
                if op == nfa.ACCEPT:
                    if at_root and nfa.mask[node] == MATCH:
                        threads[self.split_gap] = None
                    else:
                        kind = nfa.mask[node]
                    break
                inside, outside = mask & nfa.mask[node], mask & ~nfa.mask[node]
                if inside and outside:
                    pending.append((outside, stack.copy(), seen.copy(), threads.copy()))
                if inside:
                    mask = inside
                    if op == nfa.CHARS:
                        threads[nfa.out[node]] = None
                    else:
                        stack.append(nfa.out[node])
            yield mask, kind, tuple(threads)


def _prune(
    following: npt.NDArray[np.uint16], accept: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint16]:
    """Lead to DEAD where no match can come any more, so that nothing is read in vain."""
    useful = np.asarray(accept.any(axis=1))
    while True:
        wider = useful | np.asarray(useful[following].any(axis=1))
        if np.array_equal(wider, useful):
            break
        useful = wider
    useful[START] = True
    return np.where(useful[following], following, DEAD).astype(np.uint16)
