"""Tables in Markdown of what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from bench.processes import label
from bench.results import OURS, Results

#: What each figure of a question that is asked of each text is called in its heading.
FIGURES = {
    "speed": {
        "first": "one thread, first call of the process",
        "unseen": "one thread, unseen text",
        "repeated": "one thread, repeated text",
    },
    "cores": {"1mb": "all cores, new prompt of 1 MB", "4mb": "all cores, new prompt of 4 MB"},
    "single": {
        "single_new": "new short strings one by one, arrays",
        "single": "repeated short strings one by one, arrays",
        "single_list": "repeated short strings one by one, lists",
    },
    "batch": {
        "batch_new": "new short strings as a batch, arrays",
        "batch": "repeated short strings as a batch, arrays",
        "batch_list": "repeated short strings as a batch, lists",
    },
}
#: The same for questions whose figures are seconds.
TIMES = {
    "hf": {
        "batch": "transformers, all cores, ms for 1,000 new texts of 1 KB",
        "long": "transformers, all cores, ms for a new prompt of 100,000 tokens or so",
        "tiny": "transformers, ms for 1,000 prompts of 10 tokens or so, one by one",
    },
    "chat": {"chat": "all cores, ms from a chat to its ids"},
    "chat, one thread": {"chat": "one thread, ms from a chat to its ids"},
    "chat, uncut": {"uncut": "all cores, ms from a chat to its ids without Kimi's cuts"},
    "conversation": {
        "alone": "all cores, ms for the requests of a conversation",
        "cached": "all cores, the same with a new cache of prefixes, ms",
    },
    "conversation, one thread": {
        "alone": "one thread, ms for the requests of a conversation",
        "cached": "one thread, the same with a new cache of prefixes, ms",
    },
    "conversation, first pass": {
        "first_alone": "all cores, ms for a conversation that is new to the process",
        "first_cached": "all cores, the same with a new cache of prefixes, ms",
    },
    "chats at once": {"chat": "ms until so many chats of 10,000 tokens at once have their ids"},
}
SERVED = {
    "mixed": "64 clients, 1 KB to 1 MB",
    "small": "8 clients, 1 KB, pauses",
    "beside": "the same beside 56 clients, 60 KB to 1 MB",
}
#: The questions that are asked of each model.
PER_MODEL = {
    "load": "seconds from tokenizer.json to the ids of a first prompt",
    "saved": "seconds from the saved form to the ids of a first prompt",
    "decode": "decoding a million ids, MB/s",
}
#: A problem of so many characters is told in its cell, a longer one below the table.
SHORT_REASON = 12
CACHE = {"cache, bytes": "cache_bytes"}
#: What to ask the results for.
Column = dict[str, str]


def tables(results: Results, question: str) -> str:
    """All tables of one question."""
    made = []
    if question in PER_MODEL:
        models = results.distinct("model", question=question)
        columns = {model: {"question": question, "model": model} for model in models}
        made = [_table(results, PER_MODEL[question], columns)]
    else:
        for model in results.distinct("model", question=question):
            made += list(_model_tables(results, question, model))
    return "\n".join(made)


def _model_tables(results: Results, question: str, model: str) -> Iterator[str]:
    where: Column = {"question": question, "model": model}
    if question in FIGURES:
        for figure, meaning in FIGURES[question].items():
            texts = results.distinct("text", name=figure, **where)
            columns = {text: {"name": figure, "text": text, **where} for text in texts}
            yield _table(results, f"{model}: {meaning}, MB/s", columns)
    elif question == "server":
        yield _served(results, model, where)
    elif question in TIMES:
        for figure, meaning in TIMES[question].items():
            texts = results.distinct("text", name=figure, **where)
            columns = {text: {"name": figure, "text": text, **where} for text in texts}
            yield _table(results, f"{model}: {meaning}", columns, scale=1000)
    elif question == "crafted":
        shapes = results.distinct("text", name="crafted", **where)
        columns = {"normal": {"name": "normal", **where}}
        columns |= {shape: {"name": "crafted", "text": shape, **where} for shape in shapes}
        yield _table(results, f"{model}: one thread, crafted texts, MB/s", columns, CACHE)
    else:
        heading = "16 Python threads that use all models in turn, and one that does, MB/s"
        notes = {"one thread": "alone", "bytes per further thread": "bytes_per_thread", **CACHE}
        yield _table(results, heading, {"16 threads": where}, notes)


def _served(results: Results, model: str, where: Column) -> str:
    """A line for each company of clients; a library is not named, as there is but one."""
    notes = {"requests/s": "requests", "MB/s": "megabytes", "tokens/s": "tokens"}
    notes |= {
        f"{size}, {p}, ms": f"{size} {p}" for size in ("small", "large") for p in ("p50", "p99")
    }
    lines = [f"### {model}: tokcy serve", "", "| clients | failed | " + " | ".join(notes) + " |"]
    lines.append("|:---|---:|" + "---:|" * len(notes))
    for name, meaning in SERVED.items():
        wanted = {"name": name, "library": OURS, **where}
        values = [results.value(key, **wanted) for key in notes.values()]
        cells = ["—" if value is None else _number(value) for value in values]
        problem = results.problem(**wanted) or "0"
        lines.append(f"| {meaning} | {problem} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _table(
    results: Results,
    heading: str,
    columns: dict[str, Column],
    notes: dict[str, str] | None = None,
    scale: float = 1,
) -> str:
    """Libraries by columns; tokcy's cells also say how many times faster than the best peer.

    Args:
        notes: headings of further columns, and the key of what was noted beside the last figure.
        scale: what the figures are multiplied with.
    """
    notes = notes or {}
    beside = list(columns.values())[-1]
    libraries: dict[str, None] = {}
    for wanted in columns.values():
        libraries |= dict.fromkeys(results.distinct("library", **wanted))
    heads = [*columns, *notes]
    lines = [f"### {heading}", "", "| library | " + " | ".join(heads) + " |"]
    lines.append("|:---|" + "---:|" * len(heads))
    reasons: dict[str, None] = {}
    for library in libraries:
        cells = [_cell(results, library, wanted, reasons, scale) for wanted in columns.values()]
        values = [results.value(key, library=library, **beside) for key in notes.values()]
        cells += ["—" if value is None else _number(value) for value in values]
        name, comma, variant = library.partition(",")
        lines.append(f"| {label(name)}{comma}{variant} | " + " | ".join(cells) + " |")
    if reasons:
        lines += ["", *reasons]
    return "\n".join([*lines, ""])


def _cell(
    results: Results, library: str, wanted: Column, reasons: dict[str, None], scale: float
) -> str:
    value = results.value(library=library, **wanted)
    if value is None:
        problem = results.problem(library=library, **wanted) or "—"
        if len(problem) <= SHORT_REASON:
            return problem
        reasons[f"* {library}: {problem}"] = None
        return "fails"
    ratio = results.to_best_peer(**wanted) if library == OURS else None
    number = _number(value * scale)
    return number if ratio is None else f"**{number}** (×{ratio:.2f})"


def _number(value: float) -> str:
    digits = 3 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    return f"{value:,.{digits}f}"
