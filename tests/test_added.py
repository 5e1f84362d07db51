"""Added tokens are found where ``tokenizers`` finds them (rules A3, A6, A7)."""

from __future__ import annotations

import json
import random
import time

import pytest
import synthetic
from growth import assert_linear
from hypothesis import given
from hypothesis import strategies as st
from simd import variants

from tokcy import Tokenizer
from tokcy._added import AddedMatcher

Rows = list[tuple[bytes, int, bool, bool, bool]]
VARIANTS = variants(lambda name: AddedMatcher([], name))


def matcher(*contents: str, **flags: bool) -> AddedMatcher:
    """Tokens with ids 0, 1, …, all with the same flags."""
    order = ("lstrip", "rstrip", "single_word")
    lstrip, rstrip, single_word = (flags.get(name, False) for name in order)
    return AddedMatcher(
        [(content.encode(), i, lstrip, rstrip, single_word) for i, content in enumerate(contents)]
    )


def found(tokens: AddedMatcher, text: str) -> list[tuple[str, int]]:
    raw = text.encode()
    return [(raw[begin:end].decode(), token) for begin, end, token in tokens.spans(text)]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("", []),
        ("a", [("a", -1)]),
        ("abc", [("abc", 2)]),
        ("abcd", [("abcd", 3)]),
        ("ab", [("ab", -1)]),
        ("xabc", [("x", -1), ("abc", 2)]),
        ("abcabcde", [("abc", 2), ("abcd", 3), ("e", -1)]),
        ("bcbcd", [("bc", 0), ("bc", 0), ("d", -1)]),
        ("abbc", [("ab", -1), ("bc", 0)]),
        ("\0\0", [("\0", 1), ("\0", 1)]),
        ("é€🙂", [("é€", -1), ("🙂", 4)]),
        ("\U0001f643", [("\U0001f643", -1)]),
    ],
)
def test_leftmost_longest(text: str, spans: list[tuple[str, int]]) -> None:
    assert found(matcher("bc", "\0", "abc", "abcd", "🙂"), text) == spans


def test_single_word_looks_at_both_neighbours() -> None:
    tokens = matcher("ab", single_word=True)
    for beside in ("x", "é", "_", "1", "\u200d", "\u0301"):
        assert found(tokens, f"{beside}ab") == [(f"{beside}ab", -1)]
        assert found(tokens, f"ab{beside}") == [(f"ab{beside}", -1)]
    for beside in (" ", "²", "½", "-", "🙂", "\0"):
        assert found(tokens, f"{beside}ab{beside}") == [(beside, -1), ("ab", 0), (beside, -1)]


def test_what_single_word_rejects_is_consumed() -> None:
    tokens = AddedMatcher([(b"abc", 0, False, False, True), (b"bc", 1, False, False, False)])
    assert found(tokens, "abcx bc") == [("abcx ", -1), ("bc", 1)]


def test_strip_takes_the_space_around() -> None:
    assert found(matcher("<s>", lstrip=True), "a \u3000\n<s> b") == [
        ("a", -1),
        (" \u3000\n<s>", 0),
        (" b", -1),
    ]
    assert found(matcher("<s>", rstrip=True), "a <s>\x85\u2003b") == [
        ("a ", -1),
        ("<s>\x85\u2003", 0),
        ("b", -1),
    ]
    # U+200B and U+001C are no white space for Rust.
    assert found(matcher("<s>", lstrip=True, rstrip=True), "\u200b<s>\x1c") == [
        ("\u200b", -1),
        ("<s>", 0),
        ("\x1c", -1),
    ]


def test_space_behind_rstrip_is_searched_again() -> None:
    tokens = AddedMatcher([(b"<s>", 0, False, True, False), (b"\n", 1, False, False, False)])
    assert found(tokens, "<s> \n x") == [("<s> \n ", 0), ("\n", 1), (" x", -1)]
    tokens = AddedMatcher([(b"<s>", 0, False, True, False), (b" ", 1, True, True, False)])
    assert found(tokens, "<s>  x") == [("<s>  ", 0), ("x", -1)]


def test_lstrip_stops_at_the_token_before() -> None:
    tokens = AddedMatcher([(b"<s>", 0, True, True, False), (b"<t>", 1, True, False, False)])
    assert found(tokens, "<s>  <t> <t>") == [("<s>  ", 0), ("<t>", 1), (" <t>", 1)]


def test_no_tokens_and_repeated_contents() -> None:
    assert AddedMatcher([]).spans("abc") == [(0, 3, -1)]
    assert AddedMatcher([]).spans("") == []
    tokens = AddedMatcher(
        [
            (b"", 7, False, False, False),
            (b"a", 1, False, False, False),
            (b"a", 2, False, False, False),
        ]
    )
    assert tokens.spans("ba") == [(0, 1, -1), (1, 2, 2)]


def test_every_first_byte_at_once() -> None:
    contents = [chr(c) * 2 for c in range(0x20, 0x7F)] + ["é", "ё", "日本", "🙂🙂"]
    tokens = matcher(*contents)
    text = "".join(f"{content}{content[0]}\n" for content in contents if content != "é")
    spans = [found(tokens, f"{content}\n") for content in contents]
    assert spans == [[(content, i), ("\n", -1)] for i, content in enumerate(contents)]
    assert [token for _, token in found(tokens, text) if token >= 0] == [
        i
        for i, content in enumerate(contents)
        if content != "é"
        for _ in range(1 + (content == "ё"))
    ]


def test_many_tokens_build_in_linear_time() -> None:
    def build(n: int) -> AddedMatcher:
        return matcher(*(f"<|token_{i}|>" for i in range(n)))

    assert_linear(build, 5_000)
    tokens = build(100_000)
    assert found(tokens, "<|token_99999|><|token_100000|>") == [
        ("<|token_99999|>", 99_999),
        ("<|token_100000|>", -1),
    ]


def test_runs_of_space_are_walked_once() -> None:
    tokens = AddedMatcher([(b" ", 0, True, True, False)])
    assert tokens.spans(" " * 200_000) == [(0, 200_000, 0)]
    assert_linear(lambda n: tokens.spans(" " * n), 10_000)


def leftmost_longest(rows: Rows, raw: bytes) -> list[tuple[int, int, int]]:
    """The spans of tokens without flags, by the definition."""
    spans: list[tuple[int, int, int]] = []
    at = done = 0
    while at < len(raw):
        fitting = [row for row in rows if raw.startswith(row[0], at)]
        if fitting:
            content, token = max(fitting, key=lambda row: len(row[0]))[:2]
            if done < at:
                spans.append((done, at, -1))
            done = at = at + len(content)
            spans.append((done - len(content), done, token))
        else:
            at += 1
    return [*spans, (done, len(raw), -1)] if done < len(raw) else spans


CHARACTERS = "<|s>a\0\x01\x7f \né中🙂"
# Few first bytes, as of real models, and so many that AVX2 leaves them to the scalar variant.
contents = st.one_of(
    st.lists(st.text(alphabet=CHARACTERS, min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(st.text(min_size=1, max_size=2), min_size=1, max_size=60),
)
fillers = st.one_of(
    st.text(alphabet=CHARACTERS, max_size=6), st.integers(0, 70).map("x".__mul__), st.text()
)


@given(contents.flatmap(lambda c: st.tuples(st.just(c), st.lists(st.sampled_from(c) | fillers))))
def test_simd_variants_find_the_same(case: tuple[list[str], list[str]]) -> None:
    tokens, parts = case
    rows = [(c.encode(), i, False, False, False) for i, c in enumerate(dict.fromkeys(tokens))]
    text = "".join(parts)
    expected = leftmost_longest(rows, text.encode())
    for simd in VARIANTS:
        assert AddedMatcher(rows, simd).spans(text) == expected


@pytest.mark.parametrize("simd", VARIANTS)
def test_tokens_at_block_borders(simd: str) -> None:
    contents = ("<|", "\n", "<s>", "<st")
    rows = [(content.encode(), i, False, False, False) for i, content in enumerate(contents)]
    tokens = AddedMatcher(rows, simd)
    for n in range(200):
        for behind in (0, 1, 31, 32, 33, 63, 64, 65):
            for token, content in enumerate(contents):
                text = "x" * n + content + "y" * behind
                spans = [(0, n, -1), (n, n + len(content), token)]
                spans += [(n + len(content), len(text), -1)]
                assert tokens.spans(text) == [span for span in spans if span[0] < span[1]]
            assert tokens.spans("<" * n + "y" * behind + "<") == [(0, n + behind + 1, -1)]
            assert tokens.spans("<" * n + "y" * behind + "<s") == [(0, n + behind + 2, -1)]


def test_a_variant_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="'mmx'"):
        AddedMatcher([], "mmx")


A, B = b"a", b"b"


@pytest.mark.parametrize(
    ("contents", "unit"),
    [
        ([A * 2000 + B], A * 70_000),
        ([A * 2000], (A * 1999 + B) * 60),
        ([A, A * 2000], (A * 1999 + B) * 60),
        ([A * 20 + B, A * 2000, A * 1990 + B + A], (A * 1999 + B) * 60),
        ([(A * 1000 + B) * 2, A * 2000], (A * 1000 + B) * 100),
        ([b"ab" * 1000 + B, b"ba" * 30, b"bab"], b"ab" * 40_000),
        ([A * 40_000 + B, A * 77], A * 150_000),
    ],
)
def test_prefixes_of_long_tokens(contents: list[bytes], unit: bytes) -> None:
    """Each byte is walked a few times, not once for each place before it."""
    rows = [(content, i, False, False, False) for i, content in enumerate(contents)]
    tokens = AddedMatcher(rows)
    text = unit + contents[0] + b"x" + contents[-1] + unit
    assert tokens.spans(text.decode()) == leftmost_longest(rows, text)
    text = unit * (2_000_000 // len(unit))
    begin = time.process_time()
    tokens.spans(text.decode())
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("seed", range(20))
def test_long_tokens_of_two_letters(seed: int) -> None:
    choose = random.Random(seed)
    unit = bytes(choose.choices(b"ab", k=choose.randint(1, 5)))
    long = [(unit * 400)[: choose.randint(30, 400)] + choose.choice([A, B]) for _ in range(4)]
    short = [bytes(choose.choices(b"ab", k=choose.randint(2, 9))) for _ in range(seed % 3)]
    rows = [(c, i, False, False, False) for i, c in enumerate(dict.fromkeys([*long, *short]))]
    parts = [(unit * 400)[: choose.randint(1, 900)] + choose.choice(long) for _ in range(60)]
    text = b"".join(parts)
    assert AddedMatcher(rows).spans(text.decode()) == leftmost_longest(rows, text)


def test_a_file_with_many_tokens_loads_in_linear_time() -> None:
    def load(n: int) -> Tokenizer:
        tokens = [synthetic.added_token(f"<|token_{i}|>", special=i % 2 == 0) for i in range(n)]
        model = synthetic.model_from_merges([("a", "b")], added_tokens=tokens)
        return Tokenizer.from_json(json.dumps(model))

    assert_linear(load, 5_000)
    tok = load(100_000)
    assert len(tok) == 100_257
    ids = tok.encode("ab<|token_7|><|token_99998|>")
    assert ids.tolist() == [256, 257 + 7, 257 + 99_998]
    assert tok.decode(ids, skip_special_tokens=True) == "ab<|token_7|>"
