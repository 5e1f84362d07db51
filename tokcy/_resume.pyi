from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tokcy._prefix import PrefixView
from tokcy._prepare import Preparer

def encode_in_pieces(
    known: PrefixView,
    preparer: Preparer,
    sections: list[tuple[str, bool]],
    encode: Callable[[list[tuple[str, bool]]], list[NDArray[np.uint32]]],
) -> NDArray[np.uint32]: ...
