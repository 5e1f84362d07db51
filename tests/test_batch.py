"""TokenBatch: indexing, conversions, padding, Arrow, pickling."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokcy.batch import TokenBatch

ROWS = st.lists(st.lists(st.integers(0, 2**32 - 1), max_size=6), max_size=8)


def make(rows: list[list[int]]) -> TokenBatch:
    values = np.array([i for row in rows for i in row], dtype=np.uint32)
    return TokenBatch(values, np.cumsum([0, *map(len, rows)]))


def test_lists_of_great_and_small_ids() -> None:
    ids = [0, 1, 256, 257, 2**20 - 1, 2**20, 2**31, 2**32 - 1]
    batch = make([ids, [], ids])
    for _ in range(3):
        assert batch.to_list() == [ids, [], ids]
    assert make([]).to_list() == []
    assert make([[]]).to_list() == [[]]
    assert all(type(i) is int for i in batch.to_list()[0])


def test_lists_of_spoilt_offsets() -> None:
    for offsets in ([0, 3, 2], [0, 4, 5], [-1, 1, 3]):
        batch = make([[1, 2], [3]])
        batch.offsets[:] = offsets
        with pytest.raises(ValueError, match="offsets"):
            batch.to_list()
        assert gc.isenabled()


def test_lists_leave_the_garbage_collector_as_it_was() -> None:
    make([[1]]).to_list()
    assert gc.isenabled()
    gc.disable()
    try:
        make([[1]]).to_list()
        assert not gc.isenabled()
    finally:
        gc.enable()


@given(ROWS)
def test_is_a_list_of_lists(rows: list[list[int]]) -> None:
    batch = make(rows)
    assert len(batch) == len(rows)
    assert batch.to_list() == rows
    assert [ids.tolist() for ids in batch] == rows
    assert [batch[i].tolist() for i in range(len(rows))] == rows
    assert [batch[i - len(rows)].tolist() for i in range(len(rows))] == rows
    assert [ids.tolist() for ids in batch.to_numpy()] == rows
    assert batch.lengths.tolist() == [len(row) for row in rows]


@given(ROWS, st.slices(8))
def test_slices_as_a_list_does(rows: list[list[int]], which: slice) -> None:
    assert make(rows)[which].to_list() == rows[which]
    assert make(rows)[which] == make(rows[which])


@given(ROWS, st.sampled_from(["left", "right"]), st.integers(0, 3))
def test_pads_both_sides(rows: list[list[int]], side: str, more: int) -> None:
    width = max(map(len, rows), default=0) + more
    ids, mask = make(rows).pad(7, length=width, side=side)  # type: ignore[arg-type]
    assert ids.shape == mask.shape == (len(rows), width)
    for row, got, holds in zip(rows, ids.tolist(), mask.tolist(), strict=True):
        filling = width - len(row)
        if side == "right":
            assert got == row + [7] * filling
            assert holds == [1] * len(row) + [0] * filling
        else:
            assert got == [7] * filling + row
            assert holds == [0] * filling + [1] * len(row)


def test_pad_defaults_and_dtype() -> None:
    ids, mask = make([[1, 2, 3], [4]]).pad(0)
    assert ids.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert ids.dtype == mask.dtype == np.int64
    ids, mask = make([[1]]).pad(-100, length=2, dtype=np.int32)
    assert ids.tolist() == [[1, -100]]
    assert ids.dtype == mask.dtype == np.int32
    assert make([]).pad(0)[0].shape == (0, 0)


def test_pad_refuses() -> None:
    batch = make([[1], [70_000, 2]])
    with pytest.raises(ValueError, match="text 1 has 2 tokens, more than length=1"):
        batch.pad(0, length=1)
    with pytest.raises(ValueError, match="70000 does not fit in dtype uint16"):
        batch.pad(0, dtype=np.uint16)
    with pytest.raises(ValueError, match="-1 does not fit in dtype uint32"):
        batch.pad(-1, dtype=np.uint32)
    with pytest.raises(TypeError, match="integer dtype"):
        batch.pad(0, dtype=np.float32)
    for any_batch in (batch, make([])):
        with pytest.raises(ValueError, match="length must be at least 0, not -1"):
            any_batch.pad(0, length=-1)
    with pytest.raises(ValueError, match="side"):
        batch.pad(0, side="middle")  # type: ignore[arg-type]


def test_index_errors() -> None:
    batch = make([[1], [2]])
    with pytest.raises(IndexError, match="index 2 in a batch of 2"):
        batch[2]
    with pytest.raises(IndexError, match="index -3 in a batch of 2"):
        batch[-3]
    with pytest.raises(TypeError):
        batch["0"]  # type: ignore[call-overload]


@pytest.mark.parametrize("offsets", [[], [1, 3], [0, 2], [0, 3, 2, 3]])
def test_refuses_offsets_that_do_not_fit(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="offsets"):
        TokenBatch(np.arange(3, dtype=np.uint32), np.array(offsets, dtype=np.int64))


@pytest.mark.parametrize(
    ("values", "number"),
    [([1, -1], -1), ([1, 2**32], 2**32), ([1, 2**64], 2**64), ([-1, 2**63], -1)],
)
def test_refuses_values_that_would_wrap(values: list[int], number: int) -> None:
    message = f"values must be from 0 to {2**32 - 1}, not {number}"
    with pytest.raises(ValueError, match=message):
        TokenBatch(values, [0, 2])


@pytest.mark.parametrize("wrong", [[1.0, 2.0], ["1", "2"], [None, 1], [[1], [2]], 5])
def test_refuses_what_is_no_sequence_of_integers(wrong: Any) -> None:
    for array in (wrong, np.array(wrong)):
        with pytest.raises(TypeError, match="values must be"):
            TokenBatch(array, [0, 2])
        with pytest.raises(TypeError, match="offsets must be"):
            TokenBatch([1, 2], array)


def test_takes_any_integers() -> None:
    expected = make([[1], [2]])
    for values in ([1, 2], np.array([1, 2]), np.array([1, 2], dtype=object)):
        batch = TokenBatch(values, [0, 1, 2])
        assert batch == expected
        assert batch.values.dtype == np.uint32
        assert batch.offsets.dtype == np.int64
    assert TokenBatch([], [0]) == make([])
    assert TokenBatch([2**32 - 1], np.array([0, 1], dtype=np.uint8)).to_list() == [[2**32 - 1]]


def test_views_share_memory() -> None:
    batch = make([[1, 2], [3]])
    assert np.shares_memory(batch[0], batch.values)
    assert np.shares_memory(batch[1:].values, batch.values)
    assert np.shares_memory(batch.to_numpy()[1], batch.values)


def test_equality_repr_and_hash() -> None:
    batch = make([[1, 2], [3]])
    assert batch == make([[1, 2], [3]])
    assert batch != make([[1], [2, 3]])
    assert batch != make([[1, 2], [4]])
    assert batch != [[1, 2], [3]]
    assert repr(batch) == "TokenBatch(2 texts, 3 tokens)"
    with pytest.raises(TypeError):
        hash(batch)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies(protocol: int) -> None:
    batch = make([[1, 2], [], [3]])
    assert pickle.loads(pickle.dumps(batch, protocol)) == batch
    assert copy.deepcopy(batch) == batch
    part = batch[2:]
    assert pickle.loads(pickle.dumps(part, protocol)) == part


def test_a_pickled_slice_leaves_the_rest_out() -> None:
    batch = TokenBatch(np.zeros(1_000_001, np.uint32), np.array([0, 1_000_000, 1_000_001]))
    assert len(pickle.dumps(batch[1:])) < 1000


@given(ROWS)
def test_arrow(rows: list[list[int]]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    batch = make(rows)
    array = batch.to_arrow()
    assert array.type == pyarrow.large_list(pyarrow.uint32())
    assert array.to_pylist() == rows
    assert pyarrow.array(batch).to_pylist() == rows  # through __arrow_c_array__


def test_arrow_shares_memory() -> None:
    pytest.importorskip("pyarrow")
    batch = make([[1, 2], [3]])
    assert batch.to_arrow().values.buffers()[1].address == batch.values.ctypes.data


def test_arrow_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"tokcy\[arrow\]"):
        make([[1]]).to_arrow()
