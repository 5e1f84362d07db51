"""Measures every library on every model and text, and prints tables and what they come to.

    python -m bench [--model NAME]... [--text NAME]... [--library NAME]... [--only PART,...]

Each measurement is a process of its own, and what it returned must be the ids that tokenizers
gave beforehand, or the table says so in place of the figure. The libraries take turns, several
rounds of them, so that a busy minute of the machine meets them all; a peer that the first round
shows to be far behind the best one has no further round. Of speeds the best
round counts, each the median of its calls; of seconds the median of the rounds. Parts:

    speed    one thread, CPU time: the first call, a text of 40,000 characters; then unseen text,
             five pieces of 300,000 characters, each new; then the first of them again
    load     from a tokenizer.json, or the library's own saved form, to the ids of 40,000
             characters of English; importing not included, files in the system's cache
    cores    all cores, elapsed time: a new prompt of 1 MB and one of 4 MB; also with one thread
    short    all cores, elapsed: 10,000 strings of 50 to 200 bytes, one by one and as a batch
    decode   all cores, elapsed: a million ids to one str
    hf       all cores, elapsed, through transformers, as it is and with the methods of tokenizers
             replaced by a library's: 1,000 texts of 1 KB at once, a prompt of 100,000 tokens, and
             prompts of 10 tokens; all but the last ones new
    crafted  one thread, CPU time: texts that are hard on a tokenizer; and elapsed, 16 Python
             threads that use all models in turn
    chat     Kimi K3, from typed segments to an array: a chat of 54 segments with 200 characters of
             messages and with 10,000, 100,000 and a million tokens, and one of 1,020 segments;
             each one new; all cores, elapsed, and one thread, CPU time; and several chats of
             10,000 tokens at once. Where a library does not know of Kimi's cuts, they are made in
             Python, which counts; a table says what it takes without. Needs the test data
    conversation  Kimi K3: 40 requests of an agent, each with everything before it, the last one of
             200,000 tokens, as texts and as segments, without and with a new cache of prefixes;
             all cores, elapsed, and one thread, CPU time; also the first pass of a process, which
             has seen but the first request. Needs the test data
    server   `tokcy serve` with Kimi K3, and on the same cores 64 clients: with prompts of 1 KB to
             1 MB; eight of them with 1 KB and pauses of 20 ms, alone; and beside 56 with 60 KB to
             1 MB and no pause. Needs the test data

tokenizers and tiktoken, which are slow and keep to one thread for a text, are measured on less
and have no part in cores. A whole run takes about three quarters of an hour on
two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from bench.chat import Material
from bench.conversation import Conversation
from bench.criteria import summary
from bench.libraries import LIBRARIES
from bench.library import Saver
from bench.processes import measure
from bench.questions import GROUPS, QUESTIONS, Question
from bench.reference import (
    make_chat_reference,
    make_conversation_reference,
    make_reference,
    make_server_reference,
    save_forms,
)
from bench.report import tables
from bench.results import Results
from bench.texts import Data, Pieces

Entrant = tuple[Question, str]


def main(argv: list[str] | None = None) -> int:
    arguments = _parse(argv)
    with tempfile.TemporaryDirectory() as folder:
        results = Results()
        run = Run(arguments, Path(folder), results)
        print(f"{_machine()}\n", flush=True)
        for name, questions in groupby(QUESTIONS, key=lambda question: question.name):
            asked = [question for question in questions if question.group in arguments.only]
            if not asked:
                continue
            run.ask(asked)
            print(tables(results, name), flush=True)
            if arguments.json:
                content = {"machine": _machine(), "rows": results.rows}
                arguments.json.write_text(json.dumps(content, indent=1))
    print(summary(results))
    return 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--model", action="append", help="a name, or a path to a tokenizer.json")
    parser.add_argument("--text", action="append", help="a name, or a path to a UTF-8 file")
    parser.add_argument("--library", choices=LIBRARIES, action="append")
    parser.add_argument("--only", type=_groups, default=GROUPS, metavar=",".join(GROUPS))
    parser.add_argument("--rounds", type=int, default=2, help="2 by default; 3 or more to load")
    parser.add_argument("--json", type=Path, help="write the figures of every round here as well")
    return parser.parse_args(argv)


def _groups(names: str) -> tuple[str, ...]:
    chosen = tuple(names.split(","))
    for name in chosen:
        if name not in GROUPS:
            raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(GROUPS)}")
    return chosen


class Run:
    """The models, texts and libraries of one run, and the files that its processes share."""

    def __init__(self, arguments: argparse.Namespace, scratch: Path, results: Results) -> None:
        data = Data(scratch)
        self._data = data
        self._scratch = scratch
        self._results = results
        self._texts: list[str] = arguments.text or data.texts()
        self._rounds: int = arguments.rounds
        self._libraries: list[str] = arguments.library or list(LIBRARIES)
        self._models: dict[str, Path] = {}
        for argument in arguments.model or data.models():
            path = data.model(argument)
            self._models[path.parent.name] = path

    def ask(self, questions: list[Question]) -> None:
        """Measure everything that these questions of one name ask for."""
        entrants = [
            (question, library)
            for library in self._libraries
            for question in questions
            if _asks(question, library)
        ]
        for model, texts in self._cells(questions[0]):
            chosen = entrants
            for turn in range(max(self._rounds, 3 if questions[0].seconds else 1)):
                for question, library in chosen:
                    _progress(model, *texts, question.name, f"round {turn + 1}", library)
                    self._measure(question, library, model, texts)
                if not questions[0].libraries:
                    chosen = self._contenders(chosen, model, texts)

    def _cells(self, question: Question) -> Iterator[tuple[str, list[str]]]:
        """The models and texts of each process."""
        for model in list(self._models)[: 1 if question.all_models else None]:
            if question.model not in ("", model):
                continue
            texts = list(self._files(question, model))
            if question.texts == "each":
                for text in texts:
                    yield model, [text]
            else:
                yield model, texts if question.texts == "all" else texts[:1]

    def _files(self, question: Question, model: str) -> dict[str, Path]:
        """The files that a process may be given, by what they are called."""
        if question.material != "pieces":
            messages = question.material == "conversation"
            file = self._data.conversation() if messages else self._data.windows()
            return {} if file is None else {question.material: file}
        return {Path(text).stem: self._data.pieces(text, model) for text in self._texts}

    def _reference(self, question: Question, model: str) -> Path:
        """A folder of what the reference makes of these files, made if missing."""
        folder = self._scratch / "references" / question.material / model
        if not folder.exists():
            _progress(model, "ids of the reference")
            folder.mkdir(parents=True)
            files = self._files(question, model)
            path = self._models[model]
            if question.material == "chat":
                make_chat_reference(path, Material.read(files["chat"]), folder)
            elif question.material == "server":
                make_server_reference(path, Material.read(files["server"]), folder)
            elif question.material == "conversation":
                conversation = Conversation.read(files["conversation"])
                make_conversation_reference(path, conversation, folder)
            else:
                texts = {name: Pieces.read(file) for name, file in files.items()}
                make_reference(path, texts, folder)
                save_forms(path, self._libraries, folder)
        return folder

    def _measure(self, question: Question, library: str, model: str, texts: list[str]) -> None:
        others = [path for name, path in self._models.items() if name != model]
        rows = measure(
            question,
            library,
            self._models[model],
            others if question.all_models else [],
            [self._files(question, model)[text] for text in texts],
            self._reference(question, model),
        )
        where = {"text": texts[0]} if question.texts == "each" else {}
        self._results.add(
            rows,
            question=question.name,
            model="all" if question.all_models else model,
            library=_entry(question, library),
            seconds=question.seconds,
            **where,
        )

    def _contenders(self, entrants: list[Entrant], model: str, texts: list[str]) -> list[Entrant]:
        question = entrants[0][0]
        where = {"text": texts[0]} if question.texts == "each" else {}
        chosen = self._results.contenders(
            [_entry(*entrant) for entrant in entrants],
            question=question.name,
            model="all" if question.all_models else model,
            **where,
        )
        return [entrant for entrant in entrants if _entry(*entrant) in chosen]


def _asks(question: Question, library: str) -> bool:
    if question.libraries:
        return library in question.libraries
    asked = LIBRARIES[library]
    return (
        not asked.only_named
        and not (asked.slow and question.only_fast)
        and (asked.splits_texts or not question.only_splitters)
        and (issubclass(asked, Saver) or not question.only_savers)
    )


def _entry(question: Question, library: str) -> str:
    return f"{library}, {question.variant}" if question.variant else library


def _progress(*words: str) -> None:
    print(f"bench: {', '.join(words)}", file=sys.stderr, flush=True)


def _machine() -> str:
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if "model name" in line), name)
    return f"{name}, {os.cpu_count()} cores, Python {platform.python_version()}"


if __name__ == "__main__":
    sys.exit(main())
