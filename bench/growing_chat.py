"""A conversation that grows turn by turn, encoded with a prefix cache and without.

    python -m bench.growing_chat TOKENIZER TEXT [--turns 40] [--bytes 650000] [--ascii]

TEXT is a file of conversations in ChatML. Each prompt ends where an assistant is to answer, and is
put together anew before it is encoded, as a server's are. CPU time of the calling thread, one
thread, the median of all rounds; ids are compared first.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tokcy

MARK = "<|im_start|>assistant\n"
ROUNDS = 15


def prompts_of(text: str, n_turns: int) -> list[str]:
    """The beginnings of a text that end with the mark, evenly spread."""
    ends: list[int] = []
    while (at := text.find(MARK, ends[-1] if ends else 0)) >= 0:
        ends.append(at + len(MARK))
    step = max(1, len(ends) // n_turns)
    return [text[:end] for end in ends[::-step][:n_turns][::-1]]


def seconds(prompts: list[str], encode: Callable[[str], object]) -> float:
    total = 0
    for prompt in prompts:
        fresh = prompt[:9] + prompt[9:]
        started = time.thread_time_ns()
        encode(fresh)
        total += time.thread_time_ns() - started
    return total / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizer")
    parser.add_argument("text", type=Path)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--bytes", type=int, default=650_000)
    parser.add_argument("--ascii", action="store_true", help="with ? for all other characters")
    arguments = parser.parse_args()
    tok = tokcy.Tokenizer.from_pretrained(arguments.tokenizer)
    data = arguments.text.read_bytes()[: arguments.bytes]
    text = data.decode(errors="ignore")
    if arguments.ascii:
        text = text.encode("ascii", "replace").decode()
    prompts = prompts_of(text, arguments.turns)
    cache = tokcy.PrefixCache()
    for prompt in prompts:
        assert np.array_equal(tok.encode(prompt, prefix_cache=cache), tok.encode(prompt))
    print(f"{len(prompts)} prompts up to {tok.count(prompts[-1]):,} tokens: {cache.info()}")
    without: list[float] = []
    with_cache: list[float] = []
    for _ in range(ROUNDS):
        without.append(seconds(prompts, lambda text: tok.encode(text, num_threads=1)))
        cache = tokcy.PrefixCache()
        with_cache.append(
            seconds(prompts, lambda text: tok.encode(text, num_threads=1, prefix_cache=cache))  # noqa: B023
        )
    slow, fast = statistics.median(without), statistics.median(with_cache)
    print(f"without {slow * 1e3:.2f} ms, with {fast * 1e3:.2f} ms: {slow / fast:.1f} times")


if __name__ == "__main__":
    main()
