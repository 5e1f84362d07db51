"""Who does the work: the argument, the environment, the default, and what falls back."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic

from tokcy import FallbackError, ModelFileError, SettingError, TokcyError, Tokenizer

ADDED = [synthetic.added_token("<s>"), synthetic.added_token("<think>", special=False)]
TEXT = "ab <s> abc <think>é"


def native_model(**sections: Any) -> synthetic.Model:
    return synthetic.model_from_merges([("a", "b")], added_tokens=ADDED) | sections


def other_model() -> synthetic.Model:
    """A model that only Hugging Face runs: words."""
    vocab = {"[UNK]": 0, "ab": 1}
    return native_model(
        model={"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
        pre_tokenizer={"type": "WhitespaceSplit"},
        decoder=None,
    )


def load(model: synthetic.Model, **arguments: Any) -> Tokenizer:
    return Tokenizer.from_json(json.dumps(model), **arguments)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``environment(TOKCY_BACKEND="auto")`` sets these variables; the test begins with neither."""
    for name in ("TOKCY_BACKEND", "TOKCY_FALLBACK"):
        monkeypatch.delenv(name, raising=False)

    def set_variables(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return set_variables


# ---------------------------------------------------------------------------------- the precedence


@pytest.mark.parametrize(
    ("argument", "variable", "expected"),
    [
        (None, None, "tokcy"),
        (None, "", "tokcy"),
        (None, " auto ", "tokcy"),
        (None, "tokcy", "tokcy"),
        (None, "huggingface", "huggingface"),
        ("auto", "huggingface", "tokcy"),
        ("tokcy", "huggingface", "tokcy"),
        ("huggingface", None, "huggingface"),
        ("huggingface", "tokcy", "huggingface"),
        ("huggingface", "nonsense", "huggingface"),
    ],
)
def test_argument_over_environment_over_default(
    argument: str | None,
    variable: str | None,
    expected: str,
    environment: Callable[..., None],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if variable is not None:
        environment(TOKCY_BACKEND=variable)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(native_model()))
    with caplog.at_level(logging.DEBUG, logger="tokcy"):
        made = [
            Tokenizer.from_file(path, backend=argument),
            Tokenizer.from_pretrained(tmp_path, backend=argument),
            Tokenizer.from_json(path.read_text(), backend=argument),
            Tokenizer(path.read_bytes(), backend=argument),
        ]
    for tok in made:
        assert (tok.backend, tok.fallback_reason) == (expected, None)
        assert tok.encode(TEXT).tolist() == made[0].encode(TEXT).tolist()
    assert not caplog.records  # what was asked for is no fallback


def test_the_backends_agree() -> None:
    native, other = (load(native_model(), backend=name) for name in ("tokcy", "huggingface"))
    for special in (True, False):
        ids = native.encode(TEXT, allow_special=special)
        assert ids.tolist() == other.encode(TEXT, allow_special=special).tolist()
        assert native.decode(ids) == other.decode(ids) == TEXT
    assert native.added_tokens == other.added_tokens
    assert native.get_vocab() == other.get_vocab()
    assert native.truncate(TEXT, 3) == other.truncate(TEXT, 3)


def test_names_that_no_backend_has(environment: Callable[..., None]) -> None:
    message = "^backend must be one of 'auto', 'tokcy', 'huggingface', not 'fastokens'$"
    with pytest.raises(ValueError, match=message):
        load(native_model(), backend="fastokens")
    environment(TOKCY_BACKEND="hf")
    with pytest.raises(SettingError, match=r"^TOKCY_BACKEND must be one of .*, not 'hf'$"):
        load(native_model())


# ---------------------------------------------------------------------------------- the fallback


@pytest.mark.parametrize("backend", [None, "auto", "tokcy"])
def test_one_warning_and_no_request_lost(
    backend: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, logger="tokcy"):
        tok = load(other_model(), backend=backend)
        ids = tok.encode("ab <s> x")
    assert tok.backend == "huggingface"
    assert tok.fallback_reason == "model WordLevel is not supported natively"
    assert ids.tolist() == synthetic.load(other_model()).encode("ab <s> x").ids
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "model WordLevel is not supported natively" in record.message


@pytest.mark.parametrize("backend", [None, "auto", "tokcy"])
def test_strict(backend: str | None, environment: Callable[..., None]) -> None:
    expected = "^<string>: model WordLevel is not supported natively$"
    with pytest.raises(FallbackError, match=expected) as caught:
        load(other_model(), backend=backend, fallback=False)
    assert isinstance(caught.value, TokcyError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert (again.source, again.reason) == (caught.value.source, caught.value.reason)
    environment(TOKCY_FALLBACK="0")
    with pytest.raises(FallbackError):
        load(other_model(), backend=backend)
    assert load(other_model(), backend=backend, fallback=True).backend == "huggingface"
    assert load(native_model()).backend == "tokcy"


def test_what_was_asked_for_is_no_fallback() -> None:
    tok = load(other_model(), backend="huggingface", fallback=False)
    assert (tok.backend, tok.fallback_reason) == ("huggingface", None)


def test_a_bad_switch(environment: Callable[..., None]) -> None:
    environment(TOKCY_FALLBACK="never")
    with pytest.raises(SettingError, match="TOKCY_FALLBACK must be 0 or 1, not 'never'"):
        load(native_model())
    assert load(native_model(), fallback=True).backend == "tokcy"


@pytest.mark.parametrize("backend", ["auto", "huggingface"])
def test_broken_files_are_the_same_error(backend: str) -> None:
    model = native_model()
    model["model"]["merges"] = ["a b", "a nothing"]
    with pytest.raises(ModelFileError, match=r"needs the token 'nothing', which is not in"):
        load(model, backend=backend)
    with pytest.raises(ModelFileError, match="'model' is missing"):
        Tokenizer.from_json('{"added_tokens": []}', backend=backend)


# -------------------------------------------------------------------------------- what it becomes


def test_copies_keep_the_choice(environment: Callable[..., None]) -> None:
    tok = load(native_model(), backend="huggingface")
    environment(TOKCY_BACKEND="tokcy", TOKCY_FALLBACK="0")
    again = pickle.loads(pickle.dumps(tok))
    assert again.backend == "huggingface"
    fallen = load(other_model(), fallback=True)
    assert pickle.loads(pickle.dumps(fallen)).backend == "huggingface"


def test_the_saved_form_is_native(environment: Callable[..., None], tmp_path: Path) -> None:
    path = tmp_path / "saved"
    with pytest.raises(TokcyError, match="has no saved form: that backend was asked for"):
        load(native_model(), backend="huggingface").save(path)
    load(native_model()).save(path)
    assert Tokenizer.from_file(path, backend="tokcy", fallback=False).backend == "tokcy"
    environment(TOKCY_BACKEND="huggingface")
    message = "saved form, which Hugging Face tokenizers does not run, and TOKCY_BACKEND says"
    with pytest.raises(FallbackError, match=message):
        Tokenizer.from_file(path)


def test_formats_of_tiktoken_have_a_backend_of_their_own(
    environment: Callable[..., None], data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    environment(TOKCY_BACKEND="huggingface", TOKCY_FALLBACK="0")
    with caplog.at_level(logging.DEBUG, logger="tokcy"):
        tok = Tokenizer.from_pretrained(data_dir / "tokenizers" / "tiktoken_r50k")
        again = pickle.loads(pickle.dumps(tok))
    assert (tok.backend, again.backend) == ("tiktoken", "tiktoken")
    assert again.encode("Hello, world").tolist() == [15496, 11, 995]
    assert tok.fallback_reason is None
    assert not caplog.records
