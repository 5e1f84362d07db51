"""Real pipelines of ``transformers`` on tiny models of PyTorch, with the patch and without."""

from __future__ import annotations

import concurrent.futures
import copy
import itertools
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hf_models import MESSAGES, NATIVE, SMALL_AND_SWEEP, TEMPLATE, fast, load_fast, small
from hf_surface import agree, agree_by_itself, difference, native_calls, ready, seen
from hf_tasks import TASKS, TEXTS, pipe, transcription
from real_models import FALLBACK, FEW
from tokenizers import Tokenizer

import tokcy
import tokcy.hf

torch = pytest.importorskip("torch", reason="pipelines run their models on PyTorch")
transformers = pytest.importorskip("transformers")

#: Of each kind some: what a pipeline does with the ids does not depend on the model.
REAL: list[Any] = ["gpt2"]
REAL += [
    pytest.param(name, marks=pytest.mark.sweep)
    for name in (*FEW, "kimi_k3", "llama3", "modernbert", "roberta_base", *FALLBACK)
    if name != "gpt2"
]
#: All that they encode are pairs, which are Hugging Face's work.
OF_PAIRS = ("zero_shot_classification", "document_question_answering")
#: Why a tokenizer that may have an engine has none yet.
WAITING = "too little text since the last change"
ONE_BY_ONE = pytest.mark.parametrize("name", ["both ends", "word piece"])


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.getLogger("transformers").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    before = os.environ.get("TOKENIZERS_PARALLELISM")
    yield
    if before is None:
        os.environ.pop("TOKENIZERS_PARALLELISM", None)  # which a pipeline has set


@pytest.mark.parametrize("name", SMALL_AND_SWEEP)
@pytest.mark.parametrize("task", TASKS)
def test_small_models(task: str, name: str) -> None:
    agree(lambda: TASKS[task](fast(name)), name in NATIVE and task not in OF_PAIRS)


@pytest.mark.parametrize("name", REAL)
def test_real_models(name: str, model_path: Callable[[str], Path]) -> None:
    def case() -> Any:
        tokenizer = ready(load_fast(model_path(name).parent))
        if tokenizer.chat_template is None:
            tokenizer.chat_template = TEMPLATE
        return {task: of(copy.copy(tokenizer)) for task, of in TASKS.items()}

    agree(case, native=name not in FALLBACK)


@pytest.mark.sweep
def test_speech(model_path: Callable[[str], Path]) -> None:
    folder = model_path("whisper_tiny").parent
    agree(lambda: transcription(ready(load_fast(folder))), native=True)


def test_saved_and_loaded(tmp_path: Path) -> None:
    """A pipeline from a folder, which finds its model and its tokenizer there."""
    classifier(fast("both ends")).save_pretrained(tmp_path)

    def case() -> Any:
        classify = transformers.pipeline("text-classification", str(tmp_path), device="cpu")
        ready(classify.tokenizer)
        return classify(TEXTS, top_k=None), classify(TEXTS, batch_size=4)

    agree(case, native=True)


# ------------------------------------------------- datasets, workers, threads


def classifier(tokenizer: Any) -> Any:
    return pipe("text-classification", "SequenceClassification", tokenizer, top_k=None)


@ONE_BY_ONE
def test_datasets_and_generators(name: str) -> None:
    datasets = pytest.importorskip("datasets")
    from transformers.pipelines import pt_utils

    rows = datasets.Dataset.from_dict({"a": TEXTS, "b": TEXTS[::-1], "chat": [MESSAGES] * 6})
    texts, chats = pt_utils.KeyDataset(rows, "a"), pt_utils.KeyDataset(rows, "chat")
    pairs = pt_utils.KeyPairDataset(rows, "a", "b")

    def case() -> Any:
        tokenizer = fast(name)
        classify = classifier(tokenizer)
        entities = pipe("ner", "TokenClassification", tokenizer, aggregation_strategy="max")
        write = pipe("text-generation", "CausalLM", tokenizer, max_new_tokens=5, do_sample=False)
        told = []
        for run, dataset in (
            (classify, texts), (classify, pairs), (entities, texts), (write, texts), (write, chats)
        ):  # fmt: skip
            for size in (1, 4):
                rows_of_it = (dataset[i] for i in range(len(dataset)))
                told += [list(run(inputs, batch_size=size)) for inputs in (dataset, rows_of_it)]
        return told

    agree(case, native=name in NATIVE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@ONE_BY_ONE
@pytest.mark.parametrize("workers", [1, 2])
def test_workers(name: str, workers: int) -> None:
    """Which encode, in forked processes; the model's run stays in the parent."""

    def case() -> Any:
        tokenizer = fast(name)
        classify = classifier(tokenizer)
        entities = pipe("ner", "TokenClassification", tokenizer, aggregation_strategy="max")
        options = {"num_workers": workers, "truncation": True, "max_length": 12}
        return [
            classify(TEXTS, batch_size=1, **options),
            classify(TEXTS, batch_size=4, **options),
            classify(TEXTS),
            entities(TEXTS, num_workers=workers, batch_size=2),
            list(entities((text for text in TEXTS), num_workers=workers)),
        ]

    agree(case, native=name in NATIVE)


SPAWNING = """
import json, multiprocessing, os
import tokcy, tokcy.hf
from hf_models import fast
from hf_surface import native_calls, ready
from hf_tasks import TEXTS, pipe
from transformers import TextClassificationPipeline

def preprocess(self, text, **options):
    ready(self.tokenizer)
    before = native_calls()
    made = original(self, text, **options)
    os.write(2, b"native\\n" if native_calls() > before else b"not\\n")
    return made

tokcy.patch_hf()
original, TextClassificationPipeline.preprocess = TextClassificationPipeline.preprocess, preprocess

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    classify = pipe("text-classification", "SequenceClassification", fast("start"), top_k=None)
    print(json.dumps(classify(TEXTS, num_workers=2)))  # no batches: their collators do not pickle
"""


@pytest.mark.sweep
def test_spawned_workers(tmp_path: Path) -> None:
    """They run the script's own lines once more, and so have the patch if these turn it on."""
    script = tmp_path / "spawning.py"
    script.write_text(SPAWNING)
    path = os.pathsep.join(filter(None, sys.path))

    def run(switch: str) -> tuple[Any, set[str]]:
        done = subprocess.run(
            [sys.executable, script],
            env={**os.environ, "TOKCY_PATCH_HF": switch, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), {"native", "not"} & set(done.stderr.split())

    (told, native), (expected, switched_off) = run("1"), run("0")
    assert difference(told, expected) is None
    assert (native, switched_off) == ({"native"}, {"not"})


@ONE_BY_ONE
def test_threads_share_a_pipeline(name: str) -> None:
    """With options of each call's own: without the patch such threads disturb one another."""
    options: list[dict[str, Any]] = [
        {},
        {"truncation": True, "max_length": 7},
        {"padding": "max_length", "max_length": 50, "truncation": True},
        {"padding": True, "padding_side": "left", "pad_to_multiple_of": 32},
    ]
    work = list(itertools.product(TEXTS * 3, options))
    alone = classifier(fast(name))
    expected = [seen(alone(text, **some)) for text, some in work]
    assert len({str(one) for one in expected}) > len(TEXTS)
    before = native_calls()
    with tokcy.patched_hf(), concurrent.futures.ThreadPoolExecutor(8) as threads:
        classify = classifier(fast(name))
        found = list(threads.map(lambda job: seen(classify(job[0], **job[1])), work))
    assert difference(found, expected) is None
    assert native_calls() >= before + len(work) or name not in NATIVE


def test_an_engine_that_comes_midway() -> None:
    """As it does in programs, which do not ask for it: after some texts."""
    texts = [f"{text} {i} " * 20 for i in range(30) for text in TEXTS]
    made = small("both ends")
    made.add_tokens(["<midway>"])  # nobody else has an engine for this one

    def case() -> Any:
        copied = Tokenizer.from_str(made.to_str())
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=copied, truncation_side="left"
        )
        return classifier(tokenizer)(texts, truncation=True, max_length=12)

    before = tokcy.hf.patch_info()["delegated_calls"].get(WAITING, 0)
    agree(case, native=True)
    waited = tokcy.hf.patch_info()["delegated_calls"][WAITING] - before
    assert 0 < waited < len(texts)


@ONE_BY_ONE
def test_a_pipeline_from_before(name: str) -> None:
    def case(patched: Callable[[], Any]) -> Any:
        classify = classifier(fast(name))
        told = [classify(TEXTS)]
        with patched():
            ready(classify.tokenizer)
            told += [classify(TEXTS), classify(TEXTS[0], padding="max_length", max_length=40)]
        return [*told, classify(TEXTS)]

    agree_by_itself(case, native=name in NATIVE)


# ------------------------------------------------------ that comparisons can fail


class Wrong:
    """A patch under which every text ends otherwise."""

    def __init__(self) -> None:
        self.original: Any = Tokenizer.encode_batch

    def __enter__(self) -> None:
        def encode_batch(tokenizer: Tokenizer, inputs: Any, *options: Any, **named: Any) -> Any:
            return self.original(tokenizer, list(map(more, inputs)), *options, **named)

        def more(text: Any) -> Any:
            return text + "." if isinstance(text, str) else (*text[:-1], more(text[-1]))

        Tokenizer.encode_batch = encode_batch  # type: ignore[assignment, method-assign]

    def __exit__(self, *_: object) -> None:
        Tokenizer.encode_batch = self.original  # type: ignore[method-assign]


@pytest.mark.parametrize("task", TASKS)
def test_a_wrong_patch(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokcy, "patched_hf", Wrong)
    with pytest.raises(AssertionError, match="with the patch: "):
        agree(lambda: TASKS[task](fast("start")))
