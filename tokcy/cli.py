"""The command ``tokcy``: encode, decode and count from the shell.

Exit codes: 0 done; 1 the model or the data is at fault; 2 wrong usage; 130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

import tokcy
from tokcy import Tokenizer
from tokcy.choice import BackendName
from tokcy.errors import SettingError, TokcyError
from tokcy.info import as_text
from tokcy.server.command import add_serve_command
from tokcy.streams import STDIN, InputError, output_file, print_line, progress, read, shown, stdout
from tokcy.threads import resolve_num_threads

NPY_MAGIC = b"\x93NUMPY"
MAX_DIGITS = 100  # of an id; Python itself refuses to read thousands


def main(argv: list[str] | None = None) -> int:
    """Run the command with these arguments (those of the process by default)."""
    _log_to_stderr()
    arguments = _parse(argv)
    try:
        arguments.run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # The reader, such as `head`, has what it wanted. Python would complain once more
        # when it flushes at exit, so give it something that takes the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13  # as if SIGPIPE had ended it
    except KeyboardInterrupt:
        return 128 + 2
    except SettingError as error:
        _usage_error(str(error))
    except (TokcyError, OSError, MemoryError) as error:
        _complain(str(error) or type(error).__name__)
        return 1


def _log_to_stderr() -> None:
    """Show what tokcy logs, unless the process that called `main` sees to that itself.

    Not through the root logger: huggingface_hub has a handler of its own, and one at the root
    would show its messages a second time.
    """
    logger = logging.getLogger("tokcy")
    handlers = [*logger.handlers, *logging.getLogger().handlers]
    seen = any(not isinstance(handler, logging.NullHandler) for handler in handlers)
    if sys.stderr is not None and not seen:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        logger.addHandler(handler)


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = _parser()
    # argparse gives up on files that come after an option; they are left over, in order.
    arguments, rest = parser.parse_known_args(argv)
    unknown = [word for word in rest if word.startswith("-") and word != STDIN]
    if unknown or (rest and not hasattr(arguments, "files")):
        parser.error(f"unrecognized arguments: {' '.join(unknown or rest)}")
    if rest:
        arguments.files = [*arguments.files, *rest]
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tokcy", description="Text to token ids and back, exactly as Hugging Face does it."
    )
    parser.add_argument("--version", action="version", version=f"tokcy {tokcy.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(run: Callable[[argparse.Namespace], None], summary: str, inputs: str) -> Any:
        added = commands.add_parser(run.__name__.strip("_"), help=summary, description=summary)
        added.set_defaults(run=run)
        added.add_argument(
            "model", metavar="MODEL", help="a tokenizer.json, a folder with one, or a hub id"
        )
        _add_model_options(added)
        added.add_argument(
            "files", nargs="*", metavar="FILE", help=f"files of {inputs} (default, and -: stdin)"
        )
        return added

    encode = command(_encode, "Turn UTF-8 text into token ids, a line for each input.", "text")
    _add_text_options(encode)
    _add_output_options(encode, ["plain", "json", "npy"])

    decode = command(_decode, "Turn ids (plain, JSON or .npy) back into text.", "ids")
    decode.add_argument("--ids", help="decode these ids instead of a file")
    decode.add_argument("--skip-special-tokens", action="store_true", help="leave them out")
    _add_output_options(decode, ["plain", "json"])

    count = command(_count, "Count the tokens of UTF-8 text, like wc.", "text")
    _add_text_options(count)
    count.add_argument("--json", action="store_true", help="print a JSON object")

    save = commands.add_parser(
        "save", help="Write tokcy's own form of a model, which loads faster."
    )
    save.set_defaults(run=_save)
    save.add_argument("model", metavar="MODEL", help="as for the other commands")
    save.add_argument("output", metavar="OUT", help="the file to write")
    _add_model_options(save)

    info = commands.add_parser("info", help="Tell what is installed, and what a model is.")
    info.set_defaults(run=_info)
    info.add_argument("model", nargs="?", metavar="MODEL", help="as for the other commands")
    info.add_argument("--json", action="store_true", help="print a JSON object")
    _add_model_options(info)

    add_serve_command(commands, _load_model)
    return parser


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        choices=get_args(BackendName),
        help="who does the work; default: TOKCY_BACKEND, else auto",
    )
    parser.add_argument(
        "--no-fallback",
        dest="fallback",
        action="store_const",
        const=False,  # else None: the environment may forbid it, too
        help="fail rather than leave the work to Hugging Face tokenizers",
    )
    parser.add_argument(
        "--no-config",
        dest="config",
        action="store_false",
        help="leave out tokenizer_config.json and what else stands beside the tokenizer.json",
    )


def _add_text_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text", help="take this text instead of a file")
    parser.add_argument(
        "--no-add-special-tokens",
        dest="add_special_tokens",
        action="store_false",
        help="leave out the tokens that the model puts around a text",
    )
    parser.add_argument(
        "--no-allow-special",
        dest="allow_special",
        action="store_false",
        help="treat the spelling of a special token as ordinary text",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="use at most N threads")


def _add_output_options(parser: argparse.ArgumentParser, formats: list[str]) -> None:
    parser.add_argument(
        "--format", choices=formats, help="default: by the name of the output file, else plain"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of stdout")


def _encode(arguments: argparse.Namespace) -> None:
    inputs = _text_inputs(arguments)
    kind = _output_format(arguments)
    if kind == "npy" and len(inputs) > 1:
        _usage_error(".npy holds the ids of one input")
    if kind == "npy" and arguments.output is None and stdout().isatty():
        _usage_error("not writing .npy to a terminal: use -o FILE")
    tokenizer = _load(arguments)
    options = _encode_options(arguments)
    with output_file(arguments.output) as output:
        for _, text in _read_all(inputs):
            output.write(_format_ids(tokenizer.encode(text, **options), kind))


def _decode(arguments: argparse.Namespace) -> None:
    if arguments.ids is not None and arguments.files:
        _usage_error("--ids goes without files")
    kind = _output_format(arguments)
    tokenizer = _load(arguments)
    with output_file(arguments.output) as output:
        if arguments.ids is not None:
            sources: Iterator[tuple[str, bytes]] = iter([("--ids", os.fsencode(arguments.ids))])
        else:
            sources = ((name, read(name)) for name in arguments.files or [STDIN])
        for name, data in sources:
            text = tokenizer.decode(
                _parse_ids(data, name), skip_special_tokens=arguments.skip_special_tokens
            )
            if kind == "json":
                text = f"{json.dumps(text)}\n"
            elif arguments.output is None and stdout().isatty():
                text += "\n"  # for the shell's prompt; a pipe gets the text and no more
            output.write(text.encode())


def _count(arguments: argparse.Namespace) -> None:
    inputs = _text_inputs(arguments)
    tokenizer = _load(arguments)
    options = _encode_options(arguments)
    counts = [(name, tokenizer.count(text, **options)) for name, text in _read_all(inputs)]
    total = sum(count for _, count in counts)
    if arguments.json:
        files = [{"input": name, "tokens": count} for name, count in counts]
        print_line(json.dumps({"tokens": total, "inputs": files}))
    elif len(counts) == 1:
        print_line(str(total))
    else:
        width = len(str(total))
        for name, count in [*counts, ("total", total)]:
            print_line(f"{count:>{width}} {name}")


def _info(arguments: argparse.Namespace) -> None:
    facts: dict[str, Any] = {"version": tokcy.__version__, **tokcy.build_info()}
    if arguments.model is not None:
        facts |= {"model": arguments.model, **_load(arguments).describe()}
    lines = [json.dumps(facts)] if arguments.json else as_text(facts)
    for line in lines:
        print_line(line)


def _save(arguments: argparse.Namespace) -> None:
    _load(arguments).save(arguments.output)


def _load(arguments: argparse.Namespace) -> Tokenizer:
    return _load_model(arguments.model, arguments)


def _load_model(name: str, arguments: argparse.Namespace) -> Tokenizer:
    is_file = os.path.isfile(name) or name.endswith(".json")
    load = Tokenizer.from_file if is_file else Tokenizer.from_pretrained
    return load(
        name, config=arguments.config, backend=arguments.backend, fallback=arguments.fallback
    )


def _encode_options(arguments: argparse.Namespace) -> dict[str, Any]:
    try:
        threads = resolve_num_threads(arguments.threads)
    except ValueError as error:  # of the argument or of the environment
        _usage_error(str(error))
    return {
        "add_special_tokens": arguments.add_special_tokens,
        "allow_special": arguments.allow_special,
        "num_threads": threads,
    }


def _text_inputs(arguments: argparse.Namespace) -> list[tuple[str, str | None]]:
    """Each input's name, and its text if that was given on the command line."""
    if arguments.text is None:
        return [(name, None) for name in arguments.files or [STDIN]]
    if arguments.files:
        _usage_error("--text goes without files")
    return [("--text", arguments.text)]


def _read_all(inputs: list[tuple[str, str | None]]) -> Iterator[tuple[str, str]]:
    """Read one input after the other, with a progress bar for long work."""
    sizes = [os.path.getsize(name) if os.path.isfile(name) else 0 for name, _ in inputs]
    with progress(sum(sizes)) as advance:
        for (name, text), size in zip(inputs, sizes, strict=True):
            if text is None:
                data = read(name)
                try:
                    text = data.decode()
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{shown(name)}: no UTF-8: {error.reason} at byte {error.start}"
                    ) from None
            yield shown(name), text
            advance(size)


def _output_format(arguments: argparse.Namespace) -> str:
    suffix = Path(arguments.output or "").suffix[1:].lower()
    return arguments.format or (suffix if suffix in ("json", "npy") else "plain")


def _format_ids(ids: NDArray[np.uint32], kind: str) -> bytes:
    if kind == "npy":
        buffer = io.BytesIO()
        np.save(buffer, ids)
        return buffer.getvalue()
    if kind == "json":
        return f"{json.dumps(ids.tolist())}\n".encode()
    return f"{' '.join(map(str, ids.tolist()))}\n".encode()


def _parse_ids(data: bytes, name: str) -> NDArray[np.integer[Any]]:
    """The ids in what ``encode`` writes, whatever the format; all lines are one sequence."""
    try:
        if data.startswith(NPY_MAGIC):
            ids: NDArray[Any] = np.load(io.BytesIO(data), allow_pickle=False)
            if ids.dtype.kind not in "iu":
                raise ValueError(f"an array of {ids.dtype}")
            return ids.ravel()
        words = data.translate(bytes.maketrans(b"[],", b"   ")).split()
        return np.array([_parse_id(word) for word in words], dtype=np.uint32)
    except (ValueError, EOFError) as error:
        raise InputError(f"{shown(name)}: no token ids: {error}") from None


def _parse_id(word: bytes) -> int:
    shown = word[:MAX_DIGITS].decode(errors="backslashreplace")
    if not word.removeprefix(b"-").isdigit():  # which is stricter than `int`, as with 1_000
        raise ValueError(f"{shown!r} is no integer")
    number = int(word) if len(word) <= MAX_DIGITS else -1
    if not 0 <= number < 2**32:
        raise ValueError(f"{shown} is not between 0 and 2**32 - 1")
    return number


def _usage_error(message: str) -> NoReturn:
    _complain(message)
    raise SystemExit(2)


def _complain(message: str) -> None:
    if sys.stderr is not None:  # `print` would take stdout instead
        print(f"tokcy: error: {message}", file=sys.stderr)
