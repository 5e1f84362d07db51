"""Check what is in a wheel: all of the package, and nothing that only its build needs.

python tools/check_wheel.py WHEEL
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD_ONLY = {".pyx", ".c", ".h", ".html"}
INSTALLED = {".py", ".pyi", ".pxd", ".npy", ".txt"}


def problems(wheel: Path) -> list[str]:
    """What is missing from the wheel, and what should not be in it."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    sources = [path for path in (ROOT / "tokcy").rglob("*") if "__pycache__" not in path.parts]
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in sources
        if path.suffix in INSTALLED or path.name == "py.typed"
    }
    compiled = {
        name.split("/")[-1].split(".")[0] for name in names if name.endswith((".so", ".pyd"))
    }
    modules = {path.stem for path in sources if path.suffix == ".pyx"}
    stray = {name for name in names if Path(name).suffix in BUILD_ONLY} | {
        name for name in names if not name.startswith(("tokcy/", "tokcy-"))
    }
    return [
        *(f"missing: {name}" for name in sorted(expected - names)),
        *(f"not compiled: {name}" for name in sorted(modules - compiled)),
        *(f"does not belong: {name}" for name in sorted(stray)),
    ]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) or f"{sys.argv[1]}: complete, and nothing more")
    sys.exit(bool(found))
