"""Compiles the Cython modules. All else about the package is in pyproject.toml.

Environment:
    TOKCY_OPENMP    auto (default): use OpenMP if a probe compiles and links; on macOS, no.
                    require: fail without OpenMP. off: build for one thread per call.
    TOKCY_DEBUG     1: bounds checks, no optimisation, debug symbols, C warnings.
    TOKCY_SANITIZE  1: address and undefined-behaviour sanitizers (gcc, clang).
    TOKCY_STRICT    1: fail on any warning or performance hint of Cython.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError

DEBUG = os.environ.get("TOKCY_DEBUG") == "1"
SANITIZE = os.environ.get("TOKCY_SANITIZE") == "1"
STRICT = os.environ.get("TOKCY_STRICT") == "1"
OPENMP = os.environ.get("TOKCY_OPENMP", "auto")

# Not warn.unused, which takes every generator expression for one; cython-lint looks for that.
STRICT_WARNINGS = {"warn.maybe_uninitialized": True, "warn.unreachable": True}

PROBE = """
#include <omp.h>
int main(void) {
    int n = 0;
    #pragma omp parallel for reduction(+:n)
    for (int i = 0; i < 4; i++) n += omp_get_num_threads();
    return n == 0;
}
"""


def sources() -> list[Path]:
    """The Cython sources; for a debug build, copies of them with all checks switched on."""
    found = sorted(Path("tokcy").glob("_*.pyx"))
    if not DEBUG:
        return found
    copies = []
    for source in found:
        copy = Path("build/debug") / source
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")
        for directive in ("boundscheck", "wraparound", "initializedcheck"):
            text = text.replace(f"{directive}=False", f"{directive}=True")
        copy.write_text(text, encoding="utf-8")
        copies.append(copy)
    return copies


def extensions() -> list[Extension]:
    """The extension modules, translated to C below build/, apart from the sources."""
    modules = [
        Extension(
            f"tokcy.{source.stem}",
            [str(source)],
            include_dirs=["tokcy", numpy.get_include()],
            define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
            depends=[str(header) for header in sorted(Path("tokcy").glob("*.h"))],
        )
        for source in sources()
    ]
    messages = io.StringIO()
    with contextlib.redirect_stderr(messages if STRICT else sys.stderr):
        translated: list[Extension] = cythonize(
            modules,
            build_dir="build/cython-debug" if DEBUG else "build/cython",
            include_path=["."],
            force=STRICT,
            compiler_directives={"language_level": 3, **(STRICT_WARNINGS if STRICT else {})},
        )
    if messages.getvalue():
        sys.exit(f"{messages.getvalue()}\nTOKCY_STRICT=1: the above is not tolerated")
    return translated


class BuildExt(build_ext):
    """Chooses flags for the compiler at hand, and compiles the modules in parallel."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        compile_args, link_args = self._flags()
        openmp = self._openmp_flag()
        if openmp:
            compile_args.append(openmp)
            if self.compiler.compiler_type != "msvc":
                link_args.append(openmp)
        for extension in self.extensions:
            extension.extra_compile_args = compile_args
            extension.extra_link_args = link_args
        super().build_extensions()

    def _flags(self) -> tuple[list[str], list[str]]:
        if self.compiler.compiler_type == "msvc":
            return ["/std:c11", "/Od" if DEBUG else "/O2"], []
        compile_args = [
            "-std=c11",
            "-fvisibility=hidden",
            "-Werror=implicit-function-declaration",
            *(["-O0", "-g3", "-UNDEBUG", "-Wall"] if DEBUG else ["-O3", "-g0"]),
        ]
        link_args = []
        if SANITIZE:
            sanitize = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"]
            compile_args += sanitize
            link_args += sanitize
        return compile_args, link_args

    def _openmp_flag(self) -> str | None:
        """The compiler's flag for OpenMP, or None to build without."""
        if OPENMP not in ("auto", "require", "off"):
            sys.exit(f"TOKCY_OPENMP must be auto, require or off, not {OPENMP!r}")
        # Apple's compiler has no OpenMP runtime, and a second one beside PyTorch's crashes.
        if OPENMP == "off" or (OPENMP == "auto" and sys.platform == "darwin"):
            return None
        flag = "/openmp" if self.compiler.compiler_type == "msvc" else "-fopenmp"
        if self._compiles_and_links(PROBE, flag):
            return flag
        if OPENMP == "require":
            sys.exit("TOKCY_OPENMP=require, but a program with OpenMP does not compile and link")
        self.warn("no OpenMP found: each call of tokcy will use one thread")
        return None

    def _compiles_and_links(self, program: str, flag: str) -> bool:
        link_flags = [] if self.compiler.compiler_type == "msvc" else [flag]
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "probe.c")
            source.write_text(program, encoding="utf-8")
            try:
                objects = self.compiler.compile(
                    [str(source)], output_dir=folder, extra_postargs=[flag]
                )
                self.compiler.link_executable(
                    objects, "probe", output_dir=folder, extra_postargs=link_flags
                )
            except (CompileError, LinkError):
                return False
        return True


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExt})
