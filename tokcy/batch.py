"""The ids of many texts in two arrays: all ids in a row, and where each text's ids begin."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tokcy._lists import as_lists, ids_of
from tokcy.errors import OutputError, TokenIdError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TokenBatch", "as_ids", "as_integers", "write_ids"]

Ids = NDArray[np.uint32]

_UINT32 = np.dtype(np.uint32)


class TokenBatch:
    """The token ids of several texts, without a Python object per id or per text.

    Indexing gives one text's ids as a NumPy view, slicing a TokenBatch; a slice whose step
    is 1 shares the ids with the whole.

    Attributes:
        values: uint32[n], the ids of all texts one after the other.
        offsets: int64[k + 1]; the ids of text ``i`` are ``values[offsets[i]:offsets[i + 1]]``.
    """

    __slots__ = ("offsets", "values")
    __hash__ = None  # type: ignore[assignment]  # the arrays can be changed

    values: Ids
    offsets: NDArray[np.int64]

    def __init__(self, values: ArrayLike, offsets: ArrayLike) -> None:
        """Wrap the two arrays; they are copied only if their dtype is another.

        Raises:
            TypeError: one of them is no sequence of integers.
            ValueError: ``offsets`` does not rise from 0 to ``len(values)``, or a value is
                negative or needs more than 32 bits.
        """
        self.values = _exactly(as_integers(values, "values"), np.uint32, "values")
        self.offsets = _exactly(as_integers(offsets, "offsets"), np.int64, "offsets")
        if len(self.offsets) == 0 or self.offsets[0] != 0 or self.offsets[-1] != len(self.values):
            raise ValueError("offsets must begin with 0 and end with the number of values")
        if np.any(np.diff(self.offsets) < 0):
            raise ValueError("offsets must not fall")

    @classmethod
    def _of(cls, values: Ids, offsets: NDArray[np.int64]) -> TokenBatch:
        """Wrap arrays that are known to be right: looking at them takes longer than a text."""
        batch = cls.__new__(cls)
        batch.values = values
        batch.offsets = offsets
        return batch

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[k]: how many ids each text has."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: SupportsIndex) -> Ids: ...
    @overload
    def __getitem__(self, index: slice) -> TokenBatch: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Ids | TokenBatch:
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self)))
        i = operator.index(index)
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(f"index {operator.index(index)} in a batch of {len(self)} texts")
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def _slice(self, start: int, stop: int, step: int) -> TokenBatch:
        if step == 1:
            offsets = self.offsets[start : max(start, stop) + 1]
            return TokenBatch._of(self.values[offsets[0] : offsets[-1]], offsets - offsets[0])
        rows = [self[i] for i in range(start, stop, step)]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return TokenBatch(np.concatenate([self.values[:0], *rows]), offsets)

    def __iter__(self) -> Iterator[Ids]:
        for begin, end in pairwise(self.offsets.tolist()):
            yield self.values[begin:end]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenBatch):
            return NotImplemented
        return np.array_equal(self.offsets, other.offsets) and np.array_equal(
            self.values, other.values
        )

    def __repr__(self) -> str:
        return f"TokenBatch({len(self)} texts, {len(self.values)} tokens)"

    def __reduce__(self) -> tuple[type[TokenBatch], tuple[Ids, NDArray[np.int64]]]:
        return TokenBatch, (self.values, self.offsets)

    def to_list(self) -> list[list[int]]:
        """The ids as Python integers, a list for each text.

        About five times as fast as NumPy's ``tolist``, as the integers are made once and kept.
        """
        return as_lists(self.values, self.offsets)

    def to_numpy(self) -> NDArray[np.object_]:
        """object[k]: the ids of each text as a view, for a pandas column and the like.

        ``values`` and ``offsets`` are the same without an object for each text.
        """
        rows = np.empty(len(self), dtype=object)
        for i, ids in enumerate(self):
            rows[i] = ids
        return rows

    def pad(
        self,
        value: int,
        *,
        length: int | None = None,
        side: Literal["right", "left"] = "right",
        dtype: DTypeLike = np.int64,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Fill the texts up to one length.

        Args:
            value: the id to fill with.
            length: columns of the result; by default the length of the longest text.
            side: where the filling goes.
            dtype: an integer dtype, for both results.

        Returns:
            ids and mask, both ``dtype[k, length]``; the mask is 1 at ids and 0 at filling.

        Raises:
            ValueError: ``length`` is negative or less than a text's, ``side`` is neither of the
                two, or an id or ``value`` does not fit in ``dtype``.
            TypeError: ``dtype`` is no integer dtype.
        """
        kind = np.dtype(dtype)
        if kind.kind not in "iu":
            raise TypeError(f"dtype must be an integer dtype, not {kind}")
        if side not in ("right", "left"):
            raise ValueError(f"side must be 'right' or 'left', not {side!r}")
        lengths = self.lengths
        longest = int(lengths.max(initial=0))
        width = longest if length is None else operator.index(length)
        if width < 0:
            raise ValueError(f"length must be at least 0, not {width}")
        if longest > width:
            raise ValueError(
                f"text {int(lengths.argmax())} has {longest} tokens, more than length={width}"
            )
        limits = np.iinfo(kind)
        for number in (int(self.values.max(initial=0)), operator.index(value)):
            if not limits.min <= number <= limits.max:
                raise ValueError(f"{number} does not fit in dtype {kind}")
        columns = np.arange(width)
        if side == "right":
            holds_id = columns < lengths[:, None]
        else:
            holds_id = columns >= width - lengths[:, None]
        ids = np.full((len(self), width), value, dtype=kind)
        ids[holds_id] = self.values  # both go row by row, each row from left to right
        return ids, holds_id.astype(kind)

    def to_arrow(self) -> pyarrow.LargeListArray:
        """The batch as an Arrow ``large_list<uint32>`` that shares its memory.

        Raises:
            ImportError: ``pyarrow`` is missing; it comes with the extra ``tokcy[arrow]``.
        """
        try:
            import pyarrow
        except ImportError as error:
            raise ImportError("Arrow needs pyarrow: pip install 'tokcy[arrow]'") from error
        return pyarrow.LargeListArray.from_arrays(
            pyarrow.array(self.offsets), pyarrow.array(self.values)
        )

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The Arrow C data interface, by which Polars, DuckDB and others take the batch."""
        capsules: tuple[object, object] = self.to_arrow().__arrow_c_array__(requested_schema)
        return capsules


def as_ids(ids: ArrayLike) -> Ids:
    """A contiguous array uint32[n] of any integers.

    Raises:
        TypeError: not integers.
        TokenIdError: one is negative or needs more than 32 bits.
    """
    if isinstance(ids, np.ndarray) and ids.dtype is _UINT32 and ids.ndim == 1:
        flags = ids.flags
        if flags.c_contiguous and flags.aligned:
            return ids
    if isinstance(ids, list):
        found: Ids | None = ids_of(ids)  # in an eighth of the time of NumPy
        if found is not None:
            return found
    if isinstance(ids, bytes | bytearray):  # NumPy takes only the one for an array of integers
        raise TypeError(f"ids must be a sequence of integers, not {type(ids).__name__}")
    array = as_integers(ids, "ids")
    if array.dtype != np.uint32 and array.size:
        lowest, highest = int(array.min()), int(array.max())
        if lowest < 0 or highest >= 2**32:
            wrong = lowest if lowest < 0 else highest
            raise TokenIdError(f"token id {wrong} is not between 0 and 2**32 - 1")
    return np.require(array, dtype=np.uint32, requirements=["C", "A"])


def write_ids(ids: Ids, out: Ids) -> Ids:
    """Copy ids into a caller's array; what of it they take.

    Raises:
        OutputError: it is too small, or no contiguous and writable uint32[n].
    """
    if not isinstance(out, np.ndarray) or out.dtype != _UINT32 or out.ndim != 1:
        kind = type(out).__name__
        if isinstance(out, np.ndarray):
            kind = f"{out.dtype}{list(out.shape)}"
        raise OutputError(f"out must be an array uint32[n], not {kind}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise OutputError("out must be contiguous and writable")
    if len(out) < len(ids):
        raise OutputError(f"out has room for {len(out)} ids, but there are {len(ids)}")
    out[: len(ids)] = ids
    return out[: len(ids)]


def as_integers(items: ArrayLike, name: str) -> NDArray[Any]:
    """A one-dimensional array of integers, of whatever dtype holds them; object if none does.

    Args:
        items: an array or sequence; an empty one may be of any dtype.
        name: what to call it in errors.

    Raises:
        TypeError: it is something else.
    """
    try:
        array = np.asarray(items)
    except ValueError:  # a sequence of sequences
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise TypeError(f"{name} must be a sequence of integers, not {type(items).__name__}")
    if array.size == 0:
        return array if array.dtype.kind in "iu" else np.empty(0, dtype=np.uint32)
    if array.dtype.kind in "iub":
        return array
    # NumPy makes floats of [2**63, -1], and objects of integers that are larger still.
    if array.dtype.kind == "f" and not isinstance(items, np.ndarray):
        array = np.asarray(items, dtype=object)
    if array.dtype != object:
        raise TypeError(f"{name} must be integers, not {array.dtype}")
    return np.array([_integer(item, name) for item in array], dtype=object)


def _integer(item: Any, name: str) -> int:
    try:
        return operator.index(item)
    except TypeError:
        raise TypeError(f"{name} must be integers, not {type(item).__name__}") from None


def _exactly(array: NDArray[Any], dtype: type[np.integer[Any]], name: str) -> NDArray[Any]:
    """The integers as this dtype; ValueError if they do not fit."""
    if array.dtype != dtype and array.size:
        limits = np.iinfo(dtype)
        for number in (int(array.min()), int(array.max())):
            if not limits.min <= number <= limits.max:
                raise ValueError(f"{name} must be from {limits.min} to {limits.max}, not {number}")
    return np.ascontiguousarray(array, dtype=dtype)
