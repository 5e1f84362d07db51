"""Changes of a tokenizer between two encodes, with the patch and without: none may be missed."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic
from hf_models import ADDED, HARD, MAKERS, NATIVE, hard_texts, small
from hf_surface import COMPONENTS, agree, agree_by_itself, outcome, ready
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

#: Words that nobody has encoded before.
NEW = [
    "Jazzy",
    "quartz vexes",
    "öffnen",
    "Zürich",
    "fünf Löwen",
    "7531",
    "<s> Wolf",
    "γράμμα",
    "Ähre",
]
TEXTS = [*HARD, "a <s> b <new>x<new> Word ", "<|x|>é<tool>\u0301"]
Change = Callable[[Tokenizer], Any]


def look(tokenizer: Tokenizer, texts: list[str] = TEXTS) -> Any:
    """What a tokenizer makes of texts, and of ids, at this moment."""
    ready(tokenizer)
    ids = [encoding.ids for encoding in tokenizer.encode_batch(texts[:6])]
    return (
        [outcome(lambda: tokenizer.encode(text)) for text in texts[4:18:2]],
        [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)],
        [outcome(lambda: tokenizer.encode(texts[8], texts[-1]))],
        tokenizer.decode_batch(ids, skip_special_tokens=False),
        outcome(lambda: tokenizer.decode([2, 7, 5, 300, 1])),
    )


def _set(name: str, value: Callable[[], Any]) -> Change:
    return lambda tokenizer: setattr(tokenizer, name, value())


def _replace_model(tokenizer: Tokenizer) -> None:
    content = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in content["merges"]]
    tokenizer.model = models.BPE(content["vocab"], merges[: len(merges) // 2])


def _template(tokenizer: Tokenizer) -> None:
    end = tokenizer.token_to_id("</s>") or 0
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:1 </s>:0 </s>", pair="$A $B", special_tokens=[("</s>", end)]
    )


#: Each of them changes what `look` sees of one model at least.
CHANGES: dict[str, Change] = {
    "no normalizer": _set("normalizer", lambda: None),
    "lower case": _set("normalizer", normalizers.Lowercase),
    "forms": _set(
        "normalizer", lambda: normalizers.Sequence([normalizers.NFKC(), normalizers.StripAccents()])
    ),
    "no pre-tokenizer": _set("pre_tokenizer", lambda: None),
    "white space": _set("pre_tokenizer", pre_tokenizers.Whitespace),
    "digits": _set(
        "pre_tokenizer",
        lambda: pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=True),
            ]
        ),
    ),
    "split": _set(
        "pre_tokenizer", lambda: pre_tokenizers.Split(Regex(r"\p{L}+"), "merged_with_next")
    ),
    "no post-processor": _set("post_processor", lambda: None),
    "template": _template,
    "bert": _set("post_processor", lambda: processors.BertProcessing(("</s>", 3), ("<s>", 5))),
    "no decoder": _set("decoder", lambda: None),
    "byte decoder": _set("decoder", decoders.ByteLevel),
    "replacing decoder": _set("decoder", lambda: decoders.Replace("e", "E")),
    "model": _replace_model,
    "word level": _set("model", lambda: models.WordLevel({"a": 0, "<unk>": 1}, "<unk>")),
    "added": lambda tokenizer: tokenizer.add_tokens(["<new>", " x", "é"]),
    "added special": lambda tokenizer: tokenizer.add_special_tokens(["<new>", "Hello"]),
    "added with flags": lambda tokenizer: tokenizer.add_tokens(
        [
            AddedToken("<new>", lstrip=True, rstrip=True),
            AddedToken("o", single_word=True),
            AddedToken("<tool>", special=True),
            AddedToken("Ñ", normalized=True),
        ]
    ),
    "added nothing": lambda tokenizer: tokenizer.add_tokens([]),
    "as text": _set("encode_special_tokens", lambda: True),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["start", "both ends", "llama", "suffix"])
def test_a_change_between_encodes(name: str, change: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        return look(tokenizer), outcome(lambda: CHANGES[change](tokenizer)), look(tokenizer)

    agree(case, name in NATIVE)


@pytest.mark.parametrize("change", [c for c in CHANGES if c != "added nothing"])
def test_the_changes_matter(change: str) -> None:
    """Or else that test would say nothing."""

    def differs(name: str) -> bool:
        tokenizer = small(name)
        before = look(tokenizer)
        CHANGES[change](tokenizer)
        return bool(repr(before) != repr(look(tokenizer)))

    assert any(outcome(lambda: differs(name)) is True for name in ("start", "both ends", "llama"))


@pytest.mark.parametrize("name", MAKERS)
def test_many_changes_one_after_the_other(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        told = []
        for change in ("added", "lower case", "template", "added with flags", "digits", "as text"):
            told += [outcome(lambda: CHANGES[change](tokenizer)), look(tokenizer)]
            tokenizer = pickle.loads(pickle.dumps(tokenizer))
            told.append(look(tokenizer))
        return told

    agree(case, name in NATIVE)


def _nested_pre_tokenizer(tokenizer: Tokenizer) -> None:
    steps: Any = tokenizer.pre_tokenizer
    steps[0] = pre_tokenizers.Split(" ", "removed")


def _nested_flag(tokenizer: Tokenizer) -> None:
    steps: Any = tokenizer.pre_tokenizer
    steps[1].add_prefix_space = True


def _nested_normalizer(tokenizer: Tokenizer) -> None:
    steps: Any = tokenizer.normalizer
    steps[1].pattern = "e"
    steps[0].prepend = "_"


def _nested_state(tokenizer: Tokenizer) -> None:
    held: Any = tokenizer.pre_tokenizer
    held.__setstate__(pre_tokenizers.Whitespace().__getstate__())


def _held(tokenizer: Tokenizer) -> None:
    """The component was taken from the tokenizer long before."""
    held: Any = tokenizer.pre_tokenizer
    look(tokenizer)
    held.add_prefix_space = not held.add_prefix_space
    look(tokenizer)
    held.use_regex = not held.use_regex


def _shared(tokenizer: Tokenizer) -> None:
    """One component of two tokenizers."""
    other: Any = small("bare")
    other.pre_tokenizer = tokenizer.pre_tokenizer
    look(other)
    other.pre_tokenizer.add_prefix_space = True


NESTED: dict[str, tuple[str, Change]] = {
    "step": ("both ends", _nested_pre_tokenizer),
    "flag of a step": ("both ends", _nested_flag),
    "steps of a normalizer": ("llama", _nested_normalizer),
    "state": ("start", _nested_state),
    "held": ("start", _held),
    "shared": ("start", _shared),
    "prefix": ("start", lambda t: setattr(t.pre_tokenizer, "add_prefix_space", True)),
    "trim": ("roberta", lambda t: setattr(t.post_processor, "trim_offsets", False)),
    "scheme": ("metaspace", lambda t: setattr(t.pre_tokenizer, "prepend_scheme", "always")),
    "suffix": ("suffix", lambda t: setattr(t.decoder, "suffix", "o</w>")),
    "ends": ("roberta", lambda t: setattr(t.post_processor, "sep", ("a", 5))),
}


@pytest.mark.parametrize("change", NESTED)
def test_a_change_inside_a_component(change: str) -> None:
    name, apply = NESTED[change]

    def case() -> Any:
        tokenizer = small(name)
        return look(tokenizer), outcome(lambda: apply(tokenizer)), look(tokenizer), look(tokenizer)

    agree(case)


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("suffix", "unk_token", "b"),
        ("suffix", "fuse_unk", True),
        ("suffix", "end_of_word_suffix", ""),
        ("start", "ignore_merges", True),
        ("start", "dropout", 1.0),
        ("llama", "byte_fallback", False),
        ("llama", "unk_token", None),
    ],
)
def test_a_change_of_the_model(name: str, attribute: str, value: Any) -> None:
    """Of words that it has seen, tokenizers itself goes on to tell what they were before."""

    def case() -> Any:
        tokenizer = small(name)
        told = [tokenizer.encode("q"), tokenizer.encode_batch(["q", "v"])]
        setattr(tokenizer.model, attribute, value)
        return told, look(tokenizer, NEW), outcome(lambda: getattr(tokenizer.model, attribute))

    agree(case, name in NATIVE)


class Spaced:
    """A pre-tokenizer of the user's own."""

    def pre_tokenize(self, text: Any) -> None:
        text.split(lambda i, s: s.split("o", "removed"))


def test_components_of_ones_own() -> None:
    def case() -> Any:
        tokenizer = small("start")
        before = look(tokenizer)
        tokenizer.pre_tokenizer = pre_tokenizers.PreTokenizer.custom(Spaced())
        return before, look(tokenizer), outcome(lambda: tokenizer.to_str())

    agree(case)


@pytest.mark.parametrize("name", MAKERS)
def test_changes_while_the_patch_is_off(name: str) -> None:
    """What was known of an object does not survive a time in which nobody watched."""

    def case(patched: Callable[[], Any]) -> Any:
        tokenizer = small(name)
        held: Any = tokenizer.pre_tokenizer
        with patched():
            told = [look(tokenizer)]
        tokenizer.add_tokens(["<new>", "He"])
        if hasattr(held, "add_prefix_space"):
            held.add_prefix_space = not held.add_prefix_space
        with patched():
            told.append(look(tokenizer))
            tokenizer.add_tokens(["<|x|>"])
        told.append(look(tokenizer))
        with patched():
            told.append(look(tokenizer))
        return told

    agree_by_itself(case, name in NATIVE)


@pytest.mark.parametrize("name", MAKERS)
def test_copies_are_apart(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        look(tokenizer)
        deep, loaded = copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))
        written = Tokenizer.from_str(tokenizer.to_str())
        read = Tokenizer.from_buffer(tokenizer.to_str().encode())
        tokenizer.add_tokens(["<new>"])
        deep.enable_truncation(3)
        loaded.normalizer = normalizers.Lowercase()
        return [look(one) for one in (tokenizer, deep, loaded, written, read)]

    agree(case, name in NATIVE)


@pytest.mark.parametrize("name", MAKERS)
def test_saved_and_pickled_bytes(name: str, tmp_path: Path) -> None:
    def case() -> Any:
        tokenizer = small(name)
        look(tokenizer)
        for pretty in (True, False):
            tokenizer.save(str(tmp_path / f"{pretty}.json"), pretty=pretty)
        saved = [(tmp_path / f"{pretty}.json").read_bytes() for pretty in (True, False)]
        texts = [tokenizer.to_str(), tokenizer.to_str(pretty=True)]
        return (
            pickle.dumps(tokenizer),
            saved,
            texts,
            look(Tokenizer.from_file(str(tmp_path / "True.json"))),
        )

    agree(case, name in NATIVE)


def test_an_attribute_of_the_object() -> None:
    """As CLIP's tokenizer does it: what lies in the object's dictionary is asked first."""

    def case() -> Any:
        tokenizer: Any = small("suffix")
        original = tokenizer.decode
        tokenizer.decode = lambda ids, skip_special_tokens=True: original(
            ids, skip_special_tokens=skip_special_tokens
        ).upper()
        tokenizer.encode_batch = lambda texts, **options: ["mine", texts, sorted(options)]
        told = (
            tokenizer.decode([1, 40, 41]),
            tokenizer.encode_batch(["a"]),
            sorted(set(vars(tokenizer)) - {"_tokcy"}),
        )
        copied = copy.deepcopy(tokenizer)
        del tokenizer.encode_batch
        return (
            told,
            look(tokenizer),
            look(copied),
            sorted(set(vars(tokenizer)) - {"_tokcy"}),
            sorted(set(vars(copied)) - {"_tokcy"}),
        )

    agree(case)


@pytest.mark.parametrize("name", ["start", "llama", "suffix"])
def test_training_between_encodes(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        before = look(tokenizer)
        trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=["<z>"], show_progress=False)
        tokenizer.train_from_iterator(["a a a b b ab ab ab"] * 3, trainer)
        return (
            before,
            tokenizer.get_vocab_size(),
            [tokenizer.encode(t).tokens for t in ("a b ab", "<z>")],
        )

    agree(case)


@pytest.mark.parametrize("name", MAKERS)
def test_vocabulary_and_components(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        size = tokenizer.get_vocab_size()
        words = ["a", "<s>", "Größe", "none of them", "", "\0"]
        return (
            [tokenizer.token_to_id(word) for word in words],
            [outcome(lambda: tokenizer.id_to_token(i)) for i in (0, 5, size - 1, size, 2**31, -1)],
            (sorted(tokenizer.get_vocab().items()), sorted(tokenizer.get_vocab(False).items())),
            (size, tokenizer.get_vocab_size(with_added_tokens=False)),
            sorted(tokenizer.get_added_tokens_decoder().items()),
            [tokenizer.num_special_tokens_to_add(pair) for pair in (False, True)],
            [type(getattr(tokenizer, component)).__name__ for component in COMPONENTS],
            [repr(getattr(tokenizer, component)) for component in COMPONENTS],
            (type(tokenizer.model).__name__, tokenizer.padding, tokenizer.truncation),
            (isinstance(tokenizer, Tokenizer), repr(tokenizer)[:40], type(tokenizer) is Tokenizer),
            [
                tokenizer.add_tokens(list(ADDED)),
                tokenizer.add_tokens([]),
                tokenizer.add_tokens(["q", "q"]),
            ],
            sorted(tokenizer.get_added_tokens_decoder().items()),
        )

    agree(case)


@pytest.mark.parametrize("name", ["start", "both ends", "roberta", "bare", "llama", "word piece"])
def test_post_processing_by_hand(name: str) -> None:
    def case() -> Any:
        tokenizer = small(name)
        one = tokenizer.encode("a b", add_special_tokens=False)
        processor: Any = tokenizer.post_processor
        tokenizer.post_processor = None  # or it would mark its tokens as those of a first sequence
        other = tokenizer.encode("Größe")
        tokenizer.post_processor = processor
        told = [
            outcome(lambda: tokenizer.post_process(one)),
            outcome(lambda: tokenizer.post_process(one, other)),
            outcome(lambda: tokenizer.post_process(one, other, False)),
            outcome(lambda: tokenizer.post_process(encoding=one, pair=None)),
            outcome(lambda: tokenizer.post_process("a")),  # type: ignore[arg-type]
        ]
        if processor is not None:
            told.append(outcome(lambda: processor.process(one, other, add_special_tokens=True)))
            told.append(outcome(lambda: processor.process(one)))
        tokenizer.enable_truncation(4, stride=1)
        tokenizer.enable_padding(length=9)
        told.append(outcome(lambda: tokenizer.post_process(one, other)))
        return told, one, other

    agree(case)


def test_the_steps_by_hand() -> None:
    """As code does it that wants to encode without added tokens."""

    def case() -> Any:
        tokenizer: Any = small("both ends")
        text = tokenizer.normalizer.normalize_str("e\u0301 <s> Größe")
        pieces = tokenizer.pre_tokenizer.pre_tokenize_str(text)
        tokens = [
            (t.id, t.value, t.offsets)
            for piece, _ in pieces
            for t in tokenizer.model.tokenize(piece)
        ]
        return text, pieces, tokens, tokenizer.decoder.decode([value for _, value, _ in tokens])

    agree(case)


def test_texts_of_the_added_tokens() -> None:
    texts = hard_texts([token.content for token in ADDED])

    def case() -> Any:
        tokenizer = small("both ends")
        return asyncio.run(_batch(tokenizer, texts)), tokenizer.encode_batch(synthetic.SENTENCES)

    async def _batch(tokenizer: Tokenizer, batch: list[str]) -> Any:
        return await tokenizer.async_encode_batch(batch)

    agree(case)
