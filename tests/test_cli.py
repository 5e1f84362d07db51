"""The command ``tokcy``, run as a shell runs it: in a process of its own."""

from __future__ import annotations

import functools
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import synthetic
import tokenizers

import tokcy
from tokcy import cli, streams
from tokcy.streams import STDIN, InputError

TEXT = "The tokenizer turns text<|end|>into numbers.\n  分词器 🙂\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer.json: 600 tokens, ``<|end|>``, and a ``<|bos|>`` before texts."""
    content = synthetic.trained_model()
    vocab_size = len(content["model"]["vocab"])
    content["added_tokens"] = [
        {"id": vocab_size, **synthetic.added_token("<|end|>")},
        {"id": vocab_size + 1, **synthetic.added_token("<|bos|>")},
    ]
    content["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<|bos|>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            "<|bos|>": {"id": "<|bos|>", "ids": [vocab_size + 1], "tokens": ["<|bos|>"]}
        },
    }
    folder = tmp_path_factory.mktemp("model")
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def hf(model: Path) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(model / "tokenizer.json"))


def run(
    *arguments: str | Path,
    stdin: str | bytes = b"",
    code: int = 0,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
) -> tuple[bytes, str]:
    """stdout and stderr of the command, which must end with this exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "tokcy", *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        timeout=120,
    )
    assert done.returncode == code, done.stderr.decode()
    return done.stdout, done.stderr.decode()


def ids_of(line: bytes) -> list[int]:
    return [int(word) for word in line.split()]


def test_encode_reads_stdin(model: Path, hf: tokenizers.Tokenizer) -> None:
    out, err = run("encode", model, stdin=TEXT)
    assert ids_of(out) == hf.encode(TEXT).ids
    assert err == ""
    assert run("encode", model / "tokenizer.json", "-", stdin=TEXT)[0] == out


def test_encode_options(model: Path, hf: tokenizers.Tokenizer) -> None:
    out, _ = run("encode", model, "--no-add-special-tokens", "--text", TEXT)
    assert ids_of(out) == hf.encode(TEXT, add_special_tokens=False).ids
    out, _ = run("encode", model, "--no-allow-special", "--threads", "1", "--text", TEXT)
    assert hf.token_to_id("<|end|>") not in ids_of(out)


def test_encode_writes_a_line_for_each_file(
    model: Path, hf: tokenizers.Tokenizer, tmp_path: Path
) -> None:
    texts = {"a.txt": TEXT, "b.txt": "", "c.txt": "numbers"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    out, _ = run("encode", model, *texts, cwd=tmp_path)
    assert [ids_of(line) for line in out.splitlines()] == [
        hf.encode(text).ids for text in texts.values()
    ]
    out, _ = run("encode", model, *texts, "--format", "json", cwd=tmp_path)
    assert [json.loads(line) for line in out.splitlines()] == [
        hf.encode(text).ids for text in texts.values()
    ]


def test_npy(model: Path, hf: tokenizers.Tokenizer, tmp_path: Path) -> None:
    run("encode", model, "--text", TEXT, "-o", tmp_path / "ids.npy")
    ids = np.load(tmp_path / "ids.npy")
    assert ids.dtype == np.uint32
    assert ids.tolist() == hf.encode(TEXT).ids
    out, _ = run("encode", model, "--text", TEXT, "--format", "npy")
    assert out == (tmp_path / "ids.npy").read_bytes()
    _, err = run("encode", model, "a", "b", "--format", "npy", code=2)
    assert err == "tokcy: error: .npy holds the ids of one input\n"


@pytest.mark.parametrize("suffix", [".NPY", ".Json"])
def test_the_case_of_a_suffix_does_not_matter(model: Path, tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"ids{suffix}"
    run("encode", model, "--text", TEXT, "-o", output)
    form = suffix[1:].lower()
    assert output.read_bytes() == run("encode", model, "--text", TEXT, "--format", form)[0]


def test_an_output_file_is_whole_or_untouched(model: Path, tmp_path: Path) -> None:
    output = tmp_path / "ids.txt"
    run("encode", model, tmp_path / "missing.txt", "-o", output, code=1)
    assert list(tmp_path.iterdir()) == []
    output.write_text("as it was")
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text(TEXT, encoding="utf-8")
    bad.write_bytes(b"\xff")
    run("encode", model, good, bad, "-o", output, code=1)
    assert output.read_text() == "as it was"
    run("encode", model, good, "-o", output)
    assert output.read_text() != "as it was"
    assert sorted(tmp_path.iterdir()) == sorted([output, good, bad])


@pytest.mark.parametrize("form", ["plain", "json", "npy"])
def test_decode_takes_what_encode_writes(model: Path, form: str) -> None:
    ids, _ = run("encode", model, "--no-add-special-tokens", "--format", form, stdin=TEXT)
    assert run("decode", model, stdin=ids)[0].decode() == TEXT
    out, _ = run("decode", model, "--format", "json", stdin=ids)
    assert json.loads(out) == TEXT


def test_decode_options(model: Path, hf: tokenizers.Tokenizer) -> None:
    ids = hf.encode(TEXT).ids
    listed = ", ".join(map(str, ids))
    assert run("decode", model, "--ids", listed)[0].decode() == "<|bos|>" + TEXT
    out, _ = run("decode", model, "--skip-special-tokens", "--ids", f"[{listed}]")
    assert out.decode() == TEXT.replace("<|end|>", "")


def test_count(model: Path, hf: tokenizers.Tokenizer, tmp_path: Path) -> None:
    assert run("count", model, stdin=TEXT)[0] == b"%d\n" % len(hf.encode(TEXT).ids)
    (tmp_path / "a").write_bytes(TEXT.encode())
    (tmp_path / "b").write_bytes(b"text " * 1000)
    counts = [len(hf.encode(text).ids) for text in (TEXT, "text " * 1000)]
    out, _ = run("count", model, "a", "b", cwd=tmp_path)
    assert [line.split() for line in out.decode().splitlines()] == [
        [str(counts[0]), "a"],
        [str(counts[1]), "b"],
        [str(sum(counts)), "total"],
    ]
    out, _ = run("count", model, "--json", "a", "b", cwd=tmp_path)
    assert json.loads(out) == {
        "tokens": sum(counts),
        "inputs": [{"input": "a", "tokens": counts[0]}, {"input": "b", "tokens": counts[1]}],
    }


def test_info(model: Path, hf: tokenizers.Tokenizer) -> None:
    facts = json.loads(run("info", model, "--json")[0])
    assert facts["version"] == tokcy.__version__
    assert facts["model"] == str(model)
    assert (facts["backend"], facts["fallback_reason"]) == ("tokcy", None)
    assert facts["tokens"] == hf.get_vocab_size()
    assert facts["added_tokens"] == 2
    assert facts.items() >= tokcy.build_info().items()
    assert "backend:         tokcy\n" in run("info", model)[0].decode()
    assert json.loads(run("info", "--json")[0]).keys() == {"version", *tokcy.build_info()}


def test_info_of_the_files_and_the_pipeline(tmp_path: Path) -> None:
    content = synthetic.trained_model()
    size = len(content["model"]["vocab"])
    content["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    content["added_tokens"] = [{"id": size, **synthetic.added_token("<s>")}]
    content["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [size], "tokens": ["<s>"]}},
    }  # fmt: skip
    config = {
        "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 512, "chat_template": "x",
        "additional_special_tokens": [f"<{i}>" for i in range(20)],
    }  # fmt: skip
    model, beside = tmp_path / "tokenizer.json", tmp_path / "tokenizer_config.json"
    model.write_text(json.dumps(content))
    beside.write_text(json.dumps(config))
    facts = json.loads(run("info", tmp_path, "--json")[0])
    sizes = [{"path": str(path), "bytes": path.stat().st_size} for path in (model, beside)]
    assert facts["files"] == sizes
    assert facts["pipeline"]["normalizer"] == ["NFC()"]
    assert facts["pipeline"]["model"] == [f"BPE({size} entries, {size - 256} merges)"]
    assert facts["pipeline"]["post_processor"] == ["TemplateProcessing(<s> $A)"]
    assert facts["special_tokens"][:2] == [
        {"id": size, "content": "<s>", "special": True, "names": ["bos_token"],
         "declared_in": [str(model), str(beside)]},
        {"id": size + 1, "content": "</s>", "special": True, "names": ["eos_token"],
         "declared_in": [str(beside)]},
    ]  # fmt: skip
    assert len(facts["special_tokens"]) == 22
    assert (facts["chat_templates"], facts["model_max_length"]) == (["default"], 512)
    assert facts["cache"]["bytes"] > 0
    text = run("info", tmp_path)[0].decode()
    assert f"files:           {model} ({model.stat().st_size:,} bytes)\n" in text
    assert "pipeline:        normalizer: NFC()\n" in text
    assert f" {size} '<s>' bos_token (tokenizer.json, tokenizer_config.json)\n" in text
    assert " … and 8 more; --json lists them all\n" in text
    without = json.loads(run("info", tmp_path, "--no-config", "--json")[0])
    assert (without["tokens"], len(without["files"])) == (size + 1, 1)
    run("save", tmp_path, "saved", cwd=tmp_path)
    saved = json.loads(run("info", tmp_path / "saved", "--json")[0])
    assert saved["pipeline"] == {}
    assert [t["id"] for t in saved["special_tokens"]] == [t["id"] for t in facts["special_tokens"]]


def test_info_of_numbers_and_names_that_are_none(tmp_path: Path) -> None:
    content = synthetic.trained_model()
    content["normalizer"] = {"type": "NFC", "\x9b1m": 1}
    config = {
        "\x1b[31m_token": "<s>",
        "chat_template": [{"name": "\x1b[31m\n", "template": "x"}],
        "model_max_length": float("inf"),
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    out = run("info", tmp_path, "--json")[0]
    facts = json.loads(out, parse_constant=pytest.fail)
    assert facts["model_max_length"] is None
    assert facts["chat_templates"] == ["\x1b[31m\n"]
    text = run("info", tmp_path)[0].decode()
    assert "chat templates:  \\x1b[31m\\n\n" in text
    assert "normalizer: NFC(\\x9b1m=1)\n" in text
    assert "'<s>' \\x1b[31m_token" in text


def test_the_backend_is_a_choice(model: Path, tmp_path: Path) -> None:
    chosen = json.loads(run("info", model, "--json", "--backend", "huggingface")[0])
    assert (chosen["backend"], chosen["fallback_reason"]) == ("huggingface", None)
    content = synthetic.trained_model() | {"normalizer": {"type": "Nmt"}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    error = one_line_error("count", tmp_path, "--text", "x", "--no-fallback")
    assert "normalizer Nmt is not supported natively" in error
    _, err = run("info", model, environment={"TOKCY_BACKEND": "rust"}, code=2)
    assert "TOKCY_BACKEND must be one of 'auto', 'tokcy', 'huggingface', not 'rust'" in err


def test_info_tells_why_hugging_face_does_the_work(tmp_path: Path) -> None:
    content = synthetic.trained_model()
    content["normalizer"] = {"type": "Nmt"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    out, err = run("info", tmp_path, "--json")
    facts = json.loads(out)
    assert facts["backend"] == "huggingface"
    assert "Nmt" in facts["fallback_reason"]
    assert err.count("\n") == 1
    assert "Nmt" in err


def test_version() -> None:
    assert run("--version")[0].decode() == f"tokcy {tokcy.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode"],
        ["unknown"],
        [],
        ["encode", "MODEL", "--text", "x", "file"],
        ["encode", "MODEL", "--text", "x", "--threads", "0"],
        ["encode", "MODEL", "--threads", "two"],
        ["decode", "MODEL", "--ids", "1", "file"],
    ],
)
def test_wrong_usage_is_code_2(model: Path, arguments: list[str]) -> None:
    out, err = run(*[str(model) if word == "MODEL" else word for word in arguments], code=2)
    assert out == b""
    assert "error: " in err.splitlines()[-1]
    assert "Traceback" not in err


def one_line_error(*arguments: str | Path, stdin: bytes = b"") -> str:
    out, err = run(*arguments, stdin=stdin, code=1)
    assert out == b""
    assert err.startswith("tokcy: error: ")
    assert err.count("\n") == 1
    return err


def test_errors_are_one_line_and_code_1(model: Path, tmp_path: Path) -> None:
    assert "missing.txt" in one_line_error("encode", model, tmp_path / "missing.txt")
    assert "gone.json" in one_line_error("encode", tmp_path / "gone.json", "--text", "x")
    (tmp_path / "broken.json").write_text("{}", encoding="utf-8")
    assert "broken.json" in one_line_error("encode", tmp_path / "broken.json", "--text", "x")
    assert "stdin: no token ids" in one_line_error("decode", model, stdin=b"1 2 three")
    error = one_line_error("decode", model, "--ids=-1")
    assert "--ids: no token ids: -1 is not between 0 and 2**32 - 1" in error
    floats = io.BytesIO()
    np.save(floats, np.zeros(3))
    assert "float64" in one_line_error("decode", model, stdin=floats.getvalue())
    assert "stdin: no token ids" in one_line_error("decode", model, stdin=floats.getvalue()[:20])


@pytest.mark.parametrize("number", ["-1", str(2**32), str(10**30), "9" * 5000])
def test_numbers_that_are_no_ids(number: str) -> None:
    message = f"--ids: no token ids: {number[: cli.MAX_DIGITS]} is not between 0 and 2**32 - 1"
    with pytest.raises(InputError, match=rf"^{re.escape(message)}$"):
        cli._parse_ids(number.encode(), "--ids")


@pytest.mark.parametrize("word", ["1_000", "+1", "1.5", "--1", "-", "٣"])
def test_words_that_are_no_numbers(word: str) -> None:
    with pytest.raises(InputError, match=r"^stdin: no token ids: '.*' is no integer$"):
        cli._parse_ids(word.encode(), STDIN)


def test_empty_names_and_folders(model: Path) -> None:
    assert "the name of the model is empty" in one_line_error("encode", "", "--text", "x")
    for command in ("encode", "decode", "count"):
        assert one_line_error(command, model, model) == f"tokcy: error: {model} is a folder\n"


def test_a_bad_setting_is_code_2(model: Path) -> None:
    setting = {"TOKCY_NUM_THREADS": "abc"}
    for arguments in (["info"], ["info", model], ["count", model, "--text", "x"]):
        out, err = run(*arguments, environment=setting, code=2)
        assert out == b""
        assert err == ("tokcy: error: TOKCY_NUM_THREADS must be a positive integer, not 'abc'\n")


def run_in_shell(command: str, model: Path) -> tuple[int, bytes, str]:
    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, model], capture_output=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr.decode()


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
@pytest.mark.parametrize(
    ("command", "closed"),
    [
        ('encode "$2" --text x >&-', "stdout"),
        ('encode "$2" --text x --format npy >&-', "stdout"),
        ('decode "$2" --ids 5 >&-', "stdout"),
        ('count "$2" --text x >&-', "stdout"),
        ("info >&-", "stdout"),
        ('encode "$2" <&-', "stdin"),
        ('decode "$2" <&-', "stdin"),
    ],
)
def test_closed_streams_are_one_line_and_code_1(model: Path, command: str, closed: str) -> None:
    expected = (1, b"", f"tokcy: error: {closed} is closed\n")
    assert run_in_shell(f'"$1" -m tokcy {command}', model) == expected
    assert run_in_shell(f'"$1" -m tokcy {command} 2>&-', model) == (1, b"", "")


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
def test_without_stderr_errors_do_not_go_to_stdout(model: Path) -> None:
    assert run_in_shell('"$1" -m tokcy encode "$2" missing 2>&-', model) == (1, b"", "")
    command = '"$1" -m tokcy encode "$2" --text x --threads 0 2>&-'
    assert run_in_shell(command, model) == (2, b"", "")


def test_messages_of_others_are_not_shown_twice() -> None:
    code = (
        "import logging, sys; from tokcy import cli; sys.argv = ['tokcy', 'info'];"
        "hub = logging.getLogger('hub'); hub.addHandler(logging.StreamHandler());"
        "cli.main(); cli.main(); hub.warning('slow down');"
        "logging.getLogger('tokcy').warning('more slowly')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120)
    assert done.stderr.decode().splitlines() == ["slow down", "tokcy: more slowly"]


@pytest.mark.parametrize("missing", ["text", "model"])
def test_the_demonstration_needs_a_text_and_a_model(
    model: Path, tmp_path: Path, missing: str
) -> None:
    text = tmp_path / "text"
    text.write_text("" if missing == "text" else TEXT, encoding="utf-8")
    chosen = tmp_path / "gone.json" if missing == "model" else model
    message = f"{text} is empty" if missing == "text" else f"there is no file {chosen}"
    done = subprocess.run(
        [sys.executable, "-m", "tokcy.demo", text, chosen], capture_output=True, timeout=120
    )
    assert done.returncode == 1
    assert (done.stdout, done.stderr.decode()) == (b"", f"demo: error: {message}\n")


def test_invalid_utf8_is_named_with_its_place(model: Path, tmp_path: Path) -> None:
    error = one_line_error("encode", model, stdin=b"text \xff more")
    assert "stdin: no UTF-8: invalid start byte at byte 5" in error
    (tmp_path / "latin").write_bytes("Grün".encode("latin-1"))
    assert "at byte 2" in one_line_error("count", model, tmp_path / "latin")


def test_stdin_is_not_translated(model: Path) -> None:
    text = "a\r\nb\rc\n\x00\x1a end"
    ids, _ = run("encode", model, "--no-add-special-tokens", stdin=text)
    assert run("decode", model, stdin=ids)[0].decode() == text


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_the_locale_does_not_matter(model: Path, environment: dict[str, str]) -> None:
    ids, _ = run("encode", model, "--no-add-special-tokens", stdin=TEXT, environment=environment)
    assert run("decode", model, stdin=ids, environment=environment)[0].decode() == TEXT


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
def test_a_closed_pipe_is_no_error(model: Path, tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"text and numbers " * 100_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "tokcy", "encode", str(model), str(tmp_path / "long")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="POSIX only")
def test_interrupted_is_code_130(model: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tokcy", "encode", str(model)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background is deaf to Ctrl-C, and its children would be too.
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdin is not None
    assert process.stderr is not None
    # More than a pipe holds: once this is written, the command is reading.
    process.stdin.write(b"text" * 200_000)
    process.stdin.flush()
    time.sleep(0.5)  # for Python, a signal between two reads is one after the next
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdin.close()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_only_for_long_work_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PROGRESS_DELAY", 0)
    for stream, total, shown in [
        (Terminal(), streams.LONG_WORK_BYTES, True),
        (Terminal(), streams.LONG_WORK_BYTES - 1, False),
        (io.StringIO(), streams.LONG_WORK_BYTES, False),
    ]:
        monkeypatch.setattr(sys, "stderr", stream)
        with streams.progress(total) as advance:
            time.sleep(0.01)
            advance(total)
        assert ("10.0M" in stream.getvalue()) == shown
