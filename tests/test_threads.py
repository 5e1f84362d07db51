"""The number of threads: where it comes from, and what a fork does to it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tokcy import _openmp, threads

VARIABLES = ("TOKCY_NUM_THREADS", "TOKENIZERS_PARALLELISM", "OMP_NUM_THREADS")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting, an empty environment, and a machine with 12 cores and no quota."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name in ("_chosen", "_default"):
        monkeypatch.setattr(threads, name, None)
    monkeypatch.setattr(threads, "_usable_cores", lambda: 12)
    monkeypatch.setattr(threads, "_cgroup_cores", lambda: None)


def test_the_order_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def default() -> int:
        monkeypatch.setattr(threads, "_default", None)
        return threads.get_num_threads()

    assert default() == 12
    monkeypatch.setenv("OMP_NUM_THREADS", "6,2")
    assert default() == 6
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "False")
    assert default() == 1
    monkeypatch.setenv("TOKCY_NUM_THREADS", "5")
    assert default() == 5
    threads.set_num_threads(4)
    assert default() == 4
    assert threads.resolve_num_threads(3) == 3
    threads.set_num_threads(None)
    assert default() == 5


@pytest.mark.parametrize(("value", "expected"), [("true", 12), ("1", 12), ("off", 1), ("", 1)])
def test_tokenizers_parallelism(monkeypatch: pytest.MonkeyPatch, value: str, expected: int) -> None:
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", value)
    assert threads.get_num_threads() == expected


@pytest.mark.parametrize("value", ["", "dynamic", "0", "-3"])
def test_an_unreadable_omp_num_threads_is_left_to_openmp(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert threads.get_num_threads() == 12


@pytest.mark.parametrize("value", ["0", "-1", "many", "2.5", "²"])
def test_an_unreadable_setting_of_ours_is_an_error(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("TOKCY_NUM_THREADS", value)
    with pytest.raises(ValueError, match=f"TOKCY_NUM_THREADS .* '{value}'"):
        threads.get_num_threads()


def test_arguments_are_checked() -> None:
    for set_or_resolve in (threads.set_num_threads, threads.resolve_num_threads):
        with pytest.raises(ValueError, match="at least 1, not 0"):
            set_or_resolve(0)
        with pytest.raises(TypeError, match="bool"):
            set_or_resolve(True)
        with pytest.raises(TypeError):
            set_or_resolve(2.0)  # type: ignore[arg-type]
    assert threads.resolve_num_threads(10**9) == threads.MAX_THREADS


@pytest.mark.parametrize(
    ("cores", "quota", "expected"), [(64, None, 16), (8, 3, 3), (2, 6, 2), (4, 0, 1), (1, None, 1)]
)
def test_the_machine_decides_last(
    monkeypatch: pytest.MonkeyPatch, cores: int, quota: int | None, expected: int
) -> None:
    monkeypatch.setattr(threads, "_usable_cores", lambda: cores)
    monkeypatch.setattr(threads, "_cgroup_cores", lambda: quota)
    assert threads.get_num_threads() == expected


def cgroup_cores(tmp_path: Path, membership: str, files: dict[str, str]) -> int | None:
    for name, content in files.items():
        file = tmp_path / "fs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (tmp_path / "cgroup").write_text(membership)
    return REAL_CGROUP_CORES(tmp_path / "cgroup", tmp_path / "fs")


REAL_CGROUP_CORES = threads._cgroup_cores


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        ("0::/\n", {}, None),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000", "a/cpu.max": "300000 100000"}, 1),
        ("0::/not/mounted\n", {"cpu.max": "400000 100000"}, 4),
        ("0::/\n", {"cpu.max": "what is this"}, None),
        ("0::/\n", {"cpu.max": "100000 0"}, None),
        (
            "5:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/z\n",
            {
                "cpu,cpuacct/x/cpu.cfs_quota_us": "250000",
                "cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            },
            3,
        ),
        (
            "5:cpu,cpuacct:/x\n",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            None,
        ),
        ("5:memory:/\n", {"memory/cpu.cfs_quota_us": "100000"}, None),
        ("nonsense\n", {}, None),
    ],
)
def test_cgroup_quota(
    tmp_path: Path, membership: str, files: dict[str, str], expected: int | None
) -> None:
    assert cgroup_cores(tmp_path, membership, files) == expected


def test_no_cgroup_at_all(tmp_path: Path) -> None:
    assert REAL_CGROUP_CORES(tmp_path / "missing", tmp_path) is None


# Forks are made in a process of their own: the child of a fork of pytest would run pytest.

SETUP = """
    import os
    from tokcy import threads
    pauses = 0
    def pause():
        global pauses
        pauses += 1
        return PAUSE_STATUS
    threads._openmp.pause, threads._openmp.enabled = pause, lambda: True
    threads.set_num_threads(4)
    def in_child(call):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.write(writer, str(call()).encode())
            os._exit(0)
        os.wait()
        return os.read(reader, 100).decode()
"""


def run(code: str, *, pause_status: int = 0, environment: dict[str, str] | None = None) -> str:
    setup = SETUP.replace("PAUSE_STATUS", str(pause_status))
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(setup) + textwrap.dedent(code)],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_fork
def test_fork_pauses_openmp_and_the_child_keeps_its_threads() -> None:
    code = "print(in_child(threads.get_num_threads), pauses, threads.get_num_threads())"
    assert run(code) == "4 1 4"


@needs_fork
def test_the_child_is_serial_where_openmp_could_not_be_paused() -> None:
    code = """
        print(in_child(threads.get_num_threads), threads.get_num_threads(),
              in_child(lambda: threads.resolve_num_threads(8)),
              in_child(lambda: in_child(threads.get_num_threads)))
    """
    assert run(code, pause_status=-1) == "1 4 1 1"


@needs_fork
def test_the_child_is_serial_where_the_hook_is_off() -> None:
    code = "print(in_child(lambda: threads.resolve_num_threads(8)), pauses)"
    assert run(code, environment={"TOKCY_FORK_HOOK": "0"}) == "1 0"


@needs_fork
def test_a_build_without_openmp_has_nothing_to_pause() -> None:
    code = """
        threads._openmp.enabled = lambda: False
        print(in_child(threads.get_num_threads), pauses)
    """
    assert run(code, pause_status=-1) == "4 0"
    assert run(code, pause_status=-1, environment={"TOKCY_FORK_HOOK": "0"}) == "4 0"


@needs_fork
def test_a_multiprocessing_worker_is_serial_unless_asked() -> None:
    code = """
        import multiprocessing
        threads.set_num_threads(None)
        threads._usable_cores, threads._cgroup_cores = lambda: 8, lambda: None
        with multiprocessing.get_context("fork").Pool(1) as pool:
            print(threads.get_num_threads(), pool.apply(threads.get_num_threads),
                  pool.apply(threads.resolve_num_threads, (3,)), end=" ")
        print(in_child(threads.get_num_threads))
    """
    environment = dict.fromkeys(VARIABLES, "")
    environment["TOKENIZERS_PARALLELISM"] = "true"
    assert run(code, environment=environment) == "8 1 3 8"


def test_idle_threads_sleep_unless_told_otherwise() -> None:
    """The OpenMP runtime is asked what it was told, and the environment is left alone."""
    script = "import os, tokcy; print(os.environ.get('GOMP_SPINCOUNT'))"
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    for told, expected in ((None, "0"), ("123", "123")):
        environment = {**inherited, "OMP_DISPLAY_ENV": "verbose"}
        if told is not None:
            environment["GOMP_SPINCOUNT"] = told
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == str(told)
        if "GOMP_SPINCOUNT" in done.stderr:  # the runtime is GNU's
            assert f"GOMP_SPINCOUNT = '{expected}'" in done.stderr


def test_the_fork_hook_works() -> None:
    """A build with OpenMP can let go of its threads; else children would have to be serial."""
    assert not _openmp.enabled() or _openmp.pause() == 0
