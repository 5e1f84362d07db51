"""Write tests/config_vectors.json: what transformers makes of random configurations.

Run it with the release of transformers to follow, and tokenizers 0.23.3, from the repository:

    python tools/make_config_vectors.py

A case holds the files beside a small byte-level model, the added tokens and the padding token of
the model file, and what PreTrainedTokenizerFast gives: its added tokens (id, content, flags), named
and extra special tokens, and the ids of a text; or ``error`` if it refuses the files.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}

import tokenizers
import transformers

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.insert(0, str(TESTS))

from config_models import TEXT, model_of  # noqa: E402

N_CASES = 160
CONTENTS = ["<a>", "<b>", "<c>", "<d>", "ab", "é", "", "a b", "zz"]
NAMES = [
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
    "image_token", "boi_token",
]  # fmt: skip
FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
IDS = [0, 1, 257, 258, 260, 300, 301]


class Maker:
    """Random configurations, some of them with values that mean nothing."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._odd = 0.0

    def case(self) -> dict[str, Any]:
        self._odd = 0.05 if self._chance(0.3) else 0.0
        files: dict[str, Any] = {}
        if self._chance(0.9):
            files["tokenizer_config.json"] = self._config()
        if self._chance(0.4):
            files["special_tokens_map.json"] = self._special_map()
        if self._chance(0.3):
            contents = self._random.sample(CONTENTS, self._random.randrange(4))
            files["added_tokens.json"] = {text: self._random.choice(IDS) for text in contents}
        if not files:  # then there is nothing to do
            files["tokenizer_config.json"] = {}
        added: list[dict[str, Any]] = [
            {"content": content, **{flag: self._chance(0.3) for flag in FLAGS}}
            | {"special": self._chance(0.6)}
            for content in self._random.sample(CONTENTS[:6], self._random.randrange(4))
        ]
        pad_token = self._random.choice(["[PAD]", "<a>"]) if self._chance(0.1) else None
        return {"added": added, "pad_token": pad_token, "files": files}

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _object(self, **more: Any) -> dict[str, Any]:
        flags = {f: self._chance(0.4) for f in (*FLAGS, "special") if self._chance(0.6)}
        return {"content": self._random.choice(CONTENTS), **flags, **more}

    def _token(self) -> Any:
        if self._chance(self._odd):
            return self._random.choice([None, 3, True, [], {}, self._object()])
        if self._chance(0.6):
            return self._random.choice(CONTENTS)
        return self._object(__type="AddedToken")

    def _list(self, make: Callable[[], Any]) -> list[Any]:
        return [make() for _ in range(self._random.randrange(4))]

    def _extra(self, make: Callable[[], Any]) -> Any:
        if self._chance(0.2):
            return self._random.choice([None, {}, []])
        if self._chance(0.6):
            return self._list(make)
        names = [*NAMES, "x_token", "foo"]
        return {self._random.choice(names): make() for _ in range(self._random.randrange(3))}

    def _config(self) -> dict[str, Any]:
        config: dict[str, Any] = {"model_max_length": 512}
        for name in self._random.sample(NAMES, self._random.randrange(6)):
            config[name] = self._token()
        if self._chance(0.3):
            config["additional_special_tokens"] = self._list(self._token)
        if self._chance(0.4):
            config["extra_special_tokens"] = self._extra(self._token)
        if self._chance(0.05):
            config["model_specific_special_tokens"] = {"q_token": self._token()}
        if self._chance(0.5):
            count = self._random.randrange(5)
            config["added_tokens_decoder"] = {
                str(self._random.choice(IDS)): self._object() for _ in range(count)
            }
        items = list(config.items())
        self._random.shuffle(items)
        return dict(items)

    def _special_map(self) -> dict[str, Any]:
        def listed() -> Any:
            if self._chance(0.7):
                return self._random.choice(CONTENTS)
            token = self._object()
            token.pop("special", None)
            return token

        names = self._random.sample(NAMES, self._random.randrange(5))
        found: dict[str, Any] = {
            name: self._random.choice(CONTENTS) if self._chance(0.5) else self._object()
            for name in names
        }
        if self._chance(0.2):
            found["extra_special_tokens"] = self._extra(listed)
        if self._chance(0.2):
            found["additional_special_tokens"] = self._random.sample(CONTENTS, 3)
        return found


def expected(case: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {**case["files"], "tokenizer.json": model_of(case)}.items():
            Path(folder, name).write_text(json.dumps(content))
        try:
            with contextlib.redirect_stdout(io.StringIO()):  # it reports keys that it ignores
                subject = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
    backend = subject.backend_tokenizer
    backend.no_padding()
    tokens = sorted(backend.get_added_tokens_decoder().items())
    return {
        "tokens": [
            [
                token_id,
                token.content,
                *(flag for flag in FLAGS if getattr(token, flag)),
                *(
                    ["skipped"]
                    if backend.decode([token_id], skip_special_tokens=True) == ""
                    else []
                ),
            ]
            for token_id, token in tokens
        ],
        "named": {k: str(v) for k, v in subject._special_tokens_map.items() if v is not None},
        "extra": list(map(str, subject._extra_special_tokens)),
        "ids": backend.encode(TEXT).ids,
    }


def main() -> None:
    maker = Maker(20261130)
    cases: list[dict[str, Any]] = []
    while len(cases) < N_CASES:
        case = maker.case()
        case |= expected(case)
        if "RecursionError" not in case.get("error", ""):  # of an unknown token without content
            cases.append(case)
    versions = f"transformers {transformers.__version__}, tokenizers {tokenizers.__version__}"
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    target = TESTS / "config_vectors.json"
    target.write_text(f'{{"reference": "{versions}", "cases": [\n{lines}\n]}}\n', encoding="utf-8")
    refused = sum("error" in case for case in cases)
    print(f"{target}: {len(cases)} cases, {refused} of them refused, from {versions}")


if __name__ == "__main__":
    main()
