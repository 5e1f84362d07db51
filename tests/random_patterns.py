"""Random split patterns, of few characters so that their parts meet."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

__all__ = ["random_patterns"]


def random_patterns(
    sets: Sequence[str],
    greedy: Sequence[str],
    repeats: Sequence[str],
    possessive: Sequence[str],
    wrappers: Sequence[str] = (),
) -> st.SearchStrategy[str]:
    """Patterns of alternatives.

    Args:
        sets: what matches one character.
        greedy: quantifiers that go into an atomic group.
        repeats: quantifiers that go behind any group.
        possessive: quantifiers that go behind a set.
        wrappers: further groups, as ``"(?i:{})"``.
    """

    def larger(smaller: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        group = smaller.map("(?:{})".format)
        return st.one_of(
            st.builds(str.__add__, smaller, smaller),
            st.builds("(?:{}|{})".format, smaller, smaller),
            st.builds("({}|)".format, smaller),
            *(smaller.map(wrapper.format) for wrapper in wrappers),
            st.builds(str.__add__, group, st.sampled_from(repeats)),
            st.builds(str.__add__, st.sampled_from(sets), st.sampled_from(possessive)),
            st.builds("(?>{}{})".format, st.sampled_from(sets), st.sampled_from(greedy)),
        )

    atoms = st.one_of(
        st.sampled_from(sets),
        st.builds("(?{}{})".format, st.sampled_from("=!"), st.sampled_from(sets)),
        st.sampled_from(("$", r"\z")),
    )
    alternatives = st.recursive(atoms, larger, max_leaves=6)
    return st.lists(alternatives, min_size=1, max_size=4).map("|".join)
