"""A few power cuts under real runs; `make torture` holds many."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from launch import MPIRUN, SUPPORT
from logged_disk import PAGE_BYTES, RECORD, Log

POWER_CUTS = SUPPORT / "powercuts.py"
ONE, TWO, FLUSH = RECORD.pack(0, 1) + b"1", RECORD.pack(1, 1) + b"2", RECORD.pack(0, 0)


def cut(*flags: str, **environment: str) -> tuple[int, dict[str, Any]]:
    """Cut the power under runs; return the exit code and the report."""
    command = [sys.executable, str(POWER_CUTS), *flags]
    variables = os.environ | environment
    result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert result.stdout, result.stderr
    return result.returncode, json.loads(result.stdout)


def cut_here(*flags: str) -> tuple[int, dict[str, Any]]:
    """The same, where there is all that it takes."""
    code, report = cut(*flags)
    if report["skipped"]:
        pytest.skip(report["skipped"]["ext4"])
    return code, report


def test_power_cuts() -> None:
    """Whenever the power fails, what was acknowledged is there, and the same command computes the rest and no more."""
    code, report = cut_here("--cuts", "3", "--settings", "ext4*frontier*")
    assert [setting["broken"] for setting in report["settings"]] == [[], []]
    assert code == 0


def test_a_run_that_does_not_flush() -> None:
    """A program that takes classes for committed without flushing them is found out."""
    code, report = cut_here("--cuts", "1", "--settings", "ext4*all, ranks: 1", "--careless")
    assert {"kept", "once"} <= set(report["settings"][0]["cuts_that_broke"])
    assert code == 1


def test_without_what_it_takes(tmp_path: Path) -> None:
    """Where there can be no namespaces, or no loop devices, power cuts are skipped, and say why."""
    (tmp_path / "mpirun").symlink_to(str(shutil.which(MPIRUN)))
    code, report = cut(PATH=str(tmp_path))
    assert (code, report["settings"]) == (0, [])
    assert all(why in {"no unshare here", "only root may use loop devices"} for why in report["skipped"].values())
    assert set(report["skipped"]) == {"ext4", "xfs", "btrfs"}


@pytest.mark.parametrize(
    ("log", "share", "left"),
    [
        ([ONE, FLUSH, TWO], 0, b"10"),
        ([ONE, FLUSH, TWO], 1, b"12"),
        ([ONE, TWO], 0, b"00"),
        ([ONE, TWO, FLUSH], 0, b"12"),
        ([ONE, FLUSH, TWO, FLUSH], 0, b"12"),
    ],
)
def test_what_a_cut_leaves(log: list[bytes], share: float, left: bytes, tmp_path: Path) -> None:
    """What was flushed survives a power cut; of what was written after the last flush, as large a share as is said."""
    (tmp_path / "log").write_bytes(b"".join(log))
    image = tmp_path / "image"
    image.write_bytes(b"00")
    Log(tmp_path / "log").cut(image, len(b"".join(log)), share, Random(1))
    assert image.read_bytes() == left


def test_what_is_lost_may_lie_anywhere(tmp_path: Path) -> None:
    """Of several writes that were not flushed, some survive and others do not, in no order; none after the cut does."""
    pages = [RECORD.pack(n * PAGE_BYTES, PAGE_BYTES) + b"1" * PAGE_BYTES for n in range(64)]
    (tmp_path / "log").write_bytes(b"".join(pages))
    image = tmp_path / "image"
    image.write_bytes(b"0" * PAGE_BYTES * 64)
    Log(tmp_path / "log").cut(image, 32 * len(pages[0]), 0.5, Random(1))
    survived = [image.read_bytes()[n * PAGE_BYTES :][:PAGE_BYTES] == b"1" * PAGE_BYTES for n in range(64)]
    assert 8 < sum(survived) < 24
    assert survived != sorted(survived, reverse=True)
    assert not any(survived[32:])
