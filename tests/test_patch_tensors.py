"""Tensors of PyTorch that tokenizers and data collators of ``transformers`` make, and training."""

from __future__ import annotations

import functools
import itertools
import logging
import os
from typing import Any

import pytest
from hf_models import HARD, MESSAGES, NATIVE, SMALL, SMALL_AND_SWEEP, fast
from hf_surface import agree, difference, native_calls, outcome, ready, seen
from hf_tasks import TEXTS, network

torch = pytest.importorskip("torch", reason="the tensors are PyTorch's")
transformers = pytest.importorskip("transformers")

MODELS = pytest.mark.parametrize("name", SMALL_AND_SWEEP)
FEW = pytest.mark.parametrize("name", SMALL)
WORDS = [text.split() for text in TEXTS]
INPUTS: list[tuple[Any, ...]] = [
    (TEXTS[0],),
    (TEXTS,),
    (TEXTS[0], TEXTS[1]),
    (TEXTS, TEXTS[::-1]),
    (HARD[8:20],),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding": True},
    {"padding": "max_length", "max_length": 50, "truncation": True, "padding_side": "left"},
    {"padding": True, "pad_to_multiple_of": 16, "add_special_tokens": False},
    {"padding": True, "truncation": "only_first", "max_length": 9},
    {"padding": True, "split_special_tokens": True},
]
OVERFLOW = {"truncation": True, "max_length": 11, "stride": 3, "return_overflowing_tokens": True}
RETURNED = {
    "return_offsets_mapping": True,
    "return_special_tokens_mask": True,
    "return_token_type_ids": True,
    "return_length": True,
}


@pytest.fixture(autouse=True)
def quiet() -> None:
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.set_num_threads(1)


def test_how_tensors_are_compared() -> None:
    one = {"ids": torch.tensor([[1, 2], [3, 4]])}
    assert difference(seen(one), seen({"ids": one["ids"].clone()})) is None
    for other in (
        one["ids"].to(torch.int32),
        one["ids"].reshape(1, 4),
        torch.tensor([[1, 2], [3, 5]]),
        one["ids"].tolist(),
        one["ids"].numpy(),
    ):
        assert difference(seen({"ids": other}), seen(one)) is not None


def tensors(tokenizer: Any, *inputs: Any, **options: Any) -> dict[str, Any]:
    """What a call gives, without its Encodings, which have tests of their own."""
    return dict(tokenizer(*inputs, return_tensors="pt", **options))


@MODELS
def test_calls(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        everything = functools.partial(tensors, tokenizer, padding=True, **RETURNED)
        told = []
        for inputs in INPUTS:
            told += [outcome(tensors, tokenizer, *inputs, **options) for options in OPTIONS]
            told += [everything(*inputs), outcome(everything, *inputs, **OVERFLOW)]
            told.append(outcome(tokenizer.encode, *inputs, return_tensors="pt"))
        told += [everything(WORDS, is_split_into_words=True), everything(text_target=TEXTS)]
        return told

    agree(case, native=name in NATIVE)


@MODELS
def test_batches(name: str) -> None:
    """What can be done with a batch of tensors, and back to texts."""

    def case() -> Any:
        tokenizer = fast(name)
        batch = tokenizer(TEXTS[:2], padding=True, return_tensors="pt")
        ids = batch["input_ids"]
        return [
            batch,
            tokenizer(TEXTS[:2], padding=True).convert_to_tensors("pt"),
            dict(batch.to("cpu")),
            dict(batch.to(torch.float16)),
            batch[0],
            tokenizer.batch_decode(ids, skip_special_tokens=True),
            [tokenizer.decode(row) for row in ids],
            [tokenizer.decode(ids[0, 3]), outcome(tokenizer.decode, ids)],
            outcome(tokenizer.convert_ids_to_tokens, ids[0]),
        ]

    agree(case, native=name in NATIVE)


@MODELS
def test_padding_afterwards(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        rows = [tokenizer(text, return_special_tokens_mask=True) for text in TEXTS]
        tensors = [{"input_ids": torch.tensor(row["input_ids"])} for row in rows]
        pad = functools.partial(tokenizer.pad, return_tensors="pt")
        return [
            pad(rows),
            pad(tensors, padding_side="left"),
            pad(tokenizer(TEXTS), padding="max_length", max_length=64),
            pad(rows, pad_to_multiple_of=8),
            outcome(pad, rows, return_attention_mask=False),
            outcome(pad, rows, padding=False),
        ]

    agree(case, native=name in NATIVE)


@MODELS
def test_chat(name: str) -> None:
    def case() -> Any:
        chat = functools.partial(fast(name).apply_chat_template, return_tensors="pt")
        two = [MESSAGES, MESSAGES[:1]]
        return [
            chat(MESSAGES, tokenize=True, return_dict=True, add_generation_prompt=True),
            chat(MESSAGES, return_dict=False),
            chat(two, padding=True, return_dict=True, return_assistant_tokens_mask=True),
            chat(two, padding=True, truncation=True, max_length=9, return_dict=True),
            chat(MESSAGES[:2], continue_final_message=True, return_dict=True),
            outcome(chat, two, return_dict=True),
        ]

    agree(case, native=name in NATIVE)


@MODELS
def test_collators(name: str) -> None:
    def case() -> Any:
        tokenizer = fast(name)
        tokenizer.mask_token = tokenizer.convert_ids_to_tokens(5)
        rows = [tokenizer(text, return_special_tokens_mask=True) for text in TEXTS]
        padded = tokenizer(
            TEXTS, padding=True, return_special_tokens_mask=True, return_offsets_mapping=True
        )
        offsets = [
            dict(zip(padded, row, strict=True)) for row in zip(*padded.values(), strict=True)
        ]
        plain = [{key: row[key] for key in ("input_ids", "attention_mask")} for row in rows]
        labelled = [{**row, "labels": list(row["input_ids"])} for row in plain]
        masked = functools.partial(transformers.DataCollatorForLanguageModeling, tokenizer)
        return [
            transformers.DataCollatorWithPadding(tokenizer)(plain),
            transformers.DataCollatorWithPadding(tokenizer, "max_length", 99)(plain),
            masked(mlm=False, pad_to_multiple_of=8)(rows),
            masked(seed=7, mlm_probability=0.4)(rows),
            masked(seed=7, mask_replace_prob=0.3, random_replace_prob=0.6)(rows),
            masked(seed=7, mlm_probability=0.4, whole_word_mask=True)(offsets),
            transformers.DataCollatorForTokenClassification(tokenizer)(labelled),
            transformers.DataCollatorForSeq2Seq(tokenizer, pad_to_multiple_of=16)(labelled),
            transformers.DataCollatorWithFlattening()(labelled),
        ]

    agree(case, native=name in NATIVE)


def collate(tokenizer: Any, texts: list[str]) -> Any:
    """A batch, and whether tokcy has encoded it: in this process, which may be a worker."""
    ready(tokenizer)
    before = native_calls()
    batch = tokenizer(texts, padding=True, truncation=True, max_length=16, return_tensors="pt")
    return dict(batch), native_calls() > before


@pytest.mark.parametrize(
    "workers",
    [0, pytest.param(2, marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"))],
)
@FEW
def test_loaders(name: str, workers: int) -> None:
    """Twice over all texts, the workers staying or starting anew."""
    native = []

    def case() -> Any:
        told = []
        for stay in (False, True)[: 1 + (workers > 0)]:
            loader = torch.utils.data.DataLoader(
                TEXTS * 5,
                batch_size=4,
                num_workers=workers,
                shuffle=True,
                generator=torch.Generator().manual_seed(3),
                collate_fn=functools.partial(collate, fast(name)),
                persistent_workers=stay,
            )
            for batch, by_tokcy in itertools.chain(loader, loader):
                told.append(batch)
                native.append(by_tokcy)
        return told

    agree(case)
    half = len(native) // 2
    assert native == [False] * half + [name in NATIVE] * half


@FEW
def test_datasets(name: str) -> None:
    """Rows as tensors: encoded before, or whenever they are asked for."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    texts = datasets.Dataset.from_dict({"text": TEXTS})

    def case() -> Any:
        tokenizer = fast(name)
        options = {"padding": "max_length", "truncation": True, "max_length": 30}
        encode = functools.partial(tokenizer, **options)
        before = texts.map(lambda rows: encode(rows["text"]), batched=True, batch_size=4)
        before = before.with_format("torch", ["input_ids", "attention_mask"])
        later = texts.with_transform(lambda rows: encode(rows["text"], return_tensors="pt"))
        loaders = [torch.utils.data.DataLoader(rows, batch_size=4) for rows in (before, later)]
        return [list(loader) for loader in loaders], before[:2], later[3]

    agree(case, native=name in NATIVE)


@FEW
def test_training(name: str) -> None:
    """Losses and weights, step by step, of models that read, fill in and go on with texts."""

    def case() -> Any:
        told = []
        for head in ("SequenceClassification", "MaskedLM", "CausalLM"):
            tokenizer = fast(name)
            model = network(head, tokenizer).train()
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
            for step in range(3):
                batch = tokenizer(TEXTS[step:], padding=True, return_tensors="pt")
                ids = batch["input_ids"]
                labels = torch.arange(len(ids)) % 5 if "Seq" in head else ids
                kept = {key: batch[key] for key in ("input_ids", "attention_mask")}
                loss = model(**kept, labels=labels).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                told.append(loss)
            told.append({key: value.sum() for key, value in model.state_dict().items()})
        return told

    agree(case, native=name in NATIVE)
