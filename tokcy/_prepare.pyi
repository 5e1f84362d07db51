from collections.abc import Iterable

class Preparer:
    nfc: bool
    add_prefix_space: bool
    def __init__(
        self, added_tokens: Iterable[object], nfc: bool, add_prefix_space: bool
    ) -> None: ...
    def spans(
        self, text: str, allow_added: bool = True, want_offsets: bool = True
    ) -> list[tuple[bytes | None, int, list[tuple[int, int]]]]: ...
