"""Setting up on a machine that lacks something: one clear sentence and exit code 2."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from wheel_here import built_wheel

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with a shell and a Python, and no compiler."""
    for tool in ("sh", "dirname", "cat", "rm", "touch", "env"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    (tmp_path / "python3").symlink_to(sys.executable)
    return tmp_path


def setup(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if key not in ("CC", "MPI", "PYTHON", "MPICC")}
    return subprocess.run(
        [str(ROOT / "tools" / "setup.sh")],
        env=clean | {"PATH": str(path)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refusal(result: subprocess.CompletedProcess[str]) -> str:
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("setup: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


def test_no_compiler(bare_path: Path) -> None:
    """Without a C compiler, the set-up says so and how to get one."""
    assert "no C compiler; install one" in refusal(setup(bare_path))


def test_missing_named_compiler(bare_path: Path) -> None:
    """A compiler that is named and not there is not replaced by another one."""
    assert "no C compiler nocc here" in refusal(setup(bare_path, CC="nocc"))


def test_no_python(bare_path: Path) -> None:
    """Without the named Python, the set-up says which is needed."""
    assert "no python9 here; install Python 3.11 or newer" in refusal(setup(bare_path, PYTHON="python9"))


def test_old_python(bare_path: Path) -> None:
    """A Python that is too old is refused before anything is built."""
    old = bare_path / "python2"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    assert "older than Python 3.11" in refusal(setup(bare_path, PYTHON=str(old)))


def test_no_system_mpi(bare_path: Path) -> None:
    """MPI=system without an mpicc, and any other word, are refused."""
    true = shutil.which("true")
    assert true is not None
    assert "no mpicc for MPI=system" in refusal(setup(bare_path, MPI="system", CC=true))
    assert "MPI: expected wheel or system, found lam" in refusal(setup(bare_path, MPI="lam", CC=true))


def test_setup_is_quick_when_nothing_changed() -> None:
    """A second `make setup` has nothing to do."""
    question = subprocess.run(["make", "--question", "setup"], cwd=ROOT, capture_output=True, timeout=10, check=False)
    assert question.returncode == 0


def test_constraints_meet_the_requirements() -> None:
    """For every package that pyproject.toml requires, constraints.txt has a version that it allows."""
    tested = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().lower().splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for line in sum(project["optional-dependencies"].values(), start=project["dependencies"]):
        required = Requirement(line)
        version = tested.get(required.name) or tested[required.name.replace("-", "_")]
        assert version in required.specifier, line


def test_packages_that_cannot_be_fetched(bare_path: Path, tmp_path: Path) -> None:
    """Without apt-get, what unpacks Debian's packages says what goes without them, and makes no folder."""
    folder = tmp_path / "packages"
    command = [str(ROOT / "tools" / "unpack-packages.sh"), "vm", str(folder), "NFS is not tried", "nfs-common"]
    result = subprocess.run(
        command, env={"PATH": str(bare_path)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "vm: nothing of it here, and no apt-get to fetch it; NFS is not tried\n"
    assert not folder.exists()


@pytest.mark.program
def test_wheel_in_an_empty_environment(tmp_path: Path) -> None:
    """The wheel installs from nothing, computes alone without an MPI, and on three ranks with one."""
    wheel = built_wheel(tmp_path)
    command = [str(ROOT / "tools" / "try-wheel.sh"), str(wheel), sys.executable]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr
    assert f"{wheel.name}: works alone and on three ranks\n" in result.stdout
