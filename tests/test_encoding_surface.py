"""The surface of an Encoding: arguments, errors, pickles, copies, merging with Hugging Face's."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import synthetic
import tokenizers
from encoding_pairs import assert_same, encoder_of, outcome, set_options
from transformers import BatchEncoding

from tokcy import TokcyError
from tokcy._encoding import Encoding
from tokcy.dropin.encoding import Encoder
from tokcy.errors import EncodeTypeError

TEXT = "Hello, wörld 🙂 it's\n"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
FILE = json.dumps({**synthetic.trained_model(), "post_processor": BYTE_LEVEL})
ORACLE = tokenizers.Tokenizer.from_str(FILE)
PAIR = Callable[[Any], Any]


def encoder() -> Encoder:
    made = encoder_of(FILE, ORACLE)
    assert made is not None
    return made


def pair() -> tuple[Encoding, tokenizers.Encoding]:
    set_options(ORACLE, {"max_length": 8, "stride": 2}, {"length": 10, "pad_token": "\x01é"})
    ours = encoder().encode(TEXT, True, ORACLE.truncation, ORACLE.padding)
    return ours, ORACLE.encode(TEXT)


def test_same_names_and_defaults() -> None:
    public = {name for name in dir(tokenizers.Encoding) if not name.startswith("__")}
    assert public == {name for name in dir(Encoding) if not name.startswith("__")}
    assert_same(Encoding(), tokenizers.Encoding())
    for kind in (Encoding, tokenizers.Encoding):
        with pytest.raises(TypeError):
            kind(1)  # type: ignore[call-arg]


CALLS: list[PAIR] = [
    *(lambda e, bad=bad: e.char_to_token(bad) for bad in (-1, 2**70, 1.0, "a", None)),
    *(lambda e, bad=bad: e.word_to_tokens(bad) for bad in (-1, 2**32, 1.0, "a", None)),
    *(lambda e, bad=bad: e.token_to_chars(bad) for bad in (-1, 2**64, 2**63, None)),
    lambda e: e.char_to_token(),
    lambda e: e.char_to_token(char_pos=1, sequence_index=0),
    lambda e: e.char_to_word(char_pos=1, sequence_index=7),
    lambda e: e.word_to_chars(word_index=1, sequence_index=0),
    lambda e: e.token_to_word(token_index=1),
    lambda e: e.set_sequence_id(sequence_id=-1),
    *(lambda e, bad=bad: e.truncate(bad) for bad in (-1, 2**64, 1.5, "a")),
    lambda e: e.truncate(),
    lambda e: e.truncate(2, direction="up"),
    lambda e: e.truncate(2, direction=1),
    lambda e: e.truncate(2, 0, "right", 1),
    lambda e: e.truncate(max_length=2, stride=2),
    lambda e: e.pad(),
    lambda e: e.pad(-1),
    lambda e: e.pad(20, "left"),
    lambda e: e.pad(20, direction="up"),
    lambda e: e.pad(20, direction=1),
    lambda e: e.pad(20, pad_id=-1),
    lambda e: e.pad(20, pad_id=2**32),
    lambda e: e.pad(20, pad_type_id="x"),
    lambda e: e.pad(20, pad_token=1),
    lambda e: type(e).merge([]).ids,
    lambda e: type(e).merge([e, 1]),
    lambda e: type(e).merge((e, e)).offsets,
    lambda e: type(e).merge([e, e], growing_offsets=False).offsets,
    lambda e: type(e).merge([e], 1),
    *(lambda e, bad=bad: type(e).merge(bad) for bad in (1, "ab", "", {1}, None)),
    lambda e: type(e).merge(item for item in [e]),
    lambda e: e.__setstate__("x"),
    lambda e: iter(e),
    lambda e: e[0],
    lambda e: setattr(e, "ids", [1]),
    lambda e: e == e,
    lambda e: e == copy.copy(e),
    lambda e: hash(e) == hash(e),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_arguments_and_errors(number: int) -> None:
    ours, theirs = pair()
    assert outcome(lambda: CALLS[number](ours)) == outcome(lambda: CALLS[number](theirs))
    assert_same(ours, theirs)


def test_unknown_options_of_pad_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    ours, _ = pair()
    ours.pad(3, foo=1)
    assert caplog.messages == ["Ignored unknown kwarg option foo"]


def test_words_are_deprecated() -> None:
    ours, theirs = pair()
    with pytest.warns(DeprecationWarning, match="use Encoding.word_ids"):
        assert ours.words == theirs.word_ids


def test_pickles_are_those_of_hugging_face() -> None:
    ours, theirs = pair()
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(ours, protocol)
        assert b"tokcy" not in data
        loaded = pickle.loads(data)
        assert type(loaded) is tokenizers.Encoding
        assert_same(ours, loaded)
    assert ours.__getstate__() == theirs.__getstate__()
    restored = Encoding()
    restored.__setstate__(theirs.__getstate__())
    assert_same(restored, theirs)


BROKEN: list[tuple[str, Any]] = [
    *((name, None) for name in ("ids", "tokens", "offsets", "sequence_ranges", "overflowing")),
    *(("ids", bad) for bad in ([1], [-1] * 10, [2**32] * 10, ["a"] * 10, 7)),
    *(("offsets", bad) for bad in ([[0, 1]], [[0]] * 10, [[0, 2**64]] * 10)),
    ("tokens", [1] * 10),
    ("words", ["a"] * 10),
    ("words", [-5] * 10),
    ("sequence_ranges", {"0": {"start": 0, "end": 11}}),
    ("sequence_ranges", {"0": {"start": 5, "end": 1}}),
    ("overflowing", [{}]),
]


@pytest.mark.parametrize(("name", "value"), BROKEN)
def test_broken_states_are_refused(name: str, value: Any) -> None:
    state = json.loads(pair()[1].__getstate__())
    state[name] = value
    encoding, _ = pair()
    before = encoding.__getstate__()
    with pytest.raises(TokcyError, match="unpickle Encoding"):
        encoding.__setstate__(json.dumps(state).encode())
    assert encoding.__getstate__() == before


@pytest.mark.parametrize("state", [b"x", b"[]", b"{}", b"", b"\xff", b"null"])
def test_other_states_are_refused(state: bytes) -> None:
    with pytest.raises(TokcyError, match="unpickle Encoding"):
        Encoding().__setstate__(state)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_are_apart(copied: Callable[[Encoding], Encoding]) -> None:
    ours, theirs = pair()
    twin = copied(ours)
    assert type(twin) is Encoding
    twin.truncate(2)
    twin.set_sequence_id(3)
    ours.overflowing[0].pad(30)
    ours.ids.clear()
    ours.tokens.clear()
    assert_same(ours, theirs)
    theirs.truncate(2)
    theirs.set_sequence_id(3)
    assert_same_but_for_ranges(twin, theirs)


def assert_same_but_for_ranges(ours: Encoding, theirs: tokenizers.Encoding) -> None:
    assert (ours.ids, ours.offsets, ours.tokens) == (theirs.ids, theirs.offsets, theirs.tokens)
    assert ours.n_sequences == theirs.n_sequences


def test_merging_with_those_of_hugging_face() -> None:
    ours, theirs = pair()
    expected = tokenizers.Encoding.merge([theirs, theirs])
    assert_same(Encoding.merge([ours, theirs]), expected)
    assert_same(Encoding.merge([theirs, ours]), expected)


def test_second_sequence() -> None:
    set_options(ORACLE, None, None)
    ours, theirs = encoder().encode(TEXT), ORACLE.encode(TEXT)
    merged: list[Any] = []
    pairs: list[Any] = [(ours, encoder().encode("Über")), (theirs, ORACLE.encode("Über"))]
    for first, second in pairs:
        state = json.loads(second.__getstate__())
        state["sequence_ranges"] = {"1": state["sequence_ranges"]["0"]}
        second.__setstate__(json.dumps(state).encode())
        merged.append(type(first).merge([first, second], growing_offsets=False))
    assert merged[0].n_sequences == 2
    assert_same(*merged)
    for place in range(20):
        for sequence in range(3):
            for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
                mine, other = (getattr(encoding, name)(place, sequence) for encoding in merged)
                assert mine == other, (name, place, sequence)


def test_in_a_batch_encoding() -> None:
    set_options(ORACLE, None, None)
    both = []
    batches: list[Any] = [encoder().encode_batch([TEXT, "a b"]), ORACLE.encode_batch([TEXT, "a b"])]
    for encodings in batches:
        both.append(BatchEncoding({"input_ids": [e.ids for e in encodings]}, encodings))
    ours, theirs = both
    assert ours.is_fast
    assert ours.n_sequences == theirs.n_sequences == 1
    assert ours.tokens(1) == theirs.tokens(1)
    assert ours.word_ids(0) == theirs.word_ids(0)
    assert ours.sequence_ids(0) == theirs.sequence_ids(0)
    for place in range(8):
        assert ours.char_to_token(0, place) == theirs.char_to_token(0, place)
        assert ours.token_to_chars(0, place) == theirs.token_to_chars(0, place)
        assert ours.token_to_word(0, place) == theirs.token_to_word(0, place)
    assert ours.word_to_tokens(0, 1) == theirs.word_to_tokens(0, 1)
    again = pickle.loads(pickle.dumps(ours))
    assert again.tokens(1) == theirs.tokens(1)
    assert copy.deepcopy(ours)[0].offsets == theirs[0].offsets


def test_needs_the_reference_only_where_it_must() -> None:
    token = {**synthetic.added_token("<T>", normalized=True, lstrip=True), "special": False}
    lower = {"type": "Lowercase"}
    file = json.dumps(
        {**synthetic.model_from_merges([("a", "b")], added_tokens=[token]), "normalizer": lower}
    )
    oracle = tokenizers.Tokenizer.from_str(file)
    made = encoder_of(file, oracle)
    assert made is not None
    assert_same(made.encode("Ab  <T> b <t>"), oracle.encode("Ab  <T> b <t>"))
    alone = Encoder(made._backend, None)
    assert alone.encode("Abab").tokens == oracle.encode("Abab").tokens
    with pytest.raises(TokcyError, match="what an added token has matched"):
        _ = alone.encode("a <T>").tokens


def test_threads_share_an_encoding() -> None:
    set_options(ORACLE, None, None)
    theirs = ORACLE.encode(TEXT * 50)
    failures: list[BaseException] = []
    ours = encoder().encode(TEXT * 50)

    def read() -> None:
        try:
            assert_same(ours, theirs)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_is_freed() -> None:
    made = encoder()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(200):
        ours = made.encode(TEXT)
        ours.pad(20)
        _ = ours.offsets
        del ours
    gc.collect()
    assert len(gc.get_objects()) < before + 50


@pytest.mark.parametrize("kind", [np.str_, type("Text", (str,), {})])
def test_classes_of_str(kind: type[str]) -> None:
    set_options(ORACLE, None, None)
    theirs = ORACLE.encode(TEXT)
    assert_same(encoder().encode(kind(TEXT)), theirs)
    assert_same(encoder().encode_batch([kind(TEXT)])[0], theirs)


@pytest.mark.parametrize("bad", [None, b"a", 1, "\ud800", ["a"]])
def test_other_texts_are_refused(bad: Any) -> None:
    with pytest.raises(EncodeTypeError):
        encoder().encode(bad)
    with pytest.raises(EncodeTypeError):
        encoder().encode_batch(["a", bad])


def test_takes_attributes() -> None:
    ours, theirs = pair()
    for encoding in (ours, theirs):
        encoding.note = "mine"  # type: ignore[union-attr]
        assert encoding.note == "mine"  # type: ignore[union-attr]
