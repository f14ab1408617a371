"""Builds the kernels: writes the lattice header, then compiles Cython and C. Everything else is in pyproject.toml.

YAHTZEE_CLUSTER_BUILD=debug turns bounds checks and assertions on, =sanitize adds the address and undefined-behaviour
sanitizers to them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from runpy import run_path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, find_namespace_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

ROOT = Path(__file__).resolve().parent
MODE = os.environ.get("YAHTZEE_CLUSTER_BUILD", "release")
GENERATED = Path("build") / "generated"
KERNELS = ("turn", "uppers", "policies", "rule_lists", "needs", "flow", "race", "rollout", "sha256")
WITH_C = {"turn", "sha256"}
MODES = {
    "release": ["-O3"],
    "debug": ["-O1", "-g", "-Werror", "-DYC_DEBUG"],
    "sanitize": [
        "-O1",
        "-g",
        "-Werror",
        "-DYC_DEBUG",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=undefined",
    ],
}
if MODE not in MODES:
    sys.exit(f"YAHTZEE_CLUSTER_BUILD: expected one of {', '.join(MODES)}, found {MODE!r}")


def extension(name: str) -> Extension:
    """One Cython module; those in WITH_C have C of the same name behind them."""
    # No instruction is ever fused or reordered: every machine computes the same bits.
    flags = [*MODES[MODE], "-ffp-contract=off", "-Wall", "-Wextra", "-Wno-unused-function", "-fno-var-tracking"]
    return Extension(
        f"yahtzee_cluster.kernels.{name}",
        [f"yahtzee_cluster/kernels/{name}.pyx", *([f"kernels/{name}.c"] if name in WITH_C else [])],
        include_dirs=["kernels", str(GENERATED)],
        depends=[
            "kernels/turn.h",
            "kernels/turn_body.h",
            "kernels/sha256.h",
            "kernels/lattice.py",
            "yahtzee_cluster/game/dice.py",
        ],
        extra_compile_args=flags,
        extra_link_args=[flag for flag in flags if flag.startswith("-fsanitize")],
    )


class BuildKernels(build_ext):  # type: ignore[misc]  # setuptools carries no types
    """Compile, after the generator has written what there is to compile; say plainly when there is no compiler."""

    parallel: int | bool | None

    def finalize_options(self) -> None:
        """Compile as many kernels at a time as there are cores, where nobody says how many."""
        super().finalize_options()
        self.parallel = self.parallel or True

    def run(self) -> None:
        """Generate, then compile."""
        write_lattice = run_path(str(ROOT / "kernels" / "lattice.py"))["write"]
        write_lattice(ROOT / GENERATED / "lattice.h")
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            print(
                f"The kernels need a working C compiler and Python's headers (gcc, python3-dev): {error}",
                file=sys.stderr,
            )
            sys.exit(2)


checked = MODE != "release"
Options.warning_errors = True
setup(
    packages=find_namespace_packages(include=["yahtzee_cluster", "yahtzee_cluster.*"]),
    package_data={
        "yahtzee_cluster": ["py.typed"],
        "yahtzee_cluster.analysis": ["page.css", "page.js"],
        "yahtzee_cluster.kernels": ["*.pyi"],
        "yahtzee_cluster.web": ["page/*", "answer.schema.json"],
        "yahtzee_cluster.game.presets": ["*.toml"],
        "yahtzee_cluster.jobs": ["*.toml"],
        "yahtzee_cluster.strategies": ["*.toml"],
        "yahtzee_cluster.slurm": ["*.sh"],
        "yahtzee_cluster.examples": ["tsplib/*.tsp"],
    },
    ext_modules=cythonize(  # type: ignore[no-untyped-call]
        [extension(name) for name in KERNELS],
        build_dir=f"build/cython-{MODE}",
        compiler_directives={
            "language_level": 3,
            "boundscheck": checked,
            "wraparound": False,
            "initializedcheck": checked,
            "cdivision": not checked,
            "show_performance_hints": False,
            "warn.unused": True,
            "warn.maybe_uninitialized": True,
        },
    ),
    cmdclass={"build_ext": BuildKernels},
)
