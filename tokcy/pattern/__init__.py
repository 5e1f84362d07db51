"""Split pattern → scan tables.

The way of a pattern: ``parser`` (the syntax of Oniguruma or of tiktoken → ``syntax`` tree over
``charset``), ``classes`` (sets → character classes), ``automaton`` (leftmost-first DFA over
classes), ``tokens`` (DFA → a machine that never goes back), ``transducer`` (machine → one table
step for two bytes), ``split`` (all of it → ``SplitTables``). ``cascade`` makes one machine of
splits that follow each other, ``spaces`` rewrites patterns for texts in which ``▁`` is a space.
"""

from .borders import border_split
from .reader import Dialect
from .split import (
    GPT2_PATTERN,
    SplitTables,
    charset_split,
    compile_split,
    fixed_length_split,
    fuse_splits,
    literal_split,
    may_be_empty,
    single_characters,
    word_split,
)

__all__ = [
    "GPT2_PATTERN",
    "Dialect",
    "SplitTables",
    "border_split",
    "charset_split",
    "compile_split",
    "fixed_length_split",
    "fuse_splits",
    "literal_split",
    "may_be_empty",
    "single_characters",
    "word_split",
]
