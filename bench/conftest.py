"""Options and fixtures of the benchmarks; ``python -m bench`` gives the options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.chat import Material
from bench.conversation import Conversation
from bench.libraries import LIBRARIES, preload
from bench.library import Library
from bench.measure import Meter
from bench.texts import Pieces


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tokcy benchmarks")
    group.addoption("--library", choices=LIBRARIES, required=True)
    group.addoption("--model", type=Path, required=True, help="a tokenizer.json")
    group.addoption("--other-model", type=Path, action="append", default=[])
    group.addoption("--pieces", type=Path, action="append", default=[], help="TEXT.json")
    group.addoption("--chat", "--server", type=Path, help="a file of windows of texts")
    group.addoption("--conversation", type=Path, help="a file of messages")
    group.addoption("--reference", type=Path, required=True, help="a folder: digests, ids, saved")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pieces" in metafunc.fixturenames:
        paths: list[Path] = metafunc.config.getoption("--pieces")
        metafunc.parametrize("pieces", paths, ids=[path.stem for path in paths], indirect=True)


# Asking for these takes longer than many a benchmark.
def pytest_benchmark_generate_machine_info() -> dict[str, str]:
    return {"node": ""}


def pytest_benchmark_generate_commit_info() -> dict[str, str]:
    return {"id": ""}


@pytest.fixture(scope="session")
def model(pytestconfig: pytest.Config) -> Path:
    path: Path = pytestconfig.getoption("--model")
    path.read_bytes()  # so that loading does not wait for the disk
    return path


@pytest.fixture(scope="session")
def other_models(pytestconfig: pytest.Config) -> list[Path]:
    paths: list[Path] = pytestconfig.getoption("--other-model")
    return paths


@pytest.fixture(scope="session")
def library_class(pytestconfig: pytest.Config) -> type[Library]:
    name = pytestconfig.getoption("--library")
    preload(name)
    return LIBRARIES[name]


@pytest.fixture(scope="session")
def library(library_class: type[Library], model: Path) -> Library:
    return library_class(model)


@pytest.fixture(scope="session")
def pieces(request: pytest.FixtureRequest) -> Pieces:
    return Pieces.read(request.param)


@pytest.fixture(scope="session")
def material(pytestconfig: pytest.Config) -> Material:
    return Material.read(pytestconfig.getoption("--chat"))


@pytest.fixture(scope="session")
def conversation(pytestconfig: pytest.Config) -> Conversation:
    return Conversation.read(pytestconfig.getoption("--conversation"))


@pytest.fixture(scope="session")
def reference(pytestconfig: pytest.Config) -> Path:
    """The folder of what was made beforehand with the reference."""
    path: Path = pytestconfig.getoption("--reference")
    return path


@pytest.fixture
def meter(benchmark: Any, reference: Path, request: pytest.FixtureRequest) -> Meter:
    """What times calls and compares what they return with the reference's."""
    digests = json.loads((reference / "digests.json").read_text())
    call = getattr(request.node, "callspec", None)
    parameters: dict[str, Any] = call.params if call is not None else {}
    text = parameters.get("shape", parameters.get("size", ""))
    return Meter(benchmark, digests, parameters["pieces"].stem if "pieces" in parameters else text)
