"""What is asked: which file of benchmarks answers it, and how its processes are run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench import chat


@dataclass(frozen=True)
class Question:
    """One kind of process: a file of benchmarks, or some of it, and its surroundings."""

    name: str
    #: What ``--only`` calls it, together with others.
    group: str
    file: str
    #: The texts of a process: each by itself; all; the first alone, where the text matters little.
    texts: Literal["each", "all", "first"] = "first"
    #: The benchmarks whose names hold this.
    select: str = ""
    #: Keep the library to one thread.
    one_thread: bool = False
    #: Count the CPU time of all threads of the process, not the time that passes.
    cpu_time: bool = False
    #: The figure is seconds, the lower the better; MB of UTF-8 text a second otherwise.
    seconds: bool = False
    #: Beside the same question without it; the libraries are then "NAME, VARIANT".
    variant: str = ""
    #: Only libraries that spread one text over threads.
    only_splitters: bool = False
    #: Only libraries that are not slow.
    only_fast: bool = False
    #: Only libraries that have a saved form.
    only_savers: bool = False
    #: Asked once, of all models together.
    all_models: bool = False
    #: What its processes are given to encode; the option of that name names the files.
    material: Literal["pieces", "chat", "conversation", "server"] = "pieces"
    #: The only libraries that are asked; all if empty. They are asked in every round.
    libraries: tuple[str, ...] = ()
    #: The only model that is asked, if any.
    model: str = ""


#: Libraries that can recognise added tokens in some segments and in others not.
SEGMENTERS = ("tokenizers", "tokcy", "tiktoken", "fastokens", "gigatoken", "basetenkenizer")


def _of_chats(name: str, file: str, select: str = "", one_thread: bool = False) -> Question:
    return Question(
        name,
        "chat",
        file,
        select=select,
        one_thread=one_thread,
        cpu_time=one_thread,
        seconds=True,
        material="chat",
        libraries=SEGMENTERS,
        model=chat.MODEL,
    )


def _of_conversation(name: str, select: str, one_thread: bool = False) -> Question:
    return Question(
        name,
        "conversation",
        "test_conversation.py",
        select=select,
        one_thread=one_thread,
        cpu_time=one_thread,
        seconds=True,
        material="conversation",
        libraries=("tokcy", "tokcy, on tokenizers", "fastokens"),
        model=chat.MODEL,
    )


QUESTIONS = (
    Question("speed", "speed", "test_speed.py", "each", one_thread=True, cpu_time=True),
    Question("load", "load", "test_load.py", select="from_json", seconds=True),
    Question("saved", "load", "test_load.py", select="from_saved", seconds=True, only_savers=True),
    Question("cores", "cores", "test_cores.py", "each", only_fast=True),
    Question(
        "cores",
        "cores",
        "test_cores.py",
        "each",
        one_thread=True,
        variant="one thread",
        only_splitters=True,
    ),
    Question("single", "short", "test_short.py", "all", select="single"),
    Question("batch", "short", "test_short.py", "all", select="batch"),
    Question("decode", "decode", "test_decode.py", "all"),
    Question("crafted", "crafted", "test_crafted.py", one_thread=True, cpu_time=True),
    Question("threads", "crafted", "test_threads.py", one_thread=True, all_models=True),
    Question(
        "hf",
        "hf",
        "test_hf.py",
        seconds=True,
        libraries=("tokenizers", "tokcy", "fastokens", "basetenkenizer"),
    ),
    _of_chats("chat", "test_segments.py", "chat"),
    _of_chats("chat, one thread", "test_segments.py", "chat", one_thread=True),
    _of_chats("chat, uncut", "test_segments.py", "uncut"),
    _of_chats("chats at once", "test_chats_at_once.py"),
    _of_conversation("conversation", "not first"),
    _of_conversation("conversation, one thread", "not first", one_thread=True),
    # Each in a process of its own, as nothing may be known.
    *(
        _of_conversation("conversation, first pass", f"first_{name} and {way}")
        for way in ("text", "segments")
        for name in ("alone", "cached")
    ),
    Question(
        "server",
        "server",
        "test_server.py",
        seconds=True,
        material="server",
        libraries=("tokcy",),
        model=chat.MODEL,
    ),
)
GROUPS = tuple(dict.fromkeys(question.group for question in QUESTIONS))
