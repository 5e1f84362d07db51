"""Traced text against plain text: equal, and each character marked as what it was.

In most of these texts a character tells its mark: small letters and blanks are the template's,
capitals and line breaks a message's, and digits are lost. So a result can be judged alone.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jinja2")

from tokcy.chat.tojson import plain_tojson, traced_tojson
from tokcy.chat.trace import DATA, LOST, TEMPLATE, TracedStr, as_text, is_data, join, marks_of

Method = Callable[[str], Any]

KINDS = {TEMPLATE: "ab é\u00df\u01c6<%s.", DATA: "AB\n\u0130\u00c4\ud7ff", LOST: "01\t"}
MARK = {character: mark for mark, characters in KINDS.items() for character in characters}
text = st.text(alphabet=sorted(MARK), max_size=12)
short = st.text(alphabet=sorted(MARK), min_size=1, max_size=2)


def traced(value: str) -> TracedStr:
    return TracedStr(value, b"".join(MARK[character] for character in value))


def check(result: Any, plain: Any, lost: bool = False) -> None:
    """Equal, and marked as the characters tell; or lost, where that may be."""
    if isinstance(plain, list | tuple):
        assert len(result) == len(plain)
        assert isinstance(result, type(plain))
        for one, other in zip(result, plain, strict=True):
            check(one, other, lost)
        return
    assert str.__eq__(result, plain)
    marks = marks_of(result)
    assert len(marks) == len(plain)
    for i, character in enumerate(plain):
        allowed = (MARK[character], LOST, DATA) if lost else (MARK[character],)
        assert marks[i : i + 1] in allowed


EXACT: dict[str, Callable[[str, str, str], Any]] = {
    "add": lambda s, a, b: s + a + b,
    "mul": lambda s, a, b: s * 3 + 2 * a + b * 0 + b * -1,
    "join": lambda s, a, b: s.join([a, b, a]),
    "join nothing": lambda s, a, b: s.join([]),
    "replace": lambda s, a, b: s.replace(a, b),
    "replace some": lambda s, a, b: s.replace(a, b, 1),
    "replace nothing": lambda s, a, b: s.replace(a[:0], b),
    "replace nothing, twice": lambda s, a, b: s.replace(a[:0], b, 2),
    "items": lambda s, a, b: [s[i] for i in range(-len(s), len(s))],
    "slices": lambda s, a, b: [s[1:], s[:-2], s[::-1], s[-3:2], s[5:1], s[::3]],
    "iter": lambda s, a, b: list(s),
    "strip": lambda s, a, b: [s.strip(), s.lstrip(), s.rstrip()],
    "strip of": lambda s, a, b: [s.strip(a), s.lstrip(a), s.rstrip(a), s.strip(a + b)],
    "prefix": lambda s, a, b: [s.removeprefix(a), (a + s).removeprefix(a), s.removeprefix("")],
    "suffix": lambda s, a, b: [s.removesuffix(a), (s + a).removesuffix(a), s.removesuffix("")],
    "split": lambda s, a, b: [s.split(), s.split(None, 1), s.split(maxsplit=0)],
    "split at": lambda s, a, b: [s.split(a), s.split(a, 1), s.split(sep=a, maxsplit=0)],
    "rsplit": lambda s, a, b: [s.rsplit(), s.rsplit(None, 1), s.rsplit(maxsplit=0)],
    "rsplit at": lambda s, a, b: [s.rsplit(a), s.rsplit(a, 1), s.rsplit(sep=a, maxsplit=0)],
    "lines": lambda s, a, b: [s.splitlines(), s.splitlines(True), s.splitlines(keepends=True)],
    "partition": lambda s, a, b: [s.partition(a), s.rpartition(a)],
    "just": lambda s, a, b: [s.ljust(15, a[0]), s.rjust(15, a[0]), s.ljust(2, a[0])],
    "str": lambda s, a, b: s.__str__(),
}


@pytest.mark.parametrize("name", EXACT)
@given(s=text, a=short, b=text)
def test_marks_stay_with_their_characters(name: str, s: str, a: str, b: str) -> None:
    operation = EXACT[name]
    check(operation(traced(s), traced(a), traced(b)), operation(s, a, b))


NO_CASE: dict[str, Method] = {
    "format": lambda s: s % () if "%" not in s else s,
    "encode and back": lambda s: s.encode().decode(),
    "translate": lambda s: s.translate({}),
    "format()": lambda s: "{} {}".format(s, s),  # noqa: UP032
    "format spec": lambda s: format(s, "20"),
    "f-string": lambda s: f"{s}a",
    "plain join": lambda s: "a".join([s, s]),
    "center": lambda s: s.center(15),
    "center of": lambda s: s.center(15, "a"),
    "zfill": lambda s: s.zfill(14),
    "expandtabs": lambda s: s.expandtabs(4),
    "default filling": lambda s: s.ljust(15) + s.rjust(15),
}


@pytest.mark.parametrize("name", NO_CASE)
@given(s=text)
def test_what_is_not_kept_is_lost(name: str, s: str) -> None:
    check(NO_CASE[name](traced(s)), NO_CASE[name](s), lost=True)


@pytest.mark.parametrize(
    "change", ["upper", "lower", "swapcase", "casefold", "title", "capitalize"]
)
@given(s=st.text(max_size=12), flags=st.data())
def test_a_change_of_case_keeps_places(change: str, s: str, flags: st.DataObject) -> None:
    marks = bytes(flags.draw(st.lists(st.integers(0, 2), min_size=len(s), max_size=len(s))))
    result = getattr(TracedStr(s, marks), change)()
    assert str.__eq__(result, getattr(s, change)())
    lengths = [len(getattr(character, change)()) for character in s]
    if max(lengths, default=1) == 1:
        assert marks_of(result) == marks
    else:
        assert TEMPLATE not in marks_of(result)


@given(form=st.lists(st.sampled_from(["a", "A", "0", "<", "%s", "%%", "\n"])), values=st.data())
def test_percent_fields(form: list[str], values: st.DataObject) -> None:
    n = form.count("%s")
    items = tuple(values.draw(st.lists(text, min_size=n, max_size=n)))
    whole = "".join(form)
    result = traced(whole).__mod__(tuple(map(traced, items)))
    check(result, whole % items)


@pytest.mark.parametrize("form", ["%5s", "%-5s|", "%r", "%.2s", "%(x)s", "%d"])
def test_other_fields_are_lost(form: str) -> None:
    for value, mark in (("ab", TEMPLATE), ("AB", DATA)):
        held: Any = {"x": traced(value)} if "(" in form else traced(value)
        plain: Any = {"x": value} if "(" in form else value
        if form == "%d":
            held = plain = 7
        result = TracedStr(form, mark).__mod__(held)
        assert str.__eq__(result, form % plain)
        assert TEMPLATE not in marks_of(result)
    assert marks_of(operator.mod("<%s>", TracedStr("x", TEMPLATE))) == LOST * 3


@given(s=text, a=short)
def test_errors_are_those_of_str(s: str, a: str) -> None:
    wrongs: list[Callable[[Any], Any]] = [
        lambda v: v + 1,
        lambda v: 1 + v,
        lambda v: v * "a",
        lambda v: v.join([1]),
        lambda v: v.split(""),
        lambda v: v.partition(""),
        lambda v: v[99],
        lambda v: v.ljust(99, "ab"),
        lambda v: v.replace(1, v),
    ]
    for wrong in wrongs:
        with pytest.raises((TypeError, ValueError, IndexError)) as plain:
            wrong(s)
        with pytest.raises((TypeError, ValueError, IndexError)) as own:
            wrong(traced(s))
        assert type(own.value) is type(plain.value)


@given(s=text)
def test_it_behaves_as_the_same_text(s: str) -> None:
    own = traced(s)
    assert own == s
    assert hash(own) == hash(s)
    assert {s: 1}[own] == 1
    assert (own < "b", own.find("a"), own.count("A"), "b" in own) == (
        s < "b",
        s.find("a"),
        s.count("A"),
        "b" in s,
    )
    assert json.dumps(own) == json.dumps(s)
    assert f"{own!r}" == repr(s)
    assert TracedStr(own)._marks == own._marks
    parts = list(own.segments())
    assert "".join(part for part, _ in parts) == s
    assert b"".join(mark * len(part) for part, mark in parts) == own._marks
    assert all(one[1] != other[1] for one, other in pairwise(parts))


def test_every_method_that_makes_text_is_either_traced_or_lost() -> None:
    """A new method of str in a new Python gives ordinary text, and so what is lost."""
    known = {
        "capitalize", "casefold", "center", "expandtabs", "join", "ljust", "lower", "lstrip",
        "partition", "removeprefix", "removesuffix", "replace", "rjust", "rpartition", "rsplit",
        "rstrip", "split", "splitlines", "strip", "swapcase", "title", "upper", "zfill",
    }  # fmt: skip
    assert {name for name in known if name not in vars(TracedStr)} == set()
    with pytest.raises(ValueError, match="2 marks for 3"):
        TracedStr("abc", DATA * 2)


leaf = st.one_of(text, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))
values = st.recursive(
    leaf,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
)


def all_traced(value: Any, marked: Callable[[str], TracedStr]) -> Any:
    if isinstance(value, str):
        return marked(value)
    if isinstance(value, dict):
        return {marked(key): all_traced(item, marked) for key, item in value.items()}
    return [all_traced(item, marked) for item in value] if isinstance(value, list) else value


@given(
    value=values,
    ensure_ascii=st.booleans(),
    indent=st.sampled_from([None, 0, 2, "\t", '"']),
    separators=st.sampled_from([None, (",", ":"), ('","', '":"')]),
    sort_keys=st.booleans(),
)
def test_tojson(value: Any, **options: Any) -> None:
    plain = plain_tojson(value, **options)
    result = traced_tojson(all_traced(value, traced), **options)
    assert str.__eq__(result, plain)
    for character, mark in zip(plain, marks_of(result), strict=True):
        if bytes([mark]) == TEMPLATE:  # what JSON itself writes, names and escapes, is none
            assert MARK.get(character) == TEMPLATE or character in "\\u0123456789abcdef"
    data = traced_tojson(all_traced(value, lambda s: TracedStr(s, DATA)), **options)
    assert marks_of(data) == DATA * len(plain)


def test_tojson_marks_strings_alone() -> None:
    value = {TracedStr("k<", TEMPLATE): [TracedStr('"<A\n', DATA), 1, TracedStr("<é>", TEMPLATE)]}
    result = traced_tojson(value)
    assert result == '{"k<": ["\\"<A\\n", 1, "<é>"]}'
    shown = "".join("DT."[mark] for mark in marks_of(result))
    assert shown == "..TT.....DDDDDD.......TTT..."


@given(s=text, a=text)
def test_parts_and_values(s: str, a: str) -> None:
    check(join([traced(s), traced(a)]), s + a)
    assert marks_of(as_text([TracedStr(s, DATA), 1])) == DATA * len(str([s, 1]))
    assert TEMPLATE not in marks_of(as_text([traced(s)]))
    assert is_data({"k": 1}) is False
    assert is_data([TracedStr(s, DATA), None, 1.5])
