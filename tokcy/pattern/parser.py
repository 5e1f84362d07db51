"""Oniguruma's Ruby syntax, as Hugging Face split patterns are written, → syntax tree.

Also that of fancy-regex, for the patterns of tiktoken: what differs hangs on `Reader.is_rust`.

Everything that cannot be matched exactly by one pass over character classes with one character
of lookahead is refused with its position. Rules R1–R6 of the specification of ``tokenizers``.
"""

from __future__ import annotations

from .charclass import ClassReader
from .charset import CharSet
from .folding import close, folds_to_several, may_join
from .reader import Dialect, Reader
from .syntax import (
    Alt,
    Cat,
    Chars,
    Empty,
    Look,
    Node,
    Possessive,
    Repeat,
    always_matches,
    nullable,
)

__all__ = ["parse"]

MAX_DEPTH = 50
MAX_REPEAT = 100_000  # Oniguruma's own limit

_ANYTHING = CharSet.everything()
_NEWLINE = CharSet.of(0x0A)
_QUANTIFIERS = {"?": (0, 1), "*": (0, None), "+": (1, None)}


def parse(pattern: str, dialect: Dialect = Dialect.ONIGURUMA) -> Node:
    """The syntax tree of ``pattern``; PatternError for what is wrong or not supported exactly."""
    return _Parser(pattern, dialect).parse()


class _Parser:
    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.reader = Reader(pattern, dialect)
        self.ignore_case = False
        self.dot_all = False
        self.depth = 0

    def parse(self) -> Node:
        node = self.alternation()
        if self.reader.peek():
            self.reader.refuse("a ')' without its '('")
        if self.reader.is_rust and nullable(node):
            self.reader.refuse("a pattern that matches the empty text", 0)
        return node

    def alternation(self) -> Node:
        choices = [self.sequence()]
        while self.reader.accept("|"):
            choices.append(self.sequence())
        return choices[0] if len(choices) == 1 else Alt(tuple(choices))

    def sequence(self) -> Node:
        items: list[Node] = []
        while (head := self.reader.peek()) and head not in "|)":
            start = self.reader.position
            item = self.quantified(self.atom(), start)
            self.refuse_joining_case(items, item, start)
            items.extend(item.items if isinstance(item, Cat) else [item])
        for index, item in enumerate(items):
            if isinstance(item, Possessive):
                # Within a group, what follows the group is not known here.
                plain = self.depth == 0 and item.is_greedy_before(items[index + 1 :])
                items[index] = item.greedy() if plain else item.exact()
        if not items:
            return Empty()
        return items[0] if len(items) == 1 else Cat(tuple(items))

    def refuse_joining_case(self, before: list[Node], item: Node, start: int) -> None:
        """(?i:ss) also matches ß; such pairs of literals are refused, however they are written."""
        if self.reader.is_rust:  # where a character is equal to one character at most
            return
        last = _literal(before[-1]) if before else None
        first = _literal(item.items[0] if isinstance(item, Cat) else item)
        repeated = isinstance(item, Repeat) and (item.high is None or item.high > 1)
        joins = last is not None and first is not None and may_join(last, first)
        if joins or (repeated and first is not None and may_join(first, first)):
            self.reader.refuse("a case-insensitive string that is equal to one character", start)

    # Atoms

    def atom(self) -> Node:
        head = self.reader.peek()
        if head == "(":
            return self.group()
        if head == "[":
            return self.char_class()
        if head == "\\":
            return self.escape()
        start = self.reader.position
        if head in "*+?":
            self.reader.refuse("a quantifier without anything to repeat")
        if head == "{" and self.interval() is not None:
            self.reader.refuse("a quantifier without anything to repeat", start)
        self.reader.next()
        if head == ".":
            return Chars(_ANYTHING if self.dot_all else ~_NEWLINE)
        if head == "$":  # in Oniguruma always a line anchor (R3)
            return Look(CharSet.of() if self.reader.is_rust else _NEWLINE, at_end=True)
        if head == "^":
            self.reader.refuse("the anchor ^", start)
        if head in "{}" and self.reader.is_rust:
            self.reader.refuse(f"a {head!r} that is no quantifier", start)
        return self.literal(ord(head), start)

    def literal(self, code_point: int, start: int) -> Node:
        charset = CharSet.of(code_point)
        if not self.ignore_case:
            return Chars(charset)
        if folds_to_several(charset) and not self.reader.is_rust:
            self.reader.refuse("a case-insensitive character that is equal to several", start)
        return Chars(close(charset), literal=code_point)

    def escape(self) -> Node:
        start = self.reader.position
        if self.reader.accept("\\z"):
            return Look(CharSet.of(), at_end=True)
        item = self.reader.escape()
        if isinstance(item, int):
            return self.literal(item, start)
        if self.ignore_case and close(item) != item:
            self.reader.refuse("a case-insensitive property that letter case would widen", start)
        return Chars(item)

    def char_class(self) -> Node:
        start = self.reader.position
        folding = self.ignore_case and self.reader.is_rust
        charset, negated = ClassReader(self.reader, folding=folding).read()
        if self.ignore_case:
            if folds_to_several(charset) and not self.reader.is_rust:
                self.reader.refuse(
                    "a case-insensitive class with a character that is equal to several", start
                )
            charset = close(charset)
        return Chars(~charset if negated else charset)

    # Groups

    def group(self) -> Node:
        start = self.reader.position
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.reader.refuse(f"groups nested more than {MAX_DEPTH} deep", start)
        options = self.ignore_case, self.dot_all
        self.reader.next()
        node = self.group_body(start)
        self.ignore_case, self.dot_all = options
        self.depth -= 1
        return node

    def group_body(self, start: int) -> Node:
        accept = self.reader.accept
        if not accept("?"):
            return self.closed(start)
        if accept(":"):
            return self.closed(start)
        if accept("="):
            return Look(*self.condition(self.closed(start), start))
        if accept("!"):
            charset, at_end = self.condition(self.closed(start), start)
            return Look(~charset, not at_end)
        if accept(">"):
            return self.atomic(self.closed(start), start)
        if self.reader.peek(2) in ("<=", "<!"):
            self.reader.refuse("look-behind", start)
        if accept("<"):
            self.reader.until(">", "a group name without its '>'")
            return self.closed(start)
        return self.options(start)

    def closed(self, start: int) -> Node:
        node = self.alternation()
        if not self.reader.accept(")"):
            self.reader.refuse("a '(' without its ')'", start)
        return node

    def options(self, start: int) -> Node:
        """(?im-im:…), and (?im) where the pattern begins with it; ``m`` is Rust's ``s``."""
        on = True
        dot_all = "s" if self.reader.is_rust else "m"
        while not self.reader.accept(":"):
            flag = self.reader.next()
            if flag == "-":
                on = False
            elif flag == "i":
                self.ignore_case = on
            elif flag == dot_all:
                self.dot_all = on
            elif flag == ")" and start == 0:
                return self.alternation()
            elif flag == ")":
                self.reader.refuse("an option for the rest of a group", start)
            else:
                self.reader.refuse(f"the group option {flag!r}", start)
        return self.closed(start)

    def condition(self, node: Node, start: int) -> tuple[CharSet, bool]:
        """When ``node`` matches here, told by the next character (or the end) alone."""
        match node:
            case Empty() | Repeat(_, 0):
                return _ANYTHING, True
            case Chars(charset):
                return charset, False
            case Look(charset, at_end):
                return charset, at_end
            case Repeat(item, 1):
                return self.condition(item, start)
            case Alt(choices):
                found = [self.condition(choice, start) for choice in choices]
                charset = found[0][0]
                for other, _ in found[1:]:
                    charset = charset | other
                return charset, any(at_end for _, at_end in found)
            case Cat((Look(charset, at_end), *rest)):
                more, more_at_end = self.condition(Cat(tuple(rest)), start)
                return charset & more, at_end and more_at_end
            case Cat((first, *rest)) if all(always_matches(item) for item in rest):
                return self.condition(first, start)
        self.reader.refuse("a lookahead of more than one character", start)

    def atomic(self, node: Node, start: int) -> Node:
        if isinstance(node, Repeat) and node.greedy and (single := _single(node.item)) is not None:
            return Possessive(single, node.low, node.high).exact()
        if _fixed(node):
            return node
        self.reader.refuse("an atomic group that is not a repeated character", start)

    # Quantifiers

    def quantified(self, node: Node, start: int) -> Node:
        first = True
        while (found := self.quantifier()) is not None:
            if self.reader.is_rust and not first:
                self.reader.refuse("a quantifier of a quantifier", start)
            first = False
            low, high, greedy, possessive = found
            if isinstance(node, Possessive):
                node = node.exact()
            if isinstance(node, Look | Empty):
                self.reader.refuse("a repeated assertion", start)
            if possessive:
                single = _single(node)
                if single is None:
                    self.reader.refuse("a possessive quantifier on more than a character", start)
                node = Possessive(single, low, high)
            elif nullable(node) and (high is None or high > 1):
                self.reader.refuse("a loop around what can match nothing", start)
            else:
                node = Repeat(node, low, high, greedy)
        return node

    def quantifier(self) -> tuple[int, int | None, bool, bool] | None:
        """(low, high, greedy, possessive) of the quantifier that comes next, or None."""
        head = self.reader.peek()
        if head == "{":
            bounds = self.interval()
            if bounds is None:
                return None
            low, high = bounds
            if self.reader.is_rust:
                lazy = self.reader.accept("?")
                return low, high, not lazy, not lazy and self.reader.accept("+")
            # {n}? is an optional {n}, and {n,m}+ repeats the group (R4): the sign stays unread.
            lazy = low != high and self.reader.accept("?")
            return low, high, not lazy, False
        if not head or head not in _QUANTIFIERS:
            return None
        self.reader.next()
        low, high = _QUANTIFIERS[head]
        if self.reader.accept("?"):
            return low, high, False, False
        return low, high, True, self.reader.accept("+")

    def interval(self) -> tuple[int, int | None] | None:
        """The bounds of ``{n}``, ``{n,}``, ``{,m}``, ``{n,m}``; None where '{' is a literal."""
        start = self.reader.position
        found = self.reader.match(r"\{(\d*)(,?)(\d*)\}")
        if found is None:
            return None
        first, comma, second = found
        if not first and (not second or self.reader.is_rust):
            self.reader.position = start
            return None
        low = int(first or 0)
        high = low if not comma else int(second) if second else None
        if low > MAX_REPEAT or (high is not None and high > MAX_REPEAT):
            self.reader.refuse("a repeat count that is too big", start)
        if high is not None and high < low:
            self.reader.refuse("an interval whose upper bound is the smaller", start)
        return low, high


def _literal(node: Node) -> int | None:
    if isinstance(node, Repeat):
        node = node.item
    return node.literal if isinstance(node, Chars) else None


def _single(node: Node) -> CharSet | None:
    """The set of characters of a node that always matches exactly one."""
    return node.charset if isinstance(node, Chars) else None


def _fixed(node: Node) -> bool:
    """Whether there is only one way for ``node`` to match."""
    match node:
        case Chars() | Empty() | Look():
            return True
        case Cat(items):
            return all(map(_fixed, items))
        case Repeat(item, low, high):
            return low == high and _fixed(item)
    return False
