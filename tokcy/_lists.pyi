"""Ids as lists of Python integers."""

import numpy as np
from numpy.typing import NDArray

def as_lists(values: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[list[int]]: ...
def ids_of(numbers: list[int]) -> NDArray[np.uint32] | None: ...
