"""What a new process pays before its first answer: loading, and a prompt of 40,000 characters."""

from __future__ import annotations

from pathlib import Path

from bench.library import Ids, Library, Saver
from bench.measure import Meter, utf8_bytes
from bench.texts import Pieces


def load_and_encode(meter: Meter, library_class: type[Library], file: Path, pieces: Pieces) -> None:
    file.read_bytes()  # so that loading does not wait for the disk

    def call(text: str) -> Ids:
        return library_class(file).encode(text)

    meter(call, [pieces.first], utf8_bytes([pieces.first]), [meter.expected("first")])


def test_from_json(meter: Meter, library_class: type[Library], model: Path, pieces: Pieces) -> None:
    load_and_encode(meter, library_class, model, pieces)


def test_from_saved(
    meter: Meter, library_class: type[Library], reference: Path, pieces: Pieces
) -> None:
    """The same from the library's own saved form."""
    assert issubclass(library_class, Saver)  # others are not asked
    load_and_encode(meter, library_class, reference / library_class.saved_as, pieces)
