"""The shape of the program: which way imports point, and what an installation contains."""

import ast
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from wheel_here import built_wheel

import yahtzee_cluster

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "yahtzee_cluster"

DOORS = {"__init__", "__main__", "run", "plan"}
BASE = {"errors", "fields", "output", "progress", "text"}
"""Modules at the top: doors import everything, what everybody needs imports nothing but each other."""

ROOMS: dict[str, set[str]] = {
    "engine": set(),
    "storage": {"engine", "kernels"},
    "runtime": {"storage", "engine"},
    "game": set(),
    "kernels": {"game"},
    "objectives": {"kernels", "game", "engine"},
    "tables": {"objectives", "game", "storage", "engine"},
    "analysis": {"tables", "objectives", "kernels", "game"},
    "play": {"analysis", "tables", "objectives", "kernels", "game", "storage", "engine"},
    "web": {"play", "analysis", "tables", "objectives", "kernels", "game"},
    "commands": {
        *("web", "play", "analysis", "tables", "objectives", "kernels", "game", "runtime", "storage", "engine"),
    },
}
"""What each room may import, besides itself and BASE; the engine not even BASE. CONTRIBUTING.md has the same."""

PURE = {
    *("__future__", "abc", "bisect", "collections", "collections.abc", "dataclasses", "functools", "heapq"),
    *("itertools", "math", "typing", "numpy", "numpy.typing"),
}
"""All that the engine may use besides itself: nothing with a clock, a file, a thread or a process."""


def imported(source: str) -> set[str]:
    """Every module that some source imports, wherever it does so; of the package, what is imported from it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found |= {f"{module}.{alias.name}" for alias in node.names} if module == PACKAGE else {module}
        elif isinstance(node, ast.Name) and node.id == "__import__":
            found.add(node.id)
    return found


def trespasses(room: str, source: str) -> set[str]:
    """What a source in a room imports although it may not."""
    found = set()
    for module in imported(source):
        top, _, inside = module.partition(".")
        if top != PACKAGE:
            if module.startswith(".") or (room == "engine" and module not in PURE):
                found.add(module)
            continue
        name = inside.split(".")[0]
        base = BASE if room != "engine" else set()
        if name not in {room, "__version__"} | base | ROOMS.get(room, set()):
            found.add(module)
    return found


def modules() -> Iterator[tuple[str, Path]]:
    """Every Python module of the package with the room it is in; "" for those at the top."""
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        inside = path.relative_to(ROOT / PACKAGE)
        yield inside.parts[0] if len(inside.parts) > 1 else "", path


def test_every_module_has_a_room() -> None:
    """A module stands in a room, or at the top and is named there; rooms say in one line what they are for."""
    for room, path in modules():
        if room:
            assert room in ROOMS, path
        else:
            assert path.stem in DOORS | BASE, path
    for room in ROOMS:
        docstring = ast.get_docstring(ast.parse((ROOT / PACKAGE / room / "__init__.py").read_text()))
        assert docstring, room
        assert docstring.count("\n") == 0 or room == "kernels", room


def test_test_files_import_no_other_test_file() -> None:
    """What several test files share is in `tests/support`, whose modules have names of their own."""
    paths = [*(ROOT / "tests").rglob("*.py")]
    assert len(paths) > 60
    for path in paths:
        names = {name.split(".")[0] for name in imported(path.read_text())}
        assert {name for name in names if name.startswith(("test_", "conftest"))} == set(), path


MOST_LINES = 400


def test_files_are_short() -> None:
    """No source file of the package has more lines than MOST_LINES; nor has a kernel."""
    kernels = (ROOT / "kernels").glob("*.p[yx]*")
    lengths = {path: len(path.read_text().splitlines()) for path in [*kernels, *(path for _, path in modules())]}
    assert len(lengths) > 100
    assert {path.name: n for path, n in lengths.items() if n > MOST_LINES} == {}


def test_rooms_import_what_they_may() -> None:
    """No module imports from a room that its own may not know, anywhere in its code."""
    for room, path in modules():
        if room:
            assert trespasses(room, path.read_text()) == set(), path
        elif path.stem in BASE:
            names = {name.removeprefix(f"{PACKAGE}.") for name in imported(path.read_text()) if PACKAGE in name}
            assert names <= BASE | {"__version__"}


@pytest.mark.parametrize(
    "planted",
    [
        *("import os", "import threading", "import zarr", "from mpi4py import MPI", "import time", "import importlib"),
        *(f"from {PACKAGE} import rules", f"from {PACKAGE}.rules import Rules", f"from {PACKAGE}.errors import short"),
        *(
            f"from {PACKAGE}.game.rules import Rules",
            f"from {PACKAGE}.storage import store",
            "from ..game import rules",
        ),
        *("def f():\n    import os.path", "__import__('os')", f"import {PACKAGE}", f"from {PACKAGE} import open_table"),
    ],
)
def test_planted_imports_are_found(planted: str) -> None:
    """In whichever module of the engine somebody puts it, an import of a game, a disk or a thread is a trespass."""
    sources = [path.read_text() for room, path in modules() if room == "engine"]
    assert len(sources) > 6
    for source in sources:
        assert trespasses("engine", source) == set()
        assert len(trespasses("engine", f"{source}\n{planted}\n")) == 1


def test_the_map_is_the_whitelist() -> None:
    """CONTRIBUTING.md's table of rooms says what this test allows, and names every room."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    listed = {
        room: set(re.findall(r"`(\w+)/`", cells))
        for room, cells in re.findall(r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|$", text, re.MULTILINE)
    }
    assert listed == ROOMS


def test_the_runtime_knows_no_game() -> None:
    """Nothing below the games speaks of them, and only one module each knows MPI and Zarr."""
    knowing: dict[str, set[str]] = {"mpi4py": set(), "zarr": set()}
    for room, path in modules():
        source = path.read_text()
        if room in {"engine", "storage", "runtime"}:
            prose = re.sub("yahtzee_?cluster", "", source.lower())
            for word in ("dice", "categor", "player", "yahtzee", "roll", "score", "anchor", "game"):
                assert word not in prose, (path, word)
        for library, paths in knowing.items():
            if any(name.split(".")[0] == library for name in imported(source)):
                paths.add(path.stem)
    assert knowing == {"mpi4py": {"mpi"}, "zarr": {"claim"}}


def test_the_judge_shares_only_the_rules() -> None:
    """The reference imports nothing from the program but the rules."""
    source = (ROOT / "yahtzee_cluster" / "game" / "reference.py").read_text()
    assert {name for name in imported(source) if PACKAGE in name} == {"yahtzee_cluster.game.rules"}


def test_kernels_import_little() -> None:
    """The Cython sources import each other, the dice and the errors, and nothing else of the package."""
    for path in (ROOT / "kernels").glob("*.p[yx][xdi]"):
        lines = [line for line in path.read_text().splitlines() if re.match("(from|c?import) ", line)]
        used = {line.split()[1] for line in lines if PACKAGE in line}
        types = {"game.anchors", "game.moves"} if path.suffix == ".pyi" else set()
        allowed = {f"{PACKAGE}.{name}" for name in {"game.dice", "errors"} | types}
        assert {name for name in used if not name.startswith(f"{PACKAGE}.kernels.")} <= allowed, path.name


def test_one_version() -> None:
    """The package, its metadata and CITATION.cff give the same version."""
    assert f'\nversion = "{yahtzee_cluster.__version__}"\n' in (ROOT / "pyproject.toml").read_text()
    assert f"\nversion: {yahtzee_cluster.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_repository_holds_sources_alone() -> None:
    """Nothing that a command makes is in it: no tables, no large files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=False, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("no repository here")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    assert len(paths) > 100
    assert [path for path in paths if path.name in {"zarr.json", ".lock"} or path.name.startswith("core")] == []
    assert [path for path in paths if path.exists() and path.stat().st_size > 200_000] == []


def test_built_wheel_works_elsewhere(tmp_path: Path) -> None:
    """The wheel holds one top-level package, and runs from another folder without the checkout."""
    wheel = built_wheel(tmp_path)
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"yahtzee_cluster"}
    for path in (
        "game/presets/yahtzee.toml",
        "analysis/page.css",
        "analysis/page.js",
        "web/page/index.html",
        "web/answer.schema.json",
    ):
        assert f"yahtzee_cluster/{path}" in names
    for folder, kind in {
        "jobs": "*.toml",
        "strategies": "*.toml",
        "slurm": "*.sh",
        "examples": "*.py",
        "examples/tsplib": "*.tsp",
    }.items():
        assert {f"yahtzee_cluster/{folder}/{path.name}" for path in (ROOT / folder).glob(kind)} <= {*names}
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    program = (
        f"import sys; sys.path.insert(0, {str(target)!r}); import yahtzee_cluster.kernels as k; print(k.__file__); "
    )
    program += "from yahtzee_cluster.commands.cli import main; main(['expected', '--rules', 'yacht'])"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True
    )
    assert str(target) in result.stdout
    assert "mean       169.7739   published 169.8" in result.stdout
