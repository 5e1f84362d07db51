"""Models of characters: spelling, merging, cuts and borders against the oracle's model."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import synthetic
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st
from test_bpe import lists_of_all_cuts

from tokcy import Tokenizer
from tokcy._bpe import Bpe
from tokcy._engine import Engine
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer
from tokcy._vocab import Vocabulary
from tokcy.pattern import border_split

# Characters of one to four bytes; merges have only those of the first string.
LETTERS = "ab▁é丰🙂"
TEXTS = st.text(alphabet=LETTERS + "xyzü一😀\n.", max_size=80) | st.text(max_size=30)
LONG_TEXTS = st.tuples(TEXTS.filter(bool), st.integers(2, 200)).map(
    lambda drawn: (drawn[0] * drawn[1])[:3000]
)


def vocabulary_of(model: dict[str, Any], *, folded: bool = True) -> Vocabulary:
    parts = model["model"]
    byte_level = Vocabulary(parts["vocab"], parts["merges"])
    return byte_level.characters(folded=folded, byte_fallback=parts["byte_fallback"])


def oracle_ids(oracle: tokenizers.Tokenizer, text: str) -> list[int]:
    return [token.id for token in oracle.model.tokenize(text)]


def folded_bytes(text: str) -> bytes:
    return text.replace("▁", " ").encode()


def engine_of(vocabulary: Vocabulary, simd: str) -> Engine:
    joined = np.frombuffer(vocabulary.joined_ascii(), dtype=np.bool_).reshape(128, 128)
    borders = border_split(joined)
    assert borders is not None
    pretokenizer = PreTokenizer([borders], simd=simd)
    return Engine(Preparer(()), pretokenizer, Bpe(vocabulary, False, simd=simd))


merge_lists = synthetic.merge_lists(letters=LETTERS, max_merges=40) | lists_of_all_cuts("ab▁é")


def test_spelling() -> None:
    vocab = {"a": 0, "▁a": 1, " a": 2, "é": 3, "<0x0A>": 4, "<0x0a>": 5, "": 6, "▁": 7, "🙂": 8}
    byte_level = Vocabulary(vocab, ["▁ a"])
    for folded in (False, True):
        for byte_fallback in (False, True):
            read = byte_level.characters(folded=folded, byte_fallback=byte_fallback)
            assert read.as_dict() == vocab
            assert (read.byte_level, read.folded) == (False, folded)
            for token, token_id in vocab.items():
                assert read.token_to_id(token) == token_id
                assert read.id_to_token(token_id) == token
            assert read.token_to_id("\n") is None
            assert read.token_to_id(" ") is None
            assert read.token_to_id("▁▁") is None
            assert read.token_bytes(1) == (b" a" if folded else "▁a".encode())
            assert read.token_bytes(2) == b" a"
            assert read.token_bytes(4) == (b"\n" if byte_fallback else b"<0x0A>")
            assert read.token_bytes(5) == b"<0x0a>"
            assert read.byte_names() == ([4] if byte_fallback else [])
            assert read != byte_level
            copy = Vocabulary.from_tables(
                read.tables(), byte_level=False, folded=folded, byte_fallback=byte_fallback
            )
            assert copy.as_dict() == vocab
            assert copy.n_merges == 0


def test_merges_name() -> None:
    vocabulary = Vocabulary({"a": 0, "b": 1, "ab": 2, "c": 9}, ["a b"])
    assert [vocabulary.merges_name([i]) for i in (0, 1, 2, 9, 100)] == [True] * 3 + [False] * 2
    assert not vocabulary.merges_name([])


@given(merge_lists, st.booleans(), st.lists(TEXTS | LONG_TEXTS, max_size=6))
def test_merging(merges: list[tuple[str, str]], folded: bool, texts: list[str]) -> None:
    model = synthetic.character_model(merges)
    oracle = synthetic.load(model)
    bpe = Bpe(vocabulary_of(model, folded=folded), False)
    for text in texts:
        piece = folded_bytes(text.replace(" ", "▁")) if folded else text.encode()
        expected = oracle_ids(oracle, text.replace(" ", "▁") if folded else text)
        assert bpe.merge(piece) == expected


@given(merge_lists, st.lists(TEXTS | LONG_TEXTS, min_size=1, max_size=6))
def test_borders_and_cuts(simd: str, merges: list[tuple[str, str]], texts: list[str]) -> None:
    """What is cut, looked up and merged side by side is what the whole text gives."""
    model = synthetic.character_model(merges)
    oracle, engine = synthetic.load(model), engine_of(vocabulary_of(model), simd)
    for text in [*texts, *texts]:  # the second time from the cache
        expected = oracle_ids(oracle, text.replace(" ", "▁"))
        assert engine.encode(text.replace("▁", " "), False, False).tolist() == expected


@given(merge_lists, TEXTS)
def test_saved_tables(merges: list[tuple[str, str]], text: str) -> None:
    model = synthetic.character_model(merges)
    vocabulary = vocabulary_of(model)
    bpe = Bpe(vocabulary, False)
    entries = Vocabulary.from_tables(
        vocabulary.tables(), byte_level=False, folded=True, byte_fallback=True
    )
    again = Bpe(entries, False, bpe.tables())
    assert again.merge(folded_bytes(text)) == bpe.merge(folded_bytes(text))
    assert again.tables() == bpe.tables()


def test_ten_million_equal_characters() -> None:
    """No border, no cut: a quadratic merge would take hours."""
    merges = [("丰" * 2**i, "丰" * 2**i) for i in range(6)] + [("a" * 2**i,) * 2 for i in range(6)]
    engine = engine_of(vocabulary_of(synthetic.character_model(merges)), "scalar")
    for character in "a丰":
        ids = engine.encode(character * 10_000_000, False, False)
        assert len(ids) == 10_000_000 // 64
        assert len(set(ids.tolist())) == 1


@given(
    st.integers(0, 99),
    st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    st.text(alphabet="abcdefgh\x00\x7fé一🙂 ", max_size=400),
)
def test_borders(seed: int, share: float, text: str) -> None:
    """A piece begins at each pair that is not joined; both tables say so, skipping or not."""
    joined = np.random.default_rng(seed).random((128, 128)) < share
    joined[16:96] = joined[16]  # some characters are alike
    joined[:, 16:96] = joined[:, 16:17]
    borders = border_split(joined)
    assert borders is not None
    expected = [0] if text else []
    for i, pair in enumerate(pairwise(text)):
        if pair[0].isascii() and pair[1].isascii() and not joined[ord(pair[0]), ord(pair[1])]:
            expected.append(len(text[: i + 1].encode()))
    segments = [(0, False), (len(text[: len(text) // 2].encode()), bool(seed & 1))]
    for use_transducer in (True, False):
        pretokenizer = PreTokenizer([borders], use_transducer=use_transducer)
        assert [begin for begin, _, _ in pretokenizer.pieces(text)] == expected
        in_parts = pretokenizer.pieces(text, segments=segments if text else ())
        if use_transducer:
            by_transducer = in_parts
    assert by_transducer == in_parts


def test_too_many_classes() -> None:
    assert border_split(np.random.default_rng(0).random((128, 128)) < 0.5) is None


# ----------------------------------------------------------------- whole pipelines

MARKED = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
PIPELINES = [
    {},
    {"normalizer": MARKED},
    {
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Prepend", "prepend": "▁"}, MARKED],
        }
    },
    {"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}},
    {
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "always",
            "split": False,
        }
    },
    {"pre_tokenizer": {"type": "WhitespaceSplit"}},
]


def assert_same(model: dict[str, Any], texts: list[str]) -> None:
    tok, oracle = Tokenizer.from_json(json.dumps(model)), synthetic.load(model)
    assert tok.backend == "tokcy", tok.fallback_reason
    for text in [*texts, *texts]:  # the second time from the cache
        expected = oracle.encode(text)
        assert tok.encode(text).tolist() == expected.ids
        ids, offsets = tok.encode_with_offsets(text)
        assert ids.tolist() == expected.ids
        assert [tuple(place) for place in offsets.tolist()] == expected.offsets
        assert tok.decode(ids) == oracle.decode(expected.ids, skip_special_tokens=False)


@given(
    merges=merge_lists,
    pipeline=st.sampled_from(PIPELINES),
    byte_names=st.sampled_from([range(256), range(0x80), range(0xE0), [], [0x0A, 0xC3, 0xBC]]),
    fields=st.fixed_dictionaries(
        {
            "byte_fallback": st.booleans(),
            "unk_token": st.sampled_from(["<unk>", None]),
            "fuse_unk": st.booleans(),
        }
    ),
    texts=st.lists(TEXTS | LONG_TEXTS, min_size=1, max_size=5),
)
def test_characters_that_are_lacking(
    merges: list[tuple[str, str]],
    pipeline: dict[str, Any],
    byte_names: list[int],
    fields: dict[str, Any],
    texts: list[str],
) -> None:
    """Names of bytes, some of them or none; unknown tokens, one by one or fused; or nothing."""
    model = synthetic.character_model(merges, byte_names=byte_names, **fields)
    assert_same({**model, **pipeline}, texts)


@given(merge_lists, st.booleans(), st.lists(TEXTS, min_size=1, max_size=5))
def test_ignoring_merges(merges: list[tuple[str, str]], fuse_unk: bool, texts: list[str]) -> None:
    extra = [("a", "ü"), ("丰", "z")]  # entries that no merge makes
    fields: dict[str, Any]
    fields = {"byte_fallback": False, "fuse_unk": fuse_unk, "unk_token": "<unk>"}
    model = synthetic.character_model(merges + extra, ignore_merges=True, **fields)
    model["model"]["merges"] = [f"{left} {right}" for left, right in merges]
    del model["model"]["vocab"]["ü"]
    model = {**model, "pre_tokenizer": {"type": "WhitespaceSplit"}}
    assert_same(model, [*texts, "aü 丰z aüa", "<unk> a ü"])


WORD_ENDS = [character + "</w>" for character in synthetic.BYTES]


@given(
    synthetic.merge_lists(letters="abĠ</w>Ã©", max_merges=30),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 300)), max_size=20),
    st.lists(synthetic.texts("ab </w>é"), min_size=1, max_size=5),
)
@example(merges=[("w", ">"), ("<", "/"), ("a", "</"), ("a</", "w>")], ends=[], texts=[""])
def test_ends_of_words(
    merges: list[tuple[str, str]], ends: list[tuple[int, int]], texts: list[str]
) -> None:
    """Merges with what ends a word, wherever in their order."""
    stems = [*"abé</w>", *("".join(merge) for merge in merges)]
    closed = [*WORD_ENDS]
    for left, right in ends:
        merge = (stems[left % len(stems)], closed[-1 - right % len(closed)])
        if "é" not in merge[0] and merge not in merges:
            merges.insert(right % (len(merges) + 1), merge)
            closed.append("".join(merge))
    joined = {"".join(merge) for merge in merges if not merge[1].endswith("</w>")}
    model = synthetic.model_from_merges(
        merges, extra_tokens=WORD_ENDS, end_of_word_suffix="</w>", unk_token="a"
    )
    if any(token.endswith("</w>") for token in joined):  # text that looks like an end
        tok = Tokenizer.from_json(json.dumps(model))
        assert tok.fallback_reason == (
            "merges out of place for end_of_word_suffix are not supported natively"
        )
        return
    assert_same(model, texts)
