"""A run on many ranks: rank 0 schedules, the others compute. The only module that knows MPI.

Messages carry class ids and small facts; tables travel by way of the shared disk.
Nobody waits inside MPI, where waiting burns a core: whoever has nothing to do looks for messages, and sleeps longer and
longer in between.
Whoever has nothing to say says so now and then: a rank that is silent for too long is lost, and the others go on
without it, if their launcher lets them.
"""

from __future__ import annotations

import logging
import math
import os
import re
import shutil
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import mpi4py

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.schedule import Event, Instruction, Joined, Left, Schedule
from yahtzee_cluster.errors import RESUMES, UsageError, YahtzeeClusterError
from yahtzee_cluster.runtime.disk import Disk
from yahtzee_cluster.runtime.executor import Checked, Crew, Orders, Usage
from yahtzee_cluster.runtime.heartbeat import LEASE_S, Watch
from yahtzee_cluster.runtime.signals import StopRequest
from yahtzee_cluster.runtime.supervisor import Note
from yahtzee_cluster.storage.store import Store

mpi4py.rc.initialize = False  # not before a rank has its guard, which forks
mpi4py.rc.finalize = True
SHARED = Path("/dev/shm")  # noqa: S108
SHARED_BYTES = 256 << 20
NETMOD = "MPIR_CVAR_CH4_NETMOD"
SHARED_NEEDED = {"ucx": (0, 11 << 19), "ofi": (24 << 20, 3 << 19)}
"""What MPICH wants of it by way of each library, in all and for each rank of a host; with less it crashes."""
STARTING_S = 30
"""All ranks of a job are started within this time."""
SEGMENTS = rf"{SHARED}/(mpich_shm_\w+|\d+:\d+:\d+)"
"""MPICH's, and those of libfabric, which begin with the number of the process."""
if SHARED.is_dir() and shutil.disk_usage(SHARED).total < SHARED_BYTES:
    # A container's usual 64 MB; MPICH's first choice takes more for a dozen ranks and crashes, this one a third of it.
    os.environ.setdefault(NETMOD, "ofi")


def _all_here() -> bool:
    """Whether it is sure that no rank is on another host."""
    if "PMI_SIZE" in os.environ:
        return os.environ.get("MPI_LOCALNRANKS") == os.environ["PMI_SIZE"]
    return not any(re.search("(MPI|PMI|SLURM|PALS|LSB).*(RANK|SIZE|PROC|TASK)", name) for name in os.environ)


if _all_here():  # then MPI need not listen on the network either
    os.environ.setdefault("UCX_TLS", "self,posix")
    os.environ.setdefault("FI_PROVIDER", "shm")

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

CLAIM_TIMES = 10
"""Ranks may be silent for so many times as long as usual while the table is claimed, and workers prepare."""

T = TypeVar("T")

LAUNCHED_RANKS = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_NUM_TASKS")
"""What launchers tell the processes that they start."""


class WorkerFailedError(YahtzeeClusterError):
    """A rank could not go on."""

    def __init__(self, rank: int, failed: Failed) -> None:
        super().__init__(rank, failed)
        self.rank = rank
        self.failed = failed
        self.exit_code = failed.exit_code
        self.ends_at_once = failed.ends_at_once

    def __str__(self) -> str:
        says_it_all = self.exit_code == UsageError.exit_code or self.ends_at_once
        what_now = "" if says_it_all else f"; {RESUMES}"
        return f"rank {self.rank} on {self.failed.host}: {self.failed.problem}{what_now}"


class AloneError(YahtzeeClusterError):
    """Nothing is heard any more of those without whom a rank cannot go on."""


# --------------------------------------------------------------------------------------- what ranks say


@dataclass(frozen=True)
class Ready:
    """A worker can begin; these are the cores that it may run on."""

    host: str
    cores: frozenset[int]


@dataclass(frozen=True)
class Check:
    """Write for this run from here on, and say of each of these classes whether it is as it was committed."""

    classes: tuple[ClassId, ...]
    run: str


@dataclass(frozen=True)
class Alive:
    """Nothing, but not silence."""


@dataclass(frozen=True)
class Asked:
    """A worker was asked to stop."""

    by: str


@dataclass(frozen=True)
class Failed:
    """A worker cannot go on."""

    host: str
    problem: str
    details: str = ""
    exit_code: int = YahtzeeClusterError.exit_code
    ends_at_once: bool = False


@dataclass(frozen=True)
class Stop:
    """Nothing more is to be done: finish what you have begun, and leave."""


@dataclass(frozen=True)
class Farewell:
    """All workers have left, and all is said: come and leave together."""


@dataclass(frozen=True)
class Lost:
    """A worker is silent; the master says this to itself."""


@dataclass(frozen=True)
class Answered:
    """The disk has done what it was asked to; the master says this to itself."""


@dataclass(frozen=True)
class Leaving:
    """A worker has finished everything that it had begun, and has spent so much in all."""

    usage: Usage


# ------------------------------------------------------------------------------------------- both sides


def library_version() -> str:
    """Which MPI this is, in one line."""
    return MPI.Get_library_version().strip("\0\n ").splitlines()[0]


def launched() -> dict[str, int]:
    """How many ranks a launcher has started, if there are several, by the name of the variable that says so."""
    said = {name: os.environ.get(name, "") for name in LAUNCHED_RANKS}
    return {name: int(number) for name, number in said.items() if number.isdecimal() and int(number) > 1}


def _check_shared_memory() -> None:
    """Refuse a host on which MPICH would crash; all its ranks do so, since MPI has no way yet to end the others."""
    n_ranks = os.environ.get("MPI_LOCALNRANKS", "")
    if not (SHARED.is_dir() and n_ranks.isdecimal()):
        return
    taken = 0
    for path in SHARED.iterdir():  # what ranks that are a little faster have taken already
        with suppress(FileNotFoundError):
            found = path.lstat()
            is_new = re.fullmatch(SEGMENTS, str(path)) and time.time() - found.st_mtime < STARTING_S
            taken += found.st_blocks if is_new else 0
    in_all, per_rank = SHARED_NEEDED["ofi" if os.environ.get(NETMOD) == "ofi" else "ucx"]
    needed, free = in_all + int(n_ranks) * per_rank, shutil.disk_usage(SHARED).free + 512 * taken
    if free >= needed:
        return
    if os.environ.get("MPI_LOCALRANKID") != "0":
        raise SystemExit(UsageError.exit_code)  # one line is enough
    raise UsageError(
        f"{SHARED} has room for {free >> 20} MB, and {n_ranks} ranks on this host need {-(-needed >> 20)} MB of it for "
        "their messages: make it larger (`--shm-size` of a container, or `mount -o remount,size=…`)"
    )


def world() -> Ranks:
    """All ranks, once it is sure that they were started as one job."""
    if not MPI.Is_initialized():
        _check_shared_memory()
        MPI.Init_thread(MPI.THREAD_FUNNELED)  # one thread of each rank speaks
    comm = MPI.COMM_WORLD
    for name, number in launched().items():
        if comm.size == 1:
            raise UsageError(
                f"{name} says that {number} ranks were started, but they do not find each other: start them with the "
                "mpirun of the MPI that mpi4py uses (.venv/bin/mpirun after `make setup`), or with srun --mpi=pmi2"
            )
    meet(comm)
    # By now all ranks of a host have its shared memory; without a name it goes when they go, however they do.
    for name in re.findall(SEGMENTS, Path("/proc/self/maps").read_text(encoding="utf-8")):
        if not name[0].isdigit() or name.startswith(f"{os.getpid()}:"):
            Path(SHARED, name).unlink(missing_ok=True)
    return comm


def receive(
    comm: Ranks, longest_s: float, meanwhile: Callable[[], tuple[int, Any] | None] = lambda: None
) -> tuple[int, Any]:
    """The next message and where it comes from; `meanwhile` is called now and then, and may come up with one."""
    pause = SHORTEST_S
    while not (message := receive_now(comm) or meanwhile()):
        time.sleep(pause)
        pause = min(2 * pause, longest_s)
    return message


def receive_now(comm: Ranks) -> tuple[int, Any] | None:
    """The next message and where it comes from, if there is one."""
    status = MPI.Status()
    if any(comm.iprobe(status=status) for _ in range(PROBES)):
        return status.source, comm.recv(source=status.source)
    return None


def meet(comm: Ranks, limit_s: float = math.inf) -> None:
    """Wait asleep until all ranks are here: MPI would wait awake, and for ever."""
    everybody = range(comm.size)
    watch, request = Watch(everybody, limit_s), comm.Ibarrier()
    while not request.Test():
        if watch.lost() is not None:
            raise AloneError(f"not all ranks have come to leave together in {limit_s:g} s")
        time.sleep(IDLE_LONGEST_S)


def finish() -> None:
    """Leave MPI while all others do: whoever left later, or without a word, might be taken for dead."""
    MPI.Finalize()


def has_finished() -> bool:
    """Whether MPI is not to be had any more."""
    return MPI.Is_finalized()


class Outbox:
    """What was sent; nobody waits for it to arrive, because who should take it may be dead or frozen."""

    def __init__(self, comm: Ranks) -> None:
        self._comm = comm
        self._under_way: deque[MPI.Request] = deque()

    def send(self, message: object, rank: int) -> None:
        """Send something, some time."""
        while self._under_way and self._under_way[0].test()[0]:
            self._under_way.popleft()
        self._under_way.append(self._comm.isend(message, rank))


# --------------------------------------------------------------------------------------------- the master


class Team:
    """The workers, as the master sees them."""

    def __init__(self, comm: Ranks, request: StopRequest) -> None:
        self._comm = comm
        self._outbox = Outbox(comm)
        self._request = request
        self._watch = Watch(range(1, comm.size))
        self._gone: list[int] = []
        self._disk: Disk | None = None
        self._store: Store | None = None
        self._lease_s = LEASE_S
        self._joined: list[Joined] = []
        self._heard: deque[tuple[int, Any]] = deque()
        self._usage: Usage | None = None
        self.n_workers = comm.size - 1
        self._broken = False

    @property
    def broken(self) -> bool:
        """Whether some rank will not leave together with the others, or a call to the disk has not returned."""
        return self._broken or (self._disk is not None and not self._disk.at_rest)

    def begin(self, orders: Orders) -> None:
        """Tell all workers what they need to know before they can do anything."""
        self._disk = Disk(orders.directory, orders.disk_timeout_s)
        self._lease_s = self._watch.lease_s = orders.lease_s
        self._watch.limit_s = CLAIM_TIMES * orders.lease_s
        self._tell_all(orders)

    def ask_disk(self, work: Callable[[], T], *, stoppable: bool = True) -> T:
        """Have something done that waits for the disk, and keep in touch with the workers meanwhile."""
        assert self._disk
        future, disk = self._disk.begin(work), self._disk

        def meanwhile() -> None:
            disk.check()
            if stoppable:
                self._request.check()

        while not future.done():
            rank, message = self._hear_more(meanwhile, future.done)
            if not isinstance(message, Answered):
                self._heard.append((rank, message))
        return future.result()

    def tell_disk(self, work: Callable[[], object]) -> None:
        """Have something done that nobody waits for."""
        assert self._disk
        self._disk.begin(work)

    def check(self, store: Store, classes: Sequence[ClassId]) -> list[ClassId]:
        """Those of the classes on disk that are as they were committed; every worker makes sure that it sees them."""
        assert self._disk
        self._disk.attend(store)
        self._store = store
        self._watch = Watch(self._watch.others, self._lease_s)
        sound: list[ClassId] = []
        asked = self._share_out(classes)
        while asked:
            match self._receive():
                case lost, Lost():
                    asked |= self._share_out([cls for cls, rank in asked.items() if rank == lost])
                case _, events:
                    for event in events:
                        if isinstance(event, Checked):
                            asked.pop(event.cls, None)
                            sound += [event.cls] if event.is_sound else []
                        else:
                            self._joined.append(event)
        return sound

    def run(self, schedule: Schedule, show: Callable[[], None]) -> None:
        """Have everything computed that is left to compute."""
        self._handle(schedule, [event for event in self._joined if event.worker in self._watch.others])
        while not schedule.finished:
            rank, message = self._receive(show)
            self._handle(schedule, [self._parting(rank, schedule)] if isinstance(message, Lost) else message)

    def dismiss(self) -> Usage:
        """Let all workers finish what they have begun, as far as there is time, and leave; say what they have spent."""
        if self._usage is None:
            self._usage = Usage()
            if self._disk:
                self._disk.attend(None)
            self._tell_all(Stop())

            def meanwhile() -> None:
                self._request.check_time()
                with suppress(YahtzeeClusterError):  # what ends the work has been raised before
                    if self._disk:
                        self._disk.check()

            with suppress(TimeoutError):
                while self._watch.others:
                    rank, message = self._hear(meanwhile)
                    if isinstance(message, Leaving):
                        self._usage += message.usage
                        self._watch.forget(rank)
                        self._gone.append(rank)
            self._broken |= bool(self._watch.others)
        return self._usage

    def give_up(self) -> None:
        """Wait for nobody."""
        self._usage, self._broken = self._usage or Usage(), True

    def part(self) -> None:
        """Leave together with all workers."""
        for rank in self._gone:
            self._outbox.send(Farewell(), rank)
        meet(self._comm, self._watch.limit_s)

    def _share_out(self, classes: Sequence[ClassId]) -> dict[ClassId, int]:
        """Have classes checked; say by whom each."""
        assert self._store
        ranks = self._watch.others
        for n, rank in enumerate(ranks):
            self._tell(rank, Check(tuple(classes[n :: len(ranks)]), self._store.run.token))
        return {cls: rank for n, rank in enumerate(ranks) for cls in classes[n :: len(ranks)]}

    def _handle(self, schedule: Schedule, events: Sequence[Event]) -> None:
        orders: dict[int, list[Instruction]] = {}
        for event in events:
            for instruction in schedule.handle(event):
                orders.setdefault(instruction.worker, []).append(instruction)
        for rank, instructions in orders.items():
            self._tell(rank, instructions)

    def _receive(self, show: Callable[[], None] = lambda: None) -> tuple[int, Any]:
        """What is heard next that matters to the work; what ends the work is raised."""

        def meanwhile() -> None:
            self._request.check()
            if self._disk:
                self._disk.check()
            show()

        while True:
            match self._hear(meanwhile):
                case rank, Failed() as failed:
                    if failed.details:
                        log.error("rank %d on %s:\n%s", rank, failed.host, failed.details)
                    raise WorkerFailedError(rank, failed)
                case _, Lost() if not self._watch.others:
                    raise AloneError(f"no worker is left; {RESUMES}")
                case rank, Asked(by):
                    self._request.take(f"{by} at rank {rank}")
                case rank, Ready(host, cores):
                    return rank, [Joined(rank, host, cores)]
                case rank, message if not isinstance(message, Alive):
                    return rank, message

    def _hear(self, meanwhile: Callable[[], None]) -> tuple[int, Any]:
        """What is heard next of a rank that is not lost; that it is lost is heard last."""
        return self._heard.popleft() if self._heard else self._hear_more(meanwhile)

    def _hear_more(
        self, meanwhile: Callable[[], None], is_answered: Callable[[], bool] = lambda: False
    ) -> tuple[int, Any]:
        """What comes in next, or that the disk has answered."""

        def look() -> tuple[int, Any] | None:
            meanwhile()
            return (MASTER, Answered()) if is_answered() else self._look_around()

        while True:
            rank, message = receive(self._comm, MASTER_LONGEST_S, look)
            if rank in self._watch.others or isinstance(message, Lost | Answered):
                self._watch.heard(rank)
                return rank, message

    def _look_around(self) -> tuple[int, Any] | None:
        """Be heard, and miss whoever is not."""
        if self._watch.must_speak():
            for rank in (*self._watch.others, *self._gone):  # who has left waits for the others, and for a word of this
                self._outbox.send(Alive(), rank)
        lost, why = self._watch.lost(), f"has said nothing for {self._watch.limit_s:g} s"
        if lost is None:
            lost, why = self._dead(), "is dead"
        if lost is None:
            return None
        log.error("rank %d %s: it is lost", lost, why)
        self._broken = True
        return lost, Lost()

    def _dead(self) -> int | None:
        """A rank whose death is known already, if there is one."""
        dead = [rank for rank in (self._disk.dead if self._disk else ()) if rank in self._watch.others]
        if not dead:
            return None
        self._watch.forget(dead[0])
        return dead[0]

    def _parting(self, rank: int, schedule: Schedule) -> Event:
        """A rank is gone; some of what it had begun may be on disk although it could not say so any more."""
        store = self._store
        assert store
        begun, on_disk = schedule.unfinished(rank), set(self.ask_disk(lambda: store.committed))
        for cls in begun:
            fate = "was committed" if cls in on_disk else "is given to another"
            log.warning("class %s %s", store.place(cls).name, fate)
        return Left(rank, tuple(cls for cls in begun if cls in on_disk))

    def _tell_all(self, message: object) -> None:
        for rank in self._watch.others:
            self._tell(rank, message)

    def _tell(self, rank: int, message: object) -> None:
        if rank in self._watch.others:
            self._outbox.send(message, rank)


# -------------------------------------------------------------------------------------------- the workers


class Master:
    """The master, as a worker sees it."""

    def __init__(self, comm: Ranks, request: StopRequest) -> None:
        self._comm = comm
        self._outbox = Outbox(comm)
        self._request = request
        self._asked = False
        self._stopped = False
        self._left = False
        self._lease_s = LEASE_S
        self._watch = Watch([MASTER])

    def orders(self) -> Orders | Stop:
        """What there is to do."""
        orders: Orders | Stop = receive(self._comm, IDLE_LONGEST_S)[1]
        self._stopped = isinstance(orders, Stop)
        if not isinstance(orders, Stop):
            self._lease_s = self._watch.lease_s = orders.lease_s
            self._watch.limit_s = CLAIM_TIMES * orders.lease_s
        return orders

    def tell(self, message: object) -> None:
        """Say something."""
        try:
            self._outbox.send(message, MASTER)
        except MPI.Exception as error:
            raise AloneError(f"rank {MASTER} cannot be reached: {error}; {RESUMES}") from error

    def hear(self) -> Any:
        """What the master says next, or None if it says nothing now."""
        self.keep_in_touch()
        received = receive_now(self._comm)
        if received is None:
            return None
        self._watch.heard(MASTER)
        self._watch.limit_s = self._lease_s
        self._stopped |= isinstance(received[1], Stop)
        return received[1]

    def leave(self, usage: Usage) -> None:
        """Leave, when the master wants it, together with all others."""
        self._wait_for(Stop)
        self.tell(Leaving(usage))
        self._left = True  # nobody takes messages any more, and MPI does not end with one on its way
        self._wait_for(Farewell)
        meet(self._comm, 2 * self._watch.limit_s)  # the master is to speak first, if somebody is missing

    def _wait_for(self, word: type[Stop | Farewell]) -> None:
        while not (self._stopped and word is Stop):
            if isinstance(self.hear(), word):
                return
            time.sleep(IDLE_LONGEST_S)

    def keep_in_touch(self) -> None:
        """Be heard, and make sure that there is somebody to hear."""
        if self._watch.must_speak() and not self._left:
            self.tell(Alive())
        if self._request.by and not self._asked and not self._left:
            self._asked = True
            self.tell(Asked(self._request.by))
        if self._watch.lost() is not None:
            raise AloneError(f"rank {MASTER} has said nothing for {self._watch.limit_s:g} s; {RESUMES}")


def run_worker(comm: Ranks, crew_of: Callable[[Any], Crew], request: StopRequest, name: str, note: Note) -> None:
    """Do what the master says until it says no more; `crew_of` makes a crew out of the master's orders.

    What the rank of this name is doing goes into its note.
    """
    master = Master(comm, request)
    usage = Usage()
    try:
        orders = master.orders()
        if not isinstance(orders, Stop):
            crew = crew_of(orders)
            master.tell(Ready(socket.gethostname(), frozenset(os.sched_getaffinity(0))))
            try:
                _obey(master, crew, name, note)
            finally:
                usage = crew.usage
                crew.close()
    except AloneError:
        raise
    except Exception as error:  # whatever it is, the master must hear of it
        master.tell(_failure(error))
    master.leave(usage)


def _obey(master: Master, crew: Crew, name: str, note: Note) -> None:
    pause, stopping = SHORTEST_S, False
    while not (stopping and crew.at_rest):
        while message := master.hear():
            pause = SHORTEST_S
            match message:
                case Stop():
                    stopping = True
                    crew.stop()
                case Check(classes, run):
                    crew.join(run)
                    note.order(crew.tombstone)
                    for cls in classes:
                        crew.check(cls)
                case list(instructions):
                    for instruction in instructions:
                        crew.handle(instruction)
        note.identify(f"{name}, {crew.doing},")
        pause = min(2 * pause, SOLVING_LONGEST_S if crew.worker.solving else IDLE_LONGEST_S)
        if events := crew.wait(pause):
            master.tell(events)
            pause = SHORTEST_S


def _failure(error: Exception) -> Failed:
    host, story = socket.gethostname(), "".join(traceback.format_exception(error))
    if not isinstance(error, YahtzeeClusterError):
        return Failed(host, f"{type(error).__name__}: {error}", story)
    is_expected = isinstance(error.__cause__, OSError | YahtzeeClusterError | None)
    return Failed(host, str(error), "" if is_expected else story, error.exit_code, error.ends_at_once)
