"""Split pattern → scan tables.

The way of a pattern: ``parser`` (Oniguruma syntax → ``syntax`` tree over ``charset``), ``classes``
(sets → character classes), ``automaton`` (leftmost-first DFA over classes), ``transducer`` (DFA →
one table step per byte that tells where pieces start), ``split`` (all of it → ``SplitTables``).
"""

from .split import (
    GPT2_PATTERN,
    SplitTables,
    charset_split,
    compile_split,
    literal_split,
)

__all__ = ["GPT2_PATTERN", "SplitTables", "charset_split", "compile_split", "literal_split"]
