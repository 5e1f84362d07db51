"""Cutting pieces before merging: never a different id, whatever tokens reach across what."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import synthetic
from hypothesis import given
from hypothesis import strategies as st

from tokcy import Tokenizer
from tokcy._cuts import CutFilter
from tokcy._vocab import Vocabulary

# Two characters that share two of three bytes, one that shares the first with both and the last
# with one, one of two bytes, one of four, and ASCII.
CHARACTERS = "中丰仰é🙂a "
BYTES = sorted({synthetic.BYTES[byte] for byte in CHARACTERS.encode()})

texts = st.text(alphabet=CHARACTERS, max_size=60)


@given(
    merges=synthetic.merge_lists(letters="".join(BYTES), max_merges=40),
    extra=st.lists(texts.map(lambda t: t[:4]), max_size=6),
    ignore_merges=st.booleans(),
    subjects=st.lists(texts, min_size=1, max_size=8),
)
def test_tokens_of_any_bytes(
    merges: list[tuple[str, str]], extra: list[str], ignore_merges: bool, subjects: list[str]
) -> None:
    """Merges of bytes, so that tokens begin and end within characters.

    The extra entries cannot be reached by merging: under ignore_merges a whole piece becomes
    one, and a part of a piece does not.
    """
    spelt = ["".join(synthetic.BYTES[b] for b in token.encode()) for token in extra]
    model = synthetic.model_from_merges(
        merges, extra_tokens=[t for t in spelt if t], ignore_merges=ignore_merges
    )
    oracle, tok = synthetic.load(model), Tokenizer.from_json(json.dumps(model))
    assert tok.backend == "tokcy"
    for text in (*subjects, *subjects):  # the second time from the cache
        assert tok.encode(text).tolist() == oracle.encode(text).ids


def test_vocabularies_that_lack_a_byte_are_left_uncut() -> None:
    """A dropped byte makes its neighbours adjacent."""
    vocab = {character: i for i, character in enumerate(synthetic.BYTES)}
    assert CutFilter(Vocabulary(vocab, [])).enabled
    for byte in (0xC0, 0xC1, 0xF5, 0xFF):  # in no valid UTF-8
        del vocab[synthetic.BYTES[byte]]
    assert CutFilter(Vocabulary(vocab, [])).enabled
    for byte in (0x00, 0x41, 0x80, 0xE4, 0xF4):
        rest = {k: v for k, v in vocab.items() if k != synthetic.BYTES[byte]}
        assert not CutFilter(Vocabulary(rest, [])).enabled


def test_cutting_makes_words_known(
    model_path: Callable[[str], Path], corpus: Callable[..., str]
) -> None:
    """Chinese: without cuts a third of the pieces are new, with them one in twenty."""
    tok = Tokenizer.from_file(model_path("llama3"))
    tok.encode(corpus("zh", 200_000))
    before = tok.cache_info()
    tok.encode(corpus("zh", 400_000)[200_000:])
    after = tok.cache_info()
    misses, hits = (after[key] - before[key] for key in ("misses", "hits"))
    assert misses < 0.1 * (misses + hits)
