"""The shape of the program: which way imports point, and what an installation contains."""

import ast
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from shutil import copy2, copytree

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From the ground up: a module imports only from rows above its own.
FLOORS = [
    {"errors", "dice", "partition", "watch"},
    {"fields", "output", "recurrence", "schedule", "cache", "stopping"},
    {"rules", "worker", "store", "guard"},
    {"disk"},
    {"reference", "moves", "crew", "forecast", "frontier", "progress"},
    {"kernels", "cluster", "serial", "computation", "soundness"},
    {"anchors", "planning"},
    {"scored"},
    {"objectives", "engine"},
    {"table", "statistics", "spoken"},
    {"verify", "advice", "games", "simulation"},
    {"seats", "conversation", "likeness"},
    {"strategies"},
    {"job", "duel"},
    {"slurm"},
    {"findings"},
    {"figures"},
    {"report"},
    {"run", "plan", "cli"},
    {"__main__"},
]
ENGINE = {
    "partition",
    "recurrence",
    "schedule",
    "cache",
    "worker",
    "store",
    "crew",
    "disk",
    "forecast",
    "frontier",
    "progress",
    "cluster",
    "serial",
    "soundness",
    "computation",
    "planning",
    "engine",
    "guard",
    "stopping",
    "watch",
}
FLOOR = {name: height for height, names in enumerate(FLOORS) for name in names}


def rooms(source: str) -> set[str]:
    """The rooms of the package that some source imports from."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("yahtzee_cluster.")}
    return found - {"__version__"}


def test_imports_point_one_way() -> None:
    """Every module imports only from the floors below it, and every module has a floor."""
    package = ROOT / "yahtzee_cluster"
    for path in [*package.glob("*.py"), *(package / "objectives").glob("*.py")]:
        room = path.parent.name if path.parent != package else path.stem
        if room == "__init__":
            assert not rooms(path.read_text())
            continue
        below = {name for name in rooms(path.read_text()) if name != room}
        assert all(FLOOR[name] < FLOOR[room] for name in below), (path.name, below)


def test_the_engine_knows_no_game() -> None:
    """Nothing in the engine speaks of games, and only one room of it each knows MPI and Zarr."""
    for room in ENGINE:
        source = (ROOT / "yahtzee_cluster" / f"{room}.py").read_text()
        prose = re.sub("yahtzee_?cluster", "", source.lower())
        for word in ("dice", "categor", "player", "yahtzee", "roll", "score", "anchor", "game"):
            assert word not in prose, (room, word)
        assert ("mpi4py" in source) == (room == "cluster"), room
        assert ("import zarr" in source) == (room == "store"), room


def test_the_judge_shares_only_the_rules() -> None:
    """The reference imports nothing from the program but the rules."""
    assert rooms((ROOT / "yahtzee_cluster" / "reference.py").read_text()) == {"rules"}


def test_kernels_look_only_down() -> None:
    """The Cython sources import nothing from the floors above them."""
    for path in (ROOT / "kernels").glob("*.pyx"):
        lines = [line for line in path.read_text().splitlines() if "import" in line and "yahtzee_cluster." in line]
        used = {line.split("yahtzee_cluster.")[1].split(".")[0].split()[0] for line in lines}
        assert used <= {"dice", "errors", "kernels"}, path.name


def test_the_repository_holds_sources_alone() -> None:
    """Nothing that a command makes is in it: no tables, no large files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=False, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no repository here")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert len(paths) > 100
    assert [path for path in paths if path.name in {"zarr.json", ".lock"} or path.name.startswith("core")] == []
    assert [path for path in paths if path.exists() and path.stat().st_size > 200_000] == []


def copy_of_the_checkout(path: Path) -> None:
    """Put the sources elsewhere, and what was compiled of them where a build looks for it and finds it new enough."""
    for name in ("kernels", "yahtzee_cluster", "build/cython-release"):
        copytree(ROOT / name, path / name, symlinks=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        copy2(ROOT / name, path)
    built = path / "build" / f"lib.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    (built / "yahtzee_cluster" / "kernels").mkdir(parents=True)
    for kernel in (ROOT / "kernels").glob("*.so"):
        copy2(kernel, built / "yahtzee_cluster" / "kernels")


def test_built_wheel_works_elsewhere(tmp_path: Path) -> None:
    """The wheel holds one top-level package, and runs from another folder without the checkout."""
    copy_of_the_checkout(tmp_path / "sources")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run([*build, str(tmp_path / "sources")], check=True, timeout=300, capture_output=True)
    wheel = next(tmp_path.glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"yahtzee_cluster"}
    assert "yahtzee_cluster/presets/yahtzee.toml" in names
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    program = (
        f"import sys; sys.path.insert(0, {str(target)!r}); import yahtzee_cluster.kernels as k; print(k.__file__); "
    )
    program += "from yahtzee_cluster.cli import main; main(['expected', '--rules', 'yacht'])"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True
    )
    assert str(target) in result.stdout
    assert "mean       169.7739   published 169.8" in result.stdout
