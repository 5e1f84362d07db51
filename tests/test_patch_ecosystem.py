"""The libraries that are built on ``tokenizers``, at work with the patch and without."""

from __future__ import annotations

import concurrent.futures
import copy
import itertools
import json
import logging
import multiprocessing
import os
import pickle
import queue
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hf_models import load_fast, small
from hf_surface import agree, difference, native_calls, outcome, ready, seen
from tokenizers import Encoding

import tokcy
import tokcy.hf

transformers = pytest.importorskip("transformers")

MODELS: list[Any] = ["gpt2", "llama2_kit", "bert_minilm"]
MODELS += [pytest.param("qwen3", marks=pytest.mark.sweep)]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_special_tokens": False, "return_offsets_mapping": True},
    {"truncation": True, "max_length": 12},
    {"truncation": True, "max_length": 9, "stride": 2, "return_overflowing_tokens": True},
    {"padding": True, "padding_side": "left", "return_special_tokens_mask": True},
    {"padding": "max_length", "max_length": 60, "truncation": True, "return_tensors": "np"},
    {"padding": True, "pad_to_multiple_of": 16},
    {"split_special_tokens": True},
]


@pytest.fixture(autouse=True)
def quiet() -> None:
    logging.getLogger("transformers").setLevel(logging.ERROR)


@pytest.fixture(scope="module")
def texts(corpus: Callable[..., str]) -> list[str]:
    whole = "".join(corpus(name, 9_000) for name in ("english_prose", "zh", "python", "emoji"))
    return [whole[begin : begin + 150] for begin in range(0, len(whole), 150)]


@pytest.fixture
def new(model_path: Callable[[str], Path]) -> Callable[[str], Any]:
    """A tokenizer of transformers, loaded anew."""
    return lambda name: ready(load_fast(model_path(name).parent))


# ------------------------------------------------------------- transformers


@pytest.mark.parametrize("name", MODELS)
def test_collators(name: str, new: Callable[[str], Any], texts: list[str]) -> None:
    def case() -> Any:
        tokenizer = new(name)
        tokenizer.mask_token = tokenizer.convert_ids_to_tokens(5)
        rows = [tokenizer(text, return_special_tokens_mask=True) for text in texts[:6]]
        plain = [{key: row[key] for key in ("input_ids", "attention_mask")} for row in rows]
        labelled = [{**row, "labels": list(row["input_ids"])} for row in plain]
        collators = transformers
        return (
            collators.DataCollatorWithPadding(tokenizer, return_tensors="np")(plain),
            collators.DataCollatorWithPadding(
                tokenizer, "max_length", 300, pad_to_multiple_of=8, return_tensors="np"
            )(plain),
            collators.DataCollatorForLanguageModeling(tokenizer, mlm=False, return_tensors="np")(
                rows
            ),
            collators.DataCollatorForLanguageModeling(tokenizer, seed=7, return_tensors="np")(rows),
            collators.DataCollatorForTokenClassification(tokenizer, return_tensors="np")(labelled),
            collators.DataCollatorForSeq2Seq(tokenizer, return_tensors="np")(labelled),
            collators.DataCollatorWithFlattening(return_tensors="np")(labelled),
        )

    agree(case, native=name != "bert_minilm")


#: As much of a model as a pipeline asks of it outside of the network.
MODEL = SimpleNamespace(
    config=SimpleNamespace(id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC"})
)


@pytest.mark.parametrize("name", MODELS)
def test_the_entities_of_a_pipeline(name: str, new: Callable[[str], Any], texts: list[str]) -> None:
    """All that the pipeline does but the network, which would need PyTorch."""
    from transformers.pipelines.token_classification import (
        AggregationStrategy,
        TokenClassificationPipeline,
    )

    def case() -> Any:
        pipeline: Any = TokenClassificationPipeline.__new__(TokenClassificationPipeline)
        pipeline.tokenizer, pipeline.model = new(name), MODEL
        pipeline.framework = "np"  # releases 4 look which one the arrays are of
        told = []
        for text, way in itertools.product(texts[:5], AggregationStrategy):
            inputs = pipeline.tokenizer(
                text,
                return_tensors="np",
                return_special_tokens_mask=True,
                return_offsets_mapping=True,
            )
            ids = inputs["input_ids"][0]
            scores = np.random.default_rng(len(ids)).random((len(ids), 4))
            found = pipeline.gather_pre_entities(
                text,
                ids,
                scores,
                inputs["offset_mapping"][0],
                inputs["special_tokens_mask"][0],
                way,
            )
            told.append((found, outcome(pipeline.aggregate, found, way)))
        return told

    agree(case, native=name != "bert_minilm")


@pytest.mark.parametrize("name", MODELS)
def test_save_and_load(
    name: str, new: Callable[[str], Any], texts: list[str], tmp_path: Path
) -> None:
    def case() -> Any:
        tokenizer = new(name)
        told = [
            tokenizer(texts[:4], truncation=True, max_length=20),
            tokenizer.add_tokens(["<x y>"]),
        ]
        tokenizer.save_pretrained(tmp_path)
        files = {path.name: path.read_bytes() for path in sorted(tmp_path.iterdir())}
        loaded = ready(transformers.AutoTokenizer.from_pretrained(tmp_path))
        return told, files, loaded([*texts[:4], "a <x y>b"]), type(loaded).__name__

    agree(case, native=name != "bert_minilm")


# -------------------------------------------------------------------- datasets


def rows_of(batch: Any, tokenizer: Any, options: dict[str, Any]) -> Any:
    encoded = ready(tokenizer)(batch["text"], **options)
    native = [type(encoding) is not Encoding for encoding in encoded.encodings]
    return {**encoded, "native": native}


@pytest.mark.parametrize("name", ["gpt2", "bert_minilm"])
@pytest.mark.parametrize("processes", [None, 2])
def test_datasets(
    name: str, processes: int | None, new: Callable[[str], Any], texts: list[str], tmp_path: Path
) -> None:
    """The same rows under the same fingerprint, so that what is cached stays of use."""
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    whole = datasets.Dataset.from_dict({"text": texts})
    native = []

    def case() -> Any:
        tokenizer = new(name)
        told = []
        for options in (
            OPTIONS[2],
            {"padding": "max_length", "max_length": 80, "truncation": True},
        ):
            made = whole.map(
                rows_of,
                batched=True,
                batch_size=50,
                num_proc=processes,
                fn_kwargs={"tokenizer": tokenizer, "options": options},
                load_from_cache_file=False,
            )
            native.append(set(made["native"]))
            told.append((made._fingerprint, made["input_ids"][:], made["attention_mask"][:]))
            told.append(datasets.fingerprint.Hasher.hash(tokenizer))
        return told

    agree(case)
    assert native == [{False}] * 2 + [{name == "gpt2"}] * 2


# -------------------------------------------------- copies, as servers make them


def cached(tokenizer: Any) -> Any:
    """A copy of a class made for it, which remembers what the tokenizer would count each time."""
    made = copy.copy(tokenizer)
    size, special, vocabulary = len(tokenizer), tokenizer.all_special_ids, tokenizer.get_vocab()

    class Cached(type(tokenizer)):  # type: ignore[misc]
        @property
        def all_special_ids(self) -> list[int]:
            return list(special)

        def get_vocab(self) -> dict[str, int]:
            return dict(vocabulary)

        def __len__(self) -> int:
            return int(size)

        def __reduce__(self) -> Any:
            return cached, (tokenizer,)

    Cached.__name__ = f"Cached{type(tokenizer).__name__}"
    made.__class__ = Cached
    return made


@pytest.mark.parametrize("name", ["qwen3", "bert_minilm"])
def test_a_copy_of_another_class(name: str, new: Callable[[str], Any], texts: list[str]) -> None:
    def case() -> Any:
        one = cached(new(name))
        told: list[Any] = [type(one).__name__, len(one)]
        told += [seen(one(texts[:3], **options)) for options in OPTIONS]
        other = copy.deepcopy(one)
        told.append((type(other).__name__, len(other), other(texts[:3]), one.decode([5, 6])))
        return told

    agree(case, native=name == "qwen3")


def test_a_pool_of_copies(new: Callable[[str], Any], texts: list[str]) -> None:
    """As servers keep it: each call takes one that no other call has. They share one engine."""
    alone, work = new("gpt2"), list(zip(texts[:80], itertools.cycle(OPTIONS), strict=False))
    expected = [seen(alone(text, **options)) for text, options in work]
    with tokcy.patched_hf():
        first = new("gpt2")
        pool: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for tokenizer in (first, *(ready(copy.deepcopy(first)) for _ in range(3))):
            pool.put(tokenizer)
        assert tokcy.hf.patch_info()["engines"] == 1

        def call(job: tuple[str, dict[str, Any]]) -> Any:
            tokenizer = pool.get()
            try:
                return seen(tokenizer(job[0], **job[1]))
            finally:
                pool.put(tokenizer)

        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            found = list(threads.map(call, work))
    assert difference(found, expected) is None


# ------------------------------------------------------- threads and processes


@pytest.mark.parametrize("name", ["gpt2", "llama2_kit", "bert_minilm"])
def test_one_object_in_16_threads(name: str, new: Callable[[str], Any], texts: list[str]) -> None:
    """With options of each call's own: without the patch such threads disturb one another."""
    work = [(texts[i % 40 : i % 40 + 3], OPTIONS[i % len(OPTIONS)]) for i in range(160)]
    alone = new(name)
    expected = [seen(alone(some, **options)) for some, options in work]
    before = native_calls()
    with tokcy.patched_hf(), concurrent.futures.ThreadPoolExecutor(16) as threads:
        tokenizer = new(name)
        found = list(threads.map(lambda job: seen(tokenizer(job[0], **job[1])), work))
    assert difference(found, expected) is None
    assert native_calls() > before or name == "bert_minilm"


def test_raw_objects_in_threads(texts: list[str]) -> None:
    """Encodes and decodes beside one that adds tokens."""
    with tokcy.patched_hf(), concurrent.futures.ThreadPoolExecutor(16) as threads:
        tokenizer = small("both ends")
        expected = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        encoded = [threads.submit(tokenizer.encode_batch_fast, texts) for _ in range(16)]
        decoded = [threads.submit(tokenizer.decode_batch, expected) for _ in range(16)]
        changed = [threads.submit(tokenizer.add_tokens, [f"<never {i}>"]) for i in range(16)]
        assert [future.result() for future in changed] == [1] * 16
        for future in encoded:
            assert [encoding.ids for encoding in future.result()] == expected
        assert len({tuple(future.result()) for future in decoded}) == 1
        assert [encoding.ids for encoding in tokenizer.encode_batch(texts)] == expected


_inherited: Any = None


def _in_child(texts: list[str]) -> list[list[int]]:
    ids: list[list[int]] = _inherited(texts)["input_ids"]
    return ids


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("name", ["gpt2", "bert_minilm"])
def test_forks(name: str, new: Callable[[str], Any], texts: list[str]) -> None:
    global _inherited
    expected = new(name)(texts)["input_ids"]
    with tokcy.patched_hf():
        _inherited = new(name)
        assert _inherited(texts)["input_ids"] == expected
        with multiprocessing.get_context("fork").Pool(2) as pool:
            parts = pool.map_async(_in_child, [texts[:80], texts[80:]]).get(timeout=60)
        assert parts[0] + parts[1] == expected
        assert _inherited(texts)["input_ids"] == expected
    _inherited = None


SPAWNING = """
import json, multiprocessing, pickle, sys
import tokcy, tokcy.hf, tokenizers

tokcy.patch_hf()

def encode(job):
    tokenizer, texts = job
    tokcy.hf.fallback_reason(tokenizer)
    encodings = tokenizer.encode_batch(texts)
    native = type(encodings[0]) is not tokenizers.Encoding
    return [[e.ids, e.offsets, e.word_ids] for e in encodings], native, encodings[0]

if __name__ == "__main__":
    tokenizer = tokenizers.Tokenizer.from_file(sys.argv[1])
    texts = json.loads(sys.stdin.read())
    tokenizer.encode_batch(texts)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.map(encode, [(tokenizer, texts[:50]), (tokenizer, texts[50:])])
    told = [part[0] for part in parts], [part[2].tokens for part in parts]
    print(json.dumps([told, [part[1] for part in parts], pickle.dumps(tokenizer).hex()]))
"""


def test_spawned_workers(
    model_path: Callable[[str], Path], texts: list[str], tmp_path: Path
) -> None:
    """In processes of their own, once with the patch and once with what switches it off."""
    script = tmp_path / "spawning.py"
    script.write_text(SPAWNING)

    def run(switch: str) -> Any:
        done = subprocess.run(
            [sys.executable, script, model_path("gpt2")],
            input=json.dumps(texts[:100]),
            env={**os.environ, "TOKCY_PATCH_HF": switch},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    told, native, pickled = run("1")
    expected, switched_off, expected_pickle = run("0")
    assert difference(told, expected) is None
    assert (native, switched_off) == ([True, True], [False, False])
    assert pickled == expected_pickle


@pytest.mark.parametrize("name", MODELS)
def test_pickles_do_not_tell(name: str, new: Callable[[str], Any], texts: list[str]) -> None:
    """Neither of a tokenizer, whatever it has encoded, nor of what it gave."""

    def case() -> Any:
        tokenizer = new(name)
        told = [pickle.dumps(tokenizer), pickle.dumps(tokenizer._tokenizer)]
        encoded = tokenizer(texts[:3])
        told += [pickle.dumps(tokenizer), pickle.dumps(tokenizer._tokenizer)]
        state = json.loads(encoded.encodings[0].__getstate__())
        kept = pickle.loads(pickle.dumps(encoded))
        return told, state, kept, type(kept.encodings[0]).__module__

    agree(case, native=name != "bert_minilm")
