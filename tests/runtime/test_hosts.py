"""A mini Beowulf: ranks on several hosts over TCP, one shared directory, and a host that is cut off."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import beowulf
import pytest
from beowulf import Beowulf
from launch import IS_HYDRA, YAHT, YAHT_SHA256, is_there, n_classes, started

MISSING = beowulf.missing()
pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=str(MISSING)),
    pytest.mark.skipif(not IS_HYDRA, reason="the flags are those of MPICH's launcher"),
]
LONGER = ["-m", "yahtzee_cluster.run", "--target", "60", "--G", "5", "--json", "--lease", "2"]
LONGER_SHA256 = "aed73961df207949e84ef88e33875f137c5a4e3326322a7bef298450f1108165"
"""Of the table that one process computes."""

TWO_EACH = {1: 2, 2: 2, 3: 2}


@pytest.fixture(scope="module")
def three_hosts() -> Iterator[Beowulf]:
    with beowulf.hosts(3) as up:
        yield up


def test_hosts_are_hosts(three_hosts: Beowulf) -> None:
    """Ranks on three hosts have three names and three addresses, and share no memory."""
    program = """
import socket, subprocess
from mpi4py import MPI
neighbours = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
mine = socket.gethostname(), subprocess.getoutput("hostname -I").strip(), neighbours.size
if found := MPI.COMM_WORLD.gather(mine):
    print(found)
"""
    with started(three_hosts.mpirun([], {1: 1, 2: 1, 3: 1}, [3, "-c", program])) as job:
        result = job.end()
    assert result.stdout == "[('h1', '10.99.0.1', 1), ('h2', '10.99.0.2', 1), ('h3', '10.99.0.3', 1)]\n", result.stderr


def test_same_table(three_hosts: Beowulf, tmp_path: Path) -> None:
    """Six ranks on three hosts compute the table that one host computes; each of them has computed some of it."""
    with started(three_hosts.mpirun([], TWO_EACH, [6, *YAHT, "--store", tmp_path / "table"])) as job:
        result = job.end()
    summary = json.loads(result.stdout)
    assert (summary["ranks"], summary["table_sha256"]) == (6, YAHT_SHA256)


def test_different_caches(three_hosts: Beowulf, tmp_path: Path) -> None:
    """Each host keeps its own bound; one that is too small for the table is refused, with its rank and host."""
    flags = [*YAHT, "--store", tmp_path / "table", "--cache"]
    with started(
        three_hosts.mpirun([], {1: 2, 2: 2, 3: 1}, [2, *flags, "64MB"], [2, *flags, "2MB"], [1, *flags, "1MB"])
    ) as job:
        result = job.end()
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["table_sha256"] == YAHT_SHA256
    assert summary["cache_peak_bytes"] <= 64 << 20
    with started(three_hosts.mpirun([], {1: 2, 3: 1}, [2, *flags, "64MB"], [1, *flags, "20KB"])) as job:
        result = job.end()
    assert result.returncode == 2
    assert "rank 2 on h3: --cache is too small here: a class of this table needs 1MB\n" in result.stderr


def test_directory_that_is_not_shared(three_hosts: Beowulf, tmp_path: Path) -> None:
    """A host that sees another directory under the same name is refused, with its rank."""
    arguments = [*YAHT, "--store", str(tmp_path / "table")]
    elsewhere = "import os, sys; os.execvp('unshare', ['unshare', '--mount', 'sh', '-c', *sys.argv[1:]])"
    mounted = f'mount -t tmpfs none {tmp_path} && exec "$@"'
    command = three_hosts.mpirun(
        [], {1: 2, 3: 1}, [2, *arguments], [1, "-c", elsewhere, mounted, "sh", sys.executable, *arguments]
    )
    with started(command) as job:
        result = job.end()
    assert result.returncode == 2, result.stderr
    assert (
        f"rank 2 on h3: {tmp_path}/table is not the directory that the master sees; name one on a disk" in result.stderr
    )


@pytest.mark.parametrize("flags", [[], ["-disable-auto-cleanup"]])
def test_host_cut_off(flags: list[str], three_hosts: Beowulf, tmp_path: Path) -> None:
    """When a host's network fails, the others finish the table; what it had begun is computed elsewhere."""
    table = tmp_path / "table"
    with started(three_hosts.mpirun(flags, TWO_EACH, [6, *LONGER, "--store", table])) as job:
        job.wait_until(lambda: n_classes(table) >= 60)
        with three_hosts.cut_off(3):
            result = job.end()
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["table_sha256"] == LONGER_SHA256
    assert result.stderr.count("has said nothing for 2 s: it is lost") == 2


def test_host_that_comes_back(three_hosts: Beowulf, tmp_path: Path) -> None:
    """A network that fails for less than the lease is nothing to speak of."""
    table = tmp_path / "table"
    with started(three_hosts.mpirun([], TWO_EACH, [6, *LONGER, "--lease", 10, "--store", table])) as job:
        job.wait_until(lambda: n_classes(table) >= 60)
        with three_hosts.cut_off(2):
            time.sleep(0.5)
        result = job.end()
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["table_sha256"] == LONGER_SHA256
    assert "has said nothing" not in result.stderr


def test_masters_host_cut_off(three_hosts: Beowulf, tmp_path: Path) -> None:
    """When the master's host is cut off, nobody hangs; the same command goes on when it is back."""
    table = tmp_path / "table"
    command = three_hosts.mpirun([], TWO_EACH, [6, *LONGER, "--store", table])
    with started(command) as job:
        job.wait_until(lambda: n_classes(table) >= 60)
        ranks = job.ranks.values()
        with three_hosts.cut_off(1):
            result = job.end()
            while any(map(is_there, ranks)):
                time.sleep(0.05)
    assert result.returncode != 0
    there = n_classes(table)
    with started(command) as job:
        result = job.end()
    summary = json.loads(result.stdout)
    assert summary["table_sha256"] == LONGER_SHA256
    assert summary["classes_computed"] == summary["classes"] - there
