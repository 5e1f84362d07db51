"""What `tokcy.patch_hf` makes of the same calls of `transformers` and `tokenizers`.

    python -m bench.dropin [--rounds N] TOKENIZER_JSON...

Results are compared before anything is timed. Rounds with and without the patch take turns; of
each call the median of its rounds counts, elapsed on all cores. Texts are English prose from the
test data, and the same in each round, as a service sees much of its text again.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import tokcy

Calls = dict[str, tuple[int, Callable[[], Any]]]
"""What is called, and how often in a round."""

_LONG = 450_000
_SHORT = "hello world how are you doing today my dear"


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.dropin",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("models", nargs="+", type=Path, metavar="TOKENIZER_JSON")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args(argv)
    text = _text()
    print(f"{'model':<14}{'call':<34}{'unpatched':>12}{'patched':>12}")
    for path in arguments.models:
        for name, (before, after) in _measure(path, text, arguments.rounds).items():
            times = f"{before * 1e6:>9.0f} µs{after * 1e6:>9.0f} µs"
            print(
                f"{path.parent.name:<14}{name:<34}{times}{before / after:>7.1f} times", flush=True
            )


def _text() -> str:
    folder = Path(os.environ["TOKCY_DATA"]) / "corpora"
    return (folder / "english_prose.txt").read_text(encoding="utf-8")


def _measure(path: Path, text: str, rounds: int) -> dict[str, tuple[float, float]]:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))  # type: ignore[no-untyped-call]
    tokenizer.pad_token = tokenizer.convert_ids_to_tokens(0)
    calls = _calls(tokenizer, text)
    expected = {name: _plain(call()) for name, (_, call) in calls.items()}
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in calls}
    for _ in range(rounds):
        _time(calls, {name: pair[0] for name, pair in times.items()})
        with tokcy.patched_hf(strict=True):
            for name, (_, call) in calls.items():
                if _plain(call()) != expected[name]:
                    raise SystemExit(f"{path}: {name} gives something else")
            _time(calls, {name: pair[1] for name, pair in times.items()})
    return {
        name: (statistics.median(before), statistics.median(after))
        for name, (before, after) in times.items()
    }


def _calls(tokenizer: Any, text: str) -> Calls:
    choose = Random(0)
    starts = [choose.randrange(len(text) - 1024) for _ in range(1000)]
    batch = [text[i : i + 1024] for i in starts]
    long = text[:_LONG]
    ids = tokenizer(long)["input_ids"][:100_000]
    backend = tokenizer.backend_tokenizer
    cut = {"truncation": True, "max_length": 128, "padding": True}
    return {
        "tok(10 tokens)": (200, lambda: tokenizer(_SHORT)),
        "tok(10 tokens, truncated)": (
            200,
            lambda: tokenizer(_SHORT, truncation=True, max_length=8),
        ),
        "tok(a pair of 10)": (200, lambda: tokenizer(_SHORT, _SHORT)),
        "tok(1,000 × 1 KB)": (1, lambda: tokenizer(batch)),
        "tok(1,000 × 1 KB, cut and filled)": (1, lambda: tokenizer(batch, **cut)),
        f"tok({len(ids):,} tokens)": (1, lambda: tokenizer(long)),
        "the same with offsets": (1, lambda: tokenizer(long, return_offsets_mapping=True)),
        "tok.decode(10 ids)": (200, lambda: tokenizer.decode(ids[:10])),
        f"tok.decode({len(ids):,} ids)": (1, lambda: tokenizer.decode(ids)),
        "Tokenizer.encode(10 tokens)": (200, lambda: backend.encode(_SHORT)),
        "Tokenizer.encode_batch(1,000 × 1 KB)": (1, lambda: backend.encode_batch(batch)),
    }


def _plain(result: Any) -> Any:
    """What two results are compared by."""
    if isinstance(result, list):
        return [each.ids for each in result]
    if hasattr(result, "word_ids") and hasattr(result, "ids"):
        return result.ids
    return dict(result) if hasattr(result, "encodings") else result


def _time(calls: Calls, times: dict[str, list[float]]) -> None:
    for name, (n, call) in calls.items():
        call()
        begin = time.perf_counter()
        for _ in range(n):
            call()
        times[name].append((time.perf_counter() - begin) / n)


if __name__ == "__main__":
    main()
