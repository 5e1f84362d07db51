from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tokcy._vocab import Vocabulary

class ByteDecoder:
    def __init__(
        self, vocabulary: Vocabulary, added: dict[int, bytes], special: Iterable[int]
    ) -> None: ...
    def decode(self, ids: NDArray[np.uint32], skip_special: bool) -> str: ...
    def decode_bytes(self, ids: NDArray[np.uint32], skip_special: bool) -> bytes: ...
