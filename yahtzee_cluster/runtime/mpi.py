"""MPI, as far as this program uses it. The only module that imports it.

No rank blocks inside MPI, where waiting spins and takes a whole core: a rank with nothing to do polls for messages,
with exponential back-off.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias, cast

import mpi4py

mpi4py.rc.initialize = False  # only after the supervisor has forked the rank
mpi4py.rc.finalize = True

try:
    from mpi4py import MPI

    MISSING = ""
except (ImportError, RuntimeError) as error:  # it loads the library of an MPI, and brings none
    MISSING = str(error).partition("\n")[0]

from yahtzee_cluster.errors import RESUMES, UsageError, YahtzeeClusterError  # noqa: E402
from yahtzee_cluster.runtime.environment import (  # noqa: E402
    NETMOD,
    SHARED_MEMORY,
    is_first_on_host,
    launched_ranks,
    may_have_company,
    prepare_mpi,
)
from yahtzee_cluster.runtime.heartbeat import Leases  # noqa: E402
from yahtzee_cluster.runtime.messages import Message  # noqa: E402

Ranks: TypeAlias = "MPI.Intracomm"

MASTER = 0
PROBES = 3
"""Probes in each poll: an MPI may need more than one before it reports a message that has arrived."""
SHORTEST_S, MASTER_LONGEST_S, IDLE_LONGEST_S, SOLVING_LONGEST_S = 20e-6, 2e-3, 5e-3, 50e-3
"""Back-off between two polls: doubled after each poll without a message, up to the longest.

It is longest for a worker that is solving a class, which wakes at once when the class is solved.
"""
SHARED_NEEDED = {"ucx": (0, 11 << 19), "ofi": (24 << 20, 3 << 19)}
"""Shared memory that MPICH needs with each library, per host and per rank; with less it crashes."""
STARTING_S = 30
"""Time within which a launcher starts all ranks of a job."""
SEGMENTS = rf"{SHARED_MEMORY}/(mpich_shm_\w+|\d+:\d+:\d+)"
"""MPICH's segments of shared memory, and those of libfabric, which begin with the number of the process."""


class UnreachableError(YahtzeeClusterError):
    """A rank without which this one cannot continue no longer answers."""


# ------------------------------------------------------------------------------------ beginning and end


def world(with_threads: bool = False) -> Ranks:
    """Initialise MPI, wait for all ranks, and return them; refuse ranks that were not started as one job.

    `with_threads` says that several threads of a rank call MPI.
    """
    if MISSING:
        return _alone()
    if not MPI.Is_initialized():
        prepare_mpi()
        _check_shared_memory()
        MPI.Init_thread(MPI.THREAD_MULTIPLE if with_threads else MPI.THREAD_FUNNELED)
    comm = MPI.COMM_WORLD
    for name, number in launched_ranks().items():
        if comm.size == 1:
            raise UsageError(
                f"{name} says that {number} ranks were started, but they do not find each other: start them with the "
                "mpirun of the MPI that mpi4py uses (.venv/bin/mpirun after `make setup`), or with srun --mpi=pmi2"
            )
    barrier(comm)
    # By now all ranks of a host have mapped its shared memory; once unlinked, it is freed however they end.
    for name in re.findall(SEGMENTS, Path("/proc/self/maps").read_text(encoding="utf-8")):
        if not name[0].isdigit() or name.startswith(f"{os.getpid()}:"):
            Path(SHARED_MEMORY, name).unlink(missing_ok=True)
    return comm


@contextmanager
def other_ranks() -> Iterator[Executor | None]:
    """All ranks but the first, as an executor for it; on them None, when there is nothing left to execute."""
    comm = world(with_threads=True)
    from mpi4py.futures import MPICommExecutor  # noqa: PLC0415  # needs what is initialised by now

    with MPICommExecutor(comm, root=MASTER) as executor:
        yield cast("Executor | None", executor)


def _alone() -> Ranks:
    """This process without MPI; refused behind a launcher, where each rank would compute everything by itself."""
    if may_have_company():
        if not is_first_on_host():
            raise SystemExit(UsageError.exit_code)  # one line is enough
        raise UsageError(
            f"several ranks need an MPI, and none can be loaded here ({MISSING}): "
            'pip install "yahtzee_cluster[mpich]" brings one, with its mpirun'
        )
    return cast("Ranks", SimpleNamespace(rank=MASTER, size=1))


def _check_shared_memory() -> None:
    """Refuse a host on which MPICH would crash; all its ranks do so, since MPI has no way yet to end the others."""
    n_ranks = os.environ.get("MPI_LOCALNRANKS", "")
    if not (SHARED_MEMORY.is_dir() and n_ranks.isdecimal()):
        return
    taken = 0
    for path in SHARED_MEMORY.iterdir():  # already taken by ranks that started earlier
        with suppress(FileNotFoundError):
            found = path.lstat()
            is_new = re.fullmatch(SEGMENTS, str(path)) and time.time() - found.st_mtime < STARTING_S
            taken += found.st_blocks if is_new else 0
    in_all, per_rank = SHARED_NEEDED["ofi" if os.environ.get(NETMOD) == "ofi" else "ucx"]
    needed, free = in_all + int(n_ranks) * per_rank, shutil.disk_usage(SHARED_MEMORY).free + 512 * taken
    if free >= needed:
        return
    if not is_first_on_host():
        raise SystemExit(UsageError.exit_code)  # one line is enough
    raise UsageError(
        f"{SHARED_MEMORY} has room for {free >> 20} MB, and {n_ranks} ranks on this host need {-(-needed >> 20)} MB of "
        "it for their messages: make it larger (`--shm-size` of a container, or `mount -o remount,size=…`)"
    )


def barrier(comm: Ranks, limit_s: float = math.inf) -> None:
    """Barrier that polls with back-off and times out; MPI_Barrier spins and never does."""
    everybody = range(comm.size)
    leases, request = Leases(everybody, limit_s), comm.Ibarrier()
    while not request.Test():
        if leases.expired() is not None:
            raise UnreachableError(f"not all ranks have come to leave together in {limit_s:g} s")
        time.sleep(IDLE_LONGEST_S)


def finalize() -> None:
    """Call MPI_Finalize, at the same time as all other ranks: one that exits without it may be taken for dead."""
    if not MISSING:
        MPI.Finalize()


def is_finalized() -> bool:
    """Whether MPI can no longer be used."""
    return bool(MISSING) or MPI.Is_finalized()


def library_version() -> str:
    """Name and version of the MPI library, in one line."""
    return "none" if MISSING else MPI.Get_library_version().strip("\0\n ").splitlines()[0]


# ------------------------------------------------------------------------------------------- messages


def receive(
    comm: Ranks, longest_s: float, meanwhile: Callable[[], tuple[int, Message] | None] = lambda: None
) -> tuple[int, Any]:
    """Return the next message and its source; polls with back-off, and calls `meanwhile`, which may supply one."""
    pause = SHORTEST_S
    while not (message := receive_now(comm) or meanwhile()):
        time.sleep(pause)
        pause = min(2 * pause, longest_s)
    return message


def receive_now(comm: Ranks) -> tuple[int, Any] | None:
    """The next message and its source, if one is there."""
    status = MPI.Status()
    if any(comm.iprobe(status=status) for _ in range(PROBES)):
        return status.source, comm.recv(source=status.source)
    return None


class Outbox:
    """Messages under way. Sending never blocks, because the receiver may be dead or frozen."""

    def __init__(self, comm: Ranks) -> None:
        self._comm = comm
        self._under_way: deque[MPI.Request] = deque()

    def send(self, message: object, rank: int) -> None:
        """Send a message to a rank, without waiting for it to arrive."""
        while self._under_way and self._under_way[0].test()[0]:
            self._under_way.popleft()
        try:
            self._under_way.append(self._comm.isend(message, rank))
        except MPI.Exception as error:
            raise UnreachableError(f"rank {rank} cannot be reached: {error}; {RESUMES}") from error
