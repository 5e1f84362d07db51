"""Options and fixtures of the benchmarks; ``python -m bench`` gives the options."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.libraries import LIBRARIES, Library, preload
from bench.texts import Pieces, cut


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tokcy benchmarks")
    group.addoption("--library", choices=LIBRARIES, default="tokcy")
    group.addoption("--model", type=Path, required=True, help="a tokenizer.json")
    group.addoption("--text", type=Path, required=True, help="a UTF-8 file")
    group.addoption("--reference", type=Path, help="the digests of the ids: made or compared")


@pytest.fixture(scope="session")
def model(pytestconfig: pytest.Config) -> Path:
    path: Path = pytestconfig.getoption("--model")
    path.read_bytes()  # so that loading does not wait for the disk
    return path


@pytest.fixture(scope="session")
def pieces(pytestconfig: pytest.Config) -> Pieces:
    return cut(pytestconfig.getoption("--text").read_bytes().decode())


@pytest.fixture(scope="session")
def library_class(pytestconfig: pytest.Config) -> type[Library]:
    name = pytestconfig.getoption("--library")
    preload(name)
    return LIBRARIES[name]
