"""Places in a text by the three bytes that stand there."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

def deal(
    seconds: npt.NDArray[np.bool_], thirds: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]: ...
def places(text: bytes, contents: Iterable[bytes], simd: str = ...) -> list[int]: ...
