"""A run on many ranks: rank 0 schedules, the others compute. The only module that knows MPI.

Messages carry class ids and small facts; tables travel by way of the shared disk.
Nobody waits inside MPI, where waiting burns a core: whoever has nothing to do looks for messages, and sleeps longer and
longer in between.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpi4py

from yahtzee_cluster.crew import ClassFailedError, Crew, Usage
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.partition import ClassId
from yahtzee_cluster.schedule import Event, Instruction, Joined, Schedule

mpi4py.rc.thread_level = "funneled"  # one thread of each rank speaks
SHARED = Path("/dev/shm")  # noqa: S108
SHARED_BYTES = 256 << 20
if SHARED.is_dir() and shutil.disk_usage(SHARED).total < SHARED_BYTES:
    # A container's usual 64 MB; MPICH's first choice takes more for a dozen ranks and crashes, this one a fifth of it.
    os.environ.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")

from mpi4py import MPI  # noqa: E402

Ranks = MPI.Intracomm

log = logging.getLogger(__name__)

MASTER = 0
PROBES = 3
"""An MPI may need to be asked more than once before it sees a message that is there."""
SHORTEST_S, MASTER_LONGEST_S, IDLE_LONGEST_S, SOLVING_LONGEST_S = 20e-6, 2e-3, 5e-3, 50e-3
"""How long to sleep between two looks: doubled each time nothing came, at most so long.

Nothing is urgent for a worker that is solving a class; that it is solved wakes it at once.
"""

LAUNCHED_RANKS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")
"""What launchers tell the processes that they start."""


class WorkerFailedError(YahtzeeClusterError):
    """A rank could not go on."""

    def __init__(self, rank: int, host: str, problem: str) -> None:
        super().__init__(rank, host, problem)
        self.rank = rank
        self.host = host
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"rank {self.rank} on {self.host}: {self.problem}; what was committed is kept, and the same command goes "
            "on from there"
        )


# --------------------------------------------------------------------------------------- what ranks say


@dataclass(frozen=True)
class Ready:
    """A worker can begin; these are the cores that it may run on."""

    host: str
    cores: frozenset[int]


@dataclass(frozen=True)
class Check:
    """See which of these classes are as they were committed."""

    classes: tuple[ClassId, ...]


@dataclass(frozen=True)
class Checked:
    """These are."""

    sound: tuple[ClassId, ...]


@dataclass(frozen=True)
class Failed:
    """A worker cannot go on."""

    host: str
    problem: str
    details: str


@dataclass(frozen=True)
class Stop:
    """Nothing more is to be done: finish what you have begun, and leave."""


@dataclass(frozen=True)
class Leaving:
    """A worker has finished everything that it had begun, and has spent so much in all."""

    usage: Usage


# ------------------------------------------------------------------------------------------- both sides


def library_version() -> str:
    """Which MPI this is, in one line."""
    return MPI.Get_library_version().strip("\0\n ").splitlines()[0]


def world() -> Ranks:
    """All ranks, once it is sure that they were started as one job."""
    comm = MPI.COMM_WORLD
    for name in LAUNCHED_RANKS:
        number = os.environ.get(name, "")
        if comm.size == 1 and number.isdecimal() and int(number) > 1:
            raise UsageError(
                f"{name} says that {number} ranks were started, but they do not find each other: start them with the "
                "mpirun of the MPI that mpi4py uses (.venv/bin/mpirun after `make setup`), or with srun --mpi=pmi2"
            )
    return comm


def receive(comm: Ranks, longest_s: float, meanwhile: Callable[[], None] = lambda: None) -> tuple[int, Any]:
    """The next message and where it comes from; `meanwhile` is called now and then until there is one."""
    pause = SHORTEST_S
    while not (message := receive_now(comm)):
        meanwhile()
        time.sleep(pause)
        pause = min(2 * pause, longest_s)
    return message


def receive_now(comm: Ranks) -> tuple[int, Any] | None:
    """The next message and where it comes from, if there is one."""
    status = MPI.Status()
    if any(comm.iprobe(status=status) for _ in range(PROBES)):
        return status.source, comm.recv(source=status.source)
    return None


def leave_together(comm: Ranks) -> None:
    """Wait asleep until all ranks are here: MPI would wait awake for them to end."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(IDLE_LONGEST_S)


# --------------------------------------------------------------------------------------------- the master


class Team:
    """The workers, as the master sees them."""

    def __init__(self, comm: Ranks) -> None:
        self._comm = comm
        self._ranks = range(1, comm.size)
        self.n_workers = len(self._ranks)
        self._joined: list[Event] = []
        self._usage: Usage | None = None

    def begin(self, orders: object) -> None:
        """Tell all workers what they need to know before they can do anything."""
        for rank in self._ranks:
            self._comm.send(orders, rank)

    def check(self, classes: Sequence[ClassId]) -> list[ClassId]:
        """Those of the classes on disk that are as they were committed."""
        for rank in self._ranks:
            self._comm.send(Check(tuple(classes[rank - 1 :: self.n_workers])), rank)
        sound: list[ClassId] = []
        n_left = self.n_workers
        while n_left:
            match self._receive():
                case Checked(some):
                    sound += some
                    n_left -= 1
                case joined:
                    self._joined += joined
        return sound

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Have everything computed that is left to compute."""
        self._tell(schedule, self._joined)
        while not schedule.finished:
            self._tell(schedule, self._receive(show))

    def dismiss(self) -> Usage:
        """Let all workers finish what they have begun, and leave; say what they have spent."""
        if self._usage is None:
            for rank in self._ranks:
                self._comm.send(Stop(), rank)
            self._usage, n_left = Usage(), self.n_workers
            while n_left:
                _, message = receive(self._comm, MASTER_LONGEST_S)
                if isinstance(message, Leaving):
                    self._usage += message.usage
                    n_left -= 1
        return self._usage

    def _tell(self, schedule: Schedule, events: Sequence[Event]) -> None:
        orders: dict[int, list[Instruction]] = {}
        for event in events:
            for instruction in schedule.handle(event):
                orders.setdefault(instruction.worker, []).append(instruction)
        for rank, instructions in orders.items():
            self._comm.send(instructions, rank)

    def _receive(self, show: Callable[[], None] = lambda: None) -> Any:
        rank, message = receive(self._comm, MASTER_LONGEST_S, show)
        if isinstance(message, Failed):
            log.error("rank %d on %s:\n%s", rank, message.host, message.details)
            raise WorkerFailedError(rank, message.host, message.problem)
        return [Joined(rank, message.host, message.cores)] if isinstance(message, Ready) else message


# -------------------------------------------------------------------------------------------- the workers


def run_worker(comm: Ranks, crew_of: Callable[[Any], Crew]) -> None:
    """Do what the master says until it says no more; `crew_of` makes a crew out of the master's orders."""
    _, orders = receive(comm, IDLE_LONGEST_S)
    usage = Usage()
    try:
        if not isinstance(orders, Stop):
            crew = crew_of(orders)
            comm.send(Ready(socket.gethostname(), frozenset(os.sched_getaffinity(0))), MASTER)
            try:
                _obey(comm, crew)
            finally:
                usage = crew.usage
                crew.close()
    except Exception as error:  # whatever it is, the master must hear of it
        comm.send(_failure(error), MASTER)
        while not isinstance(receive(comm, IDLE_LONGEST_S)[1], Stop):
            pass
    comm.send(Leaving(usage), MASTER)


def _obey(comm: Ranks, crew: Crew) -> None:
    pause = SHORTEST_S
    while True:
        while received := receive_now(comm):
            pause = SHORTEST_S
            match received[1]:
                case Stop():
                    crew.finish()
                    return
                case Check(classes):
                    comm.send(Checked(tuple(cls for cls in classes if crew.store.is_sound(cls))), MASTER)
                case instructions:
                    for instruction in instructions:
                        crew.handle(instruction)
        pause = min(2 * pause, SOLVING_LONGEST_S if crew.worker.solving else IDLE_LONGEST_S)
        if events := crew.wait(pause):
            comm.send(events, MASTER)
            pause = SHORTEST_S


def _failure(error: Exception) -> Failed:
    problem = str(error) if isinstance(error, ClassFailedError) else f"{type(error).__name__}: {error}"
    return Failed(socket.gethostname(), problem, "".join(traceback.format_exception(error)))
