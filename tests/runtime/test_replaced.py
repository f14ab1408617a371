"""Ranks and runs that outlive what they were part of, and frozen guards: real processes, and real kills."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from file_systems import SYSTEM_PATH, make_file_system, missing, mounted
from launch import (
    IS_HYDRA,
    MPIRUN,
    YAHT,
    YAHT_SHA256,
    calling,
    descendants,
    is_there,
    n_classes,
    signal_to,
    slow,
    started,
)
from logged_disk import served

RUN = [sys.executable, "-m", "yahtzee_cluster.run"]
GAME = ["--rules", "yaht", "--objective", "utility", "--G", "0", "--json"]
OLD, NEW = [*GAME, "--goal", "power:0.5"], [*GAME, "--goal", "power:2"]


def wait_for(fact: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both tables, as nobody has disturbed them."""
    folder = tmp_path_factory.mktemp("references")
    for name, flags in (("old", OLD), ("new", NEW)):
        subprocess.run([*RUN, *flags, "--store", str(folder / name)], check=True, timeout=300, capture_output=True)
    return folder


def assert_the_same(table: Path, reference: Path) -> None:
    """Every class is there, byte for byte."""
    assert n_classes(table) == n_classes(reference)
    for path in (reference / "classes").rglob("*"):
        if path.is_file():
            assert (table / path.relative_to(reference)).read_bytes() == path.read_bytes(), path


def remove(table: Path) -> None:
    shutil.rmtree(table)


def move(table: Path) -> None:
    table.rename(table.with_name("elsewhere"))


def leave(_: Path) -> None:
    """Nothing is done to the table."""


@pytest.mark.parametrize(("deed", "after"), [(remove, NEW), (move, NEW), (leave, OLD), (leave, None), (remove, None)])
def test_a_worker_that_outlives_its_run(
    deed: Callable[[Path], None], after: list[str] | None, references: Path, tmp_path: Path
) -> None:
    """A worker frozen while the rest of its run is killed writes nothing when it wakes up.

    Not into another table that was begun under the same path, not into the same one that another run goes on with,
    and not where there is no run at all.
    """
    table = tmp_path / "table"
    with started([MPIRUN, "-n", "3", *slow(2, *OLD, "--lease", 4, "--store", table)]) as old:
        old.wait_until(old.is_slow)
        worker = int(re.findall(r"slow (\d+)", old.stderr.read_text())[0])
        guard = next(guard for rank, guard in old.guards.items() if old.ranks[rank] == worker)
        signal_to(worker, signal.SIGSTOP)
        for pid in {old.pid, *descendants(old.pid)} - {worker, guard}:
            signal_to(pid, signal.SIGKILL)
        before = n_classes(table)
        deed(table)
        try:
            if after is None:
                signal_to(worker, signal.SIGCONT)
                wait_for(lambda: not is_there(worker), 90)
                assert not (table / "classes").exists() or n_classes(table) == before
                return
            with started([MPIRUN, "-n", "2", *slow(2, *after, "--store", table)]) as new:
                new.wait_until(new.is_slow)
                signal_to(worker, signal.SIGCONT)
                result = new.end(90)
            assert result.returncode == 0, result.stderr
            assert_the_same(table, references / ("new" if after == NEW else "old"))
            summary = json.loads(result.stdout)
            n_kept = before if deed == leave else 0
            assert summary["classes_computed"] == summary["classes"] - n_kept
            assert sorted(path.name for path in table.iterdir()) == ["classes", "index", "zarr.json"]
            wait_for(lambda: not is_there(worker), 90)
        finally:
            for pid in (worker, guard):
                signal_to(pid, signal.SIGKILL)


@pytest.mark.parametrize("launcher", [[], [MPIRUN, "-n", "3"]])
def test_a_run_whose_table_is_replaced(launcher: list[str], references: Path, tmp_path: Path) -> None:
    """A run whose directory is removed ends with one line within seconds, and the one that takes its place is right."""
    table = tmp_path / "table"
    with started([*launcher, *slow(20, *OLD, "--store", table)]) as old:
        old.wait_until(old.is_slow)
        shutil.rmtree(table)
        removed = time.monotonic()
        with started([*launcher, *slow(3, *NEW, "--store", table)]) as new:
            old.wait_until(lambda: "was removed" in old.stderr.read_text())
            assert time.monotonic() - removed < 10
            result = new.end(60)
        assert result.returncode == 0, result.stderr
        assert_the_same(table, references / "new")
        ended = old.end(60)
    assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
    complaints = [line for line in ended.stderr.splitlines() if "yahtzee_cluster.run: " in line]
    what = "was removed, or taken over by another run, while this one wrote it; nothing more is written"
    assert complaints == [f"python -m yahtzee_cluster.run: {table}: {what}"]
    assert_the_same(table, references / "new")


SLOW_TO_BEGIN = """
import sys, time
from yahtzee_cluster import run
from yahtzee_cluster.storage import claim
from yahtzee_cluster.runtime import command

columns = claim._index_columns

def slow_columns(*arguments):
    print("slow", 4, file=sys.stderr, flush=True)
    time.sleep(4)
    return columns(*arguments)

claim._index_columns = slow_columns
command.run(run.COMMAND)
"""


@pytest.mark.parametrize("launcher", [[], [MPIRUN, "-n", "3"]])
def test_a_run_that_is_replaced_while_it_begins(launcher: list[str], references: Path, tmp_path: Path) -> None:
    """A run whose directory is removed before its table is begun changes nothing in the one that is there by then."""
    table = tmp_path / "table"
    with started([*launcher, sys.executable, "-c", SLOW_TO_BEGIN, *OLD, "--store", table]) as old:
        old.wait_until(old.is_slow)
        shutil.rmtree(table)
        subprocess.run([*RUN, *NEW, "--store", str(table)], check=True, timeout=60, capture_output=True)
        ended = old.end(60)
    assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
    assert len([line for line in ended.stderr.splitlines() if "yahtzee_cluster.run: " in line]) == 1
    assert_the_same(table, references / "new")
    assert (table / "zarr.json").read_text().count("power:2") == 1
    assert sorted(path.name for path in table.iterdir()) == ["classes", "index", "zarr.json"]


@pytest.mark.skipif(not IS_HYDRA, reason="-disable-auto-cleanup is a flag of MPICH's launcher")
def test_a_death_in_another_run(tmp_path: Path) -> None:
    """A rank of an old run that dies while a new one goes on takes nobody of the new one with it."""
    table = tmp_path / "table"
    with started([MPIRUN, "-n", "3", *slow(60, *OLD, "--store", table)]) as old:
        old.wait_until(old.is_slow)
        worker = int(re.findall(r"slow (\d+)", old.stderr.read_text())[0])
        rank = next(rank for rank, pid in old.ranks.items() if pid == worker)
        guard = old.guards[rank]
        signal_to(worker, signal.SIGSTOP)
        for pid in {old.pid, *descendants(old.pid)} - {worker, guard}:
            signal_to(pid, signal.SIGKILL)
        command = [MPIRUN, "-disable-auto-cleanup", "-n", "3", *slow(3, *OLD, "--store", table)]
        with started(command) as new:
            new.wait_until(new.is_slow)
            signal_to(worker, signal.SIGKILL)
            wait_for(lambda: not is_there(guard))
            result = new.end(60)
    assert result.returncode == 0, result.stderr
    assert "is dead" not in result.stderr


@pytest.mark.parametrize("ranks", [[0], [1], [0, 1, 2]])
def test_frozen_guards(ranks: list[int], tmp_path: Path) -> None:
    """A job whose guards are frozen ends like any other."""
    table = tmp_path / "table"
    with started([MPIRUN, "-n", "3", sys.executable, *YAHT, "--store", table, "--lease", "4"]) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        for rank in ranks:
            signal_to(job.guards[rank], signal.SIGSTOP)
        result = job.end(60)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["table_sha256"] == YAHT_SHA256


MOURNED = """
import os, signal, sys
from pathlib import Path
from yahtzee_cluster.runtime.supervisor import supervised

def main(note):
    note.identify("somebody")
    note.set_tombstone(Path(sys.argv[1]))
    os.kill(os.getpid(), signal.SIGKILL)

supervised(main)
"""


def test_a_death_that_nobody_can_be_told_of(tmp_path: Path) -> None:
    """A guard whose stderr is gone still leaves word for the master."""
    stone, (ours, theirs) = tmp_path / "dead-1", os.pipe()
    os.close(ours)
    try:
        command = [sys.executable, "-c", MOURNED, str(stone)]
        result = subprocess.run(command, stderr=theirs, timeout=30, check=False)
    finally:
        os.close(theirs)
    assert result.returncode == 128 + signal.SIGKILL
    assert stone.exists()


# ------------------------------------------------------------------------------------ a disk that does not answer


def on_a_disk_that_stops(folder: Path, away_s: float, timeout_s: int) -> subprocess.CompletedProcess[str]:
    """Run a job with a lease of 2 s on a disk that stops until it is complained of, and for some time more."""
    make_file_system("ext4", folder / "image")
    file = folder / "disk"
    with served(folder / "image", folder / "log", file) as server, mounted(file, "ext4", "defaults") as disk:
        table = disk / "table"
        flags = [*OLD, "--lease", "2", "--disk-timeout", timeout_s, "--store", table]
        with started([MPIRUN, "-n", "3", *slow(1, *flags)]) as job:
            job.wait_until(job.is_slow)
            signal_to(server, signal.SIGSTOP)
            try:
                job.wait_until(lambda: "not answered for" in job.stderr.read_text())
                time.sleep(away_s)
            finally:
                signal_to(server, signal.SIGCONT)
            result = job.end(60)
        wait_for(lambda: not any(map(is_there, [job.pid, *descendants(job.pid)])))
        if result.returncode:
            with started([MPIRUN, "-n", "3", *RUN, *OLD, "--store", table]) as job:
                assert job.end(60).returncode == 0
        return result


def inside(folder: str, away_s: str, timeout_s: str) -> None:
    """The same in a mount namespace of its own; prints what came of it."""
    result = on_a_disk_that_stops(Path(folder), float(away_s), int(timeout_s))
    print(json.dumps([result.returncode, result.stdout, result.stderr]))


@pytest.mark.parametrize(("away_s", "timeout_s", "code"), [(3, 20, 0), (4, 4, 1)])
def test_a_disk_that_does_not_answer(away_s: int, timeout_s: int, code: int, tmp_path: Path) -> None:
    """A run outlives a disk that is away for longer than the lease; one that is away for too long is named.

    After that the same command goes on.
    """
    if why := missing("ext4", tmp_path):
        pytest.skip(why)
    result = subprocess.run(
        ["unshare", "--mount", *calling(inside, tmp_path, away_s, timeout_s)],
        env=os.environ | {"PATH": SYSTEM_PATH},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    ended, stdout, stderr = json.loads(result.stdout)
    assert ended == code, stderr
    assert "has said nothing" not in stderr
    warned = rf"disk has not answered for {timeout_s / 4:g} s; the run waits for up to {timeout_s} s \(--disk-timeout\)"
    assert re.search(warned, stderr)
    if code:
        assert len(re.findall(r"yahtzee_cluster.run: .*disk has not answered for 4 s \(--disk-timeout\)", stderr)) == 1
    else:
        assert "its disk answers again" in stderr
        assert json.loads(stdout)["table_sha256"]
