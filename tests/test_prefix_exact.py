"""With a prefix cache and without, the ids are the same: hostile tokens, random files, segments."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pipelines
import pytest
import synthetic
from growing import growing_texts

import tokcy
from tokcy._prefix import PrefixStore, PrefixView
from tokcy.errors import ModelFileError, TokcyError

Model = synthetic.Model
token = synthetic.added_token


def model_with(tokens: Sequence[Model], **sections: object) -> Model:
    """A model of bytes with a few merges, and these added tokens."""
    model = synthetic.trained_model()
    first = len(model["model"]["vocab"])
    model["added_tokens"] = [{**item, "id": first + i} for i, item in enumerate(tokens)]
    return {**model, **sections}


def make(model: Model, backend: str = "auto") -> tokcy.Tokenizer:
    return tokcy.Tokenizer.from_json(json.dumps(model), backend=backend)


# ------------------------------------------------------------------ one case each: where cuts fail

E = token("<e>", special=True)
METASPACE_FIRST = {
    "type": "Metaspace",
    "replacement": "\u2581",
    "prepend_scheme": "first",
    "split": True,
}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<e>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
    ],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<e>": {"id": "<e>", "ids": [600], "tokens": ["<e>"]}},
}
NFC = {"type": "NFC"}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
SPACED = {**BYTES, "add_prefix_space": True}
TRUNCATION = {
    "direction": "Right",
    "max_length": 5,
    "strategy": "LongestFirst",
    "stride": 0,
}
PADDING = {
    "strategy": {"Fixed": 30},
    "direction": "Right",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "<e>",
}
# name: (added tokens, what else the file has, the text up to a cut, what follows it)
CASES: dict[str, tuple[list[Model], dict[str, object], str, str]] = {
    "plain": ([E], {}, "hi<e>", "the end"),
    "lstrip": ([token("<e>", special=True, lstrip=True)], {}, "hi  <e>", " the end"),
    "rstrip, whitespace follows": ([token("<e>", rstrip=True)], {}, "hi<e>", "  the"),
    "rstrip, whitespace goes on": ([token("<e>", rstrip=True)], {}, "hi<e> ", " \n the"),
    "rstrip, a token in the whitespace": (
        [token("<e>", rstrip=True), token("\n")],
        {},
        "hi<e> ",
        "\n\n<e>\nthe",
    ),
    "both strips": ([token("<e>", lstrip=True, rstrip=True)], {}, "a <e>", " <e> b"),
    "single word, a letter follows": ([token("<e>", single_word=True)], {}, "hi <e>", "the"),
    "single word of letters": ([token("end", single_word=True)], {}, "the end", "ing"),
    "single word behind a cut": ([E, token("the", single_word=True)], {}, "x<e>", "the end"),
    "single word behind a letter": (
        [token("<e>x"), token("the", single_word=True)],
        {},
        "a<e>x",
        "the end",
    ),
    "a longer token contains it": ([E, token("<e>x")], {}, "hi<e>", "xthe"),
    "a much longer token contains it": ([E, token("<e>xxxxxxxxxxy")], {}, "a<e>xxxxxxxx", "xxyz"),
    "another eats its beginning": ([E, token("a<")], {}, "ba", "<e>e>the"),
    "another eats its beginning later": ([E, token("a<e")], {}, "the a<e>", "the"),
    "nested": ([token("<("), token(")>"), token("<(EOS)>")], {}, "the<(", "EOS)>the"),
    "nested, cut before the end": ([token("<("), token(")>"), token("<(E)>")], {}, "a<(E", ")>b"),
    "overlapping with itself": ([token("aba")], {}, "xaba", "ba the"),
    "suffix and prefix": ([token("<a>b"), token("b<c>")], {}, "x<a>b", "<c>the"),
    "normalized": ([token("<e>", normalized=True)], {"normalizer": NFC}, "hi<e>", "\u0301the"),
    "a mark follows": ([E], {"normalizer": NFC}, "hie<e>", "\u0301the"),
    "strip": (
        [E],
        {"normalizer": {"type": "Strip", "strip_left": True, "strip_right": True}},
        "a <e>",
        " b ",
    ),
    "prepend": ([E], {"normalizer": {"type": "Prepend", "prepend": "a"}}, "hi<e>", "the"),
    "prefix space": ([E], {"pre_tokenizer": SPACED}, "hi<e>", "the"),
    "Metaspace first": (
        [E],
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [METASPACE_FIRST, BYTES]}},
        "<e>",
        "the",
    ),
    "post-processor": ([E], {"post_processor": TEMPLATE}, "hi<e>", "the"),
    "truncation": ([E], {"truncation": TRUNCATION}, "hi<e>the<e>", "the end of<e> it"),
    "padding": ([E], {"padding": PADDING}, "hi<e>", "the end"),
}


@pytest.mark.parametrize("backend", ["auto", "huggingface"])
def test_what_follows_is_all_that_is_encoded(backend: str) -> None:
    tok = make(model_with([E]), backend)
    cache = tokcy.PrefixCache()
    tok.encode("hi<e>the", prefix_cache=cache)
    known = len(tok.encode("hi<e>"))
    n = len(tok.encode("hi<e>there", prefix_cache=cache))
    assert (cache.hits, cache.misses, cache.cached_tokens) == (1, 1, known)
    assert cache.uncached_tokens == len(tok.encode("hi<e>the")) + n - known


@pytest.mark.parametrize("backend", ["auto", "huggingface"])
@pytest.mark.parametrize("case", CASES)
def test_cut(case: str, backend: str) -> None:
    """The text up to the cut comes first, then what follows, then each beginning of it."""
    tokens, sections, before, after = CASES[case]
    tok = make(model_with(tokens, **sections), backend)
    reference = synthetic.load(model_with(tokens, **sections))
    for special in (True, False):
        for texts in (
            [before, before + after, before],
            [before + after, before, before + after],
            [before + after + after, before + after],
            [(before + after)[:n] for n in range(len(before + after) + 1)],
            [(before + after)[n:] for n in range(len(before + after) + 1)],
        ):
            cache = tokcy.PrefixCache()
            for text in texts * 2:
                expected = reference.encode(text, add_special_tokens=special).ids
                found = tok.encode(text, add_special_tokens=special, prefix_cache=cache)
                assert found.tolist() == expected


def test_encode_special_tokens() -> None:
    """Special tokens that are ordinary text are no cuts."""
    config = {"encode_special_tokens": True}
    tok = tokcy.Tokenizer.from_json(json.dumps(model_with([E, token("<f>")])), config=config)
    cache = tokcy.PrefixCache()
    for text in ("the<e>", "the<e>the", "the<e>the<f>", "the<e>the<f>e>"):
        expected = tok.encode(text).tolist()
        assert tok.encode(text, prefix_cache=cache).tolist() == expected


# ------------------------------------------------------------------------------------- random ones


class Twin:
    """Encodes with and without a cache, and holds one against the other."""

    def __init__(self, choose: Random) -> None:
        self.choose = choose
        self.stores = [
            PrefixStore(64 << 20, apart=choose.choice([0, 0, 30]), **self.ways()),
            PrefixStore(choose.choice([0, 600, 3000]), apart=0, **self.ways()),
        ]
        self.n_hits = 0
        self.given: list[tuple[Any, list[int]]] = []

    def ways(self) -> dict[str, Any]:
        choose = self.choose
        return {"views": choose.random() < 0.6, "wide_from": choose.choice([0, 0, 4096])}

    def views(self, key: bytes) -> list[PrefixView]:
        return [PrefixView(store, key.ljust(16)) for store in self.stores]

    def check(self, backend: object, views: list[PrefixView], text: str, added: bool) -> None:
        special = self.choose.random() < 0.5
        try:
            expected = backend.encode(text, special, added, None).tolist()  # type: ignore[attr-defined]
        except TokcyError:
            return
        for view in views:
            found = backend.encode(text, special, added, None, view)  # type: ignore[attr-defined]
            assert found.tolist() == expected, text
            assert view.store.bytes <= view.store.max_bytes
            self.given.append((found, expected))

    def check_again(self) -> None:
        """What was given stays as it was."""
        for found, expected in self.given:
            assert found.tolist() == expected
        self.given.clear()

    def check_segments(
        self, backend: Any, views: list[PrefixView], segments: list[tuple[str, bool]]
    ) -> None:
        special = self.choose.random() < 0.5
        for joined in (False, True):
            try:
                expected = backend.encode_segments(segments, special, joined, False, None).tolist()
            except TokcyError:  # of mixed trust, and changed by a normalizer
                for view in views:
                    with pytest.raises(TokcyError):
                        backend.encode_segments(segments, special, joined, False, None, view)
                continue
            for view in views:
                found = backend.encode_segments(segments, special, joined, False, None, view)
                assert found.tolist() == expected, segments
                self.given.append((found, expected))


def check_file(choose: Random, twin: Twin, file: Model, key: bytes) -> None:
    """Encode growing texts and segments, in every way, into stores that other files share."""
    contents = [item["content"] for item in file["added_tokens"]]
    parts = [*contents, *contents, *(text[:12] for text in pipelines.random_texts(choose, file, 8))]
    parts += [content[:-1] for content in contents] + [" ", "a", "\n", "b "]
    try:
        backends = [make(file, name)._backend for name in ("auto", "huggingface")]
    except (ModelFileError, TokcyError):
        return
    views = twin.views(key)
    for text in growing_texts(choose, parts, 60):
        twin.check(backends[0], views, text, choose.random() < 0.8)
        if choose.random() < 0.2:
            twin.check(backends[1], twin.views(b"hf" + key), text, True)
        cuts = sorted(choose.choices(range(len(text) + 1), k=choose.randrange(4)))
        ends = [0, *cuts, len(text)]
        flags = [choose.random() < 0.6 for _ in ends]
        segments = [(text[a:b], flag) for a, b, flag in zip(ends, ends[1:], flags, strict=False)]
        twin.check_segments(backends[0], views, segments)
        if choose.random() < 0.3:
            twin.check_segments(backends[1], twin.views(b"hf" + key), segments)
    twin.check_again()
    twin.n_hits += views[0].hits


@pytest.mark.parametrize("seed", range(6))
def test_random_files(seed: int) -> None:
    choose = Random(seed)
    twin = Twin(choose)
    for i in range(10):
        check_file(choose, twin, pipelines.random_file(choose), b"%d" % i)
    assert twin.n_hits > 100


HOSTILE = [
    "<",
    "<e",
    "<e>",
    "<e>x",
    "e>",
    "x<",
    " ",
    "  ",
    "\n",
    "the",
    "end",
    "a",
    "aa",
    "aaa",
    "ab",
]


@pytest.mark.parametrize("seed", range(6))
def test_hostile_tokens(seed: int) -> None:
    """Tokens that contain, straddle and eat each other, with all flags."""
    choose = Random(seed)
    twin = Twin(choose)
    for i in range(15):
        flags = ("lstrip", "rstrip", "single_word", "normalized", "special")
        tokens = [
            token(content, **{flag: choose.random() < 0.3 for flag in flags})
            for content in choose.sample(HOSTILE, choose.randrange(1, 8))
        ]
        sections: dict[str, object] = choose.choice(
            [{}, {"normalizer": NFC}, {"pre_tokenizer": SPACED}]
        )
        check_file(choose, twin, model_with(tokens, **sections), b"%d" % i)
    assert twin.n_hits > 100


# -------------------------------------------------------------------------------- real ones

MODELS = ["qwen3", "phi3_mini", "llama3", "gemma3", "mistral03", "deepseek_v3", "t5_small"]


def test_real_conversations(model_path: Callable[[str], Path], corpus: Callable[..., str]) -> None:
    """Models of all kinds share one small cache; their conversations grow, branch and change."""
    choose = Random(1)
    caches = [tokcy.PrefixCache(1 << 20), tokcy.PrefixCache(), tokcy.PrefixCache(read_only=True)]
    given = []
    lines = corpus("agent_chatml", 60_000).split("<|im_end|>")
    for name in MODELS:
        tok = tokcy.Tokenizer.from_file(model_path(name))
        mark = next(item.content for item in tok.added_tokens[::-1] if not item.normalized)
        parts = [line + end for line in lines for end in (mark, mark + "\n", "")]
        text = ""
        for _ in range(40):
            text = text[: choose.choice([len(text), choose.randrange(len(text) + 1)])]
            text += choose.choice(parts)
            special = choose.random() < 0.5
            expected = tok.encode(text, add_special_tokens=special).tolist()
            for cache in caches:
                found = tok.encode(text, add_special_tokens=special, prefix_cache=cache)
                assert found.tolist() == expected
                given.append((found, expected))
                n = tok.count(text, add_special_tokens=special, prefix_cache=cache)
                assert n == len(expected)
        assert tok.encode_to_list(text, prefix_cache=caches[0]) == tok.encode_to_list(text)
    assert caches[1].cached_tokens > caches[1].uncached_tokens
    assert caches[0].evictions > 0
    assert all(found.tolist() == expected for found, expected in given)
