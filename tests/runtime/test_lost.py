"""Ranks that are killed, stopped or cut off: the job ends at once and says who it was, or goes on without them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from launch import IS_HYDRA, MPIRUN, YAHT, YAHT_SHA256, finished, is_there, n_classes, signal_to, started

from yahtzee_cluster.runtime import heartbeat
from yahtzee_cluster.runtime.heartbeat import LONGEST_STEP_S, Leases

KILLED = r"yahtzee_cluster.run: rank {} on \S+, {}, was killed by SIGKILL, .*; what was committed is kept, and the same"
WORKER_DOES = r"(computing class \d\d-[0-9a-f]+|with nothing to do)"
needs_hydra = pytest.mark.skipif(not IS_HYDRA, reason="-disable-auto-cleanup is a flag of MPICH's launcher")


def the_rest_is_computed(n_ranks: int, table: Path) -> None:
    """The same command computes what is not there, and the table is right."""
    there = n_classes(table)
    resumed = finished(n_ranks, table)
    assert (resumed["table_sha256"], resumed["classes_computed"]) == (YAHT_SHA256, resumed["classes"] - there)
    assert sorted(path.name for path in table.iterdir()) == ["classes", "index", "zarr.json"]


@pytest.mark.parametrize(("rank", "doing"), [(0, "the master"), (1, WORKER_DOES), (2, WORKER_DOES)])
def test_killed_rank(rank: int, doing: str, tmp_path: Path) -> None:
    """After kill -9 of a rank the job ends within seconds, names the rank and its class, and can be resumed."""
    table = tmp_path / "table"
    with started([MPIRUN, "-n", "3", sys.executable, *YAHT, "--store", table]) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        maps = Path(f"/proc/{job.ranks[rank]}/maps").read_text().splitlines()
        assert all(line.endswith(" (deleted)") for line in maps if "mpich_shm" in line), "it would leave memory behind"
        signal_to(job.ranks[rank], signal.SIGKILL)
        killed = time.monotonic()
        result = job.end(20)
    assert time.monotonic() - killed < 5
    assert result.returncode != 0
    assert len(re.findall(KILLED.format(rank, doing), result.stderr)) == 1
    the_rest_is_computed(3, table)


def test_killed_guard(tmp_path: Path) -> None:
    """A rank does not outlive its guard."""
    table = tmp_path / "table"
    with started([MPIRUN, "-n", "3", sys.executable, *YAHT, "--store", table]) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        ranks = job.ranks
        signal_to(job.guards[2], signal.SIGKILL)
        assert job.end(20).returncode != 0
    deadline = time.monotonic() + 5
    while any(map(is_there, ranks.values())):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    the_rest_is_computed(3, table)


@needs_hydra
@pytest.mark.parametrize(
    ("signum", "lease_s", "why"),
    [(signal.SIGKILL, "600", "is dead"), (signal.SIGSTOP, "2", "has said nothing for 2 s")],
)
def test_going_on_without_a_worker(signum: int, lease_s: str, why: str, tmp_path: Path) -> None:
    """Where the launcher lets the others go on, they do so without a rank that is dead, at once, or that is silent."""
    table = tmp_path / "table"
    command = [MPIRUN, "-disable-auto-cleanup", "-n", "3", sys.executable, *YAHT, "--store", table, "--lease", lease_s]
    with started(command) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        signal_to(job.ranks[1], signum)
        result = job.end(30)
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["table_sha256"], summary["classes_computed"]) == (YAHT_SHA256, summary["classes"])
    assert f"rank 1 {why}: it is lost" in result.stderr
    assert bool(re.search(KILLED.format(1, WORKER_DOES), result.stderr)) == (signum == signal.SIGKILL)
    assert finished(2, table)["classes_computed"] == 0


DIES_LATE = """
import os, signal, sys
from yahtzee_cluster import run
from yahtzee_cluster.runtime import command
from yahtzee_cluster.runtime.executor import Executor
from yahtzee_cluster.storage.store import Store

name, solved, write, solve = sys.argv.pop(1), sys.argv.pop(1), Store.write, Executor._solve

def dying(store, cls, block):
    write(store, cls, block)
    if store.place(cls).name == name:
        os.kill(os.getpid(), signal.SIGKILL)

def counted(executor, block, below):
    with open(solved, "a") as file:
        print(executor.store.place(executor.partition.class_of(int(block.subsets[0]))).name, file=file)
    return solve(executor, block, below)

Store.write, Executor._solve = dying, counted
command.run(run.COMMAND)
"""


@needs_hydra
def test_committed_before_it_died(tmp_path: Path) -> None:
    """A class that a worker committed, and had no time left to speak of, is not computed again."""
    table = tmp_path / "table"
    program = [sys.executable, "-c", DIES_LATE, "06-3", tmp_path / "solved", *YAHT[2:], "--store", table]
    with started([MPIRUN, "-disable-auto-cleanup", "-n", "3", *program]) as job:
        result = job.end(60)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["table_sha256"] == YAHT_SHA256
    assert "class 06-3 was committed" in result.stderr
    assert (tmp_path / "solved").read_text().splitlines().count("06-3") == 1


@needs_hydra
def test_without_any_worker(tmp_path: Path) -> None:
    """When the last worker is lost, the job ends."""
    table = tmp_path / "table"
    command = [MPIRUN, "-disable-auto-cleanup", "-n", "3", sys.executable, *YAHT, "--store", table]
    with started(command) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        for rank in (1, 2):
            signal_to(job.ranks[rank], signal.SIGKILL)
        result = job.end(20)
    assert result.returncode == 1
    assert "yahtzee_cluster.run: no worker is left; what was committed is kept" in result.stderr
    the_rest_is_computed(3, table)


FREEZES_AT_THE_END = """
import os, signal, sys
from yahtzee_cluster import run
from yahtzee_cluster.runtime import command
from yahtzee_cluster.runtime.coordinator import Coordinator
from yahtzee_cluster.runtime.worker_loop import MasterLink

frozen, leave, dismiss = int(sys.argv.pop(1)), MasterLink.leave, Coordinator.dismiss

def freezing(end):
    def freeze(self, *arguments):
        if self._comm.rank == frozen:
            os.kill(os.getpid(), signal.SIGSTOP)
        return end(self, *arguments)
    return freeze

MasterLink.leave, Coordinator.dismiss = freezing(leave), freezing(dismiss)
command.run(run.COMMAND)
"""


@needs_hydra
@pytest.mark.parametrize(("rank", "code"), [(0, 1), (1, 0)])
def test_frozen_at_the_end(rank: int, code: int, tmp_path: Path) -> None:
    """A rank that freezes when all is done keeps nobody waiting for longer than the lease."""
    table = tmp_path / "table"
    program = [sys.executable, "-c", FREEZES_AT_THE_END, rank, *YAHT[2:], "--store", table, "--lease", "2"]
    with started([MPIRUN, "-n", "3", *program]) as job:
        result = job.end(60)
    assert result.returncode == code, result.stderr
    assert n_classes(table) == 512
    assert finished(2, table)["table_sha256"] == YAHT_SHA256


@needs_hydra
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGSTOP])
def test_without_the_master(signum: int, tmp_path: Path) -> None:
    """Workers that hear nothing of the master leave, and say why."""
    table = tmp_path / "table"
    command = [MPIRUN, "-disable-auto-cleanup", "-n", "3", sys.executable, *YAHT, "--store", table, "--lease", "2"]
    with started(command) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        signal_to(job.ranks[0], signum)
        result = job.end(20)
    assert result.returncode == 1
    assert re.search(r"rank [12] on \S+: rank 0 has said nothing for 2 s; what was committed is kept", result.stderr)
    the_rest_is_computed(3, table)


def test_suspended_job(tmp_path: Path) -> None:
    """A whole job that is suspended for longer than the lease, and resumed, has lost nobody."""
    table = tmp_path / "table"
    with started([MPIRUN, "-n", "3", sys.executable, *YAHT, "--store", table, "--lease", "2"]) as job:
        job.wait_until(lambda: n_classes(table) >= 30)
        ranks = list(job.ranks.values())
        for signum in (signal.SIGSTOP, signal.SIGCONT):
            for pid in ranks:
                signal_to(pid, signum)
            time.sleep(4 if signum == signal.SIGSTOP else 0)
        result = job.end(30)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["table_sha256"] == YAHT_SHA256
    assert "has said nothing" not in result.stderr


# ------------------------------------------------------------------------------------------------ the parts


def test_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that is silent for longer than the limit is lost, once; one that speaks in time never is."""
    now = [100.0]
    monkeypatch.setattr(heartbeat, "monotonic", lambda: now[0])
    watched = Leases([1, 2, 3], limit_s=10)
    lost = []
    for _ in range(40):
        now[0] += 0.5
        if (other := watched.expired()) is not None:
            lost.append((other, now[0] - 100))
        watched.renew(2)
        if now[0] < 105:
            watched.renew(3)
    assert lost == [(1, 10.5), (3, 15.0)]
    assert watched.holders == [2]
    watched.renew(1)
    assert watched.holders == [2]


def test_watch_that_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time in which the watch itself did not look counts as a second at most, and as a quarter of a shorter limit."""
    now = [0.0]
    monkeypatch.setattr(heartbeat, "monotonic", lambda: now[0])
    watched = Leases([1], limit_s=4)
    for n in range(4):
        now[0] += 1000
        assert watched.expired() is None, n
    now[0] += LONGEST_STEP_S
    assert watched.expired() == 1
    short = Leases([1], limit_s=1)
    for n in range(4):
        now[0] += 1000
        assert short.expired() is None, n


def test_speaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that is watched with the same limit speaks several times before it is over."""
    now = [0.0]
    monkeypatch.setattr(heartbeat, "monotonic", lambda: now[0])
    watched = Leases([1], limit_s=10)
    spoke = []
    for _ in range(120):
        now[0] += 0.1
        watched.renew(1)
        watched.expired()
        if watched.heartbeat_due():
            spoke.append(now[0])
    assert spoke == pytest.approx([2.5, 5.0, 7.5, 10.0], abs=0.31)


GUARDED = """
import os, signal, sys, time
from yahtzee_cluster.runtime.supervisor import supervised

def main(note):
    note.identify("the one that was guarded")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
    print(os.getpid(), flush=True)
    how = sys.argv[1]
    if how == "wait":
        time.sleep(30)
    elif how.isdecimal():
        return int(how)
    else:
        os.kill(os.getpid(), getattr(signal, how))
    return 0

supervised(main)
"""


@pytest.mark.parametrize(
    ("how", "code", "said"),
    [
        ("0", 0, ""),
        ("3", 3, ""),
        ("SIGTERM", 75, ""),
        ("SIGSEGV", 139, "the one that was guarded was killed by SIGSEGV; what was committed is kept, "),
        ("SIGKILL", 137, "the one that was guarded was killed by SIGKILL, as the system does when memory is short; "),
    ],
)
def test_guard(how: str, code: int, said: str) -> None:
    """A guard leaves with the code of what it guards, and speaks only when that was killed."""
    command = [sys.executable, "-c", GUARDED, how]
    result = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert result.returncode == code
    assert result.stderr.startswith(said)
    assert bool(result.stderr) == bool(said)


def test_guard_forwards_signals() -> None:
    """A signal to the supervisor is meant for the rank."""
    command = [sys.executable, "-c", GUARDED, "wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as guard:
        assert guard.stdout is not None
        assert int(guard.stdout.readline()) != guard.pid
        os.kill(guard.pid, signal.SIGTERM)
        assert guard.wait(10) == 75
