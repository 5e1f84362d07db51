"""Memory of long texts that is kept for the next one, and files that are read into large pages."""

from __future__ import annotations

import json
import os
import random
import threading
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import synthetic

import tokcy
from tokcy import EncodeTypeError, Tokenizer, scratch_info
from tokcy._pages import read_pages

# Of one, two and four bytes a character; the first is not converted.
ALPHABETS = ["ab", "aé", "a中", "ab🙂"]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return Tokenizer.from_json(json.dumps(synthetic.model_from_merges([("a", "b"), ("ab", "a")])))


@pytest.fixture(scope="module")
def of_changing_texts() -> Tokenizer:
    model = synthetic.model_from_merges([("a", "b"), ("ab", "a")])
    model["normalizer"] = {"type": "NFC"}
    return Tokenizer.from_json(json.dumps(model))


def long_texts() -> list[str]:
    """Around the sizes from which memory is kept, pages are had ahead, and text is converted."""
    choose = random.Random(4)
    sizes = (131_071, 131_072, 200_000, 262_143, 262_144, 700_000, 786_432, 1_048_577, 2_300_000)
    return [
        "".join(choose.choices(letters, k=1000)) * (size // 1000) + letters[-1] * (size % 1000)
        for letters in ALPHABETS
        for size in sizes
    ]


def test_texts_one_after_the_other(tok: Tokenizer) -> None:
    """Each finds the memory as one that was longer or shorter has left it."""
    texts = long_texts()
    random.Random(5).shuffle(texts)
    for text in texts:
        for threads in (1, 2, 3):
            ids = tok.encode(text, num_threads=threads)
            assert tok.decode_bytes(ids) == text.encode()
            segments = tok.encode_segments([(text, True), ("ab", False)], num_threads=threads)
            assert np.array_equal(segments[: len(ids)], ids)
            assert tok.decode_bytes(segments[len(ids) :]) == b"ab"
        info = scratch_info()
        assert 0 <= info["bytes"] <= info["max_bytes"] == 32 << 20
    assert info["bytes"] > 1_000_000


def test_texts_that_normalization_changes(of_changing_texts: Tokenizer) -> None:
    """What becomes longer, and what has to be written anew."""
    tok = of_changing_texts
    for text in ("e\u0301" * 500_000, "a" * 1_100_000 + "\u0958" * 200_000, "\u0958" * 400_000):
        one = tok.encode(text, num_threads=1)
        assert tok.decode(one) == unicodedata.normalize("NFC", text)
        assert np.array_equal(tok.encode(text, num_threads=2), one)


def test_what_would_be_too_much_is_given_back(tok: Tokenizer) -> None:
    text = "aé" * 12_000_000  # 36 MB of UTF-8
    assert len(tok.encode(text, num_threads=2)) == 36_000_000
    info = scratch_info()
    assert info["bytes"] <= info["max_bytes"]


def test_calls_at_a_time_have_memory_of_their_own(tok: Tokenizer) -> None:
    texts = [f"{letters}{i}" * (400_000 + 1000 * i) for i, letters in enumerate(ALPHABETS * 3)]
    wrong: list[int] = []

    def work(first: int) -> None:
        for i in range(first, first + 8):
            text = texts[i % len(texts)]
            if tok.decode_bytes(tok.encode(text, num_threads=1 + i % 3)) != text.encode():
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []
    assert scratch_info()["bytes"] <= scratch_info()["max_bytes"]


@pytest.mark.parametrize("length", [1000, 100_000, 300_000, 1_200_000])
def test_surrogates_of_long_texts_are_named(tok: Tokenizer, length: int) -> None:
    text = "é" * length + "\udc00" + "中" * length
    for threads in (1, 2):
        with pytest.raises(EncodeTypeError, match=rf"^text holds .*'\\udc00' at index {length},"):
            tok.encode(text, num_threads=threads)
        with pytest.raises(EncodeTypeError, match=rf"segments\[2\]: .*'\\udc00' at index {length}"):
            tok.encode_segments([("a", True), ("é", False), (text, False)], num_threads=threads)
        with pytest.raises(EncodeTypeError, match=rf"texts\[1\]: .*'\\udc00' at index {length}"):
            tok.encode_batch(["a", text], num_threads=threads)
    assert tok.decode(tok.encode("é" * length, num_threads=2)) == "é" * length


def test_caches_that_several_threads_fill_are_alike() -> None:
    model = synthetic.trained_model(2000)
    oracle = synthetic.load(model)
    entries = [oracle.decode([token_id]) for token_id in model["model"]["vocab"].values()]
    found = []
    try:
        for threads in (1, 2, 3, 7):
            tokcy.set_num_threads(threads)
            tok = Tokenizer.from_json(json.dumps(model))
            before = tok.cache_info()
            ids = [tok.encode_to_list(text) for text in entries]
            after = tok.cache_info()
            found.append((before["entries"], before["bytes"], after["misses"], ids))
    finally:
        tokcy.set_num_threads(None)
    assert all(one == found[0] for one in found)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("saved", [False, True])
def test_model_files_may_be_pipes(tok: Tokenizer, tmp_path: Path, saved: bool) -> None:
    """Which can be read only once."""
    model = json.dumps(synthetic.model_from_merges([("a", "b"), ("ab", "a")])).encode()
    tok.save(tmp_path / "saved")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = (tmp_path / "saved").read_bytes() if saved else model
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    loaded = Tokenizer.from_file(pipe, config=False)
    writer.join()
    assert loaded.encode("abab ab").tolist() == tok.encode("abab ab").tolist()


@pytest.mark.parametrize("size", [0, 1, 4096, 3 << 20])
def test_pages(tmp_path: Path, size: int) -> None:
    content = random.Random(size).randbytes(size)
    path = tmp_path / "file"
    path.write_bytes(content)
    for asked in {size, max(size - 1, 0), size + 100}:
        with path.open("rb", buffering=0) as file:
            found = read_pages(file, asked)
        assert bytes(found) == content[:asked]
        assert found.readonly


def test_a_saved_form_from_a_file_and_from_bytes(tok: Tokenizer, tmp_path: Path) -> None:
    """Of bytes the tables are copied; of a file they are used where they are."""
    path = tmp_path / "saved"
    tok.save(path)
    loaded = [Tokenizer.from_file(path), Tokenizer(path.read_bytes())]
    for one in loaded:
        path.unlink(missing_ok=True)  # nothing is read later
        assert one.encode("abab ab").tolist() == tok.encode("abab ab").tolist()
        assert one.__reduce__()[1][0] == loaded[1].__reduce__()[1][0]


def test_more_ids_than_is_likely(tok: Tokenizer) -> None:
    """Several threads have room for an id for every second byte, and more when that is used up."""
    for unit in ("ab", "b", "aé🙂", "ba" + "é" * 50):
        text = unit * (1_500_000 // len(unit.encode()))
        expected = tok.encode(text, num_threads=1)
        for threads in (2, 3):
            for special in (True, False):
                ids = tok.encode(text, add_special_tokens=special, num_threads=threads)
                assert np.array_equal(ids, expected)
                assert ids.flags.writeable
