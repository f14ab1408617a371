"""A run on many ranks: rank 0 schedules, the others compute. The only module that knows MPI.

Messages carry class ids and small facts; tables travel by way of the shared disk.
Nobody waits inside MPI, where waiting burns a core: whoever has nothing to do looks for messages, and sleeps longer and
longer in between.
"""

from __future__ import annotations

import logging
import os
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import mpi4py

from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.partition import ClassId
from yahtzee_cluster.schedule import Event, Instruction, Joined, Schedule
from yahtzee_cluster.worker import ClassFailedError, Usage, Worker

mpi4py.rc.thread_level = "funneled"  # one thread of each rank speaks

from mpi4py import MPI  # noqa: E402

log = logging.getLogger(__name__)

MASTER = 0
PROBES = 3
"""An MPI may need to be asked more than once before it sees a message that is there."""
SHORTEST_S, MASTER_LONGEST_S, WORKER_LONGEST_S = 20e-6, 1e-3, 5e-3
"""How long to sleep between two looks: doubled each time nothing came, at most so long."""

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
            f"rank {self.rank} on {self.host} failed {self.problem}; what was finished is kept, and the same command "
            "goes on from there"
        )


# --------------------------------------------------------------------------------------- what ranks say


@dataclass(frozen=True)
class Ready:
    """A worker has all it needs to start; of the classes that it was to look at, these are sound."""

    host: str
    sound: tuple[ClassId, ...]


@dataclass(frozen=True)
class Failed:
    """A worker cannot go on."""

    host: str
    problem: str
    details: str


@dataclass(frozen=True)
class Leaving:
    """A worker has finished everything it had begun."""

    usage: Usage


@dataclass(frozen=True)
class Stop:
    """The master has nothing more to do: finish what you have begun, and leave."""


# ------------------------------------------------------------------------------------------- both sides


def world() -> MPI.Intracomm:
    """All ranks, once it is sure that they were started as one job."""
    comm = MPI.COMM_WORLD
    for name in LAUNCHED_RANKS:
        if comm.size == 1 and os.environ.get(name, "1").isdecimal() and int(os.environ.get(name, "1")) > 1:
            raise UsageError(
                f"{name} says that {os.environ[name]} ranks were started, but they do not find each other: the mpirun "
                "of another MPI was used (.venv/bin/mpirun fits), or srun without --mpi=pmi2"
            )
    return comm


def receive(comm: MPI.Intracomm, longest_s: float, idle: Callable[[], None] = lambda: None) -> tuple[int, Any]:
    """The next message and where it comes from; `idle` is called while there is none."""
    pause = SHORTEST_S
    while not (message := receive_now(comm)):
        idle()
        time.sleep(pause)
        pause = min(2 * pause, longest_s)
    return message


def receive_now(comm: MPI.Intracomm) -> tuple[int, Any] | None:
    """The next message and where it comes from, if there is one."""
    status = MPI.Status()
    if any(comm.iprobe(status=status) for _ in range(PROBES)):
        return status.source, comm.recv(source=status.source)
    return None


def leave_together(comm: MPI.Intracomm) -> None:
    """Wait asleep until all ranks are here: the end of MPI would wait awake."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(WORKER_LONGEST_S)


# --------------------------------------------------------------------------------------------- the master


def gather_ready(comm: MPI.Intracomm) -> tuple[ClassId, ...]:
    """Wait until all workers are ready; say which classes they found sound."""
    sound: list[ClassId] = []
    for _ in range(1, comm.size):
        rank, message = receive(comm, MASTER_LONGEST_S)
        _raise_failure(comm, rank, message)
        sound += message.sound
    return tuple(sound)


def run_master(comm: MPI.Intracomm, schedule: Schedule, show: Callable[[], None]) -> Usage:
    """Have everything computed that is left to compute; say what it took. All workers are ready."""
    for rank in range(1, comm.size):
        _tell(comm, schedule, [Joined(rank)])
    while not schedule.finished:
        rank, message = receive(comm, MASTER_LONGEST_S, idle=show)
        _raise_failure(comm, rank, message)
        _tell(comm, schedule, message)
    return dismiss(comm)


def _tell(comm: MPI.Intracomm, schedule: Schedule, events: Sequence[Event]) -> None:
    orders: dict[int, list[Instruction]] = {}
    for event in events:
        for instruction in schedule.handle(event):
            orders.setdefault(instruction.worker, []).append(instruction)
    for rank, instructions in orders.items():
        comm.send(instructions, rank)


def dismiss(comm: MPI.Intracomm) -> Usage:
    """Let all workers finish what they have begun, and leave; say what they have spent."""
    for rank in range(1, comm.size):
        comm.send(Stop(), rank)
    total, n_left = Usage(), comm.size - 1
    while n_left:
        _, message = receive(comm, WORKER_LONGEST_S)
        if isinstance(message, Leaving):
            total += message.usage
            n_left -= 1
    return total


def _raise_failure(comm: MPI.Intracomm, rank: int, message: object) -> None:
    if isinstance(message, Failed):
        log.error("rank %d on %s:\n%s", rank, message.host, message.details)
        dismiss(comm)
        raise WorkerFailedError(rank, message.host, message.problem)


# -------------------------------------------------------------------------------------------- the workers


def run_worker(comm: MPI.Intracomm, start: Callable[[], tuple[Worker, tuple[ClassId, ...]]]) -> None:
    """Do what the master says until it says no more. `start` makes the worker, and says which classes are sound."""
    usage = Usage()
    try:
        worker, sound = start()
        comm.send(Ready(socket.gethostname(), sound), MASTER)
        try:
            _obey(comm, worker)
        finally:
            usage = worker.total_usage()
            worker.close()
    except Exception as error:  # whatever it is, the master must hear of it
        comm.send(_failure(error), MASTER)
        while not isinstance(receive(comm, WORKER_LONGEST_S)[1], Stop):
            pass
    comm.send(Leaving(usage), MASTER)


def _obey(comm: MPI.Intracomm, worker: Worker) -> None:
    pause = SHORTEST_S
    while True:
        while message := receive_now(comm):
            if isinstance(message[1], Stop):
                worker.finish()
                return
            for instruction in message[1]:
                worker.handle(instruction)
            pause = SHORTEST_S
        if events := worker.wait(pause):
            comm.send(events, MASTER)
            pause = SHORTEST_S
        pause = min(2 * pause, WORKER_LONGEST_S)


def _failure(error: Exception) -> Failed:
    problem = str(error) if isinstance(error, ClassFailedError) else f"with {type(error).__name__}: {error}"
    return Failed(socket.gethostname(), problem, "".join(traceback.format_exception(error)))
