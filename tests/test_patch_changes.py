"""A tokenizer that changes, in whatever way, encodes as it does after the change."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import synthetic
import tokenizers
from patching import TEXTS, is_native, native, small_tokenizer, state, word_tokenizer
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

import tokcy
from tokcy.dropin import attachment, twins

BYTE_LEVEL = pre_tokenizers.ByteLevel


def nested_tokenizer() -> Any:
    """One whose components have components."""
    tokenizer = small_tokenizer()
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=False), BYTE_LEVEL(add_prefix_space=False)]
    )
    return tokenizer


def other_model() -> models.BPE:
    content = synthetic.trained_model(400)["model"]
    return models.BPE(content["vocab"], [tuple(pair) for pair in content["merges"]])


def retrain(tokenizer: Any) -> None:
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=BYTE_LEVEL.alphabet(), show_progress=False
    )
    tokenizer.model = models.BPE()  # a trained one panics after it is trained again
    tokenizer.encode("")
    tokenizer.train_from_iterator(["hello world " * 20], trainer)


# Change by change, each on what those before have left.
CHANGES: dict[str, Callable[[Any], object]] = {
    "add tokens": lambda t: t.add_tokens(["hello", "it"]),
    "add special tokens": lambda t: t.add_special_tokens(["wörld"]),
    "flags of a token": lambda t: t.add_tokens([AddedToken("hello", single_word=True)]),
    "post-processor": lambda t: setattr(t, "post_processor", processors.ByteLevel()),
    "attribute of it": lambda t: setattr(t.post_processor, "trim_offsets", False),
    "no post-processor": lambda t: setattr(t, "post_processor", None),
    "component's attribute": lambda t: setattr(t.pre_tokenizer[1], "add_prefix_space", True),
    "component": lambda t: t.pre_tokenizer.__setitem__(0, pre_tokenizers.Digits(True)),
    "pre-tokenizer": lambda t: setattr(t, "pre_tokenizer", BYTE_LEVEL(add_prefix_space=False)),
    "component of a normalizer": lambda t: t.normalizer.__setitem__(1, normalizers.NFKC()),
    "normalizer": lambda t: setattr(t, "normalizer", normalizers.Lowercase()),
    "no normalizer": lambda t: setattr(t, "normalizer", None),
    "decoder": lambda t: setattr(t, "decoder", decoders.Fuse()),
    "model's attribute": lambda t: setattr(t.model, "ignore_merges", True),
    "model": lambda t: setattr(t, "model", other_model()),
    "content of the model": lambda t: t.model.__setstate__(small_tokenizer().model.__getstate__()),
    "training": retrain,
    "state": lambda t: t.__setstate__(small_tokenizer().__getstate__()),
}


def results(tokenizer: Any) -> list[Any]:
    encodings = [tokenizer.encode(text) for text in TEXTS]
    decoded = [tokenizer.decode(encoding.ids * 4, False) for encoding in encodings]
    return [[state(encoding) for encoding in encodings], decoded]


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Engines are built with the first text, where one can be."""
    monkeypatch.setattr(attachment, "_FIRST_WORK", 0)
    with tokcy.patched_hf():
        yield


def test_every_change_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "_FIRST_WORK", 0)
    tokenizer, reference = nested_tokenizer(), nested_tokenizer()
    expected = [results(reference)]
    for change in CHANGES.values():
        change(reference)
        expected.append(results(reference))
    delegated = []
    with tokcy.patched_hf():
        assert results(tokenizer) == expected[0]
        for (name, change), wanted in zip(CHANGES.items(), expected[1:], strict=True):
            change(tokenizer)
            assert results(tokenizer) == wanted, name
            if not is_native(tokenizer.encode("a")):
                delegated.append(name)
    # A space put before each of several pieces; tokens whose ids JSON would not give them.
    assert delegated == [
        *("component's attribute", "component"),
        *("model", "content of the model", "training"),
    ]


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.usefixtures("at_once")
def test_changes_of_others_do_not(name: str) -> None:
    tokenizer, other = nested_tokenizer(), nested_tokenizer()
    before = results(tokenizer)
    twin = attachment.twin_for(tokenizer, "a")
    assert twin is not None
    results(other)
    if name == "attribute of it":
        CHANGES["post-processor"](other)
    CHANGES[name](other)
    results(other)
    assert results(tokenizer) == before
    assert attachment.twin_for(tokenizer, "a") is twin


@pytest.mark.parametrize("made", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_copies_leave_engines_where_they_are(made: Callable[[Any], Any]) -> None:
    """That of the original, and those of others; and what is new begins with none."""
    tokenizer, other = small_tokenizer(), nested_tokenizer()
    with tokcy.patched_hf():
        assert [tokcy.hf.fallback_reason(each) for each in (tokenizer, other)] == [None, None]
        copies = [made(each) for each in (tokenizer, word_tokenizer())]
        assert [is_native(each.encode("a")) for each in (tokenizer, other)] == [True, True]
        assert not any(is_native(each.encode("a")) for each in copies)


@pytest.mark.usefixtures("at_once")
def test_changes_through_others_that_share_a_component() -> None:
    tokenizer, other = nested_tokenizer(), nested_tokenizer()
    other.normalizer = tokenizer.normalizer  # one object to tokenizers
    before = results(tokenizer)
    other.normalizer[1] = normalizers.NFKC()
    now = results(tokenizer)
    assert now != before
    assert is_native(tokenizer.encode("a"))
    assert now == results(Tokenizer.from_str(tokenizer.to_str()))
    assert now == results(other)


def test_a_change_back_finds_the_engine_again() -> None:
    tokenizer, keeper = small_tokenizer(), small_tokenizer()
    with native():
        twin = attachment.twin_for(keeper, "a")
        assert attachment.twin_for(tokenizer, "a") is twin
        template, tokenizer.post_processor = tokenizer.post_processor, None
        assert attachment.twin_for(tokenizer, "a") is not twin
        tokenizer.post_processor = template
        assert attachment.twin_for(tokenizer, "a") is twin


def test_copies_share_one_engine() -> None:
    tokenizer = small_tokenizer()
    with native():
        copies: list[Any] = [
            copy.deepcopy(tokenizer),
            copy.copy(tokenizer),
            pickle.loads(pickle.dumps(tokenizer)),
            Tokenizer.from_str(tokenizer.to_str()),
        ]
        truncating = Tokenizer.from_str(tokenizer.to_str())
        truncating.enable_truncation(3)
        truncating.enable_padding(length=8)
        twin = attachment.twin_for(tokenizer, "a")
        for each in (*copies, truncating):
            assert attachment.twin_for(each, "a") is twin
        assert truncating.encode("hello it's").ids[3:] == [0] * 5
        copies[0].add_tokens(["new"])
        assert copies[0].encode("new").tokens[1] == "new"
        assert tokenizer.encode("new").tokens[1] != "new"


def test_engines_go_with_their_tokenizers() -> None:
    gc.collect()
    before = len(twins.twins_alive())
    with native():
        made = [small_tokenizer() for _ in range(3)]
        for i, tokenizer in enumerate(made):
            tokenizer.add_tokens([f"t{i}"])
            tokenizer.encode("a")
        assert len(twins.twins_alive()) == before + 3
        encoding: Any = made[0].encode("hello")
        del made, tokenizer
        gc.collect()
        assert len(twins.twins_alive()) == before
        assert encoding.tokens[0] == "<s>"  # what it needs it has kept


def test_a_pool_of_copies_makes_one_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = small_tokenizer()
    tokenizer.add_tokens(["pool"])
    made: list[str] = []
    make = twins._make

    def counted(content: str) -> twins.Twin:
        made.append(content)
        return make(content)

    monkeypatch.setattr(twins, "_make", counted)
    pool = [copy.deepcopy(tokenizer) for _ in range(8)]
    ready = threading.Barrier(len(pool))
    found: list[Any] = []

    def work(own: Any) -> None:
        ready.wait()
        found.append(own.encode("pool"))

    with native():
        threads = [threading.Thread(target=work, args=[own]) for own in pool]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(made) == 1
    assert len(found) == len(pool)
    assert all(map(is_native, found))


def test_little_work_makes_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "_FIRST_WORK", 10_000)
    tokenizer = small_tokenizer()
    built: list[object] = []
    twin_of = twins.twin_of

    def counted(tokenizer: Any) -> twins.Twin:
        built.append(tokenizer)
        return twin_of(tokenizer)

    monkeypatch.setattr(attachment, "twin_of", counted)
    with tokcy.patched_hf():
        for _ in range(100):  # such as a set-up that looks what it has done
            tokenizer.add_tokens([f"<{len(built)}>"])
            assert not is_native(tokenizer.encode("hello"))
            tokenizer.decode([1] * 20)
        assert not built
        assert is_native(tokenizer.encode("hello" * 3000))
        assert is_native(tokenizer.encode("hello"))
        for i in range(200):  # changes for ever, with as much work between them
            tokenizer.add_tokens([f"<{i}>"])
            tokenizer.encode("hello" * 3000)
        assert len(built) < 20
        while not is_native(tokenizer.encode("hello" * 3000)):
            pass
        before = len(built)
        Tokenizer.from_str(tokenizer.to_str()).model.dropout = None  # epoch goes on
        assert is_native(tokenizer.encode("hello"))
        assert len(built) == before


@pytest.mark.parametrize("kind", ["normalizer", "pre_tokenizer", "decoder"])
def test_components_in_python(kind: str) -> None:
    class Custom:
        def normalize(self, text: Any) -> None:
            text.lowercase()

        def pre_tokenize(self, text: Any) -> None:
            text.split(lambda _, part: [part[:3], part[3:]])

        def decode_chain(self, tokens: list[str]) -> list[str]:
            return ["-".join(tokens)]

    types: dict[str, Any] = {
        "normalizer": normalizers.Normalizer,
        "pre_tokenizer": pre_tokenizers.PreTokenizer,
        "decoder": decoders.Decoder,
    }
    component = types[kind].custom(Custom())
    tokenizer = small_tokenizer()
    with native():
        assert is_native(tokenizer.encode("hello"))
    setattr(tokenizer, kind, component)
    expected = results_of_any(tokenizer)
    with tokcy.patched_hf():
        assert "cannot be written as JSON" in str(tokcy.hf.fallback_reason(tokenizer))
        assert results_of_any(tokenizer) == expected
        setattr(tokenizer, kind, None)
        assert tokcy.hf.fallback_reason(tokenizer) is None or kind == "pre_tokenizer"
    setattr(tokenizer, kind, component)
    with native(), pytest.raises(tokcy.FallbackError, match="cannot be written as JSON"):
        tokenizer.encode("hello")


def results_of_any(tokenizer: Any) -> Any:
    return [tokenizer.encode(TEXTS[1]).ids, tokenizer.decode(list(range(270, 300)))]


def test_a_past_that_json_does_not_tell() -> None:
    tokenizer = small_tokenizer()
    tokenizer.add_tokens([AddedToken("zz", special=True)])
    tokenizer.add_tokens([AddedToken("zz", special=False)])
    token_id: Any = tokenizer.token_to_id("zz")
    expected = tokenizer.decode([token_id] * 20)
    told = Tokenizer.from_str(tokenizer.to_str()).decode([token_id] * 20)
    with tokcy.patched_hf():
        reason = tokcy.hf.fallback_reason(tokenizer)
        assert (reason is None) == (told == expected)
        assert tokenizer.decode([token_id] * 20) == expected


def test_options_that_keep_it_from_being_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "_FIRST_WORK", 1000)
    tokenizer = small_tokenizer()
    tokenizer.encode_special_tokens = True
    with native():
        reason = tokcy.hf.fallback_reason(tokenizer)
        assert reason == "too little text since the last change"
        tokenizer.encode_special_tokens = False
        assert not is_native(tokenizer.encode("a"))  # to try each time again would take long
        assert is_native(tokenizer.encode("a" * 3000))
        assert is_native(tokenizer.encode("a"))
        assert tokcy.hf.fallback_reason(tokenizer) is None


def test_an_engine_that_lived_long_is_made_anew_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "_LONG_LIFE", 0.0)
    monkeypatch.setattr(attachment, "_FIRST_WORK", 1000)
    tokenizer = small_tokenizer()
    with tokcy.patched_hf():
        for i in range(20):
            assert is_native(tokenizer.encode("hello" * 300))
            tokenizer.add_tokens([f"<{i}>"])


@pytest.fixture(autouse=True)
def forget_warnings() -> Iterator[None]:
    yield
    attachment._warned.clear()


def test_nothing_of_it_is_saved() -> None:
    for tokenizer in (small_tokenizer(), word_tokenizer()):
        before = pickle.dumps(tokenizer), tokenizer.__getstate__(), json.loads(tokenizer.to_str())
        with tokcy.patched_hf():
            tokcy.hf.fallback_reason(tokenizer)
            tokenizer.encode("hello")
            assert vars(tokenizer)
            assert pickle.dumps(tokenizer) == before[0]
            assert tokenizer.__getstate__() == before[1]
            assert json.loads(tokenizer.to_str()) == before[2]
            for again in (copy.copy(tokenizer), copy.deepcopy(tokenizer)):
                assert not vars(again)
