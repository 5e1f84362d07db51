"""Models in tiktoken's formats against tiktoken: ids, text, special tokens, chunks."""

from __future__ import annotations

import json
import pickle
import random
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
import tiktoken_models
from hypothesis import given
from hypothesis import strategies as st
from test_models import excerpts
from tiktoken_models import MODELS, RANK_FILES, TEKKEN

from tokcy import Tokenizer
from tokcy._segments import parts_of
from tokcy.ranks.known import ENCODINGS, RANKS

Corpus = Callable[..., str]

FIRST_ORDINARY_OF_TEKKEN = 1000


@pytest.fixture(scope="module", params=MODELS)
def both(
    request: pytest.FixtureRequest, data_dir: Path
) -> tuple[str, Tokenizer, tiktoken.Encoding]:
    name: str = request.param
    path = tiktoken_models.file_of(data_dir, name)
    if not path.is_file():
        pytest.skip(f"no {path}")
    return name, Tokenizer.from_file(path), tiktoken_models.load(data_dir, name)


Both = tuple[str, Tokenizer, tiktoken.Encoding]


def assert_same(both: Both, text: str) -> None:
    name, tok, oracle = both
    ordinary = oracle.encode_ordinary(text)
    expected = oracle.encode(text, allowed_special="all")
    if name == TEKKEN:  # where tiktoken knows nothing of special tokens
        ordinary = expected = [i + FIRST_ORDINARY_OF_TEKKEN for i in ordinary]
    got = tok.encode(text, allow_special=False)
    assert got.tolist() == ordinary
    assert tok.decode(got) == text
    if name != TEKKEN:
        got = tok.encode(text)
        assert got.tolist() == expected
        assert tok.decode(got) == text
        assert tok.count(text) == len(expected)


def sprinkled(text: str, contents: list[str], seed: int) -> str:
    """The text with special tokens, whole and broken, at random places."""
    rng = random.Random(seed)
    parts = []
    for line in text.splitlines(keepends=True):
        content = rng.choice(contents)
        if rng.random() < 0.3:
            at = rng.randrange(len(line) + 1)
            cut = rng.choice([content, content, content[:-1], content[1:]])
            line = line[:at] + cut + line[at:]
        parts.append(line)
    return "".join(parts)


def test_every_corpus(both: Both, corpus: Corpus) -> None:
    contents = [token.content for token in both[1].added_tokens]
    for seed, (_, text) in enumerate(excerpts(corpus, 12_000)):
        assert_same(both, text)
        assert_same(both, sprinkled(text, contents, seed))


@pytest.mark.sweep
def test_whole_corpora(both: Both, corpus: Corpus) -> None:
    for _, text in excerpts(corpus, 10**9):
        assert_same(both, text)


def test_any_text(both: Both) -> None:
    contents = [token.content for token in both[1].added_tokens]

    @given(
        st.lists(
            st.one_of(
                st.text(max_size=20),
                st.text(" \t\r\n\x85\xa0\u3000", max_size=8),
                st.text("aA1'sSſKéß中\u0301!/", max_size=12),
                st.sampled_from(contents[:40]),
                st.builds(str.__mul__, st.sampled_from(" \na1!中"), st.integers(1, 700)),
            ),
            max_size=8,
        ).map("".join)
    )
    def same(text: str) -> None:
        assert_same(both, text)

    same()


def test_offsets_are_the_tokens_characters(both: Both, corpus: Corpus) -> None:
    _, tok, _ = both
    text = corpus("mixed_all_languages", 3000) + corpus("emoji", 2000)
    ids, offsets = tok.encode_with_offsets(text)
    assert ids.tolist() == tok.encode(text).tolist()
    end = 0
    begin_of_character = [0, *np.cumsum([len(c.encode()) for c in text]).tolist()]
    for token, (first, last) in zip(ids.tolist(), offsets.tolist(), strict=True):
        size = len(tok.decode_bytes([token]))
        assert begin_of_character[first] <= end < begin_of_character[first + 1]
        end += size
        assert begin_of_character[last - 1] < end <= begin_of_character[last]
    assert end == len(text.encode())


def test_vocabulary(both: Both) -> None:
    name, tok, oracle = both
    shift = FIRST_ORDINARY_OF_TEKKEN if name == TEKKEN else 0
    vocab = tok.get_vocab()
    assert len(vocab) == len(tok)
    assert len(tok.get_vocab(with_added_tokens=False)) == tok.vocab_size
    rng = random.Random(1)
    for token, number in rng.sample(sorted(vocab.items()), 2000):
        assert tok.token_to_id(token) == number
        assert tok.id_to_token(number) == token
    added = {token.id for token in tok.added_tokens}
    for number in rng.sample([*set(vocab.values()) - added], 2000):
        assert tok.decode_bytes([number]) == oracle.decode_single_token_bytes(number - shift)
        shown = oracle.decode_bytes([number - shift, number - shift]).decode("utf-8", "replace")
        assert tok.decode([number, number]) == shown


def test_copies_and_saved_forms(both: Both, tmp_path: Path) -> None:
    _, tok, _ = both
    tok.save(tmp_path / "saved")
    text = "Ein Text 中文 " + "".join(token.content for token in tok.added_tokens[:5])
    for copy in (pickle.loads(pickle.dumps(tok)), Tokenizer.from_file(tmp_path / "saved")):
        assert (copy.backend, len(copy)) == ("tiktoken", len(tok))
        assert copy.added_tokens == tok.added_tokens
        ids = copy.encode(text)
        assert ids.tolist() == tok.encode(text).tolist()
        assert copy.decode(ids) == text
        assert copy.decode(ids, skip_special_tokens=True) == tok.decode(
            ids, skip_special_tokens=True
        )


# ------------------------------------------------------------------ what is known


@pytest.mark.parametrize("name", RANK_FILES)
def test_what_is_known_of_rank_files(name: str, data_dir: Path) -> None:
    path = tiktoken_models.file_of(data_dir, name)
    meta = json.loads((path.parent / "tiktoken_meta.json").read_text("utf-8"))
    tok = Tokenizer.from_tiktoken(path)
    assert {token.content: token.id for token in tok.added_tokens} == meta["special_tokens"]


def test_the_table_is_that_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public

    monkeypatch.setattr(
        openai_public, "load_tiktoken_bpe", lambda url, expected_hash: (url, expected_hash)
    )
    for name, known in ENCODINGS.items():
        if name != "gpt2":
            theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
            assert theirs["mergeable_ranks"] == (known.url, known.sha256)
            assert theirs["pat_str"] == known.pattern
            assert theirs["special_tokens"] == known.special_tokens
    assert ENCODINGS["gpt2"].special_tokens == {"<|endoftext|>": 50256}
    assert openai_public.r50k_pat_str == ENCODINGS["gpt2"].pattern


def test_no_known_special_token_begins_with_another() -> None:
    for known in (*ENCODINGS.values(), *RANKS.values()):
        contents = sorted(known.special_tokens)
        assert not any(b.startswith(a) for a, b in pairwise(contents))


def test_gpt2_has_the_ranks_of_r50k(data_dir: Path, model_path: Callable[[str], Path]) -> None:
    path = tiktoken_models.file_of(data_dir, "tiktoken_r50k")
    ours = Tokenizer.from_tiktoken("gpt2", ranks=path)
    assert ours.get_vocab() == Tokenizer.from_file(model_path("gpt2")).get_vocab()


def test_two_special_tokens_of_harmony_have_one_id(data_dir: Path) -> None:
    path = tiktoken_models.file_of(data_dir, "tiktoken_o200k")
    tok = Tokenizer.from_tiktoken("o200k_harmony", ranks=path)
    oracle = tiktoken_models.encoding(
        tiktoken.load.load_tiktoken_bpe(str(path)),
        ENCODINGS["o200k_harmony"].pattern,
        ENCODINGS["o200k_harmony"].special_tokens,
    )
    text = "<|start|>user<|message|>Hi<|reserved_200018|><|endofprompt|><|end|>"
    assert tok.encode(text).tolist() == oracle.encode(text, allowed_special="all")
    ids = range(199990, 201088)
    assert [tok.decode([i]) for i in ids] == [oracle.decode([i]) for i in ids]


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_plans_of_gpt_tokenizer(name: str, data_dir: Path, vectors: Callable[[str], Path]) -> None:
    folder = f"tiktoken_{name.removesuffix('_base')}"
    tok = Tokenizer.from_tiktoken(name, ranks=tiktoken_models.file_of(data_dir, folder))
    plans = json.loads((vectors("gpt_tokenizer") / "test_plans.json").read_text("utf-8"))
    plans = [plan for plan in plans if plan["encoding"] == name]
    assert len(plans) > 50
    for plan in plans:
        assert tok.encode(plan["text"], allow_special=False).tolist() == plan["ids"], plan["text"]
        assert tok.decode(plan["ids"]) == plan["text"]


# ------------------------------------------------------------------------- chunks


def kimi_chunks(text: str) -> Iterator[str]:
    """As ``tokenization_kimi.py`` does it."""
    for i in range(0, len(text), 400_000):
        yield from _kimi_runs(text[i : i + 400_000])


def _kimi_runs(text: str) -> Iterator[str]:
    length, begin = 0, 0
    is_space = text[0].isspace() if text else False
    for i, character in enumerate(text):
        if is_space ^ character.isspace():
            length, is_space = 1, character.isspace()
        else:
            length += 1
            if length > 25_000:
                yield text[begin:i]
                begin, length = i, 1
    yield text[begin:]


def cut_text(text: str) -> list[str]:
    return ["".join(s for s, _ in part) for part in parts_of([(text, True)], False, True)]


RUNS = st.tuples(
    st.sampled_from("a \n\x1c\u3000\x85中é"),
    st.one_of(
        st.integers(1, 30),
        st.sampled_from([12_499, 12_500, 24_999, 25_000, 25_001, 50_000, 50_001, 75_003, 400_000]),
        st.integers(1, 130_000),
    ),
).map(lambda run: run[0] * run[1])


@given(st.lists(RUNS, max_size=6).map("".join))
def test_chunks_are_those_of_kimi(text: str) -> None:
    assert cut_text(text) == list(filter(None, kimi_chunks(text)))


def test_chunks_of_mixed_whitespace() -> None:
    rng = random.Random(3)
    for _ in range(10):
        runs = [
            "".join(
                rng.choices(rng.choice([" \t\n\x1f\u2028", "abc中é"]), k=rng.randint(1, 60_000))
            )
            for _ in range(8)
        ]
        assert cut_text("".join(runs)) == list(kimi_chunks("".join(runs)))


@pytest.fixture(scope="module")
def kimi(data_dir: Path) -> tuple[Tokenizer, tiktoken.Encoding]:
    path = tiktoken_models.file_of(data_dir, "kimi_k3")
    return Tokenizer.from_tiktoken(path), tiktoken_models.load(data_dir, "kimi_k3")


def test_ids_of_chunks(kimi: tuple[Tokenizer, tiktoken.Encoding], corpus: Corpus) -> None:
    tok, oracle = kimi
    texts = [
        "ab " * 9000 + "xyz" * 9000,
        " " * 30_000 + "x" * 60_001 + "<|im_end|>" * 3000,
        corpus("zh", 450_000),
        corpus("agent_kimi_k3", 900_000),
        "short",
        "",
    ]
    for special in (True, False):
        expected = [
            [
                i
                for chunk in kimi_chunks(text)
                for i in (
                    oracle.encode(chunk, allowed_special="all")
                    if special
                    else oracle.encode_ordinary(chunk)
                )
            ]
            for text in texts
        ]
        options: dict[str, Any] = {"allow_special": special, "chunking": "kimi"}
        for text, ids in zip(texts, expected, strict=True):
            assert tok.encode(text, **options).tolist() == ids
            assert tok.count(text, **options) == len(ids)
        assert [row.tolist() for row in tok.encode_batch(texts, **options)] == expected
    assert len(tok.encode(texts[0])) == 18_000
    assert len(tok.encode(texts[0], chunking="kimi")) == 18_001
    assert (
        tok.encode_to_list(texts[0], chunking="kimi")
        == tok.encode(texts[0], chunking="kimi").tolist()
    )
    assert tok.count_batch(texts[:2], chunking="kimi").tolist() == [
        tok.count(text, chunking="kimi") for text in texts[:2]
    ]


def test_chunking_elsewhere(
    kimi: tuple[Tokenizer, tiktoken.Encoding], model_path: Callable[[str], Path]
) -> None:
    with pytest.raises(ValueError, match="\"kimi\", not 'llama'"):
        kimi[0].encode("a", chunking="llama")
    text = "abc" * 20_000
    for backend in ("tokcy", "huggingface"):
        tok = Tokenizer.from_file(model_path("gpt2"), backend=backend)
        expected = [i for chunk in kimi_chunks(text) for i in tok.encode(chunk).tolist()]
        assert tok.encode_to_list(text, chunking="kimi") == expected != tok.encode_to_list(text)
        batch = tok.encode_batch(["x", text, ""], chunking="kimi")
        assert batch.to_list() == [tok.encode_to_list("x"), expected, []]
    with pytest.raises(TypeError, match=r"texts\[1\]: text must be str"):
        tok.encode_batch([text, b"a"], chunking="kimi")  # type: ignore[list-item]
    with pytest.raises(TypeError, match="must be str"):
        kimi[0].encode(b"a", chunking="kimi")  # type: ignore[arg-type]


# ------------------------------------------------------------------------ folders


def test_kimi_names_come_from_the_config(data_dir: Path, tmp_path: Path) -> None:
    source = data_dir / "tokenizers" / "kimi_k3"
    shutil.copy(source / "tiktoken.model", tmp_path)
    with pytest.raises(ValueError, match=r"tokenizer_config\.json beside the file"):
        Tokenizer.from_pretrained(tmp_path)
    config = json.loads((source / "tokenizer_config.json").read_text("utf-8"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    tok = Tokenizer.from_pretrained(tmp_path)
    assert tok.backend == "tiktoken"
    assert len(tok.added_tokens) == 256
    assert tok.token_to_id("<|reserved_token_163700|>") == 163700
    visible = {token.content for token in tok.added_tokens if not token.special}
    declared = config["added_tokens_decoder"].values()
    assert visible == {token["content"] for token in declared if not token["special"]}
    text = "".join(visible)
    assert tok.decode(tok.encode("[BOS]" + text), skip_special_tokens=True) == text


def test_tokenizer_json_wins(data_dir: Path) -> None:
    folder = data_dir / "tokenizers" / "kimi_k2"
    assert Tokenizer.from_pretrained(folder).backend == "tokcy"
    assert Tokenizer.from_tiktoken(folder).backend == "tiktoken"
