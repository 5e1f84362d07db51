"""Pieces of text: the same as Hugging Face finds, by every way that tokcy has to find them."""

from __future__ import annotations

import functools
import json
import pickle
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simd import variants
from split_oracle import BEHAVIORS, hf_pieces, hf_split, our_pieces, texts
from split_patterns import PATTERNS
from tokenizers import pre_tokenizers

from tokcy import _pretok
from tokcy import unicode as ucd
from tokcy._pretok import PreTokenizer
from tokcy.pattern import GPT2_PATTERN, SplitTables, charset_split, compile_split, transducer

DEEPSEEK = ["deepseek-v3-numbers", "deepseek-v3-cjk", "deepseek-v3-text"]
DEEPSEEK_OLD = [
    *("deepseek-newlines", "deepseek-letters", "deepseek-punctuation", "deepseek-trailing-space"),
    *("deepseek-cjk", "superbpe-numbers"),
]
VARIANTS = variants(lambda name: PreTokenizer([], simd=name))


@functools.cache
def compiled(name: str) -> SplitTables:
    return compile_split(PATTERNS[name], behavior="Isolated", invert=False)


def isolated(*names: str) -> list[SplitTables]:
    return [compiled(name) for name in names]


# One split


@pytest.mark.parametrize("name", PATTERNS)
def test_known_patterns(name: str) -> None:
    pattern = PATTERNS[name]
    theirs = hf_split(pattern)
    ours = PreTokenizer(isolated(name))

    @settings(max_examples=25)
    @given(texts([pattern]))
    def check(text: str) -> None:
        assert our_pieces(ours, text) == hf_pieces(theirs, text)

    check()


# Total, with gaps, with empty matches, without a transducer.
@pytest.mark.parametrize(
    "pattern",
    [
        *(PATTERNS[name] for name in ("llama3", "clip", "deepseek-v3-numbers", "jais2")),
        *(r"\p{L}*", r"\s+$", r"a|(?=\s)", r"\s?\p{L}+"),
    ],
)
def test_behaviors(pattern: str) -> None:
    cases = [
        (
            PreTokenizer([compile_split(pattern, behavior=behavior, invert=invert)]),
            hf_split(pattern, behavior, invert),
        )
        for behavior in BEHAVIORS
        for invert in (False, True)
    ]

    @settings(max_examples=60)
    @given(texts([pattern]))
    def check(text: str) -> None:
        for ours, theirs in cases:
            assert our_pieces(ours, text) == hf_pieces(theirs, text)

    check()


# Cascades


@pytest.mark.parametrize(
    "names",
    [
        DEEPSEEK,
        DEEPSEEK_OLD,
        ["clip", "gpt2"],
        ["lines", "llama3"],
        ["chameleon-punctuation", "deepseek-v3-numbers", "clip"],
    ],
)
def test_cascades(names: list[str]) -> None:
    patterns = [PATTERNS[name] for name in names]
    theirs = pre_tokenizers.Sequence([hf_split(pattern) for pattern in patterns])
    ours = PreTokenizer(isolated(*names))
    slow = PreTokenizer(isolated(*names), use_transducer=False)

    @settings(max_examples=150)
    @given(texts(patterns))
    def check(text: str) -> None:
        expected = hf_pieces(theirs, text)
        assert our_pieces(ours, text) == expected
        assert our_pieces(slow, text) == expected

    check()


def byte_characters() -> list[str]:
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(others)) for byte in range(256)]


def byte_level_pieces(ours: PreTokenizer, text: str) -> list[str]:
    utf8, shown = text.encode(), byte_characters()
    return [
        "".join(shown[byte] for byte in utf8[begin:end])
        for begin, end, dropped in ours.pieces(text)
        if not dropped
    ]


@pytest.mark.parametrize("individual", [False, True])
def test_falcon_splits_byte_level_text(individual: bool) -> None:
    """Rule R9: what follows ByteLevel sees the characters that ByteLevel makes of bytes."""
    theirs = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Punctuation("contiguous"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            pre_tokenizers.Digits(individual_digits=individual),
            hf_split(PATTERNS["falcon"]),
        ]
    )
    ours = PreTokenizer(
        [
            charset_split(ucd.rust_set("punctuation"), behavior="Contiguous"),
            compile_split(GPT2_PATTERN, behavior="Isolated", invert=False),
            charset_split(
                ucd.rust_set("numeric"),
                behavior="Isolated" if individual else "Contiguous",
                byte_level=True,
            ),
            compile_split(PATTERNS["falcon"], behavior="Isolated", invert=False, byte_level=True),
        ]
    )

    @settings(max_examples=200)
    @given(texts([PATTERNS["falcon"], GPT2_PATTERN, r"\p{P}"]))
    def check(text: str) -> None:
        assert byte_level_pieces(ours, text) == hf_pieces(theirs, text)

    check()


@settings(max_examples=100)
@given(texts([GPT2_PATTERN]), st.sampled_from([r"\p{L}+", r"\w+(?!\S)|.", r"[Ġ°-¿]|\p{Lu}"]))
def test_patterns_on_byte_level_text(text: str, pattern: str) -> None:
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    theirs = pre_tokenizers.Sequence([level, hf_split(pattern)])
    tables = compile_split(pattern, behavior="Isolated", invert=False, byte_level=True)
    assert byte_level_pieces(PreTokenizer([tables]), text) == hf_pieces(theirs, text)


# Segments: what the caller has cut out already


@settings(max_examples=40)
@given(st.lists(st.tuples(texts([PATTERNS["llama3"]], 8), st.booleans()), min_size=1, max_size=6))
@pytest.mark.parametrize("names", [["llama3"], DEEPSEEK, ["jais2"]])
def test_segments_are_split_each_for_itself(names: list[str], parts: Any) -> None:
    parts = [(text, alone) for text, alone in parts if text]
    if not parts or parts[0][1]:
        parts = [("x", False), *parts]
    ours = PreTokenizer(isolated(*names))
    expected, segments, at = [], [], 0
    for text, alone in parts:
        size = len(text.encode())
        found = [(0, size, True)] if alone else ours.pieces(text)
        expected += [(at + begin, at + end, dropped) for begin, end, dropped in found]
        segments.append((at, alone))
        at += size
    whole = "".join(text for text, _ in parts)
    for num_threads, unit in ((1, 0), (2, 1), (3, 100)):
        assert ours.pieces(whole, num_threads, unit, segments) == expected


@pytest.mark.parametrize("distance", [5, 20, 60, 200, 3000])
@pytest.mark.parametrize("names", [["llama3"], ["gpt-4o"], ["clip"], DEEPSEEK, ["jais2"]])
def test_many_and_few_segments(names: list[str], distance: int) -> None:
    """Blocks with segments so far apart that they are put right, or nearer, and odd and even."""
    source = random.Random(distance)
    parts = ["the ", "don't", "123456", "\n    x", "中文", "é ", "  \n", "a", "Word", "😀", "?\r\n"]
    text = "".join(source.choices(parts, k=8_000))
    begins = [i for i, byte in enumerate(text.encode()) if byte & 0xC0 != 0x80][1:]
    segments, at = [], 0
    while (at := at + source.randint(1, 2 * distance)) < len(begins):
        segments.append((begins[at], source.random() < 0.4))
    tables = isolated(*names)
    expected = PreTokenizer(tables, use_transducer=False).pieces(text, segments=segments)
    for simd in VARIANTS:
        ours = PreTokenizer(tables, simd=simd)
        for num_threads, unit in ((1, 0), (2, 64), (2, 5000)):
            assert ours.pieces(text, num_threads, unit, segments) == expected


# Every way finds the same


@settings(max_examples=30)
@given(texts([PATTERNS["gpt-4o"]], 100), st.integers(1, 60), st.integers(2, 400))
@pytest.mark.parametrize("names", [["gpt2"], ["llama3"], ["gpt-4o"], DEEPSEEK, DEEPSEEK_OLD])
def test_one_character_a_step_finds_what_two_do(
    names: list[str], text: str, repeat: int, segment: int
) -> None:
    text = (text * repeat)[:9_000]
    starts = [i for i, byte in enumerate(text.encode()) if byte & 0xC0 != 0x80][segment::segment]
    segments = [(at, at % 3 == 0) for at in starts]
    tables = isolated(*names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transducer, "MAX_PAIRED", 0)
        single = PreTokenizer(tables)
    assert PreTokenizer(tables).pieces(text, segments=segments) == single.pieces(
        text, segments=segments
    )


PLAIN = ["gpt2", "llama3", "gpt-4o", "kimi-k2", "cl100k", "clip", "k-exaone", "chameleon-image"]


@settings(max_examples=20)
@given(texts([PATTERNS["gpt-4o"]], 100), st.integers(0, 40), st.integers(1, 400))
@pytest.mark.parametrize("names", [*([name] for name in PLAIN), DEEPSEEK])
def test_every_way_finds_the_same(names: list[str], text: str, repeat: int, unit: int) -> None:
    text = (text * repeat)[:20_000]  # up to some blocks and units
    tables = isolated(*names)
    expected = PreTokenizer(tables, use_transducer=False).pieces(text)
    for simd in VARIANTS:
        assert PreTokenizer(tables, simd=simd).pieces(text) == expected
    ours = PreTokenizer(tables)
    for num_threads in (2, 3):
        assert ours.pieces(text, num_threads, unit) == expected
        assert ours.pieces(text, num_threads, 1) == expected


def test_what_is_taken_back_where_a_guess_begins() -> None:
    """Behind a gap at the end of a unit of 64 bytes, which is not the next one's to change."""
    tables = isolated("chameleon-image")
    slow, ours = PreTokenizer(tables, use_transducer=False), PreTokenizer(tables)
    for before in range(55, 72):
        for text in ("x" * before + "IMGIMGIZZ", "x" * (before - 3) + "é中IMGIMGIZZ"):
            assert ours.pieces(text, 2, 64) == slow.pieces(text)


RUNS = {
    **{repr(c): c for c in " \n\ta1!'"},
    "blank lines": "\n    ",
    "spaces at the end": "  \n",
    "digits and spaces": "12 ",
    "CJK": "中文，",
    "contractions": "it's",
    "camel case": "aB",
    "line ends": "\r\n\r",
    "indented wide characters": "\n    é\n   中",
    "wide spaces": "\u3000\n\u3000\u3000\u3000\u3000é",
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("names", [["llama3"], ["gpt-4o"], ["cl100k"], DEEPSEEK, DEEPSEEK_OLD])
def test_long_runs(names: list[str], run: str) -> None:
    """Guesses that never meet the truth, and tokens longer than a block, are right as well."""
    text = "x" + RUNS[run] * (30_000 // len(RUNS[run])) + "y"
    expected = PreTokenizer(isolated(*names), use_transducer=False).pieces(text)
    ours = PreTokenizer(isolated(*names))
    assert ours.pieces(text) == expected
    assert ours.pieces(text, 2, 4096) == expected
    theirs = pre_tokenizers.Sequence([hf_split(PATTERNS[name]) for name in names])
    short = text[:1000]
    assert our_pieces(ours, short) == hf_pieces(theirs, short)


@pytest.mark.parametrize("name", ["llama3", "cl100k", "deepseek-trailing-space", "jais2"])
@pytest.mark.parametrize("use_transducer", [True, False])
def test_ten_million_equal_characters(name: str, use_transducer: bool) -> None:
    """Rule R8: where Oniguruma gives up or takes for ever, seconds must do."""
    ours = PreTokenizer(isolated(name), use_transducer=use_transducer)
    for run in (" ", "\n", "a", "'"):
        text = run * 10_000_000 + "x"
        start = time.process_time()
        found = ours.pieces(text) if run != "'" or name != "deepseek-trailing-space" else [()]
        assert time.process_time() - start < 5
        assert found


# Real text


def stages(spec: dict[str, Any] | None) -> tuple[list[SplitTables], list[Any]] | None:
    """The regular splits of a pre-tokenizer section, for tokcy and for Hugging Face."""
    ours: list[SplitTables] = []
    theirs: list[Any] = []
    for part in (spec or {}).get("pretokenizers", [spec]):
        if part and part["type"] == "Split" and "Regex" in part["pattern"]:
            pattern, options = part["pattern"]["Regex"], (part["behavior"], part["invert"])
        elif part and part["type"] == "ByteLevel":
            pattern, options = GPT2_PATTERN, ("Isolated", False)
            if not part.get("use_regex", True):
                continue
        else:
            return None
        ours.append(compile_split(pattern, behavior=options[0], invert=options[1]))
        theirs.append(hf_split(pattern, *options))
    return ours, theirs


def models(data_dir: Path) -> dict[str, tuple[list[SplitTables], list[Any]]]:
    """One model for every distinct cascade."""
    found: dict[str, tuple[str, tuple[list[SplitTables], list[Any]]]] = {}
    for path in sorted(data_dir.glob("tokenizers/*/tokenizer.json")):
        spec = json.loads(path.read_text(encoding="utf-8")).get("pre_tokenizer")
        made = stages(spec)
        if made is not None and made[0]:
            key = repr([(t.pattern, t.behavior, t.invert) for t in made[0]])
            found.setdefault(key, (path.parent.name, made))
    return dict(found.values())


def check_corpora(
    data_dir: Path, cascades: dict[str, tuple[list[SplitTables], list[Any]]], size: int | None
) -> None:
    for path in sorted(data_dir.glob("corpora/*")):
        text = path.read_bytes().decode()
        text = text[len(text) // 3 :][:size] if size else text
        for name, (ours, theirs) in cascades.items():
            expected = hf_pieces(pre_tokenizers.Sequence(theirs), text)
            pre_tokenizer = PreTokenizer(ours)
            assert our_pieces(pre_tokenizer, text) == expected, (name, path.name)
            assert our_pieces(pre_tokenizer, text, 2, 3000) == expected, (name, path.name)


def test_corpora(data_dir: Path) -> None:
    families = [["gpt2"], ["llama3"], ["gpt-4o"], ["kimi-k2"], ["cl100k"], ["clip"], DEEPSEEK]
    cascades = {
        names[0]: (isolated(*names), [hf_split(PATTERNS[name]) for name in names])
        for names in families
    }
    check_corpora(data_dir, cascades, 2_000)


@pytest.mark.sweep
def test_models_on_whole_corpora(data_dir: Path) -> None:
    cascades = models(data_dir)
    assert len(cascades) >= 6
    check_corpora(data_dir, cascades, None)


@pytest.mark.sweep
@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_on_corpora(name: str, corpus: Callable[..., str]) -> None:
    ours, theirs = PreTokenizer(isolated(name)), hf_split(PATTERNS[name])
    for kind in ("python", "zh", "mixed_all_languages", "emoji", "agent_messages"):
        text = corpus(kind, 300_000)
        assert our_pieces(ours, text) == hf_pieces(theirs, text)


# Interruption


class AlarmError(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers here")
@pytest.mark.parametrize(("use_transducer", "num_threads"), [(False, 1), (True, 1), (True, 2)])
def test_signals_stop_a_long_scan(use_transducer: bool, num_threads: int) -> None:
    # Joining all matches at the end makes one piece: no time goes into the list of pieces.
    tables = compile_split("a", behavior="Contiguous", invert=False)
    ours = PreTokenizer([tables], use_transducer=use_transducer)
    text = "a" * 40_000_000
    start = time.perf_counter()
    assert ours.pieces(text, num_threads) == [(0, len(text), False)]
    whole = time.perf_counter() - start

    def ring(signum: int, frame: object) -> None:
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        start = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        with pytest.raises(AlarmError):
            ours.pieces(text, num_threads)
        assert time.perf_counter() - start < 0.6 * whole
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# The object


def test_object() -> None:
    ours = PreTokenizer(isolated("llama3"))
    assert "max_states=" in repr(ours)
    assert 10 < ours.max_states < 100
    copy = pickle.loads(pickle.dumps(ours))
    assert copy.pieces("Hello  world") == ours.pieces("Hello  world")
    assert ours.pieces("") == []
    assert PreTokenizer([]).pieces("a b") == [(0, 3, False)]
    with pytest.raises(ValueError, match="mmx"):
        PreTokenizer([], simd="mmx")
    assert _pretok.SIMD in VARIANTS
    with pytest.raises(IndexError, match="segment at byte 5"):
        ours.pieces("abc", segments=[(5, False)])
