"""The wheel of this checkout, for the Python that runs the tests."""

import subprocess
import sys
import sysconfig
from pathlib import Path
from shutil import copy2, copytree

ROOT = Path(__file__).resolve().parents[2]


def built_wheel(place: Path) -> Path:
    """Build the wheel in a directory."""
    sources = place / "sources"
    _copy_the_checkout(sources)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(place)]
    subprocess.run([*build, str(sources)], check=True, timeout=300, capture_output=True)
    return next(place.glob("*.whl"))


def _copy_the_checkout(path: Path) -> None:
    """Put the sources elsewhere, and what was compiled of them where a build looks for it and finds it new enough."""
    folders = "kernels", "yahtzee_cluster", "jobs", "strategies", "slurm", "examples", "docs", "build/cython-release"
    for name in folders:
        copytree(ROOT / name, path / name, symlinks=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        copy2(ROOT / name, path)
    built = path / "build" / f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    (built / "yahtzee_cluster" / "kernels").mkdir(parents=True)
    for kernel in (ROOT / "kernels").glob("*.so"):
        copy2(kernel, built / "yahtzee_cluster" / "kernels")
