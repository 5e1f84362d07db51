"""The files beside a tokenizer.json: what transformers makes of them, and what they cannot say."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from config_models import TEXT, model_of
from growth import assert_linear

from tokcy import ModelFileError, ModelNotFoundError, TokcyError, Tokenizer, TokenizerConfig
from tokcy.config_files import find_config
from tokcy.spec import (
    ConfigFile,
    misnumbered,
    read_config,
    read_tokenizer_json,
    tokens_to_add,
    with_tokens_added,
)

VECTORS = json.loads((Path(__file__).parent / "config_vectors.json").read_bytes())
BACKENDS = ["tokcy", "huggingface"]
FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def write(folder: Path, files: dict[str, Any]) -> Path:
    """Write JSON or text files, and return the path of the model file."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return folder / "tokenizer.json"


def small_model(**sections: Any) -> synthetic.Model:
    added = [synthetic.added_token("<s>"), synthetic.added_token("<think>", special=False)]
    return synthetic.model_from_merges([("a", "b")], added_tokens=added) | sections


def load(folder: Path, backend: str = "auto", **files: Any) -> Tokenizer:
    """The small model with a ``tokenizer_config.json`` of these fields."""
    return Tokenizer.from_file(
        write(folder, {"tokenizer.json": small_model(), "tokenizer_config.json": files}),
        backend=backend,
    )


# ------------------------------------------------------------------------------ as transformers


@pytest.mark.parametrize("backend", BACKENDS)
def test_vectors_of_transformers(backend: str, tmp_path: Path) -> None:
    for number, case in enumerate(VECTORS["cases"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = write(folder, {**case["files"], "tokenizer.json": model_of(case)})
        if "error" in case:
            with pytest.raises(ModelFileError, match=r"(config|tokens_map)\.json: "):
                Tokenizer.from_file(path, backend=backend)
            continue
        tok = Tokenizer.from_file(path, backend=backend)
        tokens = sorted(tok.added_tokens, key=lambda token: token.id)
        found = [
            [token.id, token.content, *(flag for flag in FLAGS if getattr(token, flag))]
            + (["skipped"] if tok.decode([token.id], skip_special_tokens=True) == "" else [])
            for token in tokens
        ]
        assert found == case["tokens"], number
        named = {name: token.content for name, token in tok.config.special_tokens.items()}
        assert named == {name: text for name, text in case["named"].items() if text}, number
        extra = [token.content for token in tok.config.extra_special_tokens]
        assert extra == [text for text in case["extra"] if text], number
        assert tok.encode(TEXT).tolist() == case["ids"], number
        for token in (*tok.config.special_tokens.values(), *tok.config.extra_special_tokens):
            assert token in tokens


def test_configs_of_the_test_data_add_nothing(data_dir: Path) -> None:
    """So comparing with ``tokenizers.Tokenizer.from_file`` is right for these models."""
    checked = []
    for path in data_dir.glob("tokenizers/*/tokenizer_config.json"):
        model = path.with_name("tokenizer.json")
        try:
            spec = read_tokenizer_json(model.read_bytes(), source=str(model))
        except ModelFileError:
            continue
        config = read_config(find_config(True, model), spec.pad_token)
        in_file = spec.added_tokens
        additions = tokens_to_add(config, in_file)
        assert with_tokens_added(in_file, additions, normalizes=True) == in_file
        assert not misnumbered(config, in_file)
        checked.append(path.parent.name)
    assert len(checked) >= 10


# -------------------------------------------------------------------------- tokens of the config


@pytest.mark.parametrize("backend", BACKENDS)
def test_tokens_declared_only_there(backend: str, tmp_path: Path) -> None:
    tok = load(
        tmp_path,
        backend,
        eos_token="<eos>",
        image_token="<img>",
        extra_special_tokens=["<x>"],
        added_tokens_decoder={"258": {"content": "<call>", "special": False}},
    )
    names = ["<s>", "<think>", "<call>", "<eos>", "<img>", "<x>"]
    ids = [tok.token_to_id(name) for name in names]
    first = ids[0]
    assert first is not None
    assert ids == list(range(first, first + 6))
    text = "ab".join(names)
    encoded = tok.encode(text)
    assert encoded[::2].tolist() == ids
    assert tok.decode(encoded) == text
    assert tok.decode(encoded, skip_special_tokens=True) == "ab<think>ab<call>ababab"
    assert tok.id_to_token(first + 3) == "<eos>"
    assert len(tok) == len(tok.get_vocab()) == first + 6
    with_offsets, offsets = tok.encode_with_offsets(text)
    assert np.array_equal(with_offsets, encoded)
    assert [text[a:b] for a, b in offsets[::2]] == names
    untrusted = tok.encode(text, allow_special=False).tolist()
    assert set(untrusted).isdisjoint(ids)
    assert tok.decode(untrusted) == text
    assert tok.config.special_tokens["eos_token"].id == first + 3
    assert [token.content for token in tok.config.extra_special_tokens] == ["<x>"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_warning_for_ids_that_no_token_gets(
    backend: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="tokcy"):
        load(tmp_path, backend, added_tokens_decoder={"300": {"content": "<a>", "special": True}})
    (record,) = caplog.records
    assert "'<a>' 300 -> 259" in record.message


@pytest.mark.parametrize("backend", BACKENDS)
def test_split_special_tokens(backend: str, tmp_path: Path) -> None:
    """Special tokens of a text become ordinary text, but the others stay what they are."""
    tok = load(tmp_path, backend, split_special_tokens=True)
    assert tok.backend == "huggingface"
    reason = "split_special_tokens is not supported natively"
    assert tok.fallback_reason == (reason if backend == "tokcy" else None)
    assert tok.decode(tok.encode("<s><think>"), skip_special_tokens=True) == "<s><think>"
    assert len(tok.encode("<s>")) == 3
    assert len(tok.encode("<think>")) == 1
    assert len(pickle.loads(pickle.dumps(tok)).encode("<s>")) == 3


def test_which_files_count(tmp_path: Path) -> None:
    files = {
        "tokenizer.json": small_model(),
        "tokenizer_config.json": {"eos_token": "<e>"},
        "special_tokens_map.json": {"eos_token": {"content": "<f>"}, "pad_token": "<p>"},
        "added_tokens.json": {"<g>": 259},
    }
    path = write(tmp_path, files)

    def contents(tok: Tokenizer) -> list[str]:
        return [token.content for token in tok.added_tokens][2:]

    tok = Tokenizer.from_file(path)
    assert contents(tok) == ["<g>", "<f>", "<p>"]
    assert len(tok.config.files) == 3
    assert contents(Tokenizer.from_pretrained(tmp_path)) == ["<g>", "<f>", "<p>"]
    assert contents(Tokenizer.from_file(path, config=False)) == []
    assert Tokenizer.from_file(path, config=False).config == TokenizerConfig()
    alone = tmp_path / "tokenizer_config.json"
    assert contents(Tokenizer.from_file(path, config=alone)) == ["<e>"]
    assert contents(Tokenizer.from_file(path, config={"bos_token": "<b>"})) == ["<b>"]
    text = path.read_text()
    assert contents(Tokenizer.from_json(text)) == []
    assert contents(Tokenizer.from_json(text, config=str(alone))) == ["<e>"]
    assert contents(Tokenizer.from_json(text, config=tmp_path)) == ["<g>", "<f>", "<p>"]
    # The two older files are read only where there is no added_tokens_decoder.
    write(tmp_path, {"tokenizer_config.json": {"eos_token": "<e>", "added_tokens_decoder": {}}})
    assert contents(Tokenizer.from_file(path)) == ["<e>"]
    with pytest.raises(ModelNotFoundError, match="no file or folder 'gone' for config"):
        Tokenizer.from_file(path, config="gone")
    with pytest.raises(TypeError, match="config must be a bool, a path or a mapping, not int"):
        Tokenizer.from_file(path, config=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_pad_token_of_the_model_file_is_not_that_of_added_tokens(
    backend: str, tmp_path: Path
) -> None:
    """transformers takes it from there after it has looked into ``added_tokens.json``: as text."""
    model = small_model(normalizer={"type": "Lowercase"})
    model["added_tokens"] = [{**synthetic.added_token("<a>b", special=False), "id": 257}]
    model["padding"] = {
        "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "X",
    }  # fmt: skip
    files = {"tokenizer.json": model, "added_tokens.json": {"X": 257}}
    tok = Tokenizer.from_file(write(tmp_path, files), backend=backend)
    assert tok.decode(tok.encode("X xX")) == "X xX"


def test_what_gets_a_name_last_is_not_that_of_added_tokens(tmp_path: Path) -> None:
    model = small_model(normalizer={"type": "Lowercase"})
    model["added_tokens"] = [{**synthetic.added_token("<a>b", special=False), "id": 257}]
    config = {"eos_token": "y", "extra_special_tokens": {"eos_token": "X"}}
    files = {"added_tokens.json": {"X": 257}, "tokenizer_config.json": config}
    tok = Tokenizer.from_file(write(tmp_path, {**files, "tokenizer.json": model}))
    assert tok.decode(tok.encode("X xX")) == "X xX"


def test_many_tokens_in_two_files() -> None:
    def read(n: int) -> None:
        extra = {"extra_special_tokens": [f"<{i}>" for i in range(n)]}
        more = {"extra_special_tokens": [f"<{i}>" for i in range(n // 2, 3 * n // 2)]}
        files = {"tokenizer_config.json": extra, "special_tokens_map.json": more}
        declared = read_config({x: ConfigFile(x, json.dumps(files[x]).encode()) for x in files})
        assert len(tokens_to_add(declared, ())) == 3 * n // 2

    assert_linear(read, 1000)


# ------------------------------------------------------------------------------- everything else


def test_the_rest_is_read(tmp_path: Path) -> None:
    assert load(tmp_path).config == TokenizerConfig((str(tmp_path / "tokenizer_config.json"),))
    config = load(
        tmp_path,
        model_max_length=4096,
        add_bos_token=True,
        add_eos_token=None,
        clean_up_tokenization_spaces=True,
        padding_side="left",
        truncation_side=None,
        tokenizer_class="LlamaTokenizer",
        chat_template="{{ bos_token }}",
        bos_token="<s>",
        pad_token=None,
        unk_token="",
        some_future_field=[1, 2],
    ).config
    assert config.model_max_length == 4096
    assert (config.add_bos_token, config.add_eos_token) == (True, None)
    assert config.clean_up_tokenization_spaces
    assert (config.padding_side, config.truncation_side) == ("left", "right")
    assert config.tokenizer_class == "LlamaTokenizer"
    assert config.chat_template == "{{ bos_token }}"
    assert list(config.special_tokens) == ["bos_token"]


def test_add_bos_token_is_for_the_post_processor_to_do(tmp_path: Path) -> None:
    """As in transformers 5, which drops these two fields where there is a tokenizer.json."""
    tok = load(tmp_path, bos_token="<s>", add_bos_token=True)
    assert tok.encode("ab").tolist() == [256]


def test_chat_templates(tmp_path: Path) -> None:
    named = [{"name": "default", "template": "A"}, {"name": "tools", "template": "B"}]
    config = load(tmp_path, chat_template=named).config
    assert config.chat_templates == {"default": "A", "tools": "B"}
    write(tmp_path, {"chat_template.jinja": "C é"})
    config = load(tmp_path, chat_template=named).config
    assert config.chat_templates == {"default": "C é"}
    write(tmp_path, {"additional_chat_templates/rag.jinja": "D"})
    config = load(tmp_path, chat_template=named).config
    assert config.chat_templates == {"default": "C é", "rag": "D"}
    assert len(config.files) == 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_keep_it(backend: str, tmp_path: Path) -> None:
    tok = load(tmp_path, backend, eos_token="<eos>", chat_template="x")
    again = pickle.loads(pickle.dumps(tok))
    assert again.config == tok.config
    assert again.backend == tok.backend
    assert again.encode("ab<eos>").tolist() == tok.encode("ab<eos>").tolist()


def test_saved_form_keeps_it(tmp_path: Path) -> None:
    tok = load(tmp_path, "tokcy", eos_token="<eos>", chat_template="x é", model_max_length=1e30)
    saved = tmp_path / "saved"
    tok.save(saved)
    again = Tokenizer.from_file(saved)
    assert again.config == tok.config
    assert again.encode("ab<eos>").tolist() == tok.encode("ab<eos>").tolist()
    with pytest.raises(TokcyError, match="saved form, which holds its configuration"):
        Tokenizer.from_file(saved, config={"eos_token": "<other>"})
    with pytest.raises(ModelNotFoundError, match="there is no file"):
        Tokenizer.from_pretrained(tmp_path / "saved.tokcy")


# ------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"bos_token": 3}, r"bos_token: must be a string, or an object with .*not an integer: 3"),
        ({"bos_token": {"content": "<s>"}}, "bos_token: must be a string, or an object"),
        ({"bos_token": {"__type": "AddedToken"}}, "bos_token: 'content' is missing"),
        (
            {"bos_token": {"__type": "AddedToken", "content": "x", "lstrip": 1}},
            r"bos_token\.lstrip: must be true or false, not an integer: 1",
        ),
        ({"bos_token": "\ud800"}, r"bos_token: lone surrogate in '\\ud800'"),
        ({"extra_special_tokens": "x"}, 'extra_special_tokens: must be a list, not a string: "x"'),
        ({"extra_special_tokens": ["a", 5]}, r"extra_special_tokens\[1\]: must be a string"),
        ({"extra_special_tokens": {"x": 5}}, r"extra_special_tokens\.x: must be a string"),
        ({"additional_special_tokens": [[]]}, r"additional_special_tokens\[0\]: must be a string"),
        ({"added_tokens_decoder": []}, "added_tokens_decoder: must be an object, not a list"),
        ({"added_tokens_decoder": {"x": {}}}, 'added_tokens_decoder: "x" is no token id'),
        ({"added_tokens_decoder": {"4294967296": {}}}, '"4294967296" is no token id'),
        ({"added_tokens_decoder": {"9" * 5000: {}}}, 'added_tokens_decoder: "9+… is no token id'),
        ({"added_tokens_decoder": {"1": "x"}}, r"added_tokens_decoder\.1: must be an object"),
        ({"added_tokens_decoder": {"1": {}}}, r"added_tokens_decoder\.1: 'content' is missing"),
        ({"chat_template": 1}, "chat_template: must be a string or a list of named templates"),
        ({"chat_template": [{"name": "x"}]}, r"chat_template\[0\]: 'template' is missing"),
        ({"model_max_length": "512"}, "model_max_length: must be a number, not a string"),
        ({"add_bos_token": "yes"}, "add_bos_token: must be true or false, not a string"),
        ({"padding_side": "top"}, 'padding_side: must be "left" or "right", not "top"'),
        ({"tokenizer_class": 1}, "tokenizer_class: must be a string"),
    ],
)
def test_values_that_mean_nothing(config: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = str(tmp_path / "tokenizer_config.json")
    with pytest.raises(ModelFileError, match=message) as caught:
        load(tmp_path, **config)
    assert caught.value.source == path
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer_config.json", "{", "not valid JSON: Expecting property name"),
        ("tokenizer_config.json", "[]", "must be an object, not a list"),
        ("tokenizer_config.json", "[" * 100_000, "not valid JSON"),
        ("special_tokens_map.json", {"eos_token": {"lstrip": True}}, "'content' is missing"),
        ("special_tokens_map.json", {"eos_token": [1]}, "eos_token: must be a string"),
        (
            "special_tokens_map.json",
            {"additional_special_tokens": {"content": "x"}},
            r'additional_special_tokens: must be a list, not an object: {"content": "x"}',
        ),
        (
            "special_tokens_map.json",
            {"bos_token": [{"content": "x"}]},
            r'bos_token: must be a string, or .*, not a list: \[{"content": "x"}\]',
        ),
        ("added_tokens.json", {"x": -1}, "x: must be an integer from 0 to 4294967295"),
        ("added_tokens.json", {"x": "1"}, "x: must be an integer"),
    ],
)
def test_files_that_mean_nothing(name: str, content: Any, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, {"tokenizer.json": small_model(), name: content})
    with pytest.raises(ModelFileError, match=message) as caught:
        Tokenizer.from_file(path)
    assert caught.value.source == str(tmp_path / name)


def test_a_list_that_goes_on_where_none_began(tmp_path: Path) -> None:
    write(tmp_path, {"special_tokens_map.json": {"extra_special_tokens": [{"content": "x"}]}})
    extra = load(tmp_path, extra_special_tokens="ab").config.extra_special_tokens
    assert [token.content for token in extra] == ["a", "b", "x"]
    with pytest.raises(ModelFileError, match=r"config\.json: extra_special_tokens: must be a list"):
        load(tmp_path, extra_special_tokens=5)


@pytest.mark.parametrize("name", ["tokenizer_config.json", "chat_template.jinja"])
def test_files_that_are_no_text(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, {"tokenizer.json": small_model()})
    (tmp_path / name).write_bytes(b"\xff{}")
    with pytest.raises(ModelFileError, match=f"{name}: not UTF-8: .* at byte 0"):
        Tokenizer.from_file(path)


def test_a_mapping_that_means_nothing() -> None:
    text = json.dumps(small_model())
    with pytest.raises(ModelFileError, match=r"^config: padding_side: must be"):
        Tokenizer.from_json(text, config={"padding_side": 1})


# ------------------------------------------------------------------------------------ of the hub


def test_hub_repositories(tmp_path: Path, hub_snapshot: Callable[[Path], Path]) -> None:
    files = {"tokenizer.json": small_model(), "tokenizer_config.json": {"eos_token": "<eos>"}}
    write(hub_snapshot(tmp_path), files)
    tok = Tokenizer.from_pretrained("some/model", cache_dir=tmp_path, local_files_only=True)
    assert tok.config.special_tokens["eos_token"].id == 259


@pytest.fixture
def hub_snapshot() -> Callable[[Path], Path]:
    """Lay out a cache as the hub's client does, and return the folder of its only snapshot."""

    def make(cache: Path) -> Path:
        repository = cache / "models--some--model"
        snapshot = repository / "snapshots" / "abc123"
        snapshot.mkdir(parents=True)
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text("abc123")
        return snapshot

    return make
