"""A cursor over a pattern, and the escapes that classes and the rest of a pattern share."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NoReturn

from tokcy import unicode as ucd
from tokcy.errors import PatternError

from .charset import MAX_CODE_POINT, CharSet

__all__ = ["Dialect", "Reader", "named_set"]


class Dialect(Enum):
    """Whose syntax a pattern is written in, and what it means where they differ.

    Their character classes are the same, but for ``\\w`` and what `_NOT_IN_RUST` names; so is
    which single characters ``(?i:…)`` takes for each other (probed over all code points with
    tiktoken 0.14, whose ``regex`` has the tables of Unicode 16, as Oniguruma here).
    """

    ONIGURUMA = "Oniguruma"
    RUST = "fancy-regex"  # what tiktoken runs, over Rust's regex


_CONTROL = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "a": 0x07, "e": 0x1B}
_SHORTHAND = {"w": "word", "d": "digit", "s": "space", "h": "xdigit"}
_UNSUPPORTED = {
    "A": "the anchor \\A",
    "b": "the word boundary \\b",
    "B": "the word boundary \\B",
    "G": "the anchor \\G",
    "Z": "the anchor \\Z",
    "K": "\\K",
    "R": "the line break \\R",
    "X": "the grapheme cluster \\X",
    "k": "a back-reference",
    "g": "a subexpression call",
    **dict.fromkeys("123456789", "a back-reference"),
}
_UNSUPPORTED_IN_RUST = {
    "0": "an octal escape",
    "<": "the word boundary \\<",
    ">": "the word boundary \\>",
}
# Properties of Oniguruma that Rust's regex does not have, or not with the same characters; it has
# no blocks either (In…), but these scripts and one category.
_NOT_IN_RUST = frozenset(
    ("graph", "newline", "posixpunct", "print", "surrogate", "unknown", "word", "xdigit", "zzzz")
)
_IN_RUST = ("inherited", "initialpunctuation", "inscriptionalpahlavi", "inscriptionalparthian")


class Reader:
    """``position`` is the index of the character that :meth:`next` gives."""

    def __init__(self, pattern: str, dialect: Dialect = Dialect.ONIGURUMA) -> None:
        self.pattern = pattern
        self.is_rust = dialect is Dialect.RUST
        self.position = 0

    def peek(self, count: int = 1) -> str:
        """The next characters without reading them; fewer, or "", at the end."""
        return self.pattern[self.position : self.position + count]

    def next(self) -> str:
        if self.position >= len(self.pattern):
            self.refuse("an unexpected end")
        self.position += 1
        return self.pattern[self.position - 1]

    def accept(self, text: str) -> bool:
        """Read ``text`` if it comes next."""
        found = self.pattern.startswith(text, self.position)
        if found:
            self.position += len(text)
        return found

    def match(self, expression: str) -> tuple[str, ...] | None:
        """Read what an ASCII regular expression matches here; its groups, or None."""
        found = re.compile(expression, re.ASCII).match(self.pattern, self.position)
        if found is None:
            return None
        self.position = found.end()
        return found.groups()

    def until(self, end: str, complaint: str) -> str:
        """Read up to and including ``end``; what stood before it."""
        stop = self.pattern.find(end, self.position)
        if stop < 0:
            self.refuse(complaint)
        text = self.pattern[self.position : stop]
        self.position = stop + len(end)
        return text

    def refuse(self, reason: str, position: int | None = None) -> NoReturn:
        if position is None:
            position = self.position
        raise PatternError(f"{reason} is not supported", self.pattern, position)

    def escape(self, *, in_class: bool = False) -> int | CharSet:
        """Read an escape: the character or the set that it stands for."""
        start = self.position
        self.next()
        letter = self.next()
        if letter in _CONTROL:
            return _CONTROL[letter]
        if letter == "b" and in_class and not self.is_rust:
            return 0x08
        if letter.lower() in _SHORTHAND:
            charset = self.shorthand(_SHORTHAND[letter.lower()], in_class=in_class)
            return ~charset if letter.isupper() else charset
        if letter in "pP" and (self.is_rust or self.peek() == "{"):
            return self.property(start, negated=letter == "P", in_class=in_class)
        if letter == "x":
            return self.hexadecimal(start)
        if letter == "u":
            if (digits := self.match(r"([0-9A-Fa-f]{4})")) is None:
                self.refuse("\\u without four hex digits", start)
            return self.code_point(digits[0], start)
        if self.is_rust and letter in _UNSUPPORTED_IN_RUST:
            self.refuse(_UNSUPPORTED_IN_RUST[letter], start)
        if letter == "0":
            octal = self.match(r"([0-7]{0,2})")
            return int((octal[0] if octal else "") or "0", 8)
        if letter in _UNSUPPORTED:
            self.refuse(_UNSUPPORTED[letter], start)
        if letter.isascii() and letter.isalnum():
            self.refuse(f"the escape \\{letter}", start)
        return ord(letter)

    def shorthand(self, name: str, *, in_class: bool) -> CharSet:
        if self.is_rust and name == "word":
            return CharSet.from_sorted_ranges(ucd.rust_set("word"))
        return named_set(name, in_class=in_class)

    def property(self, start: int, *, negated: bool, in_class: bool) -> CharSet:
        """The rest of ``\\p{…}`` or ``\\P{…}``, or of Rust's ``\\pL``."""
        if self.accept("{"):
            if self.accept("^"):
                negated = not negated
            name = self.until("}", "a property without its '}'")
        else:
            name = self.next()
        if self.is_rust and not _is_in_rust(name):
            self.refuse(f"the property {name!r}", start)
        try:
            charset = named_set(name, in_class=in_class)
        except KeyError:
            self.refuse(f"the property {name!r}", start)
        return ~charset if negated else charset

    def hexadecimal(self, start: int) -> int:
        """The rest of ``\\xHH`` or ``\\x{H…}``."""
        braced = self.match(r"\{([0-9A-Fa-f]{1,8})\}")
        if braced is not None:
            return self.code_point(braced[0], start)
        plain = self.match(r"([0-9A-Fa-f]{1,2})")
        if plain is None or int(plain[0], 16) >= 0x80:
            self.refuse("\\x that is no character of its own", start)
        return int(plain[0], 16)

    def code_point(self, digits: str, start: int) -> int:
        value = int(digits, 16)
        if value > MAX_CODE_POINT or 0xD800 <= value <= 0xDFFF:
            self.refuse(f"U+{value:X}, which is no character,", start)
        return value


def _is_in_rust(name: str) -> bool:
    plain = re.sub("[ _-]", "", name).lower()
    return plain not in _NOT_IN_RUST and (plain in _IN_RUST or not plain.startswith("in"))


@lru_cache(maxsize=256)
def named_set(name: str, *, in_class: bool) -> CharSet:
    """The set of a property; KeyError where Oniguruma knows none of that name."""
    return CharSet.from_sorted_ranges(ucd.onig_set(name, in_brackets=in_class))
