"""Pieces that the cache does not know: they wait, and are merged together from characters on."""

from __future__ import annotations

import itertools
import json
import random
import string

import pytest
import synthetic
import tokenizers

from tokcy import Tokenizer

ALPHABETS = ["abc", "éèê", "一丁七丂", "一丁ab", "😀😁🙂", "\u0301\u0300ae", "АБab", "aé一😀"]
# Each line is a piece, and so is each end of a line.
LINES = {
    "type": "Sequence",
    "pretokenizers": [
        {
            "type": "Split",
            "pattern": {"Regex": r"\n|[^\n]+"},
            "behavior": "Isolated",
            "invert": False,
        },
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    ],
}

Merges = list[tuple[str, str]]


def spelt(piece: bytes) -> str:
    return "".join(synthetic.BYTES[byte] for byte in piece)


def load_both(
    merges: Merges, extra: list[str] | None = None, *, ignore_merges: bool = False
) -> tuple[Tokenizer, tokenizers.Tokenizer]:
    model = synthetic.model_from_merges(
        merges,
        # Some parts of tokens are made by no merge.
        extra_tokens=[*itertools.chain(*merges), *(spelt(token.encode()) for token in extra or [])],
        pre_tokenizer=LINES,
        ignore_merges=ignore_merges,
    )
    tok = Tokenizer.from_json(json.dumps(model))
    assert tok.backend == "tokcy"
    return tok, synthetic.load(model)


def random_merges(rng: random.Random, alphabet: str) -> Merges:
    """For each of some tokens a few ways to cut it in two; it may hold parts of characters."""
    text = "".join(rng.choices(alphabet, k=40)).encode()
    tokens = []
    for character in map(str.encode, alphabet):
        if rng.random() < 0.8:
            tokens += [character[:size] for size in range(2, len(character) + 1)]
    for _ in range(rng.choice([5, 20, 60])):
        begin = rng.randrange(len(text))
        token = text[begin : begin + rng.randint(2, 8)]
        if rng.random() < 0.5:
            token = token.decode(errors="ignore").encode()
        tokens.append(token)
    tokens = [token for token in dict.fromkeys(tokens) if len(token) > 1]
    known = {*tokens, *(bytes([byte]) for byte in text)}
    merges: Merges = []
    for token in sorted(tokens, key=len) if rng.random() < 0.5 else tokens:
        cuts = [(token[:at], token[at:]) for at in range(1, len(token))]
        cuts = [cut for cut in cuts if known.issuperset(cut)]
        rng.shuffle(cuts)
        merges += [(spelt(left), spelt(right)) for left, right in cuts[: rng.choice([1, 1, 2, 9])]]
    for _ in range(rng.choice([0, 0, 1, 4]) if merges else 0):
        merge = rng.choice(merges)
        if rng.random() < 0.7:
            merges.remove(merge)
        merges.insert(rng.randint(0, len(merges)), merge)
    return merges


def random_lines(rng: random.Random, alphabet: str, n: int) -> list[str]:
    sizes = [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 30, 64]
    new = ["".join(rng.choices(alphabet, k=rng.choice(sizes))) for _ in range(n)]
    return new + rng.choices(new, k=n)


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_ids_equal_the_oracle(alphabet: str) -> None:
    rng = random.Random(alphabet)
    for _ in range(40):
        merges, extra = random_merges(rng, alphabet), random_lines(rng, alphabet, 3)
        tok, oracle = load_both(merges, extra, ignore_merges=rng.random() < 0.3)
        for n in (1, 20, 100):
            lines = random_lines(rng, alphabet, n) + extra
            text = "\n".join(lines)
            ids = oracle.encode(text).ids
            assert tok.encode(text).tolist() == ids
            assert tok.encode(text).tolist() == ids  # now from the cache
            singles = [of_line.ids for of_line in oracle.encode_batch(lines)]
            assert [of_line.tolist() for of_line in tok.encode_batch(lines)] == singles


@pytest.mark.parametrize("n", [1, 15, 16, 17, 31, 32, 33, 127, 128, 129, 200])
@pytest.mark.parametrize("times", [1, 2, 5])
def test_as_many_as_may_wait(n: int, times: int) -> None:
    """New pieces, and places where their ids go, about the numbers that may wait."""
    merges = [("a", "b"), ("ab", "a"), ("b", "b")]
    new = [f"ab{i:b}abb".replace("0", "a").replace("1", "b") for i in range(n)]
    for words in (new * times, [word for word in new for _ in range(times)]):
        tok, oracle = load_both(merges)
        text = "\n".join(words)
        assert tok.encode(text).tolist() == oracle.encode(text).ids


@pytest.mark.parametrize("tail", ["", "-abcabcabcabcabc"], ids=["short", "long"])
def test_a_full_cache(tail: str) -> None:
    """What finds no room in the cache waits and is merged again and again."""
    tok, oracle = load_both([("a", "b"), ("ab", "c"), ("b", "c"), ("d", "e")])
    n = 70_000 if not tail else 110_000
    filling = ["".join(four) + tail for four in itertools.product("abcdefghijklmnopqrs", repeat=4)]
    words = random_lines(random.Random(4), "abcde", 300)
    words += random.Random(5).choices([word for word in words if len(word) < 9], k=3000)
    text = "\n".join(filling[:n] + words)
    misses = tok.cache_info()["misses"]
    assert tok.encode(text).tolist() == oracle.encode(text).ids
    info = tok.cache_info()
    assert info["misses"] - misses > n
    assert info["entries"] < n


def test_a_large_table_of_merges() -> None:
    """Some of its buckets are full, and their pairs are found in the next."""
    lower, upper = string.ascii_lowercase, string.ascii_uppercase
    merges = [*itertools.product(lower, upper)]
    merges += [("".join(pair), letter) for pair in merges for letter in upper]
    tok, oracle = load_both(merges)
    words = ["".join(three) for three in itertools.product(lower, upper, upper)]
    text = "\n".join(word + words[-i] for i, word in enumerate(words))
    assert tok.encode(text).tolist() == oracle.encode(text).ids
