"""What the project wants to reach, and in how many cells it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.reference import REFERENCE
from bench.results import OURS, Results, is_ours

Cells = dict[str, float]


@dataclass(frozen=True)
class Criterion:
    """Something to reach in every cell, or in a share of them."""

    says: str
    needed: float
    cells: Cells
    share: float = 1.0

    def line(self) -> str:
        if not self.cells:
            return f"| {self.says} | not measured | | |"
        reached = sum(value >= self.needed for value in self.cells.values())
        met = "met" if reached / len(self.cells) >= self.share else "**not met**"
        worst = min(self.cells, key=lambda cell: self.cells[cell])
        return (
            f"| {self.says} | {met} | {reached} of {len(self.cells)} | "
            f"{self.cells[worst]:.2f} ({worst}) |"
        )


def summary(results: Results) -> str:
    """One line for each thing that the project wants to reach."""
    lines = [
        "### What it comes to",
        "",
        "Ratios of speeds; a cell counts as reached from the ratio on that the line names.",
        "",
        "| | | cells | worst cell |",
        "|:---|:---|---:|:---|",
        *(criterion.line() for criterion in _criteria(results)),
    ]
    return "\n".join(lines)


def _criteria(results: Results) -> Iterator[Criterion]:
    def peers(question: str, *names: str, texts: tuple[str, ...] = ()) -> Cells:
        return _to_best_peer(results, question, names, texts)

    unseen = peers("speed", "unseen")
    hard = peers("speed", "unseen", texts=("chinese", "mixed"))
    repeated = peers("speed", "repeated")
    yield Criterion("one thread, unseen text: 1.3 × the best peer", 1.3, unseen)
    yield Criterion("one thread, unseen Chinese and mixed text: 2 × the best peer", 2.0, hard)
    yield Criterion("one thread, repeated text: 1.0 × the best peer", 1.0, repeated)
    yield Criterion("the same in most cells: 1.2 ×", 1.2, repeated, share=0.5)
    yield Criterion("tokenizer.json to a first prompt: 1.5 × the best peer", 1.5, peers("load"))
    yield Criterion("saved form to a first prompt: 30 ms ÷ time", 1.0, _saved(results))
    for name in ("1mb", "4mb"):
        says = f"all cores, new prompt, {name.upper()}"
        yield Criterion(f"{says}: 1.7 × one thread", 1.7, _scaling(results, name))
        yield Criterion(f"{says}: above the best peer", 1.0, peers("cores", name))
    for question, names in (("single", "one by one"), ("batch", "as a batch")):
        arrays = peers(question, f"{question}_new", question)
        yield Criterion(f"short strings {names}, arrays: above the best peer", 1.0, arrays)
        lists = peers(question, f"{question}_list")
        yield Criterion(f"short strings {names}, lists: above the best peer", 1.0, lists)
    yield Criterion("decode: 3 × tokenizers", 3.0, _decode_to_reference(results))
    yield Criterion("decode: above the best peer", 1.0, peers("decode"))
    yield Criterion("crafted texts: 0.1 × the normal rate", 0.1, _crafted(results))
    yield Criterion("16 threads that use all models: 0.1 × one thread", 0.1, _threads(results))
    cache = _limit_by_noted(results, "cache_bytes", 64e6)
    yield Criterion("cache of a tokenizer: 64 MB ÷ size", 1.0, cache)
    growth = _limit_by_noted(results, "bytes_per_thread", 100e3)
    yield Criterion("growth for each further thread: 0.1 MB ÷ growth", 1.0, growth)
    for name, says, ratio in (
        ("batch", "1,000 texts of 1 KB", 8.0),
        ("long", "100,000 tokens", 15.0),
        ("tiny", "10 tokens", 1.0),
    ):
        reached = _to_best_peer(results, "hf", (name,), (), REFERENCE)
        yield Criterion(f"transformers, {says}: {ratio:g} × without the patch", ratio, reached)
    for texts, peer, ratio in (
        (("10k", "100k", "1M"), "basetenkenizer", 4.0),
        (("10k",), "", 1.3),
        (("1M",), "tiktoken", 25.0),
    ):
        reached = _to_best_peer(results, "chat", ("chat",), texts, peer)
        says = f"chat, {', '.join(texts)} tokens: {ratio:g} × {peer or 'the best peer'}"
        yield Criterion(says, ratio, reached)
    yield Criterion("chat, tiny: 30 µs ÷ time", 1.0, _tiny_chat(results))
    saved = _saved_by_prefixes(results)
    yield Criterion("server: companies of clients without an error", 1.0, _served(results))
    yield Criterion("conversation: time without ÷ with a cache of prefixes", 10.0, saved)


def _places(results: Results, question: str, *names: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Every cell in which something was measured: what to call it, and how to ask for it."""
    for model in results.distinct("model", question=question):
        for name in results.distinct("name", question=question, model=model):
            place = {"question": question, "model": model, "name": name}
            for text in results.distinct("text", **place):
                if not names or name in names:
                    yield f"{model}, {text or name}", {**place, "text": text}


def _to_best_peer(
    results: Results,
    question: str,
    names: tuple[str, ...],
    texts: tuple[str, ...],
    peer: str = "",
) -> Cells:
    """Ratios to the best peer, or to the one that is named."""
    cells = {}
    for cell, place in _places(results, question, *names):
        ratio = results.to_best_peer(peer, **place)
        if ratio is not None and (not texts or place["text"] in texts):
            cells[f"{cell}, {place['name']}" if len(names) > 1 else cell] = ratio
    return cells


def _tiny_chat(results: Results) -> Cells:
    place = {"question": "chat", "name": "chat", "text": "tiny"}
    if OURS not in results.distinct("library", **place):
        return {}
    value = results.value(library=OURS, **place)
    return {"tiny": 30e-6 / value if value else 0.0}


def _served(results: Results) -> Cells:
    return {
        place["name"]: float(results.value(library=OURS, **place) is not None)
        for _, place in _places(results, "server")
    }


def _saved_by_prefixes(results: Results) -> Cells:
    cells = {}
    for question in ("conversation", "conversation, one thread"):
        for cell, place in _places(results, question, "alone"):
            for library in filter(is_ours, results.distinct("library", **place)):
                without = results.value(library=library, **place)
                cached = results.value(library=library, **{**place, "name": "cached"})
                if without is not None:
                    cells[f"{library}, {question}, {cell}"] = without / cached if cached else 0.0
    return cells


def _saved(results: Results) -> Cells:
    seconds = {
        cell: results.value(library=OURS, **place) for cell, place in _places(results, "saved")
    }
    return {cell: 0.03 / value for cell, value in seconds.items() if value}


def _scaling(results: Results, name: str) -> Cells:
    cells = {}
    for cell, place in _places(results, "cores", name):
        every = results.value(library=OURS, **place)
        one = results.value(library=f"{OURS}, one thread", **place)
        if one:
            cells[cell] = (every or 0.0) / one
    return cells


def _decode_to_reference(results: Results) -> Cells:
    cells = {}
    for cell, place in _places(results, "decode"):
        theirs = results.value(library=REFERENCE, **place)
        if theirs:
            cells[cell] = (results.value(library=OURS, **place) or 0.0) / theirs
    return cells


def _crafted(results: Results) -> Cells:
    cells = {}
    for cell, place in _places(results, "crafted", "crafted"):
        normal = {"question": "crafted", "model": place["model"], "name": "normal"}
        rate = results.value(library=OURS, **normal)
        if rate:
            cells[cell] = (results.value(library=OURS, **place) or 0.0) / rate
    return cells


def _threads(results: Results) -> Cells:
    cells = {}
    for cell, place in _places(results, "threads"):
        alone = results.value("alone", library=OURS, **place)
        if alone:
            cells[cell] = (results.value(library=OURS, **place) or 0.0) / alone
    return cells


def _limit_by_noted(results: Results, key: str, limit: float) -> Cells:
    """The limit divided by what was noted beside figures of crafted texts and of threads."""
    cells = {}
    for question in ("crafted", "threads"):
        for cell, place in _places(results, question):
            value = results.value(key, library=OURS, **place)
            if value is not None:
                cells[cell] = limit / max(value, 1.0)
    return cells
