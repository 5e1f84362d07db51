"""One text or many, one thread or several, units of any size: always the same ids."""

from __future__ import annotations

import itertools
import json
import string
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from real_models import NATIVE

from tokcy import Tokenizer
from tokcy._bpe import Bpe
from tokcy._engine import Engine
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer
from tokcy._vocab import Vocabulary
from tokcy.native import preparer_of
from tokcy.spec import NativePlan, plan_native, read_tokenizer_json

ADDED = [
    synthetic.added_token("<s>"),
    synthetic.added_token("<|x|>", rstrip=True),
    synthetic.added_token("<y>", lstrip=True, normalized=True),
]


def planned(model: dict[str, object]) -> NativePlan:
    plan = plan_native(read_tokenizer_json(json.dumps(model), source="test"))
    assert isinstance(plan, NativePlan)
    return plan


def engine_of(plan: NativePlan, **sizes: int) -> Engine:
    """An engine that shares even short texts between threads, in tiny units."""
    return Engine(
        preparer_of(plan),
        PreTokenizer(plan.text.splits),
        Bpe(plan.vocabulary, plan.ignore_merges),
        [1, 2],
        [3],
        **sizes,
    )


@pytest.fixture(scope="module")
def plan() -> NativePlan:
    model = synthetic.trained_model()
    model["added_tokens"] = [
        {**token, "id": len(model["model"]["vocab"]) + i} for i, token in enumerate(ADDED)
    ]
    model["normalizer"] = {"type": "NFC"}
    return planned(model)


@pytest.fixture(scope="module")
def engines(plan: NativePlan) -> list[Engine]:
    return [engine_of(plan, unit_bytes=unit, bytes_per_thread=1) for unit in (1, 2, 7, 64, 1000)]


mixed_texts = st.lists(
    st.one_of(
        st.sampled_from(["<s>", "<|x|>  ", " \n<y>", "e\u0301", "   ", "\n\n  \n", "'ll", "\0"]),
        synthetic.texts(),
        st.integers(1, 300).map(lambda n: "a" * n),
    ),
    max_size=12,
).map("".join)


@given(text=mixed_texts, threads=st.integers(2, 5), special=st.booleans(), added=st.booleans())
def test_threads_and_units_change_nothing(
    plan: NativePlan, engines: list[Engine], text: str, threads: int, special: bool, added: bool
) -> None:
    expected = engine_of(plan).encode(text, special, added, 1)
    for engine in engines:
        assert np.array_equal(engine.encode(text, special, added, threads), expected)
        assert engine.encode_to_list(text, special, added, threads) == expected.tolist()
        assert engine.count(text, special, added, threads) == len(expected)
        assert np.array_equal(engine.encode(text, special, added, 1), expected)


@given(texts=st.lists(mixed_texts, max_size=12), threads=st.integers(1, 4), special=st.booleans())
def test_batch_equals_singles(
    engines: list[Engine], texts: list[str], threads: int, special: bool
) -> None:
    for engine in engines[:3]:
        values, offsets = engine.encode_batch(texts, special, True, threads)
        singles = [engine.encode(text, special, True, 1) for text in texts]
        assert offsets.tolist() == [0, *np.cumsum([len(ids) for ids in singles]).tolist()]
        assert values.tolist() == [token for ids in singles for token in ids.tolist()]
        assert values.dtype == np.uint32
        assert offsets.dtype == np.int64


BYTE_LEVEL = {"type": "ByteLevel", "trim_offsets": True}


def split(regex: str, behavior: str, *, invert: bool = False) -> dict[str, object]:
    """A pre-tokenizer with one split."""
    byte_level = {**BYTE_LEVEL, "add_prefix_space": False, "use_regex": False}
    pattern = {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}
    return {"type": "Sequence", "pretokenizers": [pattern, byte_level]}


PRE_TOKENIZERS = {
    "as it is": None,
    "prefix space": {**BYTE_LEVEL, "add_prefix_space": True, "use_regex": True},
    "looks ahead": split(r"\s+(?!\S)|\s+", "Isolated"),
    "looks for the end": split(r"\s+$", "Isolated"),
    "drops": split(r"\s+", "Removed"),
    "drops the rest": split(r"[a-z]+", "Removed", invert=True),
    "joins": split(r"\p{N}", "MergedWithPrevious"),
}


@pytest.fixture(scope="module", params=PRE_TOKENIZERS)
def any_engine(request: pytest.FixtureRequest, plan: NativePlan) -> Engine:
    if PRE_TOKENIZERS[request.param] is None:
        return engine_of(plan)
    model = synthetic.trained_model()
    model["added_tokens"] = [
        {**token, "id": len(model["model"]["vocab"]) + i} for i, token in enumerate(ADDED)
    ]
    return engine_of(planned({**model, "pre_tokenizer": PRE_TOKENIZERS[request.param]}))


@given(
    texts=st.lists(st.just("") | mixed_texts | st.sampled_from(["<s>", "a", " ", "<y>"])),
    special=st.booleans(),
    added=st.booleans(),
)
def test_joined_texts_do_not_see_each_other(
    any_engine: Engine, texts: list[str], special: bool, added: bool
) -> None:
    singles = [any_engine.encode(text, special, added, 1).tolist() for text in texts]
    values, offsets = any_engine.encode_batch(texts, special, added, 1)
    assert [ids.tolist() for ids in np.split(values, offsets[1:-1])][: len(texts)] == singles


@pytest.mark.parametrize("name", NATIVE)
def test_joined_texts_of_real_models(
    model_path: Callable[[str], Path], corpus: Callable[..., str], name: str
) -> None:
    tok = Tokenizer.from_file(model_path(name))
    rng = np.random.default_rng(7)
    contents = [token.content for token in tok.added_tokens] or [""]
    for text in ("english_prose", "python", "mixed_all_languages", "emoji"):
        whole, texts, at = corpus(text, 60_000), [], 0
        while at < len(whole):
            n = int(rng.choice([0, 1, 2, 5, 30, 200, 1500]))
            texts.append(whole[at : at + n] + (str(rng.choice(contents)) if n % 3 == 2 else ""))
            at += n
        for special in (True, False):
            batch = tok.encode_batch(texts, add_special_tokens=special)
            assert len(batch) == len(texts)
            for one, ids in zip(texts, batch, strict=True):
                assert np.array_equal(tok.encode(one, add_special_tokens=special), ids), repr(one)


def test_batch_of_long_and_short_texts(
    model_path: Callable[[str], Path], corpus: Callable[..., str]
) -> None:
    tok = Tokenizer.from_file(model_path("llama3"))
    long_text = corpus("english_prose", 1_500_000)
    texts = ["a", long_text, "", "b" * 1000, long_text[:5], long_text[9:], *["x y z"] * 3000]
    batch = tok.encode_batch(texts, num_threads=2)
    assert len(batch) == len(texts)
    for i in (0, 1, 2, 3, 4, 5, 6, 3005):
        assert np.array_equal(batch[i], tok.encode(texts[i], num_threads=1))


def test_the_array_of_a_long_text_owns_its_ids() -> None:
    """Beyond 768 KB ids are written where the array has them."""
    model = synthetic.trained_model()
    engine, oracle = engine_of(planned(model)), synthetic.load(model)
    text = "".join(synthetic.SENTENCES)
    text *= 800_000 // len(text) + 1
    plain = oracle.encode(text).ids
    for special, expected in ((False, plain), (True, [1, 2, *plain, 3])):
        for threads in (1, 2, 3):
            ids = engine.encode(text, special, True, threads)
            assert ids.tolist() == expected
            assert ids.dtype == np.uint32
            assert ids.flags.carray
            part = ids[-3:]
            del ids
            assert part.tolist() == expected[-3:]
            assert engine.encode_to_list(text, special, True, threads) == expected
            assert engine.count(text, special, True, threads) == len(expected)
            values, offsets = engine.encode_batch(["", text, "a", text], special, True, threads)
            assert values[offsets[1] : offsets[2]].tolist() == expected
            assert values[offsets[3] :].tolist() == expected


def test_ids_wait_for_those_before_them(plan: NativePlan) -> None:
    """The first of many units takes longer than all others."""
    text = "ab" * 50_000 + " one two" * 2000 + "<s>" * 500 + " " + "e" * 3000
    expected = engine_of(plan).encode(text, True, True, 1)
    engine = engine_of(plan, unit_bytes=64, bytes_per_thread=64)
    for threads in (2, 3, 5):
        for _ in range(3):
            assert np.array_equal(engine.encode(text, True, True, threads), expected)


def test_empty_batch_and_iterables(plan: NativePlan) -> None:
    engine = engine_of(plan)
    values, offsets = engine.encode_batch([], True, True)
    assert (values.tolist(), offsets.tolist()) == ([], [0])
    values, offsets = engine.encode_batch(iter(["a", ""]), True, True)
    assert offsets[-1] == len(values) == 3 + 3 + 1


def test_bad_sizes(plan: NativePlan) -> None:
    for sizes in ({"unit_bytes": 0}, {"bytes_per_thread": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            engine_of(plan, **sizes)


def test_many_python_threads(plan: NativePlan) -> None:
    """Callers share the cache and may meet in parallel regions."""
    engine = engine_of(plan, unit_bytes=64, bytes_per_thread=64)
    texts = ["".join(synthetic.SENTENCES[i:]) * 20 + str(i) * i for i in range(7)]
    expected = [engine_of(plan).encode(text, True, True, 1) for text in texts]
    wrong: list[int] = []

    def work(seed: int) -> None:
        for i in range(60):
            at = (seed + i) % len(texts)
            if not np.array_equal(engine.encode(texts[at], True, True, 1 + i % 3), expected[at]):
                wrong.append(at)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


@pytest.mark.parametrize("tail", ["", "abcabcabcabcabcabc"], ids=["short", "long"])
def test_cache_is_bounded_and_renewed(tail: str) -> None:
    """More different words than it holds: memory stays, ids stay right, it learns again."""
    model = synthetic.model_from_merges([("a", "b"), ("ab", "c"), ("0", "1")])
    bpe = Bpe(Vocabulary(model["model"]["vocab"], model["model"]["merges"]), False)
    plan = planned(model)
    engine = Engine(Preparer(()), PreTokenizer(plan.text.splits), bpe)
    start = bpe.cache_info()
    letters = itertools.product(string.ascii_letters, repeat=3)
    words = [" " + "".join(three) + tail for three in letters]
    text = "".join(words)
    expected = np.concatenate([bpe.merge(word.encode()) for word in words])
    first = engine.encode(text, False, True, 1)
    full = bpe.cache_info()
    assert full["misses"] == len(words)
    assert start["entries"] + len(words) // 4 < full["entries"] < len(words)
    second = engine.encode(text, False, True, 2)
    renewed = bpe.cache_info()
    assert renewed["generation"] == 1
    assert renewed["bytes"] == start["bytes"]
    # One thread may not yet have counted what it has added, 64 entries at most.
    assert renewed["entries"] <= full["entries"] + 64
    assert np.array_equal(first, expected)
    assert np.array_equal(second, expected)


def test_hits_and_misses_are_counted(plan: NativePlan) -> None:
    engine = engine_of(plan)
    before = engine.model.cache_info()
    engine.encode(" zqxj zqxj zqxj", False, True)
    after = engine.model.cache_info()
    assert after["misses"] - before["misses"] == 1
    assert after["hits"] - before["hits"] == 2


def test_entries_that_no_merge_makes() -> None:
    """Under ignore_merges a piece that is an entry is that entry, at any length."""
    lengths = [1, 2, 14, 15, 16, 17, 48, 49, 254, 255, 256, 257, 1000]
    extra = [letter * n for letter in "abc" for n in lengths]
    model = synthetic.model_from_merges(
        [("a", "a"), ("aa", "aa"), ("b", "c")], extra_tokens=extra, ignore_merges=True
    )
    oracle, tok = synthetic.load(model), Tokenizer.from_json(json.dumps(model))
    texts = [letter * (n + more) for letter in "abc" for n in lengths for more in (-1, 0, 1)]
    for text in (*texts, *texts, "\n".join(texts)):
        assert tok.encode(text).tolist() == oracle.encode(text).ids


def test_many_entries_that_no_merge_makes() -> None:
    """In every line of the cache the other entries leave them as they are."""
    odd = ["".join(letters) for letters in itertools.product("abcdefghijklmno", repeat=3)]
    model = synthetic.model_from_merges([], extra_tokens=odd, ignore_merges=True)
    oracle, tok = synthetic.load(model), Tokenizer.from_json(json.dumps(model))
    for text in odd:
        ids = oracle.encode(text).ids
        assert len(ids) == 1
        assert tok.encode_to_list(text) == ids


def test_many_entries_of_the_greatest_length() -> None:
    """The cache has room for all entries, however long they are."""
    rng = np.random.default_rng(5)
    letters = np.array(list(string.ascii_lowercase))
    extra = ["".join(rng.choice(letters, 255)) for _ in range(40_000)]
    model = synthetic.model_from_merges([], extra_tokens=extra, ignore_merges=True)
    tok = Tokenizer.from_json(json.dumps(model))
    for batch in tok.encode_batch(extra), tok.encode_batch(extra):
        assert len(batch.values) == len(extra)
        assert batch.values.tolist() == [model["model"]["vocab"][token] for token in extra]
