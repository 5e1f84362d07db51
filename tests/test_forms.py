"""Normalization forms are those of ``tokenizers``, which are Unicode 9's (rule N1)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from tokcy import unicode as ucd
from tokcy._forms import FORMS
from tokcy._normalize import Normalizer

ORACLES = {form: getattr(normalizers, form)() for form in FORMS}
NORMALIZERS = {form: Normalizer([("form", form)]) for form in FORMS}
NFC = NORMALIZERS["NFC"]
forms = pytest.mark.parametrize("form", FORMS)
SCALARS = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)


def _interesting() -> list[str]:
    """Characters that move, decompose or combine, without most of Hangul."""
    tables = ucd.canonical_tables()
    codes = {*tables.combining_classes[:, 0].tolist(), *tables.compositions.ravel().tolist()}
    for decompositions in (tables.decompositions, ucd.compatibility_decompositions()):
        codes.update(decompositions.characters.tolist())
    return [chr(c) for c in sorted({*codes, *range(0x10FE, 0x1204), 0xABFF, 0xAC00, 0xAC01})]


INTERESTING = _interesting()
# Few enough that stretches of them meet in every way.
CROWDED = [*"aeA", *map(chr, (0x301, 0x302, 0x323, 0x334, 0x31B, 0x344, 0x345, 0xE9, 0x1EB9))]
CROWDED += [*map(chr, (0x1EC7, 0x212B, 0xF71, 0xF72, 0xF73, 0x9C7, 0x9BE, 0xCC6, 0xCC2, 0xCD5))]
CROWDED += [*map(chr, (0x1100, 0x1161, 0x11A7, 0x11A8, 0xAC00, 0xAC01, 0x928, 0x93C))]
CROWDED += [
    *map(chr, (0x17F, 0x1E9B, 0xFB01, 0xFF76, 0xFF9E, 0x314F, 0x3131, 0xFDFA, 0xA8, 0xFC5E))
]

texts = st.one_of(
    st.text(max_size=20),
    st.text(st.sampled_from(INTERESTING), max_size=12),
    st.text(st.sampled_from(CROWDED), max_size=10),
    st.lists(st.one_of(st.text(max_size=3), st.sampled_from(CROWDED)), max_size=12).map("".join),
)


def check(form: str, text: str) -> None:
    expected = ORACLES[form].normalize_str(text)
    assert NORMALIZERS[form].normalize(text) == expected
    if NORMALIZERS[form].is_settled(text):
        assert text == expected


@given(texts, st.sampled_from(FORMS))
def test_equals_the_oracle(text: str, form: str) -> None:
    check(form, text)


@pytest.mark.sweep
def test_equals_the_oracle_on_many_mixtures() -> None:
    random.seed(9)
    for _ in range(400_000):
        letters = random.choice((INTERESTING, CROWDED))
        check(random.choice(FORMS), "".join(random.choices(letters, k=random.randrange(1, 10))))


BESIDE = [("NFC", other) for other in ("", "a", "é", "\u0327", "\u0cc6")]


@pytest.mark.parametrize(
    ("form", "other"),
    [
        *(pytest.param(*each, marks=pytest.mark.sweep) for each in BESIDE),
        ("NFC", "e\u0301"),
        ("NFC", "\uac00"),
        ("NFD", "\u0327"),
        ("NFKC", "\u1100"),
        ("NFKD", "é"),
    ],
)
def test_every_character_beside_another(form: str, other: str) -> None:
    for text in ("\n".join(other + c for c in SCALARS), "\n".join(c + other for c in SCALARS)):
        assert NORMALIZERS[form].normalize(text) == ORACLES[form].normalize_str(text)


@forms
def test_every_character_in_a_row(form: str) -> None:
    for text in (SCALARS, SCALARS[::-1]):
        assert NORMALIZERS[form].normalize(text) == ORACLES[form].normalize_str(text)


@pytest.mark.parametrize(
    "text", ["", "\0", "plain", "naïve café", "नमस्ते", "สวัสดี", "한국어", "tiếng Việt"]
)
def test_text_in_the_form_is_left_alone(text: str) -> None:
    assert NFC.is_settled(text)
    assert NFC.normalize(text) == text


def test_ranges_follow_the_cursor_of_the_reference() -> None:
    # The composed character has the range of its first source alone.
    assert NFC.ranges("ae\u0301b") == (
        "aéb".encode(),
        [(0, 1), (1, 2), (1, 2), (4, 5)],
    )
    # Marks change places, ranges do not.
    assert NFC.ranges("x\u0301\u0323")[1] == [(0, 1), (1, 3), (1, 3), (3, 5), (3, 5)]
    # What a decomposition adds has the range of its head.
    assert NFC.ranges("\u0344")[1] == [(0, 2)] * 4


def test_long_runs_of_marks_take_linear_time() -> None:
    def normalize(n: int) -> None:
        marks = "a" + "\u0301\u0323\u0334\u0345" * n
        assert (
            NFC.normalize(marks)
            == "\u1ea1" + "\u0334" * n + "\u0323" * (n - 1) + "\u0301" * n + "\u0345" * n
        )

    assert_linear(normalize, 5_000)


def test_divergence_from_later_unicode(vectors: Callable[[str], Path]) -> None:
    path = vectors("hf_unicode") / "nfc_divergence.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 307
    for row in rows:
        assert NFC.normalize(row["text"]) == row["hf_nfc"]


@pytest.mark.parametrize("name", ["hi", "th", "ar", "ko", "mixed_all_languages"])
def test_corpora(corpus: Callable[..., str], name: str) -> None:
    text = corpus(name)
    for form in FORMS:
        assert NORMALIZERS[form].normalize(text) == ORACLES[form].normalize_str(text)
    # The quick check doubts no line that is in form C.
    for line in text.split("\n"):
        assert NFC.is_settled(line) == (ORACLES["NFC"].normalize_str(line) == line)
