"""Every way to encode with ``tokenizers``, with each of its options, with the patch and without."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from hf_models import ADDED, HARD, MAKERS, NATIVE, hard_texts, small
from hf_surface import agree, outcome, outcome_of_several
from tokenizers import Tokenizer

MODELS = pytest.mark.parametrize("name", MAKERS)
TEXTS = ("", "Hello, world!", "a <s> b  </s>", "Größe 👩‍👩‍👧 e\u0301 Word", "x" * 30, " \n ")
PAIRS = list(itertools.product(TEXTS[:4], TEXTS[1:5]))
WORDS: list[Any] = [[], [""], ["Hello", " world", "<s>"], ("a", "Größe  x", "👩‍👩‍👧"), ["a b"] * 3]
BOTH = (True, False)
METHODS = ("encode_batch", "encode_batch_fast")


@MODELS
@pytest.mark.parametrize("special", BOTH)
def test_single_texts(name: str, special: bool) -> None:
    def case() -> Any:
        tokenizer = small(name)
        texts = hard_texts([token.content for token in ADDED])
        return [outcome(tokenizer.encode, t, add_special_tokens=special) for t in texts]

    agree(case, name in NATIVE)


@MODELS
def test_pairs(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        return [
            outcome(tokenizer.encode, *pair, add_special_tokens=special)
            for special in BOTH
            for pair in PAIRS
        ]

    agree(case)


@MODELS
def test_words(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        return [
            outcome(tokenizer.encode, words, pair, True, special)
            for special in BOTH
            for words in WORDS
            for pair in (None, ["second", "one"])
        ]

    agree(case)


@MODELS
@pytest.mark.parametrize("method", METHODS)
def test_batches(name: str, method: str) -> None:
    batches: list[Any] = [
        [],
        list(TEXTS),
        tuple(TEXTS),
        [TEXTS[1]],
        PAIRS[:5],
        [list(pair) for pair in PAIRS[:3]],
        [*TEXTS[:2], PAIRS[3], TEXTS[3], [*PAIRS[4]]],
    ]

    def case() -> Any:
        tokenizer = small(name)
        encode = getattr(tokenizer, method)
        singles = [
            outcome(encode, batch, add_special_tokens=special)
            for special in BOTH
            for batch in batches
        ]
        words = [[], WORDS, [(WORDS[2], WORDS[3])], [WORDS[2], (WORDS[2], WORDS[4])]]
        return singles, [outcome(encode, batch, is_pretokenized=True) for batch in words]

    agree(case, name in NATIVE)


@pytest.mark.skipif(not hasattr(Tokenizer, "async_encode"), reason="there since 0.22")
@pytest.mark.parametrize("name", ["start", "roberta", "llama", "cutting", "word piece"])
def test_async(name: str) -> None:
    async def gather(tokenizer: Tokenizer) -> Any:
        single = await tokenizer.async_encode(TEXTS[2])
        pair = await tokenizer.async_encode(*PAIRS[5], add_special_tokens=False)
        words = await tokenizer.async_encode(WORDS[2], is_pretokenized=True)
        batch = await tokenizer.async_encode_batch(list(TEXTS), add_special_tokens=False)
        mixed = await tokenizer.async_encode_batch([TEXTS[1], PAIRS[2]])
        fast = await tokenizer.async_encode_batch_fast(list(TEXTS))
        many = await asyncio.gather(*(tokenizer.async_encode(text) for text in HARD))
        ids = [encoding.ids for encoding in batch]
        texts = await tokenizer.async_decode_batch(ids, skip_special_tokens=False)
        kept = await tokenizer.async_decode_batch(ids)
        return single, pair, words, batch, mixed, fast, many, texts, kept

    async def errors(tokenizer: Any) -> Any:
        told = []
        wrong = {"async_encode": None, "async_encode_batch": [1], "async_encode_batch_fast": "text"}
        for method, value in wrong.items():
            try:
                told.append(await getattr(tokenizer, method)(value))
            except Exception as error:
                told.append((type(error).__name__, str(error)))
        return told

    agree(lambda: asyncio.run(gather(small(name))), name in NATIVE)
    agree(lambda: asyncio.run(errors(small(name))))


@pytest.mark.parametrize("name", ["both ends", "roberta", "llama", "word piece"])
@pytest.mark.parametrize("strategy", ["longest_first", "only_first", "only_second"])
@pytest.mark.parametrize("direction", ["right", "left"])
def test_truncation(name: str, strategy: str, direction: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        told = []
        for length, stride in ((0, 0), (1, 0), (2, 1), (4, 1), (7, 3), (500, 9)):
            way = {"stride": stride, "strategy": strategy, "direction": direction}
            told.append((outcome(tokenizer.enable_truncation, length, **way), tokenizer.truncation))
            for special in BOTH:
                for text in TEXTS[:4]:
                    told.append(outcome(tokenizer.encode, text, None, False, special))
                told.append(outcome(tokenizer.encode, *PAIRS[6], False, special))
                batch, texts = tokenizer.encode_batch, list(TEXTS)
                told.append(outcome_of_several(batch, texts, add_special_tokens=special))
            told.append(outcome_of_several(tokenizer.encode_batch, PAIRS[5:7]))
            told.append(outcome_of_several(tokenizer.encode_batch_fast, list(TEXTS)))
        tokenizer.no_truncation()
        return told, tokenizer.truncation, tokenizer.encode(TEXTS[1])

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["both ends", "roberta", "llama", "word piece"])
@pytest.mark.parametrize("direction", ["right", "left"])
def test_padding(name: str, direction: str) -> None:
    settings: list[dict[str, Any]] = [
        {},
        {"length": 0},
        {"length": 7},
        {"length": 40, "pad_id": 5, "pad_type_id": 3, "pad_token": "filler"},
        {"pad_to_multiple_of": 8},
        {"pad_to_multiple_of": 0},
        {"length": 9, "pad_to_multiple_of": 4, "pad_token": ""},
    ]

    def case() -> Any:
        tokenizer = small(name)
        told: list[Any] = []
        for options, cut in itertools.product(settings, (None, 10)):
            tokenizer.enable_padding(direction=direction, **options)
            if cut is None:
                tokenizer.no_truncation()
            else:
                tokenizer.enable_truncation(cut, stride=1)
            told.append(tokenizer.padding)
            for special in BOTH:
                told += [tokenizer.encode(text, None, False, special) for text in TEXTS[:4]]
                told.append(tokenizer.encode(*PAIRS[6], False, special))
                told.append(tokenizer.encode_batch(list(TEXTS), False, special))
            told.append(tokenizer.encode_batch([TEXTS[1], PAIRS[5]]))
            told.append(tokenizer.encode_batch_fast(list(TEXTS)))
        tokenizer.no_padding()
        return told, tokenizer.padding, tokenizer.encode(TEXTS[1])

    agree(case, name in NATIVE)


@MODELS
def test_special_tokens_as_text(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        told: list[Any] = [tokenizer.encode_special_tokens]
        for encoded in (True, False, True):
            tokenizer.encode_special_tokens = encoded
            told.append(tokenizer.encode_special_tokens)
            told += [tokenizer.encode(text) for text in TEXTS]
            told.append(tokenizer.encode("<tool> Word <left> <right> x", "<s></s>"))
        return told

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "metaspace"])
def test_arguments_by_name_and_place(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        return (
            tokenizer.encode(
                sequence="a", pair="b", is_pretokenized=False, add_special_tokens=True
            ),
            tokenizer.encode("a", None, False, False),
            tokenizer.encode_batch(
                input=["a", "b"], is_pretokenized=False, add_special_tokens=False
            ),
            tokenizer.encode_batch(["a"], False, True),
            tokenizer.encode_batch_fast(input=["a"], add_special_tokens=False),
            Tokenizer.encode(tokenizer, "a b"),
            list(map(tokenizer.encode, ["a", "b"])),
        )

    agree(case, name in NATIVE)
