"""The inside of ``[…]``: ranges, nested classes, POSIX brackets and intersections."""

from __future__ import annotations

from .charset import CharSet
from .folding import close
from .reader import Reader, named_set

__all__ = ["ClassReader"]

MAX_DEPTH = 50


class ClassReader:
    """Reads one class. Forms that Oniguruma only warns about ([a-\\d], []a]) are refused.

    Under `folding`, which is Rust's ``(?i:…)``, so is what makes a difference whether letter case
    is ignored member by member or in the whole class.
    """

    def __init__(self, reader: Reader, depth: int = 0, *, folding: bool = False) -> None:
        self.reader = reader
        self.folding = folding
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
            if self.folding:
                reader.refuse("a case-insensitive intersection")
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
        if reader.is_rust and reader.peek(2) in ("[:", "--", "~~"):
            reader.refuse(f"{reader.peek(2)!r} in a class")
        if reader.peek(2) == "[:":
            return self.posix()
        if reader.peek() == "[":
            if self.folding:
                reader.refuse("a case-insensitive class in a class")
            charset, negated = ClassReader(reader, self.depth + 1).read()
            return ~charset if negated else charset
        if reader.peek() == "\\":
            return self.escape()
        if not reader.peek():
            reader.refuse("a '[' without its ']'", self.start)
        return ord(reader.next())

    def escape(self) -> int | CharSet:
        start = self.reader.position
        found = self.reader.escape(in_class=True)
        if self.folding and isinstance(found, CharSet) and close(found) != found:
            self.reader.refuse("a case-insensitive property that letter case would widen", start)
        return found

    def upper(self, lower: int, start: int) -> int:
        """The upper end of the range that may follow ``lower``, which stands at ``start``."""
        reader = self.reader
        if reader.peek() != "-" or reader.peek(2) == "-]":
            return lower
        dash = reader.position
        if reader.is_rust and reader.peek(2) == "--":
            reader.refuse("'--' in a class")
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
