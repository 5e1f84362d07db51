"""Spans and offsets of prepared texts equal what Hugging Face's encodings show.

The oracle is a byte-level model without merges: each byte of text is a token of its own, so an
encoding shows the text that the model saw, where each byte came from, and the added tokens.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import BYTES, normalizer_step
from tokenizers import AddedToken as HFAddedToken
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from tokcy._normalize import Normalizer
from tokcy._prepare import Preparer
from tokcy.spec import AddedToken, normalizer_of
from tokcy.spec.plan_text import plan_text
from tokcy.spec.steps import (
    ByteLevel,
    Lowercase,
    Metaspace,
    NormalForm,
    NormalizerStep,
    Prepend,
    PrependScheme,
    Replace,
    Strip,
    StripAccents,
)

VOCAB = {character: byte for byte, character in enumerate(BYTES)}
NFC = normalizers.NFC()

Encoded = list[tuple[int, tuple[int, int]]]
"""(id, (begin, end)) of each token, the offsets in characters."""


def oracle(tokens: list[AddedToken], *, nfc: bool, prefix: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(VOCAB, []))
    if nfc:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)
    for token in tokens:
        tokenizer.add_tokens(
            [
                HFAddedToken(
                    token.content,
                    normalized=token.normalized,
                    lstrip=token.lstrip,
                    rstrip=token.rstrip,
                    single_word=token.single_word,
                )
            ]
        )
        assert tokenizer.token_to_id(token.content) == token.id
    return tokenizer


def preparer_of(tokens: list[AddedToken], nfc: bool, prefix: bool) -> Preparer:
    steps = [("form", "NFC")] if nfc else []
    return Preparer(tokens, Normalizer(steps), prefix=" " if prefix else "")


def expected(tokenizer: Tokenizer, text: str) -> Encoded | None:
    """What the oracle gives, or None where it panics."""
    try:
        encoding = tokenizer.encode(text, add_special_tokens=False)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None
    return list(zip(encoding.ids, encoding.offsets, strict=True))


def prepared(preparer: Preparer, text: str) -> Encoded:
    character = [i for i, c in enumerate(text) for _ in c.encode()] + [len(text)]
    encoded: Encoded = []
    for content, token, ranges in preparer.spans(text):
        if content is None:
            ((begin, end),) = ranges
            encoded.append((token, (character[begin], character[end])))
            continue
        assert token == -1
        for byte, (begin, end) in zip(content, ranges, strict=True):
            encoded.append((byte, (character[begin], character[end - 1] + 1)))
    return encoded


def numbered(tokens: list[AddedToken]) -> list[AddedToken]:
    """The tokens that a model may have together, with the ids that the oracle gives them."""
    kept: list[AddedToken] = []
    forms: set[str] = set()
    for token in tokens:
        form = NFC.normalize_str(token.content)
        if token.content in VOCAB or form in forms:
            continue
        forms.add(form)
        flags = (token.single_word, token.lstrip, token.rstrip, token.normalized, token.special)
        kept.append(AddedToken(token.content, len(VOCAB) + len(kept), *flags))
    return kept


LETTERS = ["a", "b", "<", ">", " ", "\n", "\u3000", "_", "²", "\u200d", "🙂", "\0"]
LETTERS += ["é", "e\u0301", "\u0301", "\u0323", "\u212b", "\u0344", "\u1100", "\u1161", "\u11a8"]
words = st.lists(st.sampled_from(LETTERS), min_size=1, max_size=4).map("".join)
added_tokens = st.lists(
    st.builds(
        AddedToken,
        content=words,
        id=st.just(0),
        single_word=st.booleans(),
        lstrip=st.booleans(),
        rstrip=st.booleans(),
        normalized=st.booleans(),
    ),
    max_size=6,
).map(numbered)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[AddedToken], str]:
    """Tokens, and a text in which they stand between other things."""
    tokens = draw(added_tokens)
    contents = st.sampled_from([token.content for token in tokens]) if tokens else words
    parts = st.lists(st.one_of(contents, words, st.text(max_size=3)), max_size=10)
    return tokens, "".join(draw(parts))


def check(tokens: list[AddedToken], text: str, *, nfc: bool, prefix: bool) -> None:
    preparer = preparer_of(tokens, nfc, prefix)
    result = prepared(preparer, text)
    ids = [token for token, _ in result]
    plain = preparer.spans(text, want_offsets=False)
    assert [i for span, token, _ in plain for i in (span or b"") or [token]] == ids
    encoding = expected(oracle(tokens, nfc=nfc, prefix=prefix), text)
    if encoding is None:
        assert any(token.rstrip for token in tokens)
        assert any(token.lstrip and token.content[0].isspace() for token in tokens)
    else:
        assert result == encoding


@given(cases(), st.booleans(), st.booleans())
def test_equals_the_oracle(case: tuple[list[AddedToken], str], nfc: bool, prefix: bool) -> None:
    check(*case, nfc=nfc, prefix=prefix)


@given(cases(), st.booleans(), st.booleans())
def test_added_tokens_can_be_kept_out(
    case: tuple[list[AddedToken], str], nfc: bool, prefix: bool
) -> None:
    tokens, text = case
    without = preparer_of([], nfc, prefix).spans(text)
    assert preparer_of(tokens, nfc, prefix).spans(text, allow_added=False) == without


@pytest.mark.parametrize("nfc", [False, True])
@pytest.mark.parametrize("prefix", [False, True])
def test_edges(nfc: bool, prefix: bool) -> None:
    tokens = numbered(
        [AddedToken("<s>", 0), AddedToken("<t>", 0, normalized=True), AddedToken("\0\0", 0)]
    )
    for text in (
        "",
        " ",
        "<",
        "<s",
        "<s>",
        "<t>",
        "<s><t>",
        "a<s",
        "a<s>",
        "\0",
        "\0\0\0",
        "🙂<s>🙂",
    ):
        check(tokens, text, nfc=nfc, prefix=prefix)
    for text in ("e\u0301", "e<s>\u0301", "e<t>\u0301", "\u0301<t>", "<s> <t>e\u0301", "e\u0301<"):
        check(tokens, text, nfc=nfc, prefix=prefix)


def test_a_text_that_stays_as_it_is_is_not_copied() -> None:
    # Ranges of single bytes are those of the caller's text; a text of our own has whole characters.
    token = AddedToken("<s>", 256)
    ((_, _, ranges),) = preparer_of([token], True, False).spans("é")
    assert ranges == [(0, 1), (1, 2)]
    ((_, _, ranges),) = preparer_of([token], True, False).spans("e\u0301")
    assert ranges == [(0, 1), (0, 1)]
    spans = preparer_of([token], False, True).spans(" é<s> é")
    assert [ranges for _, _, ranges in spans][2] == [(6, 7), (7, 8), (8, 9)]


@pytest.mark.parametrize(
    "name", ["gpt_neox", "modernbert", "whisper_tiny", "roberta_base", "deepseek_v3", "phi3_mini"]
)
def test_added_tokens_of_real_models(model_path: Callable[[str], Path], name: str) -> None:
    model = json.loads(model_path(name).read_text(encoding="utf-8"))
    fields = ("content", "id", "single_word", "lstrip", "rstrip", "normalized", "special")
    tokens = numbered([AddedToken(*(row[f] for f in fields)) for row in model["added_tokens"]])
    assert tokens
    random.seed(name)
    between = [
        "",
        "",
        " ",
        "  ",
        "\n",
        "\n\n",
        " \t ",
        "word",
        " word",
        "e\u0301",
        "word,",
        "<",
        "[ ",
    ]
    for nfc, prefix in ((False, False), (True, False), (True, True)):
        tokenizer = oracle(tokens, nfc=nfc, prefix=prefix)
        preparer = preparer_of(tokens, nfc, prefix)
        for _ in range(100):
            chosen = [token.content for token in random.choices(tokens, k=8)]
            text = "".join(random.choice(between) + content for content in chosen)
            text = text[: random.choice((len(text), random.randrange(len(text) + 1)))]
            assert prepared(preparer, text) == expected(tokenizer, text)


# ----------------------------------------------------------------------- any steps, folded or not

MARK_SPACES = Replace(" ", False, "▁")
CHAINS: list[tuple[NormalizerStep, ...]] = [
    (),
    (MARK_SPACES,),
    (Prepend("▁"), MARK_SPACES),
    (MARK_SPACES, Prepend("▁"), NormalForm("NFD")),
    (NormalForm("NFKC"), Lowercase()),
    (Strip(True, True), StripAccents()),
    (Replace("\n", False, " "), Prepend("<")),
    (Replace(r"\s+", True, " "), Replace("ab", False, "é"), MARK_SPACES),
]
METASPACES = [None, *(Metaspace("▁", scheme, False) for scheme in get_args(PrependScheme))]


def kept_apart(tokens: list[AddedToken], chain: tuple[NormalizerStep, ...]) -> list[AddedToken]:
    """Those that a file may have: contents differ, and so do forms, of which none is empty."""
    kept: list[AddedToken] = []
    forms = {""}
    for token in tokens:
        form = normalizer_of(chain).normalize(token.content)
        if token.content in VOCAB or token.content in {t.content for t in kept}:
            continue
        if token.normalized and form in forms:
            continue
        forms |= {form} if token.normalized else set()
        kept.append(token._replace(id=len(VOCAB) + len(kept)))
    return kept


@given(cases(), st.sampled_from(CHAINS), st.sampled_from(METASPACES), st.booleans())
def test_any_steps(
    case: tuple[list[AddedToken], str],
    chain: tuple[NormalizerStep, ...],
    metaspace: Metaspace | None,
    byte_level: bool,
) -> None:
    tokens, text = kept_apart(case[0], chain), case[1].replace("_", "▁")
    spaces = [metaspace] if metaspace else []
    tokenizer = oracle(tokens, nfc=False, prefix=False)
    tokenizer.normalizer = normalizers.Sequence([normalizer_step(step) for step in chain])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Metaspace("▁", step.prepend_scheme, split=False) for step in spaces),
            tokenizer.pre_tokenizer,
        ]
    )
    levels = [ByteLevel(False, False, False)] if byte_level else []
    plan = plan_text(chain, (*spaces, *levels), tokens)
    preparer = Preparer(
        tokens,
        normalizer_of(plan.normalizer),
        normalizer_of(plan.span_normalizer),
        plan.prefix,
        plan.prefix_first,
    )
    encoding = expected(tokenizer, text)
    encoded = prepared(preparer, text)
    if plan.folded:
        encoded = [
            (byte, offsets)
            for found, offsets in encoded
            for byte in ("▁".encode() if found == ord(" ") else [found])
        ]
    if encoding is not None:
        assert encoded == encoding
    without = preparer.spans(text, want_offsets=False)
    assert [content for content, _, _ in without] == [
        content for content, _, _ in preparer.spans(text)
    ]
