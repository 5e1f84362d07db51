"""The saved form: the same tokenizer, and no harm from files that are damaged or made up."""

from __future__ import annotations

import json
import os
import pickle
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from real_models import NATIVE
from tiktoken_models import RANKS, WORDS, rank_file

from tokcy import ModelFileError, TokcyError, Tokenizer, arrayfile
from tokcy.cli import main

TEXTS = [*synthetic.SENTENCES, "", "<s>x</s>", "中文" * 99, "x" * 300, "\u00a0 \n\n\t z", "e\u0301"]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
PREFIX = 28  # bytes before those that the checksum covers


def assert_same(one: Tokenizer, other: Tokenizer, texts: list[str]) -> None:
    assert one.backend == other.backend == "tokcy"
    assert one.get_vocab() == other.get_vocab()
    assert one.added_tokens == other.added_tokens
    assert (len(one), one.vocab_size) == (len(other), other.vocab_size)
    for size in ("max_entries", "bytes"):
        assert one.cache_info()[size] == other.cache_info()[size]
    for text in [*texts, *texts]:  # the second time from the cache
        ids, offsets = one.encode_with_offsets(text)
        ours, places = other.encode_with_offsets(text)
        assert np.array_equal(ids, ours)
        assert np.array_equal(offsets, places)
        assert np.array_equal(one.encode(text), other.encode(text))
        assert one.decode(ids) == other.decode(ours)
        assert one.decode(ids, skip_special_tokens=True) == other.decode(
            ours, skip_special_tokens=True
        )
        assert plain_ids(one, text) == plain_ids(other, text)


def plain_ids(tok: Tokenizer, text: str) -> list[int] | str:
    try:
        ids: list[int] = tok.encode(text, allow_special=False).tolist()
        return ids
    except TokcyError as error:
        return str(error)


def saved(tok: Tokenizer, folder: Path) -> Path:
    path = folder / "any name"
    tok.save(path)
    assert os.listdir(folder) == [path.name]
    return path


def special_model(**fields: Any) -> dict[str, Any]:
    model = synthetic.trained_model()
    size = len(model["model"]["vocab"])
    model["added_tokens"] = [
        {**synthetic.added_token("<s>"), "id": size},
        {**synthetic.added_token("</s>", lstrip=True, rstrip=True), "id": size + 1},
        {**synthetic.added_token("é", normalized=True, single_word=True), "id": size + 2},
    ]
    model["normalizer"] = {"type": "NFC"}
    model["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", size + 1],
        "cls": ["<s>", size],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    model["truncation"] = {"max_length": 40, "strategy": "LongestFirst", "stride": 0}
    model["padding"] = {
        "strategy": {"Fixed": 12},
        "direction": "Left",
        "pad_to_multiple_of": None,
        "pad_id": 1,
        "pad_type_id": 0,
        "pad_token": "x",
    }
    model["decoder"] = {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "zz"}, "content": "Ġ"},
            {"type": "BPEDecoder", "suffix": "ing"},
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
            {"type": "Strip", "content": " ", "start": 2, "stop": 0},
        ],
    }
    model["model"] |= fields
    return model


@pytest.fixture(scope="module")
def small() -> Tokenizer:
    return Tokenizer.from_json(json.dumps(special_model()))


@pytest.fixture(scope="module")
def content(small: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return saved(small, tmp_path_factory.mktemp("saved")).read_bytes()


@pytest.fixture(scope="module")
def content_with_gaps(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Of a split that leaves gaps and takes back what it told of borders."""
    split = {
        "type": "Split",
        "pattern": {"Regex": r"xxxx?(x{1,4}y)|the quick| {3}z|[aeo]n?"},
        "behavior": "Isolated",
        "invert": False,
    }
    steps = {"type": "Sequence", "pretokenizers": [split, {**BYTE_LEVEL, "use_regex": False}]}
    tok = Tokenizer.from_json(json.dumps({**special_model(), "pre_tokenizer": steps}))
    content = saved(tok, tmp_path_factory.mktemp("saved")).read_bytes()
    _, arrays = arrayfile.unpack(content, "x")
    assert arrays["split0.others"].size
    return content


@pytest.fixture(scope="module")
def content_of_characters(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    names = ["a", "b", "é", "ab", "é" * 3, *(f"<0x{byte:02X}>" for byte in range(256))]
    model = {
        "type": "BPE",
        "vocab": {name: i for i, name in enumerate(names)},
        "merges": [["a", "b"]],
        "byte_fallback": True,
    }
    tok = Tokenizer.from_json(json.dumps({"model": model}), backend="tokcy")
    return saved(tok, tmp_path_factory.mktemp("saved")).read_bytes()


@pytest.mark.parametrize("name", NATIVE)
def test_real_models(
    name: str, model_path: Callable[[str], Path], corpus: Callable[..., str], tmp_path: Path
) -> None:
    tok = Tokenizer.from_file(model_path(name))
    path = saved(tok, tmp_path)
    loaded = Tokenizer.from_file(path)
    assert loaded.source == os.fspath(path)
    assert loaded.cache_info() == tok.cache_info()
    texts = [corpus(name, 20_000) for name in ("mixed_all_languages", "python", "zh", "emoji")]
    assert_same(tok, loaded, [*texts, *TEXTS])


@pytest.mark.parametrize("ignore_merges", [True, False])
def test_everything_is_kept(ignore_merges: bool, tmp_path: Path) -> None:
    model = special_model(ignore_merges=ignore_merges)
    tok = Tokenizer.from_json(json.dumps(model))
    loaded = Tokenizer.from_pretrained(saved(tok, tmp_path))
    assert_same(tok, loaded, TEXTS)
    assert_same(tok, pickle.loads(pickle.dumps(loaded)), TEXTS)
    again = tmp_path / "again"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "any name").read_bytes()


def test_steps_of_the_text_are_kept(tmp_path: Path) -> None:
    model = special_model()
    model["added_tokens"][2] |= {"content": "ÉX", "single_word": False}
    kinds = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")
    steps = [
        *({"type": kind} for kind in kinds),
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": "ab"}, "content": " "},
        {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": "  "},
    ]
    byte_level = {**BYTE_LEVEL, "use_regex": False}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}
    model["normalizer"] = {"type": "Sequence", "normalizers": steps}
    model["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [metaspace, byte_level]}
    tok = Tokenizer.from_json(json.dumps(model))
    loaded = Tokenizer.from_file(saved(tok, tmp_path))
    assert_same(tok, loaded, [*TEXTS, "  ABÉ ab \n x", "▁x"])
    assert loaded.id_to_token(len(model["model"]["vocab"]) + 2) == "▁ex"


@given(
    merges=synthetic.merge_lists(letters="ab中"[:2] + "äĠ"),
    extra=st.lists(st.text(alphabet="abĠä", min_size=1, max_size=18), max_size=6),
    lacking=st.sets(st.sampled_from("abz"), max_size=1),
    ignore_merges=st.booleans(),
    texts=st.lists(synthetic.texts("abz ä"), max_size=5),
)
def test_random_models(
    tmp_path_factory: pytest.TempPathFactory,
    merges: list[tuple[str, str]],
    extra: list[str],
    lacking: set[str],
    ignore_merges: bool,
    texts: list[str],
) -> None:
    model = synthetic.model_from_merges(merges, extra_tokens=extra, ignore_merges=ignore_merges)
    parts = model["model"]
    parts["merges"] = [m for m in parts["merges"] if lacking.isdisjoint(m.split(" "))]
    parts["vocab"] = {
        token: number
        for number, token in enumerate(token for token in parts["vocab"] if token not in lacking)
    }
    tok = Tokenizer.from_json(json.dumps(model))
    path = saved(tok, tmp_path_factory.mktemp("saved"))
    assert_same(tok, Tokenizer.from_file(path), texts)


SPLITS: list[list[dict[str, Any]]] = [
    [{"pattern": {"Regex": r"\s+"}, "behavior": "Removed"}],
    [
        {"pattern": {"Regex": r"\p{N}{1,3}"}, "behavior": "Isolated"},
        {"pattern": {"Regex": r"a|b+"}, "behavior": "MergedWithNext"},
    ],
    [{"pattern": {"Regex": r"\s+$|x*"}, "behavior": "MergedWithPrevious"}],
    [{"pattern": {"String": ""}, "behavior": "Isolated"}],
]


@pytest.mark.parametrize("splits", SPLITS)
def test_splits(splits: list[dict[str, Any]], tmp_path: Path) -> None:
    """Pieces that are dropped, several passes, patterns that have no transducer."""
    steps = [{"type": "Split", "invert": False, **split} for split in splits]
    level = {**BYTE_LEVEL, "use_regex": False}
    tok = Tokenizer.from_json(
        json.dumps(
            {
                **special_model(),
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, level]},
            }
        )
    )
    assert_same(tok, Tokenizer.from_file(saved(tok, tmp_path)), [*TEXTS, "ab bb 12345 xx  a \n  "])


def test_no_saved_form_of_a_fallback(tmp_path: Path) -> None:
    model = {**synthetic.trained_model(), "normalizer": {"type": "Nmt"}}
    tok = Tokenizer.from_json(json.dumps(model))
    with pytest.raises(TokcyError, match="no saved form: normalizer Nmt is not supported"):
        tok.save(tmp_path / "x")
    assert os.listdir(tmp_path) == []


def test_errors_name_the_file_and_the_model(small: Tokenizer, tmp_path: Path) -> None:
    for path in (tmp_path / "gone" / "x", tmp_path):
        with pytest.raises(OSError, match=re.escape(f"'{path}'") + "$"):
            small.save(path)
    assert os.listdir(tmp_path) == []
    model = {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(model))
    with pytest.raises(TokcyError, match=re.escape(f"{path} is a model that lacks characters")):
        Tokenizer.from_file(path, backend="tokcy").save(tmp_path / "x")


def test_a_file_is_replaced_whole_or_not_at_all(small: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"before")
    small.save(os.fspath(path))
    assert Tokenizer.from_file(path).encode("a").tolist() == small.encode("a").tolist()
    with pytest.raises(OSError, match="folder"):
        small.save(tmp_path / "no folder" / "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        small.save(tmp_path / "folder")
    assert sorted(os.listdir(tmp_path)) == ["folder", "x"]


def test_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    model, out = tmp_path / "tokenizer.json", tmp_path / "x.tokcy"
    model.write_text(json.dumps(special_model()))
    assert main(["save", str(model), str(out)]) == 0
    assert main(["count", str(model), "--text", "The quick"]) == 0
    assert main(["count", str(out), "--text", "The quick"]) == 0
    first, second = capfd.readouterr().out.split()
    assert first == second


# --------------------------------------------------------------------- damage


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (lambda data: data[:20], "size"),
        (lambda data: data[:-1], "size"),
        (lambda data: data + b"\0", "size"),
        (lambda data: data[:8] + b"\1" + data[9:], "version"),
        (lambda data: data[:200] + b"\2" + data[201:], "checksum"),
        (lambda data: resealed(data.replace(b'"little"', b'"big"   ')), "byte_order"),
        (lambda data: resealed(data.replace(b"tokenizers 0.23.3", b"tokenizers 0.23.4")), "refer"),
        (lambda data: resealed(data.replace(b'"arrays":', b'"arrows":')), "header"),
        (lambda data: resealed(data.replace(b'"folded":false', b'"folded":0    ')), "content"),
        (lambda data: resealed(data.replace(b'"form":"NFC"', b'"form":"NFX"')), "content"),
        (lambda data: resealed(data.replace(b'"form":"NFC"', b'"form":12345')), "content"),
        (lambda data: resealed(data.replace(b'"NormalForm"', b'"NormalFork"')), "content"),
    ],
)
def test_wrong_files(content: bytes, change: Callable[[bytes], bytes], field: str) -> None:
    with pytest.raises(ModelFileError, match=f"a file: {field}"):
        Tokenizer(change(content), "a file")


def resealed(data: bytes) -> bytes:
    """With the checksum that it should have."""
    header_size = int.from_bytes(data[12:16], "little")
    checksum = arrayfile.checksum(data[PREFIX:], header_size)
    return data[: PREFIX - 4] + checksum.to_bytes(4, "little") + data[PREFIX:]


def test_cut_short_anywhere(content: bytes) -> None:
    for size in [*range(8, 120), *random.Random(1).choices(range(len(content)), k=200)]:
        with pytest.raises(ModelFileError, match="size"):
            Tokenizer(content[: max(size, 8)])


def test_any_byte_changed(content: bytes) -> None:
    source = random.Random(2)
    for _ in range(300):
        changed = bytearray(content)
        changed[source.randrange(8, len(content))] ^= 1 << source.randrange(8)
        with pytest.raises(ModelFileError):
            Tokenizer(bytes(changed))


def use(data: bytes) -> bool:
    """Load and use what may be no tokenizer; whether it is one. That this returns is the test."""
    try:
        tok = Tokenizer(data)
    except ModelFileError:
        return False
    for text in TEXTS:
        try:
            ids, _ = tok.encode_with_offsets(text)
            tok.decode(ids)
            tok.encode(text, num_threads=2)
        except TokcyError:
            pass
    tok.get_vocab()
    json.dumps(tok.describe())
    return True


@pytest.mark.parametrize("of", ["content", "content_with_gaps", "content_of_characters"])
def test_lies_that_have_their_checksum(of: str, request: pytest.FixtureRequest) -> None:
    """Every array in turn, its numbers changed at random: an error, or a tokenizer that works."""
    source = random.Random(3)
    header, arrays = arrayfile.unpack(request.getfixturevalue(of), "x")
    kept = {key: value for key, value in header.items() if key not in ("arrays", "byte_order")}
    outcomes = set()
    for name, array in arrays.items():
        for trial in range(60 if array.size else 0):
            changed = array.copy()
            flat = changed.reshape(-1)
            for _ in range(source.choice([1, 1, 3, 50])):
                at = source.randrange(flat.size)
                values = [0, 1, 2, 255, int(flat[at]) + 1, source.randrange(256)]
                flat[at] = source.choice(values) % (np.iinfo(flat.dtype).max + 1)
            if trial % 20 == 0:
                changed = changed[: source.randrange(len(changed))]
            outcomes.add(use(arrayfile.pack(kept, {**arrays, name: changed})))
    assert outcomes == {True, False}


@pytest.mark.parametrize("number", [2**64, -64, 2**63, 1e30, "0", None, []])
@pytest.mark.parametrize("key", ["offset", "shape"])
def test_lies_about_where_an_array_is(key: str, number: Any, content: bytes) -> None:
    body = content[PREFIX:]
    size = int.from_bytes(content[12:16], "little")
    header = json.loads(body[:size])
    del header["source"]  # which leaves room
    header["arrays"]["arena"][key] = number if key == "offset" else [number]
    text = json.dumps(header, separators=(",", ":")).encode().ljust(size)
    assert len(text) == size
    lie = content[:PREFIX] + text + body[size:]
    with pytest.raises(ModelFileError, match=r"header: .*Error"):
        Tokenizer(resealed(lie))


def test_entries_of_characters_that_are_none(content_of_characters: bytes) -> None:
    header, arrays = arrayfile.unpack(content_of_characters, "x")
    kept = {key: value for key, value in header.items() if key not in ("arrays", "byte_order")}
    arena = arrays["arena"].copy()
    arena[arena == "é".encode()[0]] = ord("x")
    with pytest.raises(ModelFileError, match="arena: an entry of characters is not UTF-8"):
        Tokenizer(arrayfile.pack(kept, {**arrays, "arena": arena}))
    offsets = arrays["offsets"].copy()
    offsets.view(np.uint32)[3] -= 1  # into the é that the third entry is
    with pytest.raises(ModelFileError, match="arena: an entry of characters is not UTF-8"):
        Tokenizer(arrayfile.pack(kept, {**arrays, "offsets": offsets}))


@pytest.mark.parametrize("splits", ["", []])
def test_a_model_of_tiktoken_without_a_split(splits: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(rank_file(RANKS))
    Tokenizer.from_tiktoken(path, pattern=WORDS).save(tmp_path / "x")
    header, arrays = arrayfile.unpack((tmp_path / "x").read_bytes(), "x")
    kept = {key: value for key, value in header.items() if key not in ("arrays", "byte_order")}
    with pytest.raises(ModelFileError, match="content: ValueError: splits"):
        Tokenizer(arrayfile.pack({**kept, "splits": splits}, arrays))


def test_lies_in_the_header(content: bytes) -> None:
    source = random.Random(4)
    header, arrays = arrayfile.unpack(content, "x")
    kept = {key: value for key, value in header.items() if key not in ("arrays", "byte_order")}
    junk: list[Any] = [None, -1, 2**40, "x", [], {}, True, 1.5, "", ["x"], [-1], 2**70]
    for _ in range(400):
        lie = json.loads(json.dumps(kept))
        place, key = lie, source.choice(list(lie))
        while isinstance(place[key], dict | list) and place[key] and source.random() < 0.8:
            place = place[key]
            key = source.choice(list(place) if isinstance(place, dict) else range(len(place)))
        place[key] = source.choice(junk)
        use(arrayfile.pack(lie, arrays))
