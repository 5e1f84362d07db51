from collections.abc import Iterable
from typing import final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from tokcy._vocab import Vocabulary
from tokcy.spec.plan_decode import DecoderPlan

@final
class Decoder:
    def __new__(
        cls,
        vocabulary: Vocabulary,
        added: dict[int, str],
        special: Iterable[int],
        plan: DecoderPlan,
    ) -> Self: ...
    def decode(self, ids: NDArray[np.uint32], skip_special: bool) -> str: ...
    def decode_bytes(self, ids: NDArray[np.uint32], skip_special: bool) -> bytes: ...

def text_of(content: bytes, simd: str | None = None) -> str: ...
