"""Pieces of planned texts are those of ``tokenizers``, with their offsets (rules P1 to P6)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
import synthetic
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

import tokcy
from tokcy import unicode as ucd
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer
from tokcy.spec import AddedToken, TextPlan, normalizer_of
from tokcy.spec.components import read_normalizer, read_pre_tokenizer
from tokcy.spec.fields import Node
from tokcy.spec.plan_text import UnplannableTextError, plan_text

Json = dict[str, Any]

BYTE_LEVEL: Json = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": False,
    "use_regex": False,
}
MARK_SPACES: Json = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
LLAMA: list[Json] = [{"type": "Prepend", "prepend": "▁"}, MARK_SPACES]


def metaspace(scheme: str = "always", *, split: bool = True, replacement: str = "▁") -> Json:
    return {
        "type": "Metaspace",
        "replacement": replacement,
        "prepend_scheme": scheme,
        "split": split,
    }


def split(pattern: str, behavior: str = "Isolated", *, invert: bool = False, regex: bool) -> Json:
    kind = "Regex" if regex else "String"
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def plan_of(
    normalizer: Sequence[Json], pre_tokenizer: Sequence[Json], tokens: Sequence[AddedToken] = ()
) -> TextPlan:
    sections = (
        {"type": "Sequence", "normalizers": list(normalizer)},
        {"type": "Sequence", "pretokenizers": list(pre_tokenizer)},
    )
    return plan_text(
        read_normalizer(Node(sections[0], "test")),
        read_pre_tokenizer(Node(sections[1], "test")),
        tokens,
    )


def oracle_of(normalizer: Sequence[Json], pre_tokenizer: Sequence[Json]) -> Tokenizer:
    content = json.loads(Tokenizer(models.BPE()).to_str())
    content["normalizer"] = {"type": "Sequence", "normalizers": list(normalizer)}
    content["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": list(pre_tokenizer)}
    return Tokenizer.from_str(json.dumps(content))


def pieces(plan: TextPlan, text: str) -> list[tuple[str, tuple[int, int]]]:
    """(text, offsets in characters) of each piece that is not dropped."""
    preparer = Preparer(
        (),
        normalizer_of(plan.normalizer),
        normalizer_of(plan.span_normalizer),
        plan.prefix,
        plan.prefix_first,
    )
    splitter = PreTokenizer(plan.splits)
    character = [i for i, c in enumerate(text) for _ in c.encode()]
    found = []
    for content, _, ranges in preparer.spans(text):
        assert content is not None
        if plan.folded:
            assert "▁" not in content.decode()
        for begin, end, dropped in splitter.pieces(content.decode()):
            if not dropped:
                piece = content[begin:end].decode()
                first, last = ranges[begin][0], ranges[end - 1][1]
                offsets = (character[first], character[last - 1] + 1)
                found.append((piece.replace(" ", "▁") if plan.folded else piece, offsets))
    return found


def check(normalizer: Sequence[Json], pre_tokenizer: Sequence[Json], text: str) -> None:
    plan = plan_of(normalizer, pre_tokenizer)
    oracle = oracle_of(normalizer, pre_tokenizer)
    normalized = oracle.normalizer.normalize_str(text)
    expected = [item for item in oracle.pre_tokenizer.pre_tokenize_str(normalized) if item[0]]
    found = pieces(plan, text)
    assert [piece for piece, _ in found] == [piece for piece, _ in expected]
    if not normalizer:
        assert found == expected


LETTERS = [
    *"aAb1²½٣.,!¿ ▁_-é文\t\n\u3000\u200d\u0301",
    "  ",
    "▁▁",
    " ▁",
    "ab",
    "e\u0301",
    "\U0001f600",
]
texts = st.one_of(
    st.text(max_size=30),
    st.lists(st.sampled_from(LETTERS), max_size=20).map("".join),
    st.lists(st.sampled_from(synthetic.SENTENCES), max_size=2).map(" ".join),
)
behaviors = st.sampled_from(
    ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
)
PATTERNS = [r"\s+", r"\p{L}+|\d", r"[^\s▁]+", r"▁+(?!\S)|a", r" ?\w+", r"[ ▁]", r"(?i:AB)", r"\S"]
splits = st.one_of(
    st.builds(
        split, st.sampled_from(PATTERNS), behaviors, invert=st.booleans(), regex=st.just(True)
    ),
    st.builds(
        split,
        st.sampled_from([" ", "▁", "a", "▁a", ""]),
        behaviors,
        invert=st.booleans(),
        regex=st.just(False),
    ),
    st.builds(lambda b: {"type": "Digits", "individual_digits": b}, st.booleans()),
    st.builds(lambda b: {"type": "Punctuation", "behavior": b}, behaviors),
    st.sampled_from(
        [
            {"type": "Whitespace"},
            {"type": "WhitespaceSplit"},
            {"type": "BertPreTokenizer"},
            {"type": "FixedLength", "length": 3},
            {"type": "CharDelimiterSplit", "delimiter": " "},
            {"type": "CharDelimiterSplit", "delimiter": "▁"},
            {"type": "CharDelimiterSplit", "delimiter": "e"},
        ]
    ),
)
metaspaces = st.builds(
    metaspace,
    st.sampled_from(["always", "first", "never"]),
    split=st.booleans(),
    replacement=st.sampled_from("▁▁▁_ é"),
)
pre_tokenizers = st.one_of(
    st.lists(splits, max_size=4),
    st.builds(lambda first, others: [first, *others], metaspaces, st.lists(splits, max_size=3)),
)
# Each example compiles its patterns.
fewer = settings(max_examples=max(settings().max_examples // 2, 1))
normalizers = st.sampled_from(
    [[], [], LLAMA, [MARK_SPACES], [*LLAMA, {"type": "NFD"}], [*LLAMA[::-1], {"type": "NFKC"}]]
)
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}


@fewer
@given(normalizers, pre_tokenizers, texts)
def test_characters(normalizer: list[Json], pre_tokenizer: list[Json], text: str) -> None:
    check(normalizer, pre_tokenizer, text)


@pytest.mark.parametrize(
    "step",
    [
        {"type": "Whitespace"},
        {"type": "WhitespaceSplit"},
        {"type": "BertPreTokenizer"},
        {"type": "Punctuation"},
        {"type": "Digits", "individual_digits": False},
    ],
    ids=lambda step: step["type"],
)
def test_characters_at_the_edges_of_sets(step: Json) -> None:
    # test_unicode compares the sets themselves.
    sets = [ucd.rust_set(name) for name in ("word", "whitespace", "punctuation", "numeric")]
    edges = {c + d for ranges in sets for c in ranges.ravel().tolist() for d in (-1, 0, 1)}
    text = "".join(chr(c) for c in sorted(edges) if not 0xD800 <= c < 0xE000)
    check([], [step], text)
    check([], [step], "a".join(text))


@fewer
@given(
    normalizers | st.just([STRIP]),
    st.lists(splits, max_size=2),
    st.one_of(st.none(), metaspaces),
    st.booleans(),
    st.lists(splits, max_size=2),
    texts,
    st.booleans(),
    st.booleans(),
)
def test_byte_level(
    normalizer: list[Json],
    before: list[Json],
    first: Json | None,
    use_regex: bool,
    after: list[Json],
    text: str,
    lstrip: bool,
    trim: bool,
) -> None:
    """Through a model, with added tokens of both kinds."""
    model = synthetic.model_from_merges(
        [("Ġ", "a"), ("a", "b"), ("â", "ĸ"), ("âĸ", "ģ"), ("âĸģ", "a")],
        added_tokens=[
            synthetic.added_token("<s>", rstrip=True),
            synthetic.added_token("A▁", normalized=True, special=False, lstrip=lstrip),
            synthetic.added_token(" ﬁ ", normalized=True),
        ],
    )
    steps = [*([first] if first else []), *before, {**BYTE_LEVEL, "use_regex": use_regex}, *after]
    model["normalizer"] = {"type": "Sequence", "normalizers": normalizer}
    model["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    if trim:
        model["post_processor"] = {**BYTE_LEVEL, "trim_offsets": True}
    oracle, tok = synthetic.load(model), tokcy.Tokenizer.from_json(json.dumps(model))
    untrimmable = trim and lstrip and normalizer
    assert tok.backend == "huggingface" if untrimmable else "tokcy", tok.fallback_reason
    for variant in (text, f"<s>{text} A {text}<s>", f"A▁A {text}", f"  ﬁ {text} fi ﬁ "):
        encoding = oracle.encode(variant)
        ids, offsets = tok.encode_with_offsets(variant)
        assert ids.tolist() == encoding.ids == tok.encode(variant).tolist()
        assert tok.encode_batch(["x", variant]).to_list()[1] == encoding.ids
        assert list(map(tuple, offsets.tolist())) == encoding.offsets
        assert tok.decode(ids, skip_special_tokens=False) == oracle.decode(
            encoding.ids, skip_special_tokens=False
        )


# -------------------------------------------------------------------------------------- the plan


def test_marked_spaces_are_folded() -> None:
    plan = plan_of(LLAMA, [])
    assert plan == TextPlan(normalizer=plan.normalizer, byte_level=False, folded=True)
    normalizer = normalizer_of(plan.normalizer)
    assert normalizer.normalize("a ▁b") == " a  b"
    assert normalizer_of(plan_of([MARK_SPACES], []).normalizer).is_settled(" plain text ")
    # Where "▁" does not stand for every space, the text stays as it is.
    for steps in ([*LLAMA, {"type": "NFKC"}], [MARK_SPACES, {"type": "Prepend", "prepend": " "}]):
        assert not plan_of(steps, []).folded
    assert not plan_of(LLAMA, [BYTE_LEVEL]).folded
    assert plan_of([], [metaspace("never")]).folded


def test_tokens_that_take_spaces_see_them_as_they_are() -> None:
    token = AddedToken("x", 0, normalized=True)
    assert plan_of(LLAMA, [], [token]).span_normalizer == ()
    for flags in ({"lstrip": True}, {"rstrip": True}):
        stripping = AddedToken("x", 0, normalized=True, **flags)
        plan = plan_of(LLAMA, [], [token, stripping])
        assert normalizer_of(plan.normalizer).normalize("a b") == "▁a▁b"
        assert normalizer_of(plan.span_normalizer).normalize("▁a▁b") == " a b"


def test_splits_that_cut_nothing_are_left_out() -> None:
    assert plan_of([MARK_SPACES], [split(" ", "MergedWithPrevious", regex=False)]).splits == ()
    assert len(plan_of([], [split(" ", "MergedWithPrevious", regex=False)]).splits) == 1
    dropping = split(" ", "Removed", invert=True, regex=False)
    assert len(plan_of([MARK_SPACES], [dropping]).splits) == 1


@pytest.mark.parametrize(
    "steps",
    [
        [{"type": "WhitespaceSplit"}, metaspace()],
        [metaspace(), metaspace("never")],
        [BYTE_LEVEL, BYTE_LEVEL],
        [metaspace(), {**BYTE_LEVEL, "add_prefix_space": True}],
    ],
)
def test_orders_that_are_refused(steps: list[Json]) -> None:
    with pytest.raises(UnplannableTextError):
        plan_of([], steps)
