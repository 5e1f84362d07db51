"""The tokenizers of ``transformers`` on small models, with the patch and without.

The themes are those of its own tests of tokenizers, written anew for the models at hand.
"""

from __future__ import annotations

import copy
import functools
import itertools
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
from hf_models import ADDED, HARD, MAKERS, MESSAGES, NATIVE, fast, hard_texts
from hf_surface import agree, outcome, outcome_of_several

transformers = pytest.importorskip("transformers")

MODELS = pytest.mark.parametrize("name", MAKERS)
BOTH = (True, False)
TEXT = "Hello <s> Größe, e\u0301 Word 👩‍👩‍👧 and more"
BATCH = ["", "a b", TEXT, "  x  ", "Größe " * 4]
WORDS = [["Hello", "<s>", "Größe"], [], ["", " a b", "👩‍👩‍👧"]]
RETURNED = {
    "return_offsets_mapping": True,
    "return_special_tokens_mask": True,
    "return_token_type_ids": True,
    "return_attention_mask": True,
    "return_length": True,
}


@pytest.fixture(autouse=True)
def quiet() -> None:
    logging.getLogger("transformers").setLevel(logging.ERROR)


def lists(tokenizer: Any, *texts: Any, **options: Any) -> dict[str, Any]:
    """What a call gives, without its Encodings."""
    return dict(tokenizer(*texts, **options))


@MODELS
def test_calls_without_options(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        texts = hard_texts([token.content for token in ADDED])
        return (
            [outcome(tokenizer, text) for text in texts],
            outcome(tokenizer, texts),
            outcome(tokenizer, BATCH, BATCH[::-1]),
            outcome(tokenizer, TEXT, "b"),
            [tokenizer(TEXT, text_target="b"), tokenizer(text_target=BATCH)],
            outcome(tokenizer, []),
            outcome(tokenizer, [("a", "b"), ("c", "d")]),
            outcome(tokenizer, [["a", "b"]]),
        )

    agree(case, name in NATIVE)


@MODELS
def test_everything_returned(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        return [
            outcome(tokenizer, *texts, add_special_tokens=special, **RETURNED)
            for special in BOTH
            for texts in ((TEXT,), (BATCH,), (TEXT, "b"), (BATCH, BATCH), (HARD[12],))
        ] + [
            outcome(tokenizer, *words, is_split_into_words=True, **RETURNED)
            for words in ((WORDS,), (WORDS[0],), (WORDS, WORDS[::-1]), (WORDS[0], WORDS[2]), ([],))
        ]

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "both ends", "llama", "suffix", "word piece"])
@pytest.mark.parametrize("sides", itertools.product(["left", "right"], repeat=2))
def test_padding_and_truncation(name: str, sides: tuple[str, str]) -> None:
    paddings: list[Any] = [False, True, "longest", "max_length", "do_not_pad", "all"]
    truncations = [None, True, "longest_first", "only_first", "only_second", "do_not_truncate"]

    def case() -> Any:
        tokenizer = fast(name, padding_side=sides[0], truncation_side=sides[1])
        told = []
        for padding, truncation in itertools.product(paddings, truncations):
            options = {"padding": padding, "truncation": truncation}
            for length, stride in ((None, 0), (5, 0), (8, 2), (8, 9), (0, 0)):
                options |= {"max_length": length, "stride": stride}
                for texts in ((TEXT,), (TEXT, "a b")):
                    told.append(outcome(lists, tokenizer, *texts, **options))
                call = functools.partial(lists, tokenizer)
                told.append(outcome_of_several(call, BATCH, **options))
            told.append((tokenizer._tokenizer.padding, tokenizer._tokenizer.truncation))
        return told

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "both ends", "llama", "suffix", "word piece"])
def test_overflow(name: str) -> None:
    def case() -> Any:
        told = []
        for side in ("right", "left"):
            tokenizer = fast(name, truncation_side=side)
            for length, stride, texts in itertools.product(
                (6, 9), (0, 2), ((TEXT[:20],), (BATCH[1:4],), ("a", TEXT[:20]), (BATCH, ["b"] * 5))
            ):
                options = {"max_length": length, "stride": stride, "padding": "max_length"}
                options |= {"return_overflowing_tokens": True, **RETURNED}
                told_of = outcome if isinstance(texts[0], str) else outcome_of_several
                for truncation in (True, "only_second"):
                    options["truncation"] = truncation
                    told.append(told_of(tokenizer, *texts, **options))
            options = {"max_length": 6, "truncation": True, "return_overflowing_tokens": True}
            told.append(outcome(tokenizer, WORDS, is_split_into_words=True, **options))
        return told

    agree(case, name in NATIVE)


@MODELS
def test_arrays(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        options = {"return_tensors": "np", **RETURNED}
        return (
            outcome(tokenizer, TEXT, **options),
            outcome(tokenizer, BATCH, padding=True, pad_to_multiple_of=8, **options),
            outcome(tokenizer, BATCH, padding=True, padding_side="left", **options),
            outcome(tokenizer, BATCH, **options),
            outcome(tokenizer.encode, TEXT, return_tensors="np"),
            outcome(tokenizer, TEXT, return_tensors="none"),
        )

    agree(case, name in NATIVE)


@MODELS
def test_other_ways_to_encode(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        ways = [tokenizer.encode, tokenizer.tokenize]
        ways += [
            getattr(tokenizer, way)
            for way in ("encode_plus", "batch_encode_plus")
            if hasattr(tokenizer, way)
        ]
        told = [outcome(way, TEXT) for way in ways]
        told += [outcome(way, BATCH) for way in ways]
        told += [outcome(way, TEXT, "b") for way in ways]
        told += [outcome(way, TEXT, add_special_tokens=s) for way in ways for s in BOTH]
        told += [outcome(way, TEXT, max_length=4, truncation=True) for way in ways]
        told += [outcome(way, TEXT, split_special_tokens=True) for way in ways]
        return told

    agree(case, name in NATIVE)


@MODELS
def test_back_to_text(name: str) -> None:
    def case() -> Any:
        told = []
        for clean in BOTH:
            tokenizer = fast(name, clean_up_tokenization_spaces=clean)
            lists = tokenizer(BATCH)["input_ids"]
            told += [outcome(tokenizer.decode, ids) for ids in lists]
            for skip, cleaned in itertools.product(BOTH, (None, *BOTH)):
                options = {"skip_special_tokens": skip, "clean_up_tokenization_spaces": cleaned}
                told.append(outcome(tokenizer.batch_decode, lists, **options))
                told.append(outcome(tokenizer.decode, lists[2], **options))
            ids = lists[2]
            told += [tokenizer.decode(5), outcome(tokenizer.decode, [])]
            told += [outcome(tokenizer.decode, tokenizer(TEXT, return_tensors="np").input_ids)]
            told += [tokenizer.convert_ids_to_tokens(ids), tokenizer.convert_ids_to_tokens(7)]
            told += [tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=True)]
            tokens = tokenizer.tokenize(TEXT)
            told += [tokenizer.convert_tokens_to_ids(tokens), tokenizer.convert_tokens_to_ids("a")]
            told += [
                tokenizer.convert_tokens_to_ids("none"),
                tokenizer.convert_tokens_to_string(tokens),
            ]
        return told

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "both ends", "llama", "word piece"])
def test_chat(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        chat = tokenizer.apply_chat_template
        return (
            chat(MESSAGES, tokenize=False),
            chat(MESSAGES, add_generation_prompt=True),
            chat([MESSAGES, MESSAGES[:1]], padding=True, return_dict=True),
            chat(MESSAGES, return_dict=True, return_tensors="np"),
            outcome(chat, MESSAGES, return_dict=True, return_assistant_tokens_mask=True),
            outcome(chat, MESSAGES, truncation=True, max_length=7),
            outcome(chat, MESSAGES[:2], continue_final_message=True),
            outcome(chat, MESSAGES, sanitize_control_tokens=True),
        )

    agree(case, name in NATIVE)


@MODELS
def test_more_tokens(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        told = [tokenizer(TEXT), len(tokenizer), tokenizer.vocab_size]
        told += [tokenizer.add_tokens(["Hello", "é"]), tokenizer(TEXT)]
        told += [tokenizer.add_special_tokens({"additional_special_tokens": ["<x>", "and"]})]
        told += [
            tokenizer(TEXT + "<x>"),
            tokenizer.decode(tokenizer(TEXT).input_ids, skip_special_tokens=True),
        ]
        added = transformers.AddedToken("more", single_word=True, lstrip=True)
        told += [tokenizer.add_tokens([added]), tokenizer(TEXT), len(tokenizer)]
        told += [tokenizer.add_special_tokens({"eos_token": "<end>"}), tokenizer("a <end>")]
        told += [sorted(tokenizer.get_added_vocab().items()), tokenizer.all_special_tokens]
        told += [tokenizer.all_special_ids, tokenizer.pad_token_id, tokenizer.special_tokens_map]
        return told, sorted(tokenizer.get_vocab().items()), tokenizer.added_tokens_decoder

    agree(case, name in NATIVE)


@MODELS
def test_batch_encodings(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        batch = tokenizer(BATCH, BATCH[::-1], padding=True)
        told = [list(batch.keys()), batch.tokens(2), batch.word_ids(2), batch.sequence_ids(2)]
        for method in ("char_to_token", "char_to_word", "word_to_chars", "word_to_tokens"):
            for place, sequence in itertools.product((0, 3, 7, 1000), (0, 1)):
                ask = getattr(batch, method)
                told.append(outcome(ask, 2, place, sequence_index=sequence))
        for method in ("token_to_chars", "token_to_word", "token_to_sequence"):
            ask = getattr(batch, method)
            told += [outcome(ask, 2, place) for place in (0, 3, -1, 1000)]
        told += [batch[2], outcome(lambda: batch[0:2]), batch.encodings[1], batch.is_fast]
        told += [pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), copy.copy(batch)]
        told.append(outcome(batch.convert_to_tensors, "np"))
        single = tokenizer(TEXT)
        return told, single.tokens(), single.word_ids(), single.char_to_token(2), len(single[0])

    agree(case, name in NATIVE)


@MODELS
def test_padding_afterwards(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        single = [tokenizer(text) for text in BATCH]
        told = [tokenizer.pad(single), tokenizer.pad(single, return_tensors="np")]
        told.append(tokenizer.pad(tokenizer(BATCH), padding="max_length", max_length=30))
        told.append(tokenizer.pad(tokenizer(BATCH), pad_to_multiple_of=16, padding_side="left"))
        told.append(outcome(tokenizer.pad, {"input_ids": [[1], [2, 3]]}))
        return told

    agree(case, name in NATIVE)


@MODELS
def test_saved_and_loaded(name: str, tmp_path: Path) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        told = [tokenizer(TEXT, truncation=True, max_length=5, padding="max_length")]
        tokenizer.add_tokens(["Hello"])
        tokenizer.save_pretrained(str(tmp_path))
        files = {path.name: path.read_bytes() for path in sorted(tmp_path.iterdir())}
        loaded = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
        others = [loaded, pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)]
        told += [(type(other).__name__, other(BATCH), other.decode([1, 2])) for other in others]
        return told, files, pickle.dumps(tokenizer)

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "suffix", "word piece"])
def test_new_vocabulary(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        told = [tokenizer("a b ab")]
        new = tokenizer.train_new_from_iterator(["aaaa bbbb"] * 3, 300)
        return told, [new.tokenize(text) for text in ("aaaa b", "bbbb <s>")], tokenizer("a b ab")

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", ["start", "llama", "word piece"])
def test_wrong_calls(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        wrong: list[Any] = [None, 1, b"a", [1], [None], ["a", None], [["a", 1]], ("a", "b", 3), {}]
        told = [outcome(tokenizer, value) for value in wrong]
        told += [outcome(tokenizer, "a", value) for value in wrong]
        told += [outcome(tokenizer, ["a"], value) for value in wrong]
        told += [outcome(tokenizer, value, is_split_into_words=True) for value in wrong]
        told += [outcome(tokenizer.decode, value) for value in wrong]
        told += [outcome(tokenizer.encode, value) for value in wrong]
        told += [outcome(tokenizer), outcome(tokenizer, "\ud800")]
        no_pad = fast(name, pad_token=None)
        told += [outcome(no_pad, BATCH, padding=True), no_pad("a")]
        return told

    agree(case, name in NATIVE)
