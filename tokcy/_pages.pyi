from io import FileIO
from typing import final

from typing_extensions import Self

@final
class Pages:
    def __new__(cls, size: int) -> Self: ...

def read_pages(file: FileIO, size: int) -> memoryview: ...
