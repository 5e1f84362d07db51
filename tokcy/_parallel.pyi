from typing_extensions import Self

from tokcy._bpe import Bpe
from tokcy._prepare import Preparer
from tokcy._pretok import PreTokenizer

class JobEngine:
    model: Bpe
    def __new__(
        cls,
        preparer: Preparer,
        pretokenizer: PreTokenizer,
        model: Bpe,
        *_: object,
        unit_bytes: int = ...,
        bytes_per_thread: int = ...,
    ) -> Self: ...
