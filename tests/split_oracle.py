"""Splits as Hugging Face makes them, to compare with; and characters worth splitting at."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from tokcy._pretok import PreTokenizer
from tokcy.pattern import automaton, parser

BEHAVIORS = {
    "Isolated": "isolated",
    "Removed": "removed",
    "MergedWithPrevious": "merged_with_previous",
    "MergedWithNext": "merged_with_next",
    "Contiguous": "contiguous",
}

SNIPPETS = (
    *(
        "'s",
        "'S",
        "'\u017f",
        "'t",
        "'re",
        "'Re",
        "'v",
        "'ve",
        "'ll",
        "'m",
        "'d",
        "don't",
        "\u2019s",
    ),
    *("   ", "  ", "\n", "\r\n", "\n\n", "\n    ", "\n  \n", "\t\t", " \n ", "\u3000", "\xa0"),
    *("a", "Z", "the", "Word", "HTTPServer", "x1", "12", "1234567", "\u0660", "\xb2", "\u2167"),
    *("!", "...", "?!", "/", "//", "_", "<|", "$x", "\x00", "\x85", "\u200b", "\ufeff", "\ufffd"),
    *(
        "\xe9",
        "e\u0301",
        "\xdf",
        "\u1e9e",
        "\u212a",
        "\u4e2d\u6587",
        "\u304b\u30ca",
        "\uac00",
        "\u0e44\u0e17\u0e22",
    ),
    *("\U0001f600", "\U0001f468\u200d\U0001f469", "\u093f", "\U0001f1e9", "\U0010ffff"),
)


def hf_split(
    pattern: str, behavior: str = "Isolated", invert: bool = False
) -> pre_tokenizers.Split:
    return pre_tokenizers.Split(Regex(pattern), BEHAVIORS[behavior], invert)


def hf_pieces(split: pre_tokenizers.PreTokenizer, text: str) -> list[str]:
    return [piece for piece, _ in split.pre_tokenize_str(text)]


def our_pieces(
    pre_tokenizer: PreTokenizer, text: str, num_threads: int = 1, unit: int = 0
) -> list[str]:
    utf8 = text.encode()
    found = pre_tokenizer.pieces(text, num_threads, unit)
    assert [0, *(end for _, end, _ in found)] == [*(begin for begin, _, _ in found), len(utf8)]
    return [utf8[begin:end].decode() for begin, end, dropped in found if not dropped]


@functools.cache
def edges(pattern: str) -> str:
    """The first and the last character of every run of one class of ``pattern``."""
    begins = automaton.build_dfa(parser.parse(pattern), pattern).classes.begins
    points = np.unique(np.concatenate((begins, begins[1:] - 1)))
    return "".join(chr(c) for c in points if not 0xD800 <= c <= 0xDFFF)


def texts(patterns: Sequence[str], max_size: int = 30) -> st.SearchStrategy[str]:
    """Texts of snippets, of characters at the edges of the patterns' classes, and of any."""
    alphabet = "".join(map(edges, patterns))
    pieces = st.one_of(
        st.sampled_from(SNIPPETS),
        st.sampled_from(alphabet),
        st.characters(max_codepoint=0x7F),
        st.characters(exclude_categories=["Cs"]),
        st.builds(str.__mul__, st.sampled_from(" \n\ta1!"), st.integers(1, 9)),
    )
    return st.lists(pieces, max_size=max_size).map("".join)
