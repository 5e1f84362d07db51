"""Chains of decoder steps against Hugging Face's own: any order, any ids, any part of real text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st

from tokcy._decode import Decoder
from tokcy._vocab import Vocabulary
from tokcy.spec.decoders import read_decoder
from tokcy.spec.fields import Node
from tokcy.spec.plan_decode import DecoderPlan, UnplannableDecoderError, plan_decoder

Json = dict[str, Any]

WORDS = ["a", "aa", "b", "ab", "▁", "▁▁", "▁a", "a▁", " ", "  a", "</w>", "a</w>", "b</w></w>"]
ODD = ["", "é", "中文", "🙂", "\ufffd", "Ġa", "Ġ", "ä¸", "x" * 15, "y" * 16, "▁" + "z" * 40]
PIECES = [
    "##a",
    "##",
    "#",
    "a##a",
    "##.",
    " .",
    "a ! ?",
    " ' ",
    " n't",
    "do not",
    " do not 's",
    "##'re",
]
NEARLY_BYTES = ["<0x", "41>", "<0x4>", "<0xG1>", "<0x123>", "<0x▁>", "▁<0x41>", "<0x4a▁1>", "<0xé>"]
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in (*b"\n A", *"é中🙂".encode(), 0xC0, 0xFF)]
OTHER_BYTES = ["<0x+5>", "<0xe4>", "<0xb8>", "<0xaD>", "<0x-5>", "<0x+>", "<0x++>"]
TOKENS = [*WORDS, *ODD, *PIECES, *NEARLY_BYTES, *dict.fromkeys(BYTE_TOKENS), *OTHER_BYTES]
ADDED = [
    {"content": "<s>", "special": True},
    {"content": "▁plain a", "special": False},
    {"content": "<0x42>", "special": True},
    {"content": "<0x43>", "special": False},
    {"content": "a</w>", "special": True},
    {"content": "é", "special": False},
]
FIRST_ADDED = 3 * len(TOKENS)  # ids have holes


def replace(pattern: str, content: str) -> Json:
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def strip(content: str, start: int) -> Json:
    return {"type": "Strip", "content": content, "start": start, "stop": 0}


def metaspace(replacement: str, scheme: str) -> Json:
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
BYTE_FALLBACK = {"type": "ByteFallback"}
FUSE = {"type": "Fuse"}
REAL_CHAINS: dict[str, Json | None] = {
    "llama2": {
        "type": "Sequence",
        "decoders": [replace("▁", " "), BYTE_FALLBACK, FUSE, strip(" ", 1)],
    },
    "gemma": {"type": "Sequence", "decoders": [replace("▁", " "), BYTE_FALLBACK, FUSE]},
    "t5": metaspace("▁", "always"),
    "chatglm": {"type": "Sequence", "decoders": [BYTE_FALLBACK, metaspace("▁", "first")]},
    "bpe": {"type": "BPEDecoder", "suffix": "</w>"},
    "wordpiece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "byte-level": BYTE_LEVEL,
    "none": None,
}

per_text = st.one_of(
    st.builds(
        replace,
        st.sampled_from(["▁", "a", "aa", "ab", "é", "</w>", "<0x", "Ġ", "\ufffd", "中"]),
        st.sampled_from(["", " ", "b", "▁", "<0x", "aa", "é"]),
    ),
    st.builds(strip, st.sampled_from(" a▁é"), st.integers(0, 3)),
    st.builds(metaspace, st.sampled_from("▁aé"), st.sampled_from(["always", "first", "never"])),
    st.sampled_from(["</w>", "a", "é"]).map(
        lambda suffix: {"type": "BPEDecoder", "suffix": suffix}
    ),
    st.builds(
        lambda prefix, cleanup: {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup},
        st.sampled_from(["##", "#", "a", "é", ""]),
        st.booleans(),
    ),
)
steps = st.one_of(per_text, per_text, st.sampled_from([BYTE_FALLBACK, FUSE, BYTE_LEVEL]))
chains = st.lists(steps, max_size=5).map(lambda found: {"type": "Sequence", "decoders": found})
one_id = st.one_of(
    st.integers(0, FIRST_ADDED + 10),
    st.sampled_from([*range(0, FIRST_ADDED, 3), *range(FIRST_ADDED, FIRST_ADDED + 6)]),
    st.sampled_from([3 * TOKENS.index(token) for token in (*BYTE_TOKENS, *OTHER_BYTES)]),
    st.sampled_from([2**31, 2**32 - 1]),
)
id_lists = st.lists(one_id, max_size=12)


class Twins:
    """A decoder, and Hugging Face's tokenizer with the same tokens and the same chain."""

    def __init__(self, chain: Json | None) -> None:
        vocab = {token: 3 * i for i, token in enumerate(TOKENS)}
        model = {"type": "BPE", "vocab": vocab, "merges": []}
        fields = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        added = [{**token, **fields, "id": FIRST_ADDED + i} for i, token in enumerate(ADDED)]
        content = {"version": "1.0", "added_tokens": added, "decoder": chain, "model": model}
        self.chain = chain
        self.oracle = tokenizers.Tokenizer.from_str(json.dumps(content))
        self.plan = plan_decoder(read_decoder(Node(chain, "<test>")))
        self.decoder = decoder_of(self.oracle, vocab, self.plan)

    def check(self, ids: list[int], skip: bool) -> None:
        array = np.array(ids, dtype=np.uint32)
        text = self.decoder.decode(array, skip)
        assert text == self.oracle.decode(ids, skip_special_tokens=skip)
        raw = self.decoder.decode_bytes(array, skip)
        if "\ufffd" not in text and "\\ufffd" not in json.dumps(self.chain):
            assert raw.decode() == text


def decoder_of(
    reference: tokenizers.Tokenizer, vocab: dict[str, int], plan: DecoderPlan
) -> Decoder:
    added = reference.get_added_tokens_decoder()
    return Decoder(
        Vocabulary(vocab, []),
        {token_id: reference.id_to_token(token_id) or "" for token_id in added},
        [token_id for token_id, token in added.items() if token.special],
        plan,
    )


@given(chains, st.lists(id_lists, max_size=5), st.booleans())
def test_any_chain(chain: Json, lists: list[list[int]], skip: bool) -> None:
    try:
        twins = Twins(chain)
    except UnplannableDecoderError:
        return
    assert DecoderPlan.from_json(json.loads(json.dumps(twins.plan.to_json()))) == twins.plan
    for ids in lists:
        twins.check(ids, skip)


@pytest.fixture(scope="module", params=REAL_CHAINS)
def real_chain(request: pytest.FixtureRequest) -> Twins:
    return Twins(REAL_CHAINS[request.param])


@given(st.lists(one_id, max_size=40), st.booleans())
def test_chains_of_real_models(real_chain: Twins, ids: list[int], skip: bool) -> None:
    real_chain.check(ids, skip)


@pytest.mark.parametrize("n", [1023, 1024, 1025, 1026, 5000, 100_000])
def test_long_lists(real_chain: Twins, n: int) -> None:
    rng = np.random.default_rng(n)
    for ids in (rng.integers(0, FIRST_ADDED + 10, n), np.full(n, 3 * TOKENS.index("<0xE4>"))):
        real_chain.check(ids.tolist(), True)


def test_a_last_token_behind_a_run() -> None:
    """Both go through the steps behind byte fallback, and the run later."""
    steps = [{"type": "BPEDecoder", "suffix": "</w>"}, BYTE_FALLBACK]
    steps += [replace("a", " "), replace("\ufffd", "b")]
    twins = Twins({"type": "Sequence", "decoders": steps})
    for tokens in (["<0xE4>", "a"], ["<0xE4>", "a", "a"], ["<0xE4>", "<0xFF>", "aa"]):
        twins.check([3 * TOKENS.index(token) for token in tokens], False)


def test_bytes_of_byte_tokens_are_left_alone() -> None:
    twins = Twins(REAL_CHAINS["llama2"])
    ids = np.array([3 * TOKENS.index(token) for token in ("▁a", "<0xE4>", "<0xFF>", "▁")])
    assert twins.decoder.decode_bytes(ids.astype(np.uint32), False) == b" a\xe4\xff "[1:]
    assert twins.decoder.decode(ids.astype(np.uint32), False) == "a\ufffd\ufffd "


@pytest.mark.parametrize("name", ["llama2_kit", "mistral03", "gemma3", "phi3_mini", "clip"])
def test_real_models(
    name: str, oracle: Callable[[str], tokenizers.Tokenizer], corpus: Callable[..., str]
) -> None:
    """Ids of real text cut anywhere, and random ids."""
    reference = oracle(name)
    content = json.loads(reference.to_str())
    plan = plan_decoder(read_decoder(Node(content["decoder"], name)))
    decoder = decoder_of(reference, content["model"]["vocab"], plan)
    rng = np.random.default_rng(0)
    texts = [corpus(kind, 20_000) for kind in ("english_prose", "zh", "emoji", "ar")]
    samples = [np.array(reference.encode(text).ids, dtype=np.uint32) for text in texts]
    limit = reference.get_vocab_size() + 10
    samples += [rng.integers(0, limit, 3000, dtype=np.uint32) for _ in range(3)]
    samples.append(rng.integers(0, 300, 3000, dtype=np.uint32))
    for ids in samples:
        for _ in range(60):
            low, high = sorted(rng.integers(0, len(ids) + 1, 2))
            part = ids[low : min(high, low + int(rng.integers(1, 400)))]
            skip = bool(rng.integers(2))
            expected = reference.decode(part.tolist(), skip_special_tokens=skip)
            assert decoder.decode(np.ascontiguousarray(part), skip) == expected
        assert decoder.decode(ids, False) == reference.decode(
            ids.tolist(), skip_special_tokens=False
        )
