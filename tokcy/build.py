"""What was built into the compiled modules, and what of it this machine uses."""

from __future__ import annotations

import platform
from importlib.metadata import version

from tokcy import _openmp, _pretok
from tokcy.threads import get_num_threads

__all__ = ["build_info"]


def build_info() -> dict[str, str | bool | int]:
    """Facts for a bug report.

    Returns:
        ``openmp``: built with OpenMP; ``simd``: the variant of the scanner's kernels in use;
        ``num_threads``: what long calls use by default; versions of ``numpy``, ``tokenizers``
        and ``python``; ``machine``.
    """
    return {
        "openmp": _openmp.enabled(),
        "simd": _pretok.SIMD,
        "num_threads": get_num_threads(),
        "numpy": version("numpy"),
        "tokenizers": version("tokenizers"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
    }
