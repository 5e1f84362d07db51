"""Models that mark where in a word a token stands, by prefix, suffix or both: the oracle agrees."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from test_bpe import lists_of_all_cuts
from tokenizers import Tokenizer as Oracle
from tokenizers import decoders, models, pre_tokenizers, trainers

from tokcy import Tokenizer
from tokcy._bpe import Bpe
from tokcy._engine import Engine
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer
from tokcy._vocab import Vocabulary
from tokcy.errors import ModelFileError, TokcyError
from tokcy.native import NativeBackend
from tokcy.saved import load_backend, pack_backend
from tokcy.spec import Unsupported, plan_native, read_tokenizer_json

LETTERS = "ab#é丰🙂"
MARKS = [("##", ""), ("", "</w>"), ("##", "</w>"), ("#", ""), ("é", "丰"), ("#", "#"), ("a", "b")]
TEXTS = st.text(alphabet=LETTERS + " ab</w>x1", max_size=60) | st.text(max_size=20)
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
WORD_PIECE = {"type": "WordPiece", "prefix": "##", "cleanup": True}
PRE_TOKENIZERS: list[Any] = [
    None,
    {"type": "WhitespaceSplit"},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
    {**BYTE_LEVEL, "use_regex": True},
]


def forms(token: str, prefix: str, suffix: str) -> list[str]:
    """The token in each place of a word; of places that are not marked apart, once."""
    return list(dict.fromkeys([token, prefix + token, token + suffix, prefix + token + suffix]))


def form_of(token: str, prefix: str, suffix: str) -> tuple[bool, bool]:
    """Whether a token is marked as one that does not begin a word, and as one that ends it."""
    continues = prefix != "" and token.startswith(prefix) and token != prefix
    stem = token.removeprefix(prefix) if continues else token
    return continues, suffix != "" and stem.endswith(suffix) and stem != suffix


@st.composite
def marked_models(draw: st.DrawFn, marks: tuple[str, str] | None = None) -> dict[str, Any]:
    """A model of a few letters in most of their forms, with merges of these."""
    prefix, suffix = marks or draw(st.sampled_from(MARKS))
    pre_tokenizer = draw(st.sampled_from(PRE_TOKENIZERS))
    byte_level = pre_tokenizer is not None and pre_tokenizer["type"] == "ByteLevel"
    letters = [*(synthetic.BYTES if byte_level else LETTERS + "▁")]
    tokens = [form for letter in letters for form in forms(letter, prefix, suffix)]
    lacking = draw(st.sets(st.sampled_from(tokens), max_size=draw(st.sampled_from([0, 0, 5, 30]))))
    usual = forms("a", prefix, suffix) + forms("b", prefix, suffix) + forms("#", prefix, suffix)
    usual += [
        form for letter in ("Ã©" if byte_level else "é丰") for form in forms(letter, prefix, "")
    ]
    usual = [token for token in dict.fromkeys(usual) if token not in lacking] or ["a"]
    made = list(usual)
    merges = []
    for _ in range(draw(st.integers(0, 25))):
        left, right = draw(st.sampled_from(made)), draw(st.sampled_from(made))
        if not right.startswith(prefix) or len(left) > 20:
            continue
        joined = left + right[len(prefix) :]
        first, second = form_of(left, prefix, suffix), form_of(right, prefix, suffix)
        in_place = not first[1] and form_of(joined, prefix, suffix) == (first[0], second[1])
        if in_place or draw(st.integers(0, 49)) == 49:
            merges.append([left, right])
            made.append(joined)
    tokens = [token for token in tokens if token not in lacking]
    vocab = dict.fromkeys([*draw(st.sampled_from([[], ["<unk>"]])), *tokens, *made])
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": pre_tokenizer,
        "post_processor": draw(st.sampled_from([None, BYTE_LEVEL])) if byte_level else None,
        "decoder": draw(st.sampled_from([None, WORD_PIECE, BYTE_LEVEL])),
        "model": {
            "type": "BPE",
            "continuing_subword_prefix": prefix,
            "end_of_word_suffix": suffix,
            "unk_token": draw(st.sampled_from([None, *(["<unk>"] if "<unk>" in vocab else [])])),
            "fuse_unk": draw(st.booleans()),
            "byte_fallback": draw(st.booleans()),
            "vocab": {token: 2 * i for i, token in enumerate(vocab)},
            "merges": merges,
        },
    }


def assert_same(tok: Tokenizer, oracle: Oracle, texts: list[str]) -> None:
    assert tok.get_vocab() == oracle.get_vocab()
    for text in [*texts, *texts]:  # the second time from the cache
        expected = oracle.encode(text)
        assert tok.encode(text).tolist() == expected.ids
        ids, offsets = tok.encode_with_offsets(text)
        assert ids.tolist() == expected.ids
        assert [tuple(place) for place in offsets.tolist()] == expected.offsets
        assert [tok.id_to_token(token) for token in expected.ids] == expected.tokens
        assert [tok.token_to_id(token) for token in expected.tokens] == expected.ids
        assert tok.decode(ids) == oracle.decode(expected.ids, skip_special_tokens=False)
        stream = tok.decode_stream()
        assert "".join(map(stream.step, expected.ids)) + stream.flush() == tok.decode(ids)
    expected_rows = [encoding.ids for encoding in oracle.encode_batch_fast(texts)]
    for threads in (1, 2):
        assert tok.encode_batch(texts, num_threads=threads).to_list() == expected_rows


def tokenizer_of(model: dict[str, Any]) -> Tokenizer:
    """The tokenizer, which is native but for some reasons."""
    tok = Tokenizer.from_json(json.dumps(model))
    reasons = ("run together", "merges out of place", "beyond ASCII")
    reason = tok.fallback_reason
    assert reason is None or any(some in reason for some in reasons), reason
    return tok


@given(marked_models(), st.lists(TEXTS, min_size=1, max_size=5))
def test_random_models(model: dict[str, Any], texts: list[str]) -> None:
    tok = tokenizer_of(model)
    if tok.backend == "tokcy":
        assert_same(tok, synthetic.load(model), texts)


@given(st.sampled_from(MARKS[:4]).flatmap(marked_models), TEXTS.filter(bool), st.integers(5, 300))
def test_long_words(model: dict[str, Any], word: str, n: int) -> None:
    """They are merged window by window."""
    tok = tokenizer_of(model)
    if tok.backend == "tokcy":
        assert_same(tok, synthetic.load(model), [(word * n)[:2000], word * n + " " + word])


@given(
    lists_of_all_cuts("ab#é"),
    st.sampled_from(MARKS[:4]),
    st.randoms(use_true_random=False),
    st.lists(st.text(alphabet="ab#é x", max_size=40), max_size=5),
)
def test_merges_that_never_happen(
    cuts: list[tuple[str, str]], marks: tuple[str, str], choose: Random, texts: list[str]
) -> None:
    """The ways to cut each token in two, in each place of a word, of which some are left out."""
    prefix, suffix = marks
    merges = [
        [begin + left, prefix + right + end]
        for left, right in cuts
        for begin, end in dict.fromkeys([("", ""), (prefix, ""), ("", suffix), (prefix, suffix)])
        if choose.random() < 0.9
    ]
    if choose.random() < 0.5:
        choose.shuffle(merges)
    made = [left + right[len(prefix) :] for left, right in merges]
    tokens = [form for letter in "ab#é" for form in forms(letter, prefix, suffix)]
    vocab = dict.fromkeys([*tokens, *made, *(part for merge in merges for part in merge)])
    model = synthetic.model_from_merges([], pre_tokenizer={"type": "WhitespaceSplit"})
    model["model"] |= {
        "vocab": {token: i for i, token in enumerate(vocab)},
        "merges": merges,
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
    }
    model["decoder"] = None
    tok = tokenizer_of(model)
    if tok.backend == "tokcy":
        words = [left + right for left, right in cuts]
        assert_same(tok, synthetic.load(model), [*texts, " ".join(words), "".join(words)])


@given(st.sampled_from(MARKS[:4]).flatmap(marked_models), st.lists(TEXTS, max_size=4))
def test_saved_form(model: dict[str, Any], texts: list[str]) -> None:
    tok = tokenizer_of(model)
    if tok.backend != "tokcy":
        return
    backend = tok._backend
    assert isinstance(backend, NativeBackend)
    if backend.plan.vocabulary.lacks_characters():
        with pytest.raises(TokcyError, match="lacks characters and has no saved form"):
            pack_backend(backend, tok.config, "m.json")
        return
    again, _ = load_backend(pack_backend(backend, tok.config, "m.json"), "m.tokcy")
    assert again.get_vocab(True) == tok.get_vocab()
    for text in texts:
        ids = tok.encode(text)
        assert again.encode(text, True, True, None).tolist() == ids.tolist()
        assert again.decode(ids, False) == tok.decode(ids)


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=30),
    st.sampled_from(MARKS[:4]),
    st.lists(st.text(alphabet="ab#é", max_size=60), min_size=1, max_size=60),
)
def test_words_side_by_side(
    simd: str, pairs: list[tuple[int, int]], marks: tuple[str, str], words: list[str]
) -> None:
    """Each byte in each form: no model lacks any, and short words are merged together."""
    prefix, suffix = marks
    tokens = [form for byte in synthetic.BYTES for form in forms(byte, prefix, suffix)]
    made = [form for letter in "ab#Ã©Ġ" for form in forms(letter, prefix, suffix)]
    merges: list[list[str]] = []
    for left, right in pairs:
        merge = [made[left % len(made)], made[right % len(made)]]
        if merge[1].startswith(prefix) and not (suffix and merge[0].endswith(suffix)):
            merges.append(merge)
            made.append(merge[0] + merge[1][len(prefix) :])
    vocab = {token: i for i, token in enumerate(dict.fromkeys([*tokens, *made]))}
    fields = {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
    model = synthetic.model_from_merges([])
    model["model"] |= {"vocab": vocab, "merges": merges, **fields}
    plan = plan_native(read_tokenizer_json(json.dumps(model)))
    if isinstance(plan, Unsupported):
        assert "merges out of place" in plan.reason
        return
    assert plan.vocabulary.is_complete()
    engine = Engine(
        Preparer(()),
        PreTokenizer(plan.text.splits, simd=simd),
        Bpe(plan.vocabulary, False, simd=simd),
    )
    text = " ".join(words)
    for _ in range(2):  # the second time from the cache
        assert engine.encode(text, False, False).tolist() == synthetic.load(model).encode(text).ids


@pytest.mark.parametrize("suffix", ["", "</w>"])
@pytest.mark.parametrize("byte_level", [False, True])
def test_trained_model(byte_level: bool, suffix: str) -> None:
    """As the trainer of `tokenizers` makes it; letters that it has not seen are unknown."""
    oracle = Oracle(
        models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", end_of_word_suffix=suffix)
    )
    oracle.pre_tokenizer = pre_tokenizers.ByteLevel() if byte_level else pre_tokenizers.Whitespace()
    oracle.decoder = decoders.WordPiece()
    oracle.train_from_iterator(
        synthetic.SENTENCES[:4],
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["[UNK]", "[CLS]"],
            continuing_subword_prefix="##",
            end_of_word_suffix=suffix,
            show_progress=False,
        ),
    )
    tok = Tokenizer.from_json(oracle.to_str())
    assert tok.backend == "tokcy", tok.fallback_reason
    assert_same(tok, oracle, [*synthetic.SENTENCES, "[CLS] tokenizers", "it is n't 's", ""])
    text = " ".join(synthetic.SENTENCES) * 500
    expected = oracle.encode(text, add_special_tokens=False).ids
    for threads in (1, 2):
        assert tok.encode(text, num_threads=threads).tolist() == expected


def test_spelling() -> None:
    """Marks are taken off where something remains; id and string find each other in any case."""
    written = [
        "a",
        "##a",
        "a</w>",
        "##a</w>",
        "##",
        "</w>",
        "##</w>",
        "###",
        "#",
        "▁",
        "##▁",
        "## ",
    ]
    vocab = {token: i for i, token in enumerate(written)}
    vocabulary = Vocabulary(vocab, [])
    for read in (
        vocabulary.marked(prefix="##", suffix="</w>"),
        vocabulary.characters(folded=True, byte_fallback=False, prefix="##", suffix="</w>"),
        vocabulary.characters(folded=False, byte_fallback=False, prefix="##", suffix="</w>"),
        vocabulary.characters(folded=False, byte_fallback=False, prefix="##"),
    ):
        assert read.as_dict() == vocab
        for token, token_id in vocab.items():
            assert (read.token_to_id(token), read.id_to_token(token_id)) == (token_id, token)
        assert read.token_bytes(3) == b"##a</w>"
        assert read.token_to_id("##b") is None
        with pytest.raises(ValueError, match="has been spelled already"):
            read.marked(prefix="#")
    tables = vocabulary.marked(prefix="##", suffix="</w>").tables()
    assert list(tables["kinds"]) == [1, 3, 5, 7, 1, 1, 3, 3, 1, 0, 0, 0]
    assert read != vocabulary.characters(folded=False, byte_fallback=False, prefix="#")
    with pytest.raises(ValueError, match="kinds: none of those there are"):
        Vocabulary.from_tables(tables, suffix="</w>")


def test_merges_lose_the_prefix() -> None:
    vocab = {"a": 0, "##b": 1, "ab": 2, "中##": 3, "a#": 4, "##中": 5, "a中": 6}
    tables = Vocabulary(vocab, ["a ##b", "a ##中"], prefix="##").tables()
    assert np.frombuffer(tables["merged"], np.uint32).tolist() == [2, 6]
    with pytest.raises(ModelFileError) as caught:
        Vocabulary(vocab, ["a ##b", "ab ##b"], prefix="##")
    assert "needs the token 'abb', which is not in model.vocab" in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"merges": ["a xxb"]}, "merges out of place for continuing_subword_prefix"),
        ({"merges": ["# ###", "## ##b"]}, "merges out of place for continuing_subword_prefix"),
        (
            {"merges": ["b</w> ##b"], "end_of_word_suffix": "</w>"},
            "merges out of place for continuing_subword_prefix and end_of_word_suffix",
        ),
        ({"ignore_merges": True}, "continuing_subword_prefix with ignore_merges"),
        ({"byte_fallback": True}, "continuing_subword_prefix with byte_fallback"),
        ({"unk_token": "nowhere"}, "unk_token that is no entry"),
        ({"unk_token": "##b"}, "merges of unk_token or tokens such as <0x0A>"),
        (
            {"continuing_subword_prefix": "#", "end_of_word_suffix": "#>", "merges": []},
            "continuing_subword_prefix and end_of_word_suffix that run together",
        ),
    ],
)
def test_refusals(fields: dict[str, Any], reason: str) -> None:
    written = ["a", "b", "##b", "ab", "#", "###", "##", "b</w>", "b</w>b", "xxb", "##>", "<0x61>"]
    vocab = {token: i for i, token in enumerate(written)}
    model = {"type": "BPE", "vocab": vocab, "merges": ["a ##b"], "continuing_subword_prefix": "##"}
    content = {"model": {**model, **fields}}
    synthetic.load({"version": "1.0", "added_tokens": [], **content})
    plan = plan_native(read_tokenizer_json(json.dumps(content)))
    assert isinstance(plan, Unsupported)
    assert plan.reason in (
        f"{reason} is not supported natively",
        f"{reason} are not supported natively",
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"continuing_subword_prefix": "é"},
            "continuing_subword_prefix beyond ASCII with ByteLevel",
        ),
        ({"end_of_word_suffix": "Ġ"}, "end_of_word_suffix beyond ASCII with ByteLevel"),
        (
            {"end_of_word_suffix": "_", "unk_token": "Ġ"},
            "unk_token beyond ASCII with ByteLevel",
        ),
    ],
)
def test_refusals_with_byte_level(fields: dict[str, Any], reason: str) -> None:
    plan = plan_native(read_tokenizer_json(json.dumps(synthetic.model_from_merges([], **fields))))
    assert isinstance(plan, Unsupported)
    assert plan.reason == f"{reason} is not supported natively"
