"""A tokenizer as an object: copies, files, parts and vocabulary, with the patch and without."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import tokenizers.implementations
from hf_models import ADDED, HARD, MAKERS, NATIVE, TEXTS, hard_texts, look, small
from hf_surface import COMPONENTS, NEWEST, agree, difference, native_calls, outcome, ready
from synthetic import SENTENCES
from tokenizers import (
    Tokenizer,
    normalizers,
    trainers,
)

import tokcy
import tokcy.hf


@pytest.mark.parametrize("name", MAKERS)
def test_copies_are_apart(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        look(tokenizer)
        deep, loaded = copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))
        written = Tokenizer.from_str(tokenizer.to_str())
        read = Tokenizer.from_buffer(tokenizer.to_str().encode())
        tokenizer.add_tokens(["<new>"])
        deep.enable_truncation(3)
        loaded.normalizer = normalizers.Lowercase()
        return [look(one) for one in (tokenizer, deep, loaded, written, read)]

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", MAKERS)
def test_saved_and_pickled_bytes(name: str, tmp_path: Path) -> None:
    def case() -> Any:
        tokenizer = small(name)
        look(tokenizer)
        for pretty in (True, False):
            tokenizer.save(str(tmp_path / f"{pretty}.json"), pretty=pretty)
        saved = [(tmp_path / f"{pretty}.json").read_bytes() for pretty in (True, False)]
        texts = [tokenizer.to_str(), tokenizer.to_str(pretty=True)]
        return (
            pickle.dumps(tokenizer),
            saved,
            texts,
            look(Tokenizer.from_file(str(tmp_path / "True.json"))),
        )

    agree(case, name in NATIVE)


def test_an_attribute_of_the_object() -> None:
    """As CLIP's tokenizer does it: what lies in the object's dictionary is asked first."""

    def case() -> Any:
        tokenizer: Any = small("suffix")
        original = tokenizer.decode
        tokenizer.decode = lambda ids, skip_special_tokens=True: original(
            ids, skip_special_tokens=skip_special_tokens
        ).upper()
        tokenizer.encode_batch = lambda texts, **options: ["mine", texts, sorted(options)]
        told = (
            tokenizer.decode([1, 40, 41]),
            tokenizer.encode_batch(["a"]),
            sorted(set(vars(tokenizer)) - {"_tokcy"}),
        )
        copied = copy.deepcopy(tokenizer)
        del tokenizer.encode_batch
        return (
            told,
            look(tokenizer),
            look(copied),
            sorted(set(vars(tokenizer)) - {"_tokcy"}),
            sorted(set(vars(copied)) - {"_tokcy"}),
        )

    agree(case)


def tokens_of(tokenizer: Tokenizer, text: str) -> list[str]:
    return ready(tokenizer).encode(text).tokens  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["start", "llama", "suffix"])
def test_training_between_encodes(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        before = look(tokenizer)
        trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=["<z>"], show_progress=False)
        tokenizer.train_from_iterator(["a a a b b ab ab ab"] * 3, trainer)
        return (
            before,
            tokenizer.get_vocab_size(),
            [outcome(tokens_of, tokenizer, text) for text in ("a b ab", "<z>", "")],
        )

    agree(case)


@pytest.mark.parametrize("name", MAKERS)
def test_vocabulary_and_components(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        size = tokenizer.get_vocab_size()
        words = ["a", "<s>", "Größe", "none of them", "", "\0"]
        return (
            [tokenizer.token_to_id(word) for word in words],
            [outcome(tokenizer.id_to_token, i) for i in (0, 5, size - 1, size, 2**31, -1)],
            (sorted(tokenizer.get_vocab().items()), sorted(tokenizer.get_vocab(False).items())),
            (size, tokenizer.get_vocab_size(with_added_tokens=False)),
            sorted(tokenizer.get_added_tokens_decoder().items()),
            [tokenizer.num_special_tokens_to_add(pair) for pair in (False, True)],
            [type(getattr(tokenizer, component)).__name__ for component in COMPONENTS],
            [repr(getattr(tokenizer, component)) for component in COMPONENTS],
            (type(tokenizer.model).__name__, tokenizer.padding, tokenizer.truncation),
            (isinstance(tokenizer, Tokenizer), repr(tokenizer)[:40], type(tokenizer) is Tokenizer),
            [
                tokenizer.add_tokens(list(ADDED)),
                tokenizer.add_tokens([]),
                tokenizer.add_tokens(["q", "q"]),
            ],
            sorted(tokenizer.get_added_tokens_decoder().items()),
        )

    agree(case)


@pytest.mark.parametrize("name", ["start", "both ends", "roberta", "bare", "llama", "word piece"])
def test_post_processing_by_hand(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        one = tokenizer.encode("a b", add_special_tokens=False)
        processor: Any = tokenizer.post_processor
        tokenizer.post_processor = None  # or it would mark its tokens as those of a first sequence
        other = tokenizer.encode("Größe")
        tokenizer.post_processor = processor
        told = [
            outcome(tokenizer.post_process, one),
            outcome(tokenizer.post_process, one, other),
            outcome(tokenizer.post_process, one, other, False),
            outcome(tokenizer.post_process, encoding=one, pair=None),
            outcome(tokenizer.post_process, "a"),
        ]
        if processor is not None:
            told.append(outcome(processor.process, one, other, add_special_tokens=True))
            told.append(outcome(processor.process, one))
        tokenizer.enable_truncation(4, stride=1)
        tokenizer.enable_padding(length=9)
        told.append(outcome(tokenizer.post_process, one, other))
        return told, one, other

    agree(case)


def test_the_steps_by_hand() -> None:
    """As code does it that wants to encode without added tokens."""

    def case() -> Any:
        tokenizer: Any = small("both ends")
        text = tokenizer.normalizer.normalize_str("e\u0301 <s> Größe")
        pieces = tokenizer.pre_tokenizer.pre_tokenize_str(text)
        tokens = [
            (t.id, t.value, t.offsets)
            for piece, _ in pieces
            for t in tokenizer.model.tokenize(piece)
        ]
        return text, pieces, tokens, tokenizer.decoder.decode([value for _, value, _ in tokens])

    agree(case)


@pytest.mark.skipif(not hasattr(Tokenizer, "async_encode"), reason="there since 0.22")
def test_texts_of_the_added_tokens() -> None:
    texts = hard_texts([token.content for token in ADDED])

    def case() -> Any:
        tokenizer = small("both ends")
        return asyncio.run(_batch(tokenizer, texts)), tokenizer.encode_batch(SENTENCES)

    async def _batch(tokenizer: Tokenizer, batch: list[str]) -> Any:
        return await tokenizer.async_encode_batch(batch)

    agree(case)


@pytest.mark.parametrize("name", MAKERS)
def test_one_wrapped_object(name: str) -> None:
    """It alone encodes through tokcy, and its copies do not."""
    plain, other, wrapped = small(name), small(name), small(name)
    expected, before = outcome(look, plain), native_calls()
    tokcy.hf.wrap(wrapped)
    try:
        assert difference(outcome(look, wrapped), expected) is None
        assert native_calls() > before or name not in NATIVE or not NEWEST
        before = native_calls()
        for one in (other, copy.deepcopy(wrapped)):
            assert difference(outcome(look, one), expected) is None
        assert native_calls() == before
    finally:
        tokcy.hf.unwrap(wrapped)
    assert difference(outcome(look, wrapped), expected) is None
    assert native_calls() == before


@pytest.mark.skipif(not NEWEST, reason="what older releases decode otherwise is refused")
@pytest.mark.parametrize("name", MAKERS)
def test_a_tokenizer_of_tokcy_from_an_object(name: str) -> None:
    """It is the object as it is then, changes included, and stays so."""
    tokenizer = small(name)
    tokenizer.add_tokens(["<new>", "Hell"])
    made = tokcy.Tokenizer.from_hf(tokenizer)
    ids = [encoding.ids for encoding in tokenizer.encode_batch_fast(TEXTS)]
    texts = tokenizer.decode_batch(ids, skip_special_tokens=False)
    tokenizer.add_tokens(["o"])
    assert made.encode_batch(TEXTS).to_list() == ids
    assert [made.decode(row) for row in ids] == texts


@pytest.mark.parametrize("kind", ["ByteLevelBPETokenizer", "SentencePieceBPETokenizer"])
def test_ready_made_kinds(kind: str) -> None:
    """Those of ``tokenizers.implementations``, which hold an object and pass calls on to it."""

    def case() -> Any:
        tokenizer = getattr(tokenizers.implementations, kind)()
        tokenizer.train_from_iterator(SENTENCES * 3, vocab_size=400, show_progress=False)
        model = json.loads(tokenizer.to_str())["model"]
        merges = [tuple(pair) for pair in model["merges"]]
        tokenizer = getattr(tokenizers.implementations, kind)(model["vocab"], merges)
        ready(tokenizer)
        tokenizer.enable_truncation(7)
        told = [tokenizer.encode(text) for text in HARD[:9]]
        tokenizer.add_special_tokens(["<new>"])
        return told, tokenizer.encode_batch(HARD[:9]), tokenizer.decode([40, 41, 42])

    agree(case, native=True)
