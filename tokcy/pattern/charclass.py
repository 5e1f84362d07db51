"""The inside of ``[…]``: ranges, nested classes, POSIX brackets and intersections."""

from __future__ import annotations

from .charset import CharSet
from .reader import Reader, named_set

__all__ = ["ClassReader"]

MAX_DEPTH = 50


class ClassReader:
    """Reads one class. Forms that Oniguruma only warns about ([a-\\d], []a]) are refused."""

    def __init__(self, reader: Reader, depth: int = 0) -> None:
        self.reader = reader
        self.depth = depth
        self.start = reader.position

    def read(self) -> tuple[CharSet, bool]:
        """(what is between the brackets, whether a ``^`` negates it)."""
        reader = self.reader
        if self.depth > MAX_DEPTH:
            reader.refuse(f"classes nested more than {MAX_DEPTH} deep")
        reader.next()
        negated = reader.accept("^")
        result: CharSet | None = None
        while True:
            operand = self.operand()
            result = operand if result is None else result & operand
            if reader.accept("]"):
                return result, negated
            reader.accept("&&")

    def operand(self) -> CharSet:
        """A union of members, up to ``&&`` or the closing bracket."""
        reader = self.reader
        ranges: list[tuple[int, int]] = []
        charset = CharSet.of()
        first = reader.position
        while reader.peek() != "]" and reader.peek(2) != "&&":
            start = reader.position
            if reader.peek() == "-" and not (start == first or reader.peek(2) == "-]"):
                reader.refuse("a '-' in the middle of a class")
            member = self.member()
            if isinstance(member, CharSet):
                charset = charset | member
            else:
                ranges.append((member, self.upper(member, start)))
        if reader.position == first:
            reader.refuse("an empty class or operand", self.start)
        return charset | CharSet.from_ranges(ranges)

    def member(self) -> int | CharSet:
        reader = self.reader
        if reader.peek(2) == "[:":
            return self.posix()
        if reader.peek() == "[":
            charset, negated = ClassReader(reader, self.depth + 1).read()
            return ~charset if negated else charset
        if reader.peek() == "\\":
            return reader.escape(in_class=True)
        if not reader.peek():
            reader.refuse("a '[' without its ']'", self.start)
        return ord(reader.next())

    def upper(self, lower: int, start: int) -> int:
        """The upper end of the range that may follow ``lower``, which stands at ``start``."""
        reader = self.reader
        if reader.peek() != "-" or reader.peek(2) == "-]":
            return lower
        dash = reader.position
        reader.next()
        if reader.peek() == "[" or reader.peek(2) == "&&" or self.reader.pattern[start] == "-":
            reader.refuse("a '-' that is no range", dash)
        member = self.member()
        if isinstance(member, CharSet) or member < lower:
            reader.refuse("a range that does not go upwards", start)
        return member

    def posix(self) -> CharSet:
        start = self.reader.position
        found = self.reader.match(r"\[:(\^?)(\w+):\]")
        if found is None:
            self.reader.refuse("'[:' that opens no POSIX bracket", start)
        negated, name = found
        try:
            charset = named_set("posixpunct" if name == "punct" else name, in_class=True)
        except KeyError:
            self.reader.refuse(f"the POSIX bracket {name!r}", start)
        return ~charset if negated else charset
