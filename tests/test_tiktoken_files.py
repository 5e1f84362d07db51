"""What rank files may say, what is refused, and where tiktoken's files are looked for."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
import tiktoken_models
from tiktoken_models import BYTES, RANKS, WORDS, rank_file, tekken

from tokcy import ModelFileError, ModelNotFoundError, PatternError, Tokenizer
from tokcy.ranks import TiktokenBackend, load_rank_model

SPECIAL = {"<|end|>": 300, "<|begin|>": 301}


def load(data: bytes, **options: Any) -> TiktokenBackend:
    return load_rank_model(data, "test", {}, **{"pattern": WORDS, **options})


def line_of(token: bytes, rank: int) -> bytes:
    return base64.b64encode(token) + b" %d\n" % rank


# --------------------------------------------------------------------- rank files


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data[:-1],
        lambda data: b"\n" + data.replace(b" ", b"  \t") + b"\n\n",
        lambda data: b"".join(reversed(data.splitlines(keepends=True))),
    ],
    ids=["as written", "CRLF", "no last newline", "blanks", "other order"],
)
def test_what_tiktoken_reads_is_read(change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(change(rank_file(RANKS)))
    tok = Tokenizer.from_tiktoken(path, pattern=WORDS, special_tokens=SPECIAL)
    assert tok.encode("abc the<|end|>").tolist() == [257, 258, 300]
    assert tok.encode("abc the<|end|>", allow_special=False).tolist()[:2] == [257, 258]
    assert tok.get_vocab()["Ġthe"] == 258
    assert tok.id_to_token(258) == "Ġthe"
    assert (tok.vocab_size, len(tok)) == (259, 261)
    assert tok.decode([257, 300, 299], skip_special_tokens=True) == "abc"
    assert tok.describe()["pipeline"] == {
        "pre_tokenizer": [f"Pattern of tiktoken({WORDS})"],
        "model": ["Ranks(259 entries)"],
    }


@pytest.mark.parametrize(
    ("data", "field", "reason"),
    [
        (b"", None, "no ranks"),
        (b"\n\n", None, "no ranks"),
        (b"YQ==\n", "line 1", r"not a token in base64 and its rank: 'YQ=='"),
        (b"YQ== 0 1\n", "line 1", "not a token in base64 and its rank"),
        (b"YQ== 0\n\nYQ= 1\n", "line 3", r"the token is no base64: 'YQ= 1'"),
        (b"YQ== 0\nY*Q= 1\n", "line 2", "the token is no base64"),
        (b"YQ==YQ== 0\n", "line 1", "the token is no base64"),
        (b"YQ== 0\nYg== one\n", "line 2", "the rank is no whole number"),
        (b"YQ== 0\nYg== -1\n", "line 2", "the rank is no whole number"),
        (b"YQ== 0\nYg== 1.0\n", "line 2", "the rank is no whole number"),
        (b"YQ== 0\nYg== 1_0\n", "line 2", "the rank is no whole number"),
        (b"YQ== 0\nYg== 4294967296\n", "line 2", "the rank is no whole number"),
        (b"YQ== 0\nYg== 1\nYQ== 2\n", None, "the token b'a' has two ids, 0 and 2"),
        (b"YQ== 0\nYg== 1\n\nYQ== 2\n", "line 4", "the token stands already in line 1"),
        (b"YQ== 0\nYg==\n1 Yw== 2\n", "line 2", "not a token in base64 and its rank"),
        (b"YQ== 0\nYg==YQ== 1\n", "line 2", "the token is no base64"),
        (b"YQ== 0\nY=== 1\n", "line 2", "the token is no base64"),
        (b"YQ== 0\nYQ=Q 1\n", "line 2", "the token is no base64"),
        (b"YQ== 0\nYQ=\xff 1\n", "line 2", "the token is no base64"),
        (b"YQ== 0\n 1\n", "line 2", "not a token in base64 and its rank"),
        (b"YQ== 0\nYg== /\n", "line 2", "the rank is no whole number"),
        (b"YQ== 0\nYg== 1:\n", "line 2", "the rank is no whole number"),
        (b"YQ== 0\nYg== 1\nYw== 1\n", "line 3", "the rank stands already in line 2"),
        (line_of(b"a" * 5000, 0), "line 1", "a token of 5000 bytes"),
    ],
)
def test_faults_of_rank_files(data: bytes, field: str | None, reason: str) -> None:
    with pytest.raises(ModelFileError, match=reason) as caught:
        load(data)
    assert (caught.value.source, caught.value.field) == ("test", field)


def test_missing_bytes_and_far_ranks() -> None:
    ranks = {token: rank for token, rank in RANKS.items() if token != b"\x80"}
    with pytest.raises(ModelFileError, match="the byte 0x80 is no token"):
        load(rank_file(ranks))
    with pytest.raises(ModelFileError, match="id 200000000 among 260 tokens is too far off"):
        load(rank_file({**RANKS, b"zz": 200_000_000}))


@pytest.mark.slow
def test_too_many_merges() -> None:
    runs = {b"a" * n: 256 + n for n in range(2, 2100)}
    with pytest.raises(ModelFileError, match="cut in two others in 2201851 ways"):
        load(rank_file({**BYTES, **runs}))


def test_gaps_between_ranks_are_fine() -> None:
    backend = load(rank_file({token: 3 * rank for token, rank in RANKS.items()}))
    assert backend.encode("abc the", True, True, None).tolist() == [771, 774]


def test_a_special_token_behind_ranks_with_gaps_is_saved(tmp_path: Path) -> None:
    tokens = [*BYTES, *(b"%05d" % i for i in range(20_000))]
    path, saved = tmp_path / "x.tiktoken", tmp_path / "x.tokcy"
    path.write_bytes(rank_file({token: 60 * i for i, token in enumerate(tokens)}))
    end = 60 * len(tokens) - 59
    tok = Tokenizer.from_tiktoken(path, pattern=WORDS, special_tokens={"<|end|>": end})
    tok.save(saved)
    for same in (tok, Tokenizer.from_file(saved)):
        assert same.encode("00001<|end|>").tolist() == [60 * 257, end]
        assert same.decode([60 * 257, end]) == "00001<|end|>"


def test_unknown_ranks_need_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(rank_file(RANKS))
    with pytest.raises(ModelFileError, match=r"259 ranks are of no known model.*cl100k_base.*Kimi"):
        Tokenizer.from_file(path)
    with pytest.raises(PatternError, match="look-behind"):
        Tokenizer.from_tiktoken(path, pattern="(?<=a)b")
    with pytest.raises(PatternError, match="empty text"):
        Tokenizer.from_tiktoken(path, pattern="a*")


def test_text_that_the_pattern_leaves_out_is_dropped() -> None:
    backend = load(rank_file(RANKS), pattern=r"\p{L}+")
    assert backend.encode("abc the!", True, True, None).tolist() == [257, 116, 104, 101]


@pytest.mark.parametrize(
    ("special_tokens", "reason"),
    [
        ({"": 300}, "cannot stand in a text"),
        ({"\ud800": 300}, "cannot stand in a text"),
        ({"<a>": 300, "<b>": 300}, "'<a>' and '<b>' have one id, 300"),
        ({"<a": 300, "<ab>": 301}, "'<ab>' begins with '<a'"),
        ({"<a>": 257}, "the id 257 of '<a>' is that of an ordinary token"),
        ({"abc": 300}, "'abc' is the name of an ordinary token, too"),
        ({"<a>": -1}, "the id -1 of '<a>' is not between"),
        ({"<a>": 2**31}, "is not between"),
    ],
)
def test_special_tokens_that_are_refused(special_tokens: dict[str, int], reason: str) -> None:
    with pytest.raises(ModelFileError, match=reason) as caught:
        load(rank_file(RANKS), special_tokens=special_tokens)
    assert caught.value.field == "special_tokens"


@pytest.mark.parametrize("special_tokens", [{"a": "1"}, {1: 300}, {"<a>": True}])
def test_special_tokens_of_wrong_types(special_tokens: dict[Any, Any]) -> None:
    with pytest.raises(TypeError, match="special_tokens maps str to int"):
        load(rank_file(RANKS), special_tokens=special_tokens)


def test_special_tokens_beyond_ascii_decode_to_themselves() -> None:
    """Unlike Hugging Face's, which takes é for a byte (D3)."""
    backend = load(rank_file(RANKS), special_tokens={"éü": 300, "｜x｜": 301})
    ids = backend.encode("éü｜x｜", True, True, None)
    assert ids.tolist() == [300, 301]
    assert backend.decode(ids, False) == "éü｜x｜"


# --------------------------------------------------------------- tokenizer_config


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.tiktoken").write_bytes(rank_file(RANKS))
    return tmp_path


def test_the_config_names_special_tokens(folder: Path) -> None:
    declared = {"300": {"content": "<x>", "special": True}, "301": {"content": "<y>"}}
    config = json.dumps({"added_tokens_decoder": declared})
    (folder / "tokenizer_config.json").write_text(config, "utf-8")
    tok = Tokenizer.from_tiktoken(folder, pattern=WORDS)
    ids = tok.encode("ab<x><y>")
    assert ids.tolist() == [256, 300, 301]
    assert tok.decode(ids, skip_special_tokens=True) == "ab<y>"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ("{", None),
        ("[]", None),
        ('{"added_tokens_decoder": []}', "added_tokens_decoder"),
        ('{"added_tokens_decoder": {"x": {"content": "a"}}}', "added_tokens_decoder"),
        ('{"added_tokens_decoder": {"300": "a"}}', "added_tokens_decoder.300"),
        ('{"added_tokens_decoder": {"300": {"content": 1}}}', "added_tokens_decoder.300.content"),
        (
            '{"added_tokens_decoder": {"300": {"content": "a", "special": 1}}}',
            "added_tokens_decoder.300.special",
        ),
    ],
)
def test_faults_of_the_config(config: str, field: str | None, folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(config, "utf-8")
    with pytest.raises(ModelFileError) as caught:
        Tokenizer.from_tiktoken(folder, pattern=WORDS)
    assert caught.value.field == field
    assert caught.value.source.endswith("tokenizer_config.json")


@pytest.mark.parametrize(
    ("tokens", "field", "reason"),
    [
        ({5: "<a>"}, 5, "the id 5 of '<a>' is that of an ordinary token"),
        ({2**31: "<a>"}, 2**31, "is not between 0 and"),
        ({300: "abc"}, 300, "'abc' is the name of an ordinary token, too"),
        ({300: "<a>", 301: "<a>"}, 300, "'<a>' has two ids, 300 and 301"),
        ({300: "<a>b", 301: "<a>"}, 300, "'<a>b' begins with '<a>'"),
        ({300: ""}, 300, "'' cannot stand in a text"),
    ],
)
def test_faults_of_tokens_are_of_the_file_that_has_them(
    tokens: dict[int, str], field: int, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "tiktoken.model").write_bytes(rank_file(RANKS))
    declared = {number: {"content": content} for number, content in tokens.items()}
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"added_tokens_decoder": declared}))
    with pytest.raises(ModelFileError, match=re.escape(reason)) as caught:
        Tokenizer.from_tiktoken(tmp_path, pattern=WORDS)
    assert caught.value.source == str(config)
    assert caught.value.field == f"added_tokens_decoder.{field}"


def test_faults_of_tokens_in_added_tokens_json(tmp_path: Path) -> None:
    (tmp_path / "tiktoken.model").write_bytes(rank_file(RANKS))
    (tmp_path / "added_tokens.json").write_text('{"<a>": 5}')
    with pytest.raises(ModelFileError, match=r"added_tokens\.json: <a>: the id 5 of '<a>' is that"):
        Tokenizer.from_tiktoken(tmp_path, pattern=WORDS)


# ------------------------------------------------------------------------ folders


def test_a_folder_with_a_tokenizer_json_alone(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelNotFoundError, match=r"has none of tiktoken\.model, .*but a tokenizer"):
        Tokenizer.from_tiktoken(tmp_path)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("tekken.json", b"{}", "'config' is missing"),
        ("tekken.json", b"[]", "must be an object, not a list"),
        ("tekken.json", b'{"config": {}}', "config: 'pattern' is missing"),
        ("tekken.json", b"?", "not valid JSON"),
        ("tokenizer.model", b"", "the file has no ranks"),
        ("tokenizer.model", b"\xff\0", "line 1: not a token in base64 and its rank"),
        ("tiktoken.model", b"", "the file has no ranks"),
    ],
)
def test_what_a_file_is_called_tells_what_it_should_be(
    name: str, data: bytes, reason: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    for load_folder in (Tokenizer.from_pretrained, Tokenizer.from_tiktoken):
        with pytest.raises(ModelFileError, match=reason) as caught:
            load_folder(tmp_path)
        assert caught.value.source == str(tmp_path / name)


def test_a_tokenizer_json_by_another_name(tmp_path: Path) -> None:
    for name in ("tokenizer.model", "tekken.json"):
        path = tmp_path / name
        path.write_text(json.dumps(synthetic.model_from_merges([("a", "b")])))
        assert Tokenizer.from_file(path).encode("ab").tolist() == [256]


def test_patterns_that_are_refused_and_arguments_of_wrong_types(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(rank_file(RANKS))
    message = r"x\.tiktoken: a pattern that needs too many states is not supported at position 0"
    with pytest.raises(PatternError, match=message) as caught:
        Tokenizer.from_tiktoken(path, pattern=r"(?:\p{L}{900}\p{N}{900}){900}")
    assert caught.value.source == str(path)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    wrong: Any = 5
    with pytest.raises(TypeError, match="pattern must be str, not int"):
        Tokenizer.from_tiktoken(path, pattern=wrong)
    wrong = ["<a>"]
    with pytest.raises(TypeError, match="special_tokens must map str to int, not be list"):
        Tokenizer.from_tiktoken(path, pattern=WORDS, special_tokens=wrong)


def test_which_file_of_a_folder_counts(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"nor tiktoken\.model, \*\.tiktoken, tekken"):
        Tokenizer.from_tiktoken(tmp_path)
    (tmp_path / "tokenizer.model").write_bytes(b"?")
    (tmp_path / "tekken.json").write_text(json.dumps(tekken()))
    assert Tokenizer.from_pretrained(tmp_path).source.endswith("tekken.json")
    (tmp_path / "b.tiktoken").write_bytes(rank_file(RANKS))
    assert Tokenizer.from_tiktoken(tmp_path, pattern=WORDS).source.endswith("b.tiktoken")
    (tmp_path / "a.tiktoken").write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match=r"which of a\.tiktoken, b\.tiktoken"):
        Tokenizer.from_pretrained(tmp_path)
    (tmp_path / "tiktoken.model").write_bytes(rank_file(RANKS))
    assert Tokenizer.from_tiktoken(tmp_path, pattern=WORDS).source.endswith("tiktoken.model")
    with pytest.raises(ModelNotFoundError, match="there is no file"):
        Tokenizer.from_tiktoken(tmp_path / "absent.tiktoken")


def test_a_sentencepiece_model_says_how_to_convert(data_dir: Path) -> None:
    path = data_dir / "tokenizers" / "spm_llama2" / "tokenizer.model"
    for load in (Tokenizer.from_file, Tokenizer.from_tiktoken, Tokenizer.from_pretrained):
        with pytest.raises(ModelFileError, match=r"SentencePiece model.*save_pretrained"):
            load(path)
    with pytest.raises(ModelFileError, match="SentencePiece"):
        Tokenizer.from_pretrained(path.parent)


# ---------------------------------------------------------------- named encodings


@pytest.fixture
def cl100k(data_dir: Path) -> Path:
    return tiktoken_models.file_of(data_dir, "tiktoken_cl100k")


URL = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_ranks_from_the_cache_of_tiktoken(
    variable: str, cl100k: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setitem(sys.modules, "tiktoken.load", None)
    with pytest.raises(ModelNotFoundError, match="not in tiktoken's cache"):
        Tokenizer.from_tiktoken("cl100k_base")
    cached = tmp_path / hashlib.sha1(URL.encode()).hexdigest()
    cached.write_bytes(b"damaged")
    with pytest.raises(ModelNotFoundError, match="not in tiktoken's cache"):
        Tokenizer.from_tiktoken("cl100k_base")
    cached.write_bytes(cl100k.read_bytes())
    tok = Tokenizer.from_tiktoken("cl100k_base")
    assert (tok.source, tok.backend, len(tok)) == ("cl100k_base", "tiktoken", 100_261)
    assert tok.encode("<|endofprompt|>").tolist() == [100_276]


def test_ranks_through_tiktoken(cl100k: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken.load

    asked = []

    def read(url: str, sha256: str) -> bytes:
        asked.append((url, sha256))
        return cl100k.read_bytes()

    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setattr(tiktoken.load, "read_file_cached", read)
    assert len(Tokenizer.from_tiktoken("cl100k_base")) == 100_261
    assert asked == [(URL, hashlib.sha256(cl100k.read_bytes()).hexdigest())]

    def fail(url: str, sha256: str) -> bytes:
        raise OSError("no network")

    monkeypatch.setattr(tiktoken.load, "read_file_cached", fail)
    with pytest.raises(ModelNotFoundError, match="no ranks of cl100k_base: no network"):
        Tokenizer.from_tiktoken("cl100k_base")


def test_ranks_of_another_encoding(cl100k: Path) -> None:
    with pytest.raises(ModelFileError, match="not the ranks of o200k_base"):
        Tokenizer.from_tiktoken("o200k_base", ranks=cl100k)
    with pytest.raises(ValueError, match="goes with the name of an encoding"):
        Tokenizer.from_tiktoken(cl100k, ranks=cl100k)
