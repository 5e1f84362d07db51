"""How many threads a call may use, and what happens to them around a fork.

The number is, first come first served:

1. the call's ``num_threads=`` argument;
2. what ``set_num_threads`` was given;
3. ``TOKCY_NUM_THREADS``;
4. one, if ``TOKENIZERS_PARALLELISM`` says false, as in Hugging Face ``tokenizers``;
5. ``OMP_NUM_THREADS``;
6. one in a worker that ``multiprocessing`` forked, since its siblings share the cores;
7. the cores this process may use (affinity and cgroup quota), at most 16.

Short inputs use one thread whatever the number. The environment and the machine are asked
once per process, at the first call that needs the number.

OpenMP and fork: a process that forks after a parallel call leaves its child a thread pool
without threads, and with GNU OpenMP the child's first parallel region waits for them for
ever. Pausing the runtime before the fork frees the pool, and parent and child each make a
new one when they need it. ``TOKCY_FORK_HOOK=0`` switches that off; a child that was forked
without it stays on one thread, whatever else is asked for.
"""

from __future__ import annotations

import operator
import os
import sys
from pathlib import Path
from typing import SupportsIndex

from tokcy import _openmp
from tokcy.errors import SettingError

__all__ = ["get_num_threads", "resolve_num_threads", "set_num_threads"]

MAX_DEFAULT = 16
#: Upper bound of any request: when it cannot start a thread, GNU OpenMP ends the process.
MAX_THREADS = 256

_FALSE = {"0", "false", "off", "no", "n", "f", ""}

_chosen: int | None = None  # by set_num_threads
_default: int | None = None  # by environment and machine, once asked
_pid = os.getpid()
_pool_left_behind = False  # the last fork was made with a live thread pool
_serial_only = False  # this process is the child of such a fork
_forked = False


def set_num_threads(num_threads: SupportsIndex | None) -> None:
    """Set how many threads the calls of this process use by default.

    Args:
        num_threads: at least 1; ``None`` goes back to the environment and the machine.

    Raises:
        TypeError: not an integer.
        ValueError: less than 1.
    """
    global _chosen
    _chosen = None if num_threads is None else _checked(num_threads)


def get_num_threads() -> int:
    """The number of threads that a long call without ``num_threads=`` uses now."""
    return resolve_num_threads(None)


def resolve_num_threads(num_threads: SupportsIndex | None) -> int:
    """The number of threads for a call with this ``num_threads=`` argument.

    Raises:
        TypeError: not an integer.
        ValueError: less than 1.
        SettingError: ``TOKCY_NUM_THREADS`` is no positive integer.
    """
    global _default, _pool_left_behind
    wanted = _chosen if num_threads is None else _checked(num_threads)
    if _pid != os.getpid():  # forked past the hooks: by C code, or with TOKCY_FORK_HOOK=0
        _pool_left_behind = _openmp.enabled()
        _after_fork_in_child()
    if _serial_only:
        return 1
    if wanted is not None:
        return wanted
    if _default is None:
        _default = _ask_environment() or _ask_machine()
    return _default


def _checked(num_threads: SupportsIndex) -> int:
    if isinstance(num_threads, bool):
        raise TypeError("num_threads must be an integer, not bool")
    number = operator.index(num_threads)
    if number < 1:
        raise ValueError(f"num_threads must be at least 1, not {number}")
    return min(number, MAX_THREADS)


def _ask_environment() -> int | None:
    ours = os.environ.get("TOKCY_NUM_THREADS", "").strip()
    if ours:
        if not ours.isdecimal() or int(ours) < 1:
            raise SettingError(f"TOKCY_NUM_THREADS must be a positive integer, not {ours!r}")
        return min(int(ours), MAX_THREADS)
    if os.environ.get("TOKENIZERS_PARALLELISM", "true").strip().lower() in _FALSE:
        return 1
    # OMP_NUM_THREADS may be a list, one number per nesting level. It belongs to the OpenMP
    # runtime, which ignores what it cannot read.
    omp = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if omp.isdecimal() and int(omp) >= 1:
        return min(int(omp), MAX_THREADS)
    return None


def _ask_machine() -> int:
    if _forked and _is_multiprocessing_child():
        return 1
    cores = _usable_cores()
    quota = _cgroup_cores()
    return max(1, min(cores, quota if quota is not None else cores, MAX_DEFAULT))


def _is_multiprocessing_child() -> bool:
    # `multiprocess` is the fork of the standard module that the `datasets` library uses.
    modules = (sys.modules.get(f"{name}.process") for name in ("multiprocessing", "multiprocess"))
    return any(module and module.parent_process() is not None for module in modules)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cgroup_cores(
    membership: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """The cores that the CPU quota of this process's control groups pays for, rounded up.

    Containers limit CPU time by quota and still show every core of the host. The quota of
    each enclosing group counts, so the smallest one on the way up is the limit.
    """
    try:
        lines = membership.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    limits: list[float] = []
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":  # version 2
            root, read = mount, _quota_v2
        elif "cpu" in controllers.split(","):  # version 1
            root, read = mount / controllers, _quota_v1
            root = root if root.is_dir() else mount / "cpu"
        else:
            continue
        # In a container the path may be the host's, of which only the root is mounted.
        group = root / path.strip("/")
        for folder in (group, *group.parents):
            limits.extend(read(folder))
            if folder == root:
                break
    return -int(-min(limits) // 1) if limits else None


def _quota_v2(folder: Path) -> list[float]:
    return _ratio(_words(folder / "cpu.max"))


def _quota_v1(folder: Path) -> list[float]:
    return _ratio(_words(folder / "cpu.cfs_quota_us") + _words(folder / "cpu.cfs_period_us"))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except (OSError, UnicodeDecodeError):
        return []


def _ratio(words: list[str]) -> list[float]:
    """[quota / period], or [] where there is no quota ("max", "-1", no file)."""
    if len(words) != 2 or not all(word.isdecimal() for word in words) or int(words[1]) == 0:
        return []
    return [int(words[0]) / int(words[1])]


def _before_fork() -> None:
    """Free the OpenMP pool of the forking thread; note whether that could not be done."""
    global _pool_left_behind
    _pool_left_behind = _openmp.enabled() and _openmp.pause() != 0


def _after_fork_in_child() -> None:
    global _pid, _default, _forked, _serial_only
    _pid = os.getpid()
    _default = None
    _forked = True
    _serial_only = _serial_only or _pool_left_behind


if hasattr(os, "register_at_fork") and os.environ.get("TOKCY_FORK_HOOK", "1") != "0":
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
