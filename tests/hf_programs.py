"""Random programs: what code may do with a tokenizer, in any order and with any options.

A program is a list of steps, each the name of a function here and its arguments, so that a failed
one can be read and made shorter.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hf_models import random_text
from hf_surface import difference, outcome, outcome_of_several, ready
from shrinking import shrunk
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers, processors

import tokcy

Step = tuple[str, dict[str, Any]]
Program = list[Step]
DIRECTIONS = ("left", "right")
STRATEGIES = ("longest_first", "only_first", "only_second")
METHODS = ("encode_batch", "encode_batch_fast")


class Writer:
    """Writes programs for one tokenizer.

    Args:
        tokens: contents of added tokens, to be in the texts.
        excerpts: real texts.
        size: the number of ids.
    """

    def __init__(self, seed: object, tokens: Sequence[str], excerpts: list[str], size: int) -> None:
        self.choose = random.Random(str(seed))
        self._tokens, self._excerpts, self._size = list(tokens), excerpts, size

    def _text(self) -> str:
        return random_text(self.choose, self._tokens, self._excerpts)

    def _part(self) -> str:
        """One of a pair, whose chunks are the product of those of both."""
        return self._text()[:40]

    def _texts(self) -> list[str]:
        return [self._text() for _ in range(self.choose.choice((0, 1, 2, 3, 7)))]

    def _ids(self) -> list[int]:
        return [self.choose.randrange(self._size + 3) for _ in range(self.choose.randrange(9))]

    def _flag(self) -> bool:
        return self.choose.random() < 0.5

    def options(self, count: int) -> Program:
        """Steps that encode and decode, and change options but nothing of the tokenizer."""
        return [self._option_step() for _ in range(count)]

    def _option_step(self) -> Step:
        choose = self.choose
        match choose.randrange(16):
            case 0 | 1 | 2:
                return "encode", {"text": self._text(), "special": self._flag()}
            case 3:
                texts = {"text": self._part(), "pair": self._part()}
                return "encode", {**texts, "special": self._flag()}
            case 4:
                return "words", {"words": self._texts(), "special": self._flag()}
            case 5 | 6 | 7:
                batch: list[Any] = self._texts()
                if choose.random() < 0.2:
                    batch.append((self._part(), self._part()))
                method = choose.choice(METHODS)
                return "batch", {"texts": batch, "special": self._flag(), "method": method}
            case 8 | 9:
                length = choose.choice((2, 4, 7, 12, 20, 100))
                stride = choose.choice((0, 0, 1, length - 1))
                way = {
                    "strategy": choose.choice(STRATEGIES),
                    "direction": choose.choice(DIRECTIONS),
                }
                return "truncate", {"max_length": length, "stride": stride, **way}
            case 10:
                filler = {"direction": choose.choice(DIRECTIONS), "pad_token": "·", "pad_id": 1}
                many = choose.choice((None, 4, 8))
                width = choose.choice((None, None, 10, 25))
                return "pad", {"length": width, "pad_to_multiple_of": many, **filler}
            case 11:
                return "stop", {"what": choose.choice(("no_truncation", "no_padding"))}
            case 12:
                return "as_text", {"flag": choose.random() < 0.3}
            case 13 | 14:
                return "decode", {"ids": self._ids(), "skip": self._flag()}
            case _:
                return "round_trip", {"texts": self._texts(), "skip": self._flag()}

    def changes(self, count: int) -> Program:
        """Steps that change the tokenizer itself, each with some of the others behind it."""
        steps: Program = []
        for _ in range(count):
            steps += [self._change_step(), ("ready", {}), *self.options(3)]
        return steps

    def _change_step(self) -> Step:
        choose = self.choose
        match choose.randrange(4):
            case 0:
                contents = [self._text().strip()[:9] or "<z>", f"<{choose.randrange(9)}>"]
                flags = {flag: self._flag() for flag in ("lstrip", "rstrip", "special")}
                return "add", {"contents": contents, "flags": flags | {"normalized": False}}
            case 1:
                return "set", {"name": choose.choice(list(COMPONENTS))}
            case 2:
                return "nested", {}
            case _:
                return "copy", {"how": choose.choice(("deepcopy", "pickle", "json"))}

    def calls(self, count: int) -> Program:
        """Steps that call a tokenizer of ``transformers``."""
        return [self._call_step() for _ in range(count)]

    def _call_step(self) -> Step:
        choose = self.choose
        if choose.random() < 0.15:
            return "convert", {"text": self._text(), "ids": self._ids(), "skip": self._flag()}
        batched = self._flag()
        texts: Any = self._texts() if batched else self._text()
        pairs: Any = None
        if choose.random() < 0.2:
            pairs = [self._text() for _ in texts] if batched else self._text()
        words = pairs is None and batched and choose.random() < 0.15
        options: dict[str, Any] = {"is_split_into_words": words}
        for name in ("offsets_mapping", "special_tokens_mask", "token_type_ids", "length"):
            if self._flag():
                options[f"return_{name}"] = True
        if self._flag():
            options["truncation"] = choose.choice((True, *STRATEGIES))
            # The chunks of a pair are the product of those of its texts.
            options["max_length"] = choose.choice((5, 9, 30) if pairs is None else (60, 200))
            options["stride"] = choose.choice((0, 0, 2))
            options["return_overflowing_tokens"] = self._flag()
        if self._flag():
            options["padding"] = choose.choice((True, "max_length", False))
            options["max_length"] = options.get("max_length", 40)
            options["padding_side"] = choose.choice(DIRECTIONS)
            options["pad_to_multiple_of"] = choose.choice((None, 8))
        if self._flag():
            options["add_special_tokens"] = self._flag()
        if choose.random() < 0.1:
            options["split_special_tokens"] = True
        if choose.random() < 0.1:
            options["return_tensors"] = "np"
        return "call", {"texts": texts, "pairs": pairs, "options": options}


COMPONENTS: dict[str, tuple[str, Callable[[], Any]]] = {
    "no normalizer": ("normalizer", lambda: None),
    "NFC": ("normalizer", normalizers.NFC),
    "lower case": ("normalizer", normalizers.Lowercase),
    "byte level": ("pre_tokenizer", lambda: pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "digits": ("pre_tokenizer", lambda: pre_tokenizers.Digits(individual_digits=True)),
    "no processor": ("post_processor", lambda: None),
    "template": (
        "post_processor",
        lambda: processors.TemplateProcessing(single="a $A:1", special_tokens=[("a", 3)]),
    ),
}


class Runner:
    """Runs a program on a tokenizer of ``tokenizers`` or ``transformers``."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def run(self, program: Program) -> list[Any]:
        return [outcome(lambda: getattr(self, name)(**step)) for name, step in program]  # noqa: B023

    def ready(self) -> None:
        ready(self.tokenizer)

    def encode(self, text: str, special: bool, pair: str | None = None) -> Any:
        return self.tokenizer.encode(text, pair, add_special_tokens=special)

    def words(self, words: list[str], special: bool) -> Any:
        return self.tokenizer.encode(words, is_pretokenized=True, add_special_tokens=special)

    def batch(self, texts: list[Any], special: bool, method: str) -> Any:
        return outcome_of_several(
            getattr(self.tokenizer, method), texts, add_special_tokens=special
        )

    def truncate(self, **options: Any) -> Any:
        self.tokenizer.enable_truncation(**options)
        return self.tokenizer.truncation

    def pad(self, **options: Any) -> Any:
        self.tokenizer.enable_padding(**options)
        return self.tokenizer.padding

    def stop(self, what: str) -> Any:
        getattr(self.tokenizer, what)()
        return self.tokenizer.truncation, self.tokenizer.padding

    def as_text(self, flag: bool) -> None:
        self.tokenizer.encode_special_tokens = flag

    def decode(self, ids: list[int], skip: bool) -> Any:
        return self.tokenizer.decode(ids, skip_special_tokens=skip)

    def round_trip(self, texts: list[str], skip: bool) -> Any:
        def encoded(texts: list[str]) -> list[list[int]]:
            return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]

        lists = outcome_of_several(encoded, texts)
        return lists, outcome(self.tokenizer.decode_batch, lists, skip_special_tokens=skip)

    def add(self, contents: list[str], flags: dict[str, bool]) -> Any:
        return self.tokenizer.add_tokens([AddedToken(content, **flags) for content in contents])

    def set(self, name: str) -> None:
        attribute, make = COMPONENTS[name]
        setattr(self.tokenizer, attribute, make())

    def nested(self) -> None:
        part = self.tokenizer.pre_tokenizer
        if isinstance(part, pre_tokenizers.Sequence):
            part = part[len(part) - 1]  # type: ignore[arg-type]
        if hasattr(part, "add_prefix_space"):
            part.add_prefix_space = not part.add_prefix_space
        if hasattr(part, "prepend_scheme"):
            part.prepend_scheme = "always" if part.prepend_scheme == "first" else "first"

    def copy(self, how: str) -> None:
        if how == "deepcopy":
            self.tokenizer = copy.deepcopy(self.tokenizer)
        elif how == "pickle":
            self.tokenizer = pickle.loads(pickle.dumps(self.tokenizer))
        else:
            self.tokenizer = Tokenizer.from_str(self.tokenizer.to_str())

    def call(self, texts: Any, pairs: Any, options: dict[str, Any]) -> Any:
        if isinstance(texts, str):
            return self.tokenizer(texts, pairs, **options)
        batches = (texts,) if pairs is None else (texts, pairs)
        return outcome_of_several(self.tokenizer, *batches, **options)

    def convert(self, text: str, ids: list[int], skip: bool) -> Any:
        tokens = self.tokenizer.tokenize(text)
        return (
            tokens,
            self.tokenizer.convert_tokens_to_ids(tokens),
            self.tokenizer.convert_tokens_to_string(tokens),
            self.tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=skip),
            self.tokenizer.decode(ids, skip_special_tokens=skip),
            self.tokenizer.decode(np.array(ids, dtype=np.int64), skip_special_tokens=skip),
            self.tokenizer.batch_decode([ids, ids[::-1]], skip_special_tokens=skip),
        )


def agree_on(programs: list[Program], new: Callable[[], Any]) -> None:
    """Fail, with the steps that matter, unless each program sees the same with the patch.

    Args:
        new: gives a tokenizer in its first state.
    """
    expected = [Runner(new()).run(program) for program in programs]
    with tokcy.patched_hf():
        found = [Runner(ready(new())).run(program) for program in programs]
    for program, mine, theirs in zip(programs, found, expected, strict=True):
        told = difference(mine, theirs)
        if told is not None:
            steps = shrunk(program, lambda steps: _differs(steps, new))
            raise AssertionError(f"with the patch: {told}\n" + "\n".join(map(repr, steps)))


def _differs(program: Program, new: Callable[[], Any]) -> bool:
    expected = Runner(new()).run(program)
    with tokcy.patched_hf():
        return difference(Runner(ready(new())).run(program), expected) is not None
