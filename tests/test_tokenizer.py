"""The public class: every call, every argument, every error."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

import tokcy
from tokcy import (
    EncodeTypeError,
    ModelFileError,
    ModelNotFoundError,
    TokcyError,
    TokenBatch,
    TokenIdError,
    Tokenizer,
    loading,
)


def special_model() -> dict[str, Any]:
    model = synthetic.trained_model()
    size = len(model["model"]["vocab"])
    model["added_tokens"] = [
        {**synthetic.added_token("<s>"), "id": size},
        {**synthetic.added_token("</s>"), "id": size + 1},
        {**synthetic.added_token("<think>"), "id": size + 2, "special": False},
    ]
    model["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "</s>", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            "<s>": {"id": "<s>", "ids": [size], "tokens": ["<s>"]},
            "</s>": {"id": "</s>", "ids": [size + 1], "tokens": ["</s>"]},
        },
    }
    return model


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.from_json(json.dumps(special_model()))


@pytest.fixture(scope="module")
def fallback() -> Tokenizer:
    """The same model with a step that changes nothing and only Hugging Face runs."""
    model = special_model()
    pattern = {"Regex": "(?<=\ue000)\ue000"}
    model["normalizer"] = {"type": "Replace", "pattern": pattern, "content": "\ue000"}
    found = Tokenizer.from_json(json.dumps(model))
    assert found.backend == "huggingface"
    return found


@pytest.fixture(scope="module")
def oracle() -> tokenizers.Tokenizer:
    return synthetic.load(special_model())


texts = st.lists(
    st.one_of(st.sampled_from(["<s>", "</s>", "<think>", " "]), synthetic.texts()), max_size=6
).map("".join)


@given(text=texts, special=st.booleans())
def test_both_backends_equal_the_oracle(
    tok: Tokenizer, fallback: Tokenizer, oracle: tokenizers.Tokenizer, text: str, special: bool
) -> None:
    expected = oracle.encode(text, add_special_tokens=special)
    for subject in (tok, fallback):
        ids = subject.encode(text, add_special_tokens=special)
        assert ids.dtype == np.uint32
        assert ids.tolist() == expected.ids
        assert subject.encode_to_list(text, add_special_tokens=special) == expected.ids
        assert subject.count(text, add_special_tokens=special) == len(ids)
        same, offsets = subject.encode_with_offsets(text, add_special_tokens=special)
        assert same.tolist() == expected.ids
        assert offsets.tolist() == [list(pair) for pair in expected.offsets]
        assert (
            subject.encode_batch([text, ""], add_special_tokens=special)[0].tolist() == expected.ids
        )
        for skip in (False, True):
            decoded = subject.decode(ids, skip_special_tokens=skip)
            assert decoded == oracle.decode(expected.ids, skip_special_tokens=skip)
            data = subject.decode_bytes(ids, skip_special_tokens=skip)
            assert data.decode("utf-8", "replace") == decoded


@given(text=texts)
def test_no_control_token_from_untrusted_text(
    tok: Tokenizer, fallback: Tokenizer, text: str
) -> None:
    control = {token.id for token in tok.added_tokens}
    plain = synthetic.load({**special_model(), "added_tokens": [], "post_processor": None})
    for subject in (tok, fallback):
        ids = subject.encode(text, allow_special=False, add_special_tokens=False).tolist()
        assert control.isdisjoint(ids)
        assert ids == plain.encode(text).ids
        options: dict[str, Any] = {"allow_special": False, "add_special_tokens": False}
        assert subject.encode_to_list(text, **options) == ids
        around = subject.encode(text, allow_special=False).tolist()
        assert around == [*subject.encode("").tolist()[:1], *ids, *subject.encode("").tolist()[1:]]


@pytest.mark.parametrize("ignore_merges", [True, False])
def test_control_token_that_the_model_makes_by_itself(ignore_merges: bool) -> None:
    """With "ab" both a control token and a word, text that holds it is refused, not let through."""
    model = synthetic.model_from_merges(
        [("a", "b")], added_tokens=[synthetic.added_token("ab")], ignore_merges=ignore_merges
    )
    changed = {**model, "normalizer": {"type": "Nmt"}}
    for subject in (Tokenizer.from_json(json.dumps(m)) for m in (model, changed)):
        assert subject.encode("a b", allow_special=False).tolist()
        calls: list[Callable[..., Any]] = [
            subject.encode,
            subject.encode_to_list,
            subject.count,
            subject.encode_with_offsets,
        ]
        for call in calls:
            with pytest.raises(TokcyError, match="makes its control token 'ab' of plain text"):
                call("x ab", allow_special=False)
        with pytest.raises(TokcyError, match=r"^texts\[1\]: the model makes its control token"):
            subject.encode_batch(["x", "ab"], allow_special=False)


def test_the_unknown_token_is_no_control_token() -> None:
    model = {
        "added_tokens": [{**synthetic.added_token("<unk>"), "id": 0}],
        "model": {"type": "BPE", "vocab": {"<unk>": 0, "a": 1}, "merges": [], "unk_token": "<unk>"},
    }
    text = json.dumps(model)
    for name in ("tokcy", "huggingface"):
        subject = Tokenizer.from_json(text, backend=name)
        assert subject.backend == name
        assert subject.encode("aéa", allow_special=False).tolist() == [1, 0, 1]
        assert subject.encode_batch(["é"], allow_special=False)[0].tolist() == [0]


@pytest.mark.parametrize("prefix", ["", "##"])
@pytest.mark.parametrize("name", ["tokcy", "huggingface"])
def test_an_unknown_token_that_only_its_spelling_becomes(name: str, prefix: str) -> None:
    """The model knows each byte, so its unknown token is a control token as others are."""
    marked = [prefix + byte for byte in synthetic.BYTES if prefix]
    model = synthetic.model_from_merges([], extra_tokens=[*marked, "ab"])
    merges = [["a", prefix + "b"]]
    fields = {"merges": merges, "unk_token": "ab", "continuing_subword_prefix": prefix}
    model["model"] |= fields
    model["added_tokens"] = [{**synthetic.added_token("ab"), "id": model["model"]["vocab"]["ab"]}]
    subject = Tokenizer.from_json(json.dumps(model), backend=name)
    assert subject.backend == name
    assert subject.encode("ab a é").tolist() == synthetic.load(model).encode("ab a é").ids
    assert len(subject.encode("ba é", allow_special=False)) == 5
    with pytest.raises(TokcyError, match="makes its control token 'ab' of plain text"):
        subject.encode("ab", allow_special=False)
    with pytest.raises(TokcyError, match="makes its control token 'ab' of plain text"):
        subject.encode_segments([("ab", True), ("ab", False)])


@pytest.mark.parametrize("name", ["tokcy", "huggingface"])
def test_a_control_token_with_the_id_of_an_entry(name: str) -> None:
    """Ids of added tokens go on from the number of entries, whatever ids these have (rule A1)."""
    model = {
        "added_tokens": [{**synthetic.added_token("<s>"), "id": 7}],
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 2}, "merges": []},
    }
    subject = Tokenizer.from_json(json.dumps(model), backend=name)
    assert subject.backend == name
    assert subject.encode("a<s>b").tolist() == [0, 2, 2]
    assert subject.encode("a<s>", allow_special=False).tolist() == [0]
    with pytest.raises(TokcyError, match="makes its control token '<s>' of plain text"):
        subject.encode("ab", allow_special=False)


def test_what_no_token_can_be(tok: Tokenizer, fallback: Tokenizer) -> None:
    for subject in (tok, fallback):
        assert subject.token_to_id("\ud800") is None
        for wrong in (5, b"a", None, ["a"]):
            with pytest.raises(TypeError, match=f"token must be str, not {type(wrong).__name__}"):
                subject.token_to_id(wrong)  # type: ignore[arg-type]


def test_batches(tok: Tokenizer) -> None:
    batch = tok.encode_batch(["one two", "", "three"])
    assert isinstance(batch, TokenBatch)
    assert [ids.tolist() for ids in batch] == [
        tok.encode(text).tolist() for text in ("one two", "", "three")
    ]
    counts = tok.count_batch(["one two", "", "three"])
    assert counts.dtype == np.int64
    assert counts.tolist() == batch.lengths.tolist()
    assert tok.decode_batch(batch, skip_special_tokens=True) == ["one two", "", "three"]
    assert tok.decode_batch([[1, 2], []]) == [tok.decode([1, 2]), ""]


@given(text=texts, limit=st.integers(0, 40), special=st.booleans(), allow=st.booleans())
def test_truncate(tok: Tokenizer, text: str, limit: int, special: bool, allow: bool) -> None:
    def count(part: str) -> int:
        return tok.count(part, add_special_tokens=special, allow_special=allow)

    limit += count("")
    cut = tok.truncate(text, limit, add_special_tokens=special, allow_special=allow)
    assert text.startswith(cut)
    assert count(cut) <= limit
    if count(text) <= limit:
        assert cut == text


def test_truncate_cuts_behind_a_token(tok: Tokenizer) -> None:
    text = "The tokenizer turns text into numbers"
    ids, offsets = tok.encode_with_offsets(text, add_special_tokens=False)
    for n in range(len(ids)):
        cut = tok.truncate(text, n, add_special_tokens=False)
        assert cut == (text[: offsets[n - 1, 1]] if n else "")
    assert tok.truncate("🙂" * 5, 1, add_special_tokens=False) in ("", "🙂")


@pytest.mark.parametrize("subject", ["tok", "fallback"])
def test_truncate_refuses_what_no_text_fulfils(
    subject: str, request: pytest.FixtureRequest
) -> None:
    chosen: Tokenizer = request.getfixturevalue(subject)
    with pytest.raises(ValueError, match="max_tokens must be at least 0, not -1"):
        chosen.truncate("text", -1)
    for text in ("text", ""):
        for limit in (0, 1):
            message = f"max_tokens is {limit}, but an empty text encodes to 2 tokens"
            with pytest.raises(ValueError, match=message):
                chosen.truncate(text, limit)
        assert chosen.truncate(text, 2) == ""
        assert chosen.truncate(text, 0, add_special_tokens=False) == ""


def padding(**changes: Any) -> dict[str, Any]:
    return {
        "strategy": "BatchLongest",
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "!",
        **changes,
    }


@pytest.mark.parametrize("direction", ["Left", "Right"])
@pytest.mark.parametrize(
    "padded", [{}, {"strategy": {"Fixed": 8}}, {"pad_to_multiple_of": 4}], ids=str
)
@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("native", [False, True])
def test_truncate_of_a_model_that_pads(
    direction: str, padded: dict[str, Any], special: bool, native: bool
) -> None:
    model = special_model() | {"padding": padding(direction=direction, **padded)}
    model["normalizer"] = None if native else {"type": "Nmt"}
    chosen = Tokenizer.from_json(json.dumps(model))
    assert chosen.backend == ("tokcy" if native else "huggingface")
    text = "~^" * 10
    assert len(synthetic.load(special_model()).encode(text, add_special_tokens=False)) == len(text)
    fitting = {
        chosen.count(text[:n], add_special_tokens=special): text[:n] for n in range(len(text) + 1)
    }
    for limit in range(chosen.count("", add_special_tokens=special), 24):
        longest = fitting[max(n for n in fitting if n <= limit)]
        assert chosen.truncate(text, limit, add_special_tokens=special) == longest


def test_str_subclasses(tok: Tokenizer) -> None:
    class Text(str):
        pass

    for text in (Text("one two"), np.str_("one two")):
        assert tok.encode(text).tolist() == tok.encode("one two").tolist()


@pytest.mark.parametrize("subject", ["tok", "fallback"])
@pytest.mark.parametrize("text", [None, b"bytes", 3, ["a"], ("a", "b")])
def test_no_text(subject: str, text: Any, request: pytest.FixtureRequest) -> None:
    chosen: Tokenizer = request.getfixturevalue(subject)
    name = type(text).__name__
    calls: list[Callable[..., Any]] = [
        chosen.encode,
        chosen.encode_to_list,
        chosen.count,
        chosen.encode_with_offsets,
    ]
    for call in calls:
        with pytest.raises(EncodeTypeError, match=f"text must be str, not {name}"):
            call(text)
    with pytest.raises(EncodeTypeError, match=rf"texts\[1\]: text must be str, not {name}"):
        chosen.encode_batch(["a", text])


@pytest.mark.parametrize("subject", ["tok", "fallback"])
def test_lone_surrogates_and_bare_batches(subject: str, request: pytest.FixtureRequest) -> None:
    chosen: Tokenizer = request.getfixturevalue(subject)
    for text in ("ab\ud800c", "é" * 70_000 + "\udfff"):
        with pytest.raises(EncodeTypeError, match=r"lone surrogate .* at index") as caught:
            chosen.encode(text)
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, TokcyError)
    bare: list[Any] = ["text", b"text"]
    for batch in bare:
        with pytest.raises(EncodeTypeError, match="texts must be a sequence of str"):
            chosen.encode_batch(batch)


@pytest.mark.parametrize("subject", ["tok", "fallback"])
@pytest.mark.parametrize("threads", [0, -3])
def test_bad_thread_numbers(subject: str, threads: int, request: pytest.FixtureRequest) -> None:
    chosen: Tokenizer = request.getfixturevalue(subject)
    calls: list[Callable[..., Any]] = [chosen.encode, chosen.encode_to_list, chosen.count]
    batch_calls: list[Callable[..., Any]] = [chosen.encode_batch, chosen.count_batch]
    for text in ("short", "long " * 100_000):
        for call in (*calls, *batch_calls):
            given_text = text if call in calls else [text]
            with pytest.raises(ValueError, match="num_threads must be at least 1"):
                call(given_text, num_threads=threads)
    others: list[Any] = ["2", 1.0, True]
    for number in others:
        with pytest.raises(TypeError):
            chosen.encode("a", num_threads=number)
        with pytest.raises(TypeError):
            chosen.encode_batch(["a"], num_threads=number)
    assert chosen.encode("a", num_threads=np.int64(1)).tolist() == chosen.encode("a").tolist()


@pytest.mark.parametrize("subject", ["tok", "fallback"])
def test_kinds_of_ids(subject: str, request: pytest.FixtureRequest) -> None:
    chosen: Tokenizer = request.getfixturevalue(subject)
    ids = chosen.encode("one two")
    text = chosen.decode(ids)
    kinds: list[Any] = [
        ids.tolist(),
        tuple(ids.tolist()),
        ids.astype(np.int64),
        ids.astype(np.uint16),
        np.repeat(ids, 2)[::2],
        ids.astype(">i4"),
        ids.astype(object),
        [np.uint64(i) for i in ids],
    ]
    for kind in kinds:
        assert chosen.decode(kind) == text
    frozen = ids.copy()
    frozen.flags.writeable = False
    assert chosen.decode(frozen) == text
    assert chosen.decode([]) == chosen.decode(np.empty(0)) == ""
    assert chosen.decode([True]) == chosen.decode([1])
    assert chosen.decode([2**32 - 1, *ids.tolist(), 10_000_000]) == text
    wrong_ids: list[tuple[list[Any], int]] = [
        ([-1], -1),
        ([2**32], 2**32),
        ([3, -5], -5),
        ([2**64], 2**64),
        ([1, -(2**70)], -(2**70)),
        ([2**63, -1], -1),
        ([2**63, 1], 2**63),
    ]
    for wrong, named in wrong_ids:
        message = re.escape(f"token id {named} is not between 0 and 2**32 - 1")
        for decode in (chosen.decode, chosen.decode_bytes):
            with pytest.raises(TokenIdError, match=message):
                decode(wrong)
    others: list[Any] = [
        [1.5],
        ["1"],
        5,
        [[1, 2]],
        [[1, 2], [3]],
        None,
        [None],
        [2**64, 1.5],
        [2**64, "1"],
        np.array([1.0]),
        np.array([1, None]),
        b"12",
        bytearray(b"12"),
    ]
    for no_ids in others:
        with pytest.raises(TypeError, match="ids must be"):
            chosen.decode(no_ids)


@pytest.mark.parametrize("subject", ["tok", "fallback"])
def test_ids_of_tokens(subject: str, request: pytest.FixtureRequest) -> None:
    chosen: Tokenizer = request.getfixturevalue(subject)
    assert chosen.id_to_token(np.int64(5)) == chosen.id_to_token(5) is not None
    for outside in (-1, -(2**70), 2**32 - 1, 2**32, 2**32 + 5, 2**70):
        assert chosen.id_to_token(outside) is None
    others: list[Any] = [5.0, None, "5", np.float64(5)]
    for no_id in others:
        with pytest.raises(TypeError):
            chosen.id_to_token(no_id)


@pytest.mark.parametrize("flag", [0, 1, None, "", "yes", np.True_])
def test_flags_are_what_python_takes_for_true(
    tok: Tokenizer, fallback: Tokenizer, flag: Any
) -> None:
    text = "one <s> two"
    ids = tok.encode(text).tolist()
    for chosen in (tok, fallback):
        for name in ("add_special_tokens", "allow_special"):
            given_flag: dict[str, Any] = {name: flag}
            same: dict[str, Any] = {name: bool(flag)}
            expected = chosen.encode(text, **same).tolist()
            assert chosen.encode(text, **given_flag).tolist() == expected
            assert chosen.encode_batch([text], **given_flag)[0].tolist() == expected
            assert chosen.encode_with_offsets(text, **given_flag)[0].tolist() == expected
            assert chosen.encode_to_list(text, **given_flag) == expected
            assert chosen.count(text, **given_flag) == len(expected)
        decoded = chosen.decode(ids, skip_special_tokens=flag)
        assert decoded == tok.decode(ids, skip_special_tokens=bool(flag))
        assert chosen.get_vocab(flag) == tok.get_vocab(bool(flag))


def test_json_is_text_or_bytes() -> None:
    content = json.dumps(synthetic.trained_model()).encode()
    expected = Tokenizer.from_json(content).get_vocab()
    for same in (content.decode(), bytearray(content), memoryview(content)):
        assert Tokenizer.from_json(same).get_vocab() == expected
    others: list[Any] = [5, None, ["{}"], json.loads(content)]
    for other in others:
        message = f"text must be str or bytes, not {type(other).__name__}"
        with pytest.raises(TypeError, match=message):
            Tokenizer.from_json(other)


def test_vocabulary(tok: Tokenizer, fallback: Tokenizer, oracle: tokenizers.Tokenizer) -> None:
    for subject in (tok, fallback):
        assert subject.get_vocab() == oracle.get_vocab()
        assert subject.get_vocab(with_added_tokens=False) == oracle.get_vocab(False)
        assert len(subject) == oracle.get_vocab_size(True)
        assert subject.vocab_size == oracle.get_vocab_size(False)
        for token in ("<s>", "<think>", "Ġthe", "a", "Ċ", "nothing"):
            assert subject.token_to_id(token) == oracle.token_to_id(token)
        for token_id in range(len(subject) + 2):
            assert subject.id_to_token(token_id) == oracle.id_to_token(token_id)
        assert [t.content for t in subject.added_tokens] == ["<s>", "</s>", "<think>"]
        assert [t.special for t in subject.added_tokens] == [True, True, False]


@pytest.mark.parametrize("subject", ["tok", "fallback"])
def test_copies(subject: str, request: pytest.FixtureRequest) -> None:
    chosen: Tokenizer = request.getfixturevalue(subject)
    text = "The tokenizer <s> turns"
    assert copy.copy(chosen) is chosen
    assert copy.deepcopy({"tok": chosen})["tok"] is chosen
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(chosen, protocol))
        assert again.encode(text).tolist() == chosen.encode(text).tolist()
        assert (again.backend, again.source) == (chosen.backend, chosen.source)
        assert again.fallback_reason == chosen.fallback_reason


def test_repr_and_state(tok: Tokenizer, fallback: Tokenizer) -> None:
    assert repr(tok) == f"<Tokenizer '<string>': {len(tok)} tokens, backend tokcy>"
    assert tok.fallback_reason is None
    assert "backend huggingface" in repr(fallback)
    assert fallback.fallback_reason is not None
    assert fallback.fallback_reason in repr(fallback)
    assert set(tok.cache_info()) == {
        "hits", "misses", "entries", "max_entries", "bytes", "generation",
    }  # fmt: skip
    assert fallback.cache_info() == {}


def test_one_warning_for_a_fallback(caplog: pytest.LogCaptureFixture) -> None:
    model = special_model() | {"normalizer": {"type": "Nmt"}}
    with caplog.at_level(logging.WARNING, logger="tokcy"):
        subject = Tokenizer.from_json(json.dumps(model))
        subject.encode("A")
        subject.encode_batch(["A", "B"])
    assert len(caplog.records) == 1
    assert "normalizer Nmt is not supported natively" in caplog.text
    assert subject.fallback_reason is not None


def test_files(tmp_path: Path, tok: Tokenizer) -> None:
    file = tmp_path / "tokenizer.json"
    with pytest.raises(ModelNotFoundError, match=str(file)):
        Tokenizer.from_file(file)
    with pytest.raises(ModelNotFoundError, match=r"no tokenizer\.json in the folder"):
        Tokenizer.from_pretrained(tmp_path)
    with pytest.raises(ModelNotFoundError, match="is a folder"):
        Tokenizer.from_file(tmp_path)
    file.write_text(json.dumps(special_model()))
    expected = tok.encode("one two").tolist()
    for made in (
        Tokenizer.from_file(file),
        Tokenizer.from_file(str(file)),
        Tokenizer.from_pretrained(tmp_path),
        Tokenizer.from_pretrained(str(file)),
        Tokenizer.from_json(file.read_bytes()),
        Tokenizer.from_json(file.read_text()),
    ):
        assert made.encode("one two").tolist() == expected
    assert str(file) in repr(Tokenizer.from_file(file))
    file.write_text("{")
    with pytest.raises(ModelFileError, match=str(file)):
        Tokenizer.from_file(file)


def test_hub_ids(tmp_path: Path) -> None:
    """Offline, with a cache laid out as the hub's client does it."""
    repo = tmp_path / "models--some--model"
    snapshot = repo / "snapshots" / "abc123"
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_text(json.dumps(special_model()))
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("abc123")
    made = Tokenizer.from_pretrained("some/model", cache_dir=tmp_path, local_files_only=True)
    assert len(made.encode("one two")) > 2
    for name, message in (
        ("some/other", "there is no folder 'some/other', and the hub gives no tokenizer.json"),
        ("some/", "neither a path nor a hub id"),
        ("nul\0", r"'nul\\x00' is neither a path nor a hub id"),
        ("x" * 5000, "neither a path nor a hub id"),
    ):
        with pytest.raises(ModelNotFoundError, match=message):
            Tokenizer.from_pretrained(name, cache_dir=tmp_path, local_files_only=True)


def test_names_that_can_only_be_paths_do_not_reach_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download(*arguments: object) -> Path:
        raise AssertionError(f"asked for {arguments[0]}")

    monkeypatch.setattr(loading, "_download", download)
    names = [
        str(tmp_path / "gone"), "./gone", "../gone", ".gone", "~/gone", "~gone", r"gone\model",
        "no/such/id", "/nul\0", "./" + "x" * 5000,
    ]  # fmt: skip
    for name in names:
        message = re.escape(f"there is no file or folder {name!r}")
        with pytest.raises(ModelNotFoundError, match=message):
            Tokenizer.from_pretrained(name)
    with pytest.raises(AssertionError, match="asked for owner/model"):
        Tokenizer.from_pretrained("owner/model")


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (tmp_path / ("x" * 5000), file / "tokenizer.json"):
        with pytest.raises(ModelNotFoundError, match=f"there is no file {path}"):
            Tokenizer.from_file(path)
    with pytest.raises(ModelNotFoundError, match=r"there is no file 'nul\\x00\.json'"):
        Tokenizer.from_file("nul\0.json")
    for read in (Tokenizer.from_file, Tokenizer.from_pretrained):
        with pytest.raises(ModelNotFoundError, match="the name of the model is empty"):
            read("")


def test_package() -> None:
    assert tokcy.__version__.count(".") == 2
    info = tokcy.build_info()
    assert isinstance(info["openmp"], bool)
    assert info["simd"]
    for name in tokcy.__all__:
        assert getattr(tokcy, name) is not None
