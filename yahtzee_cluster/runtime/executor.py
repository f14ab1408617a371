"""The threads of one rank, which carry out what its worker decides.

All decisions are taken in the thread that calls `handle` and `wait`; the others only fill, compute and write blocks.
"""

from __future__ import annotations

import logging
import resource
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from queue import Empty, Queue, SimpleQueue
from time import perf_counter, thread_time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.cache import Cache
from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.engine.schedule import Event, Evicted, Instruction
from yahtzee_cluster.engine.worker import Action, Load, Solve, Worker, Write
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.runtime.disk import DISK_TIMEOUT_S, Patience
from yahtzee_cluster.storage.errors import DamagedError, DroppedError, ReplacedError
from yahtzee_cluster.storage.shard import new_values
from yahtzee_cluster.storage.store import Store

log = logging.getLogger(__name__)

SHARES = 8
"""A class is cut into so many shares for each thread, so that all of them end at about the same time."""


class ClassFailedError(YahtzeeClusterError):
    """A class could not be computed, read or written."""

    def __init__(self, action: str, name: str, cause: str) -> None:
        super().__init__(action, name, cause)
        self.action = action
        self.name = name
        self.cause = cause

    def __str__(self) -> str:
        return f"could not {self.action} class {self.name}: {self.cause}"


@dataclass
class Usage:
    """What a rank has spent; over all ranks, times and counts add up, and of peaks the largest counts."""

    kernel_s: float = 0.0
    """Processor time of the solvers, in all threads."""
    read_s: float = 0.0
    write_s: float = 0.0
    idle_s: float = 0.0
    """Time in which no class was computed."""
    bytes_read: int = 0
    bytes_written: int = 0
    n_computed: int = 0
    cache_peak_bytes: int = 0
    rss_peak_bytes: int = 0

    def __add__(self, other: Usage) -> Usage:
        mine, theirs = asdict(self), asdict(other)
        return Usage(**{k: max(v, theirs[k]) if k.endswith("peak_bytes") else v + theirs[k] for k, v in mine.items()})


@dataclass(frozen=True)
class Join:
    """Make sure that the table is that of the run which this rank is to work for."""


@dataclass(frozen=True)
class Verify:
    """Read a class, and hold it against its digest."""

    cls: ClassId


@dataclass(frozen=True)
class Checked:
    """A class on disk was read; this is whether it is as it was committed."""

    cls: ClassId
    is_sound: bool


class Orders(Protocol):
    """What a worker needs to know before it can do anything."""

    @property
    def directory(self) -> Path:
        """Where the table is."""

    @property
    def lease_s(self) -> float:
        """A rank that is silent for so long is lost."""

    @property
    def disk_timeout_s(self) -> float:
        """A disk that does not answer for so long ends the run."""

    def crew(self, rank: int) -> Crew:
        """The crew of one rank."""


class Crew:
    """A worker with the hands to do its work."""

    def __init__(
        self,
        problem: Recurrence,
        store: Store,
        cache_bytes: int,
        n_threads: int = 1,
        number: int = 0,
        disk_timeout_s: float = DISK_TIMEOUT_S,
    ) -> None:
        self.store = store
        self.partition = store.partition
        self.cache = Cache(cache_bytes)
        self.worker = Worker(number, self.partition, self.cache)
        self._values: dict[ClassId, NDArray[np.float64]] = {}
        self._usage = Usage()
        self._started = perf_counter()
        self._busy_s = 0.0
        self._events: list[Event | Checked] = []
        # A SimpleQueue would wait for ever, were it interrupted by a signal just before its time is over.
        self._ended: Queue[tuple[Join | Verify | Action, Future[tuple[Any, float]]]] = Queue()
        self._n_running = {kind.__name__: 0 for kind in (Load, Solve, Write)}
        self._patience = Patience(store.path, disk_timeout_s, (Load.__name__, Write.__name__))
        self._stopping = False
        self._n_threads = n_threads
        self._solvers: SimpleQueue[Solver] = SimpleQueue()
        for _ in range(n_threads):
            self._solvers.put(problem.solver())
        self._solving = ThreadPoolExecutor(n_threads, "solve")
        self._threads = {kind: ThreadPoolExecutor(1, kind.__name__.lower()) for kind in (Load, Solve, Write)}

    def handle(self, instruction: Instruction) -> None:
        """Take an instruction of the master; what comes of it is reported by `wait`."""
        self._carry_out(self.worker.handle(instruction))

    def join(self, run: str) -> None:
        """Work for this run; that the directory is the one that it has claimed is made sure of in the background."""
        self._submit(Load, Join(), self.store.write_for(run).join)

    def check(self, cls: ClassId) -> None:
        """Find out whether a class on disk is as it was committed; `wait` reports it."""
        self._submit(Load, Verify(cls), partial(self.store.is_sound, cls))

    def wait(self, timeout_s: float | None) -> list[Event | Checked]:
        """What has happened, after waiting so long for something to happen."""
        try:
            self._settle(*self._ended.get(timeout=0 if self._events else timeout_s))
            while True:
                self._settle(*self._ended.get_nowait())
        except Empty:
            pass
        self._patience.check([kind for kind, n in self._n_running.items() if n])
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        """Begin nothing else; `wait` until the crew is at rest for what was begun to be computed and written."""
        self._stopping = True
        self.worker.stop()

    @property
    def at_rest(self) -> bool:
        """Whether nothing is going on."""
        return not any(self._n_running.values())

    @property
    def tombstone(self) -> Path:
        """The file that tells the master that this worker is dead."""
        return self.store.run.tombstone(self.worker.number).absolute()

    @property
    def doing(self) -> str:
        """What the crew is at, for those who read it after it was killed."""
        task = self.worker.task
        return "with nothing to do" if task is None else f"computing class {self.store.place(task).name}"

    def close(self) -> None:
        """End the threads, without waiting for what they may still be doing."""
        for pool in (self._solving, *self._threads.values()):
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def usage(self) -> Usage:
        """What was spent up to now."""
        self._usage.idle_s = perf_counter() - self._started - self._busy_s
        self._usage.cache_peak_bytes = self.cache.peak_bytes
        self._usage.rss_peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return self._usage

    def _carry_out(self, decided: Iterable[Action | Event]) -> None:
        for item in decided:
            if isinstance(item, Action):
                self._begin(item)
            else:
                self._events.append(item)
                if isinstance(item, Evicted):
                    del self._values[item.cls]

    def _begin(self, action: Action) -> None:
        """Have an action carried out in the thread for its kind."""
        cls = action.cls
        work: Callable[[], object]
        match action:
            case Load():
                work = partial(self.store.read, cls)
            case Solve():
                self._values[cls] = new_values(self.partition.n_values[cls])
                work = partial(self._solve, self._block(cls), self._below(cls))
            case Write():
                work = partial(self.store.write, cls, self._block(cls))
        self._submit(type(action), action, work)

    def _submit(self, kind: type[Action], action: Join | Verify | Action, work: Callable[[], object]) -> None:
        """Have something done in the thread for a kind of action."""
        future = self._threads[kind].submit(_timed, work)
        self._n_running[kind.__name__] += 1
        future.add_done_callback(lambda ended: self._ended.put((action, ended)))

    def _settle(self, action: Join | Verify | Action, ended: Future[tuple[Any, float]]) -> None:
        kind = type(action).__name__ if isinstance(action, Action) else Load.__name__
        self._n_running[kind] -= 1
        self._patience.answered(kind)
        if isinstance(action, Join):
            ended.result()
        elif isinstance(action, Verify):
            self._events.append(Checked(action.cls, ended.result()[0]))
        else:
            self._settle_action(action, ended)

    def _settle_action(self, action: Action, ended: Future[tuple[Any, float]]) -> None:
        cls = action.cls
        try:
            result, elapsed_s = ended.result()
        except DamagedError as error:
            if not isinstance(action, Load) or self.worker.needs(cls):
                self._fail(action, error)
                return
            if not isinstance(error, DroppedError):  # what is needed after all is loaded again
                log.warning("%s", error)
            self._carry_out(self.worker.missed(action))
            return
        except Exception as error:
            self._fail(action, error)
            return
        n_bytes = 8 * self.partition.n_values[cls]
        match action:
            case Load():
                self._values[cls] = result
                self._usage.read_s += elapsed_s
                self._usage.bytes_read += n_bytes
            case Solve():
                self._busy_s += elapsed_s
                self._usage.kernel_s += result
                self._usage.n_computed += 1
            case Write():
                self._usage.write_s += elapsed_s
                self._usage.bytes_written += n_bytes
        self._carry_out(self.worker.done(action))

    def _fail(self, action: Action, error: Exception) -> None:
        """Say what has failed; that ends the work, unless it has ended."""
        verb = type(action).__name__.lower()
        failure: Exception = error
        if not isinstance(error, ReplacedError):
            failure = ClassFailedError(verb, self.store.place(action.cls).name, f"{type(error).__name__}: {error}")
        if not self._stopping:
            raise failure from error
        log.error("%s", failure)  # one line is enough for what others will do again

    def _block(self, cls: ClassId) -> Block:
        """A class that is in memory."""
        return Block(self.partition.members(cls), self.partition.starts(cls), self._values[cls])

    def _below(self, cls: ClassId) -> Below:
        readable = {other: self._block(other) for other in self.partition.dependencies(cls)}
        return [readable.get(self.partition.below(cls, a)) for a in range(self.partition.n_elements)]

    # -------------------------------------------------------------------------------- in threads of their own

    def _solve(self, block: Block, below: Below) -> float:
        """Compute a class; say how much processor time it took."""
        if self._n_threads == 1:
            return self._solve_share(block, below)
        ends = np.linspace(0, block.starts[-1], SHARES * self._n_threads + 1)
        cuts = sorted({0, len(block), *np.searchsorted(block.starts, ends).tolist()})
        shares = [block.share(first, last) for first, last in pairwise(cuts)]
        return sum(self._solving.map(lambda share: self._solve_share(share, below), shares))

    def _solve_share(self, block: Block, below: Below) -> float:
        solver = self._solvers.get()
        started = thread_time()
        try:
            solver(block, below)
        finally:
            self._solvers.put(solver)
        return thread_time() - started


def _timed(work: Callable[[], object]) -> tuple[object, float]:
    started = perf_counter()
    return work(), perf_counter() - started
