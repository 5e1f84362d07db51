"""Shared fixtures: test data (real models, corpora, expected ids) and the oracle.

Real model files are large and carry their own licences, so they live outside the
repository: in the folder that ``$TOKCY_DATA`` names, or in ``../shared/data`` beside the
checkout. That folder holds either ``unpack.py`` with its archives, which are unpacked once
into a cache in the system's temporary folder, or the unpacked ``tokenizers``, ``corpora``
and ``vectors`` themselves. Tests that need them are skipped where they are missing.
"""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from hypothesis import HealthCheck, settings
from simd import variants

from tokcy._pretok import PreTokenizer

ROOT = Path(__file__).resolve().parent.parent
NO_DATA = "no test data: set TOKCY_DATA to the folder with the models and corpora"

# Shared machines stall for a second now and then: a deadline would only test the machine.
settings.register_profile(
    "tokcy", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("sweep", settings.get_profile("tokcy"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "tokcy"))


def _data_source() -> Path | None:
    """The folder with the test data, packed or unpacked, or None."""
    named = os.environ.get("TOKCY_DATA")
    source = Path(named) if named else ROOT.parent / "shared" / "data"
    if (source / "unpack.py").is_file() or (source / "tokenizers").is_dir():
        return source.resolve()
    if named:
        raise pytest.UsageError(f"TOKCY_DATA={named}: holds neither unpack.py nor tokenizers/")
    return None


def _unpacked(source: Path) -> Path:
    """The folder with the unpacked data; unpacks what is not there yet.

    The cache is named after the archives, so other data get another folder. ``unpack.py``
    moves each finished item into place, so that parallel test runs may share the folder.
    """
    script = source / "unpack.py"
    if not script.is_file():
        return source
    archives = sorted(source.glob("*/*.xz"))
    names = "\n".join(f"{path.name} {path.stat().st_size}" for path in archives)
    key = hashlib.sha256(names.encode()).hexdigest()[:12]
    user = getattr(os, "getuid", lambda: 0)()
    cache = Path(tempfile.gettempdir()) / f"tokcy-testdata-{user}-{key}"
    cache.mkdir(mode=0o700, exist_ok=True)
    if hasattr(os, "getuid") and cache.stat().st_uid != user:
        raise pytest.UsageError(f"{cache} belongs to another user")
    subprocess.run([sys.executable, str(script), str(cache)], check=True)
    return cache


def pytest_report_header() -> str:
    source = _data_source()
    return f"test data: {source or 'none found'} | oracle: tokenizers {tokenizers.__version__}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _data_source() is None:
        terminalreporter.section("test data")
        terminalreporter.line(f"{NO_DATA}; the tests on real models were skipped")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with ``tokenizers/``, ``corpora/`` and ``vectors/``, or a skip."""
    source = _data_source()
    if source is None:
        pytest.skip(NO_DATA)
    return _unpacked(source)


@pytest.fixture(scope="session")
def model_path(data_dir: Path) -> Callable[[str], Path]:
    """``model_path("llama3")``: the path of that model's tokenizer.json."""

    def path(name: str) -> Path:
        found = data_dir / "tokenizers" / name / "tokenizer.json"
        if not found.is_file():
            pytest.skip(f"no tokenizers/{name}/tokenizer.json in the test data")
        return found

    return path


@pytest.fixture(scope="session")
def corpus(data_dir: Path) -> Callable[..., str]:
    """``corpus("zh", 100_000)``: a corpus's text, or its first so many characters."""

    @functools.cache
    def whole(name: str) -> str:
        (path,) = (data_dir / "corpora").glob(f"{name}.*")
        return path.read_bytes().decode()

    def text(name: str, size: int | None = None) -> str:
        return whole(name)[:size]

    return text


@pytest.fixture(scope="session")
def vectors(data_dir: Path) -> Callable[[str], Path]:
    """``vectors("hf_quirks")``: the folder with those expected results."""
    return lambda name: data_dir / "vectors" / name


@pytest.fixture(scope="session")
def oracle(model_path: Callable[[str], Path]) -> Callable[[str], tokenizers.Tokenizer]:
    """``oracle("llama3")``: the model as Hugging Face loads it; the last four are kept."""

    @functools.lru_cache(maxsize=4)
    def load(name: str) -> tokenizers.Tokenizer:
        return tokenizers.Tokenizer.from_file(str(model_path(name)))

    return load


@pytest.fixture(scope="session", params=variants(lambda name: PreTokenizer([], simd=name)))
def simd(request: pytest.FixtureRequest) -> str:
    """Every variant of the wide steps that this processor has."""
    return str(request.param)
