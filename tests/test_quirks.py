"""150 synthetic files on which re-implementations of Hugging Face's tokenizers went wrong.

Two texts at a time and the wheel's own switches (``encode_special_tokens``) are not part of
tokcy's API; everything else that the cases expect is checked.  Most of the files are not
byte-level, so each one is tried again as a byte-level file, which mostly runs natively.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import synthetic

import tokcy
from tokcy.errors import ModelFileError, TokcyError
from tokcy.spec import NativePlan, plan_native, read_tokenizer_json

Case = dict[str, Any]

BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}


def check_all(cases: list[Case], check: Callable[[Case], None]) -> None:
    """Run ``check`` on every case; fails with all that failed."""
    failures = []
    for case in cases:
        try:
            check(case)
        except Exception as error:
            failures.append(f"{case['name']}: {type(error).__name__}: {error}")
        except pytest.fail.Exception as error:
            failures.append(f"{case['name']}: {error}")
    assert not failures, "\n".join(failures)


@pytest.fixture(scope="module")
def cases(vectors: Callable[[str], Path]) -> list[Case]:
    content = json.loads((vectors("hf_quirks") / "quirk_vectors.json").read_text("utf-8"))
    cases: list[Case] = content["cases"]
    return cases


def file_of(case: Case) -> str:
    text: str | None = case["tokenizer_json_text"]
    return json.dumps(case["tokenizer_json"]) if text is None else text


def check_case(case: Case) -> None:
    """Everything that the case expects of one text."""
    if case["expect"] == "load_error":
        with pytest.raises(ModelFileError):
            tokcy.Tokenizer.from_json(file_of(case))
        return
    tok = tokcy.Tokenizer.from_json(file_of(case))
    assert len(tok) == case["vocab_with_added"]
    if case["name"] != "normalized_collision":
        assert {token.content: token.id for token in tok.added_tokens} == case["added_ids"]
    texts = [] if case["settings"] else case["encode"]
    for expected in texts:
        if expected["pair"] is None and case["unstable"] != "ids":
            check_encode(tok, expected)
    for expected in case["decode"]:
        for key, skip in (("skip_special", True), ("keep_special", False)):
            if isinstance(expected[key], str):
                assert tok.decode(expected["ids"], skip_special_tokens=skip) == expected[key]
            else:
                with pytest.raises(TokcyError):
                    tok.decode(expected["ids"], skip_special_tokens=skip)


def check_encode(tok: tokcy.Tokenizer, expected: dict[str, Any]) -> None:
    text = expected["text"]
    if "error" in expected:
        with pytest.raises(TokcyError):
            tok.encode(text)
        with pytest.raises(TokcyError):
            tok.encode_with_offsets(text)
        return
    assert tok.encode(text).tolist() == expected["ids"]
    assert tok.encode_to_list(text) == expected["ids"]
    assert tok.encode_batch([text]).to_list() == [expected["ids"]]
    assert tok.count(text) == len(expected["ids"])
    assert tok.encode(text, add_special_tokens=False).tolist() == expected["ids_no_special"]
    ids, offsets = tok.encode_with_offsets(text)
    assert ids.tolist() == expected["ids"]
    assert offsets.tolist() == expected["offsets"]


def test_cases(cases: list[Case]) -> None:
    assert len(cases) == 150
    check_all(cases, check_case)


def test_settings_are_the_oracles_own(cases: list[Case]) -> None:
    """Without the switch that tokcy does not have, the file gives what the oracle gives."""
    (case,) = (case for case in cases if case["settings"])
    assert case["name"] == "encode_special_tokens"
    oracle = synthetic.load(case["tokenizer_json"])
    tok = tokcy.Tokenizer.from_json(file_of(case))
    for expected in case["encode"]:
        assert tok.encode(expected["text"]).tolist() == oracle.encode(expected["text"]).ids


# ------------------------------------------------------------------------------ byte-level twins


def byte_level_twin(content: dict[str, Any]) -> dict[str, Any]:
    """The file with ByteLevel at the end of its pre-tokenizer and as its decoder."""
    steps = [step for step in [content["pre_tokenizer"]] if step is not None]
    if not any(step["type"] == "ByteLevel" for step in steps):
        steps.append(BYTE_LEVEL)
    pre_tokenizer = {"type": "Sequence", "pretokenizers": steps}
    return content | {"pre_tokenizer": pre_tokenizer, "decoder": BYTE_LEVEL}


def loadable(cases: list[Case]) -> list[Case]:
    return [case for case in cases if case["expect"] != "load_error" and case["tokenizer_json"]]


def check_twin(case: Case) -> None:
    """Compare the case's twin with the oracle."""
    content = byte_level_twin(case["tokenizer_json"])
    oracle = synthetic.load(content)
    tok = tokcy.Tokenizer.from_json(json.dumps(content))
    texts = [expected["text"] for expected in case["encode"] if case["unstable"] != "ids"]
    for text in (*texts, *synthetic.SENTENCES):
        for special in (True, False):
            try:
                encoding = oracle.encode(text, add_special_tokens=special)
            except BaseException as error:
                if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                    raise
                with pytest.raises(TokcyError):
                    tok.encode(text, add_special_tokens=special)
                continue
            ids, offsets = tok.encode_with_offsets(text, add_special_tokens=special)
            assert ids.tolist() == encoding.ids, text
            assert list(map(tuple, offsets.tolist())) == encoding.offsets, text
            assert tok.encode(text, add_special_tokens=special).tolist() == encoding.ids, text
            # Where two entries share an id, its string is another in each oracle object.
            for skip in (True, False) if not case["unstable"] else ():
                decoded = oracle.decode(encoding.ids, skip_special_tokens=skip)
                assert tok.decode(ids, skip_special_tokens=skip) == decoded, text


def test_byte_level_twins(cases: list[Case]) -> None:
    check_all(loadable(cases), check_twin)


def test_most_twins_are_native(cases: list[Case]) -> None:
    plans = [
        plan_native(read_tokenizer_json(json.dumps(byte_level_twin(case["tokenizer_json"]))))
        for case in loadable(cases)
    ]
    assert sum(isinstance(plan, NativePlan) for plan in plans) == 96
