from collections.abc import Iterable
from typing import SupportsIndex, final

import numpy as np
from numpy.typing import NDArray

from tokcy._text import TextEngine

@final
class Engine(TextEngine):
    def encode_batch(
        self,
        texts: Iterable[str],
        special: bool,
        added: bool,
        num_threads: SupportsIndex | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]: ...
