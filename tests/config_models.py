"""The model that the vectors of test_config.py are about."""

from __future__ import annotations

from typing import Any

import synthetic

TEXT = "<a> <b>x<c>a b zz <d>ab\té <a><b> [PAD]éaab cd"


def model_of(case: dict[str, Any]) -> synthetic.Model:
    """A small byte-level model with the added tokens and the padding token of a case."""
    added = [synthetic.added_token(**token) for token in case["added"]]
    model = synthetic.model_from_merges([("a", "b"), ("z", "z")], added_tokens=added)
    if case["pad_token"] is not None:
        model["padding"] = {
            "strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None,
            "pad_id": 99, "pad_type_id": 0, "pad_token": case["pad_token"],
        }  # fmt: skip
    return model
