"""Random changes, options and calls: a patched tokenizer against one that is left alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from patching import small_tokenizer, state
from tokenizers import AddedToken, Regex, decoders, normalizers, pre_tokenizers, processors

import tokcy
from tokcy.dropin import attachment
from tokcy.hf.calls import leave_alone

Change = Callable[[Any], object]

WORDS = [
    *("hello", "Hello", "it's", " ", "  ", "\n", "é", "É", "中文", "🙂", "123", "▁", "NEW", "new"),
    *("a", "\u00a0", "ﬁ", "<s>", "</s>", "<mask>", "<x>"),
]
BYTE_LEVEL = pre_tokenizers.ByteLevel


def random_text(choose: Random) -> str:
    return "".join(choose.choices(WORDS, k=choose.randrange(25)))


def new_tokens(choose: Random) -> Change:
    special = choose.random() < 0.5
    flags = {name: choose.random() < 0.3 for name in ("single_word", "lstrip", "rstrip")}
    content = choose.choice(WORDS) + choose.choice(["", "!", "z"])
    token = AddedToken(content, **flags, normalized=choose.random() < 0.5, special=special)
    return lambda t: (t.add_special_tokens if special else t.add_tokens)([token])


def new_normalizer(choose: Random) -> Change:
    normalizer = choose.choice(
        [
            *(None, normalizers.Lowercase(), normalizers.NFC(), normalizers.NFKC()),
            normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()]),
            *(normalizers.StripAccents(), normalizers.Replace("e", "a")),
        ]
    )
    return lambda t: setattr(t, "normalizer", copy.deepcopy(normalizer))


def new_pre_tokenizer(choose: Random) -> Change:
    flag = choose.random() < 0.5
    split = pre_tokenizers.Split(Regex(r"\d{1,3}|\s+|[^\s\d]+"), "isolated")
    without = BYTE_LEVEL(add_prefix_space=False, use_regex=False)
    pre_tokenizer = choose.choice(
        [
            BYTE_LEVEL(add_prefix_space=flag),
            pre_tokenizers.Sequence([pre_tokenizers.Digits(flag), BYTE_LEVEL(False)]),
            pre_tokenizers.Sequence([split, without]),
        ]
    )
    return lambda t: setattr(t, "pre_tokenizer", copy.deepcopy(pre_tokenizer))


def new_post_processor(choose: Random) -> Change:
    trim = choose.random() < 0.5
    special: list[tuple[str, int]] = [("<s>", 5), ("</s>", 7)]
    template = processors.TemplateProcessing
    post_processor = choose.choice(
        [
            None,
            processors.ByteLevel(trim_offsets=trim),
            processors.RobertaProcessing(("</s>", 1), ("<s>", 2), trim_offsets=trim),
            template(single="<s> $A", pair="<s> $A $B", special_tokens=special),
            template(single="<s>:1 $A:1 </s>", pair="$A $B", special_tokens=special),
        ]
    )
    return lambda t: setattr(t, "post_processor", copy.deepcopy(post_processor))


def change_of_a_component(choose: Random) -> Change:
    flag = choose.random() < 0.5

    def change(tokenizer: Any) -> None:
        pre_tokenizer, post_processor = tokenizer.pre_tokenizer, tokenizer.post_processor
        if isinstance(pre_tokenizer, BYTE_LEVEL):
            pre_tokenizer.add_prefix_space = flag
        else:
            pre_tokenizer[0] = pre_tokenizers.Digits(flag)
        if isinstance(post_processor, processors.ByteLevel | processors.RobertaProcessing):
            post_processor.trim_offsets = flag
        if isinstance(tokenizer.normalizer, normalizers.Replace):
            tokenizer.normalizer.content = "o"
        tokenizer.model.ignore_merges = flag

    return change


def new_decoder(choose: Random) -> Change:
    decoder = choose.choice([decoders.ByteLevel(), decoders.Fuse()])
    return lambda t: setattr(t, "decoder", decoder)


def new_truncation(choose: Random) -> Change:
    if choose.random() < 0.3:
        return lambda t: t.no_truncation()
    length, stride = choose.randrange(3, 12), choose.randrange(2)
    direction = choose.choice(["left", "right"])
    return lambda t: t.enable_truncation(length, stride=stride, direction=direction)


def new_padding(choose: Random) -> Change:
    if choose.random() < 0.3:
        return lambda t: t.no_padding()
    options: dict[str, Any] = {
        "direction": choose.choice(["left", "right"]),
        "length": choose.choice([None, 20]),
        "pad_to_multiple_of": choose.choice([None, 4]),
    }
    return lambda t: t.enable_padding(pad_id=3, pad_token="<x>", **options)


def special_tokens_as_text(choose: Random) -> Change:
    flag = choose.random() < 0.3
    return lambda t: setattr(t, "encode_special_tokens", flag)


CHANGES = [
    *(new_tokens, new_normalizer, new_pre_tokenizer, new_post_processor, change_of_a_component),
    *(new_decoder, new_truncation, new_padding, special_tokens_as_text),
]


def random_call(choose: Random) -> Change:
    texts = [random_text(choose) for _ in range(choose.randrange(1, 4))]
    special = choose.random() < 0.7

    def rows(tokenizer: Any) -> list[list[int]]:
        return [encoding.ids * 3 for encoding in tokenizer.encode_batch(texts)]

    def states(encodings: Any) -> Any:
        return [state(encoding) for encoding in encodings]

    return choose.choice(
        [
            lambda t: state(t.encode(texts[0], add_special_tokens=special)),
            lambda t: states(t.encode_batch(texts, add_special_tokens=special)),
            lambda t: states(t.encode_batch_fast(texts, add_special_tokens=special)),
            lambda t: state(t.encode(texts[0], texts[-1], add_special_tokens=special)),
            lambda t: [t.decode(ids, special) for ids in rows(t)],
            lambda t: t.decode_batch(rows(t), special),
        ]
    )


def outcome(call: Change, tokenizer: Any) -> Any:
    """What a call gives, or what kind of error it raises: some of these panic."""
    try:
        return call(tokenizer)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        return type(error).__name__


@pytest.mark.parametrize("seed", range(40))
def test_like_a_tokenizer_that_is_left_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "_FIRST_WORK", 0)
    monkeypatch.setattr(attachment, "_LONG_LIFE", 0.0)
    choose = Random(seed)
    patched, alone = small_tokenizer(), leave_alone(small_tokenizer())
    with tokcy.patched_hf():
        before = tokcy.hf.patch_info()["native_calls"]
        for step in range(40):
            maker = choose.choice(CHANGES) if choose.random() < 0.4 else random_call
            call = maker(choose)
            assert outcome(call, patched) == outcome(call, alone), (seed, step)
            if choose.random() < 0.03:
                patched, alone = copy.deepcopy(patched), leave_alone(copy.deepcopy(alone))
        assert tokcy.hf.patch_info()["native_calls"] > before
