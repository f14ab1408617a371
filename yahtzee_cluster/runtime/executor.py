"""The executor of one rank: threads that carry out the decisions of its worker.

All decisions are made in the thread that calls `handle` and `wait`; the others only load, compute and write blocks.
"""

from __future__ import annotations

import logging
import resource
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, Queue, SimpleQueue
from time import perf_counter, thread_time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.cache import Cache
from yahtzee_cluster.engine.fixed_set import needed_bytes
from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.engine.schedule import Event, Evicted, Instruction
from yahtzee_cluster.engine.worker import Action, Load, Solve, Worker, Write
from yahtzee_cluster.errors import UsageError, YahtzeeClusterError
from yahtzee_cluster.runtime.disk import DISK_TIMEOUT_S, DiskWatchdog
from yahtzee_cluster.runtime.messages import Checked, Setup
from yahtzee_cluster.runtime.usage import Usage
from yahtzee_cluster.storage.errors import DamagedError, DroppedError, ReplacedError
from yahtzee_cluster.storage.shard import new_values
from yahtzee_cluster.storage.store import Store
from yahtzee_cluster.text import as_cache_size, names_in

log = logging.getLogger(__name__)

SHARES = 8
"""Shares of a class for each thread; several, so that all threads end at about the same time."""
SHARE_SUBSETS = 1 << 15
"""Most subsets of a share, so that what NumPy makes of them on the way stays in the processor's cache."""


class ClassFailedError(YahtzeeClusterError):
    """A class could not be computed, read or written."""

    def __init__(self, action: str, name: str, cause: str) -> None:
        super().__init__(action, name, cause)
        self.action = action
        self.name = name
        self.cause = cause

    def __str__(self) -> str:
        return f"could not {self.action} class {self.name}: {self.cause}"


class UnsolvedError(YahtzeeClusterError):
    """A solver has left entries that are no numbers."""


@dataclass(frozen=True)
class Join:
    """Check that the directory is the one that the run has claimed."""


@dataclass(frozen=True)
class Verify:
    """Read a class, and compare it with its digest."""

    cls: ClassId


class Executor:
    """A worker's state machine, with the threads, memory and table that carry out its actions."""

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
        self._element_names = problem.element_names
        self.partition = store.partition
        self.cache = Cache(cache_bytes)
        self.worker = Worker(number, self.partition, self.cache)
        self._values: dict[ClassId, NDArray[np.float64]] = {}
        self._usage = Usage()
        self._started = perf_counter()
        self._busy_s = 0.0
        self._events: list[Event | Checked] = []
        # Not a SimpleQueue: its `get` may block for ever if a signal arrives just before the timeout.
        self._ended: Queue[tuple[Join | Verify | Action, Future[tuple[Any, float]]]] = Queue()
        self._n_running = {kind.__name__: 0 for kind in (Load, Solve, Write)}
        self._watchdog = DiskWatchdog(store.path, disk_timeout_s, (Load.__name__, Write.__name__))
        self._stopping = False
        self._n_threads = n_threads
        self._solvers: SimpleQueue[Solver] = SimpleQueue()
        for _ in range(n_threads):
            self._solvers.put(problem.solver())
        self._solving = ThreadPoolExecutor(n_threads, "solve")
        self._threads = {kind: ThreadPoolExecutor(1, kind.__name__.lower()) for kind in (Load, Solve, Write)}

    @classmethod
    def of(cls, setup: Setup, rank: int) -> Self:
        """The executor of one rank; refuses a cache in which some class could not be computed."""
        store = Store.of(setup.directory, setup.problem, setup.fixed)
        needed = needed_bytes(store.partition)
        if needed > setup.cache_bytes:  # hosts may differ
            raise UsageError(f"--cache is too small here: a class of this table needs {as_cache_size(needed)}")
        return cls(setup.problem, store, setup.cache_bytes, setup.n_threads, rank, setup.disk_timeout_s)

    def handle(self, instruction: Instruction) -> None:
        """Carry out an instruction of the schedule; `wait` returns the events."""
        self._carry_out(self.worker.handle(instruction))

    def join(self, run: str) -> None:
        """Work for the run with this token; its claim on the directory is checked in the background."""
        self._submit(Load, Join(), self.store.write_for(run).join)

    def check(self, cls: ClassId) -> None:
        """Check whether a class on disk is sound; `wait` returns the result."""
        self._submit(Load, Verify(cls), partial(self.store.is_sound, cls))

    def wait(self, timeout_s: float | None) -> list[Event | Checked]:
        """Wait for actions to end, until the timeout; return the events."""
        try:
            self._settle(*self._ended.get(timeout=0 if self._events else timeout_s))
            while True:
                self._settle(*self._ended.get_nowait())
        except Empty:
            pass
        self._watchdog.check([kind for kind, n in self._n_running.items() if n])
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        """Begin nothing more; call `wait` until idle to have what was begun computed and written."""
        self._stopping = True
        self.worker.stop()

    @property
    def is_idle(self) -> bool:
        """Whether no action is under way."""
        return not any(self._n_running.values())

    @property
    def tombstone(self) -> Path:
        """The file that tells the master that this worker is dead."""
        return self.store.run.tombstone(self.worker.number).absolute()

    @property
    def doing(self) -> str:
        """What the worker is doing, for its crash note."""
        task = self.worker.task
        return "with nothing to do" if task is None else f"computing class {self.store.place(task).name}"

    def close(self) -> None:
        """Shut the threads down, without waiting for calls under way."""
        for pool in (self._solving, *self._threads.values()):
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def usage(self) -> Usage:
        """Usage of this rank so far."""
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
        """Begin an action in the thread for its kind."""
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
        """Begin a call in the thread for a kind of action."""
        future = self._threads[kind].submit(_timed, work)
        self._n_running[kind.__name__] += 1
        future.add_done_callback(lambda ended: self._ended.put((action, ended)))

    def _settle(self, action: Join | Verify | Action, ended: Future[tuple[Any, float]]) -> None:
        kind = type(action).__name__ if isinstance(action, Action) else Load.__name__
        self._n_running[kind] -= 1
        self._watchdog.answered(kind)
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
            if not isinstance(error, DroppedError):  # if it is needed after all, it is loaded again
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
        """Raise the error of an action, or log it if the executor is stopping."""
        verb = type(action).__name__.lower()
        failure: Exception = error
        if not isinstance(error, ReplacedError):
            failure = ClassFailedError(verb, self.store.place(action.cls).name, f"{type(error).__name__}: {error}")
        if not self._stopping:
            raise failure from error
        log.error("%s", failure)  # another worker will compute the class again

    def _block(self, cls: ClassId) -> Block:
        """A class that is in memory."""
        return Block(self.partition.members(cls), self.partition.starts(cls), self._values[cls])

    def _below(self, cls: ClassId) -> Below:
        readable = {other: _read_only(self._block(other)) for other in self.partition.dependencies(cls)}
        return [readable.get(self.partition.below(cls, a)) for a in range(self.partition.n_elements)]

    # --------------------------------------------------------------------------------------- in other threads

    def _solve(self, block: Block, below: Below) -> float:
        """Compute a class; return the CPU time of the solvers."""
        n_shares = max(SHARES * self._n_threads if self._n_threads > 1 else 1, -(-len(block) // SHARE_SUBSETS))
        if n_shares == 1:
            return self._solve_share(block, below)
        return sum(self._solving.map(lambda share: self._solve_share(share, below), block.shares(n_shares)))

    def _solve_share(self, block: Block, below: Below) -> float:
        solver = self._solvers.get()
        started = thread_time()
        block.values.fill(np.nan)  # new memory is 0, which may be a value: an entry that is left out must be seen
        try:
            solver(_read_only(block, but_values=True), below)
        except SystemExit as error:  # which would end the run as if all were well
            raise UnsolvedError(f"the solver has called exit({error.code!r})") from error
        finally:
            self._solvers.put(solver)
        elapsed_s = thread_time() - started
        if np.isnan(block.values.min(initial=0.0)):
            subset = next(subset for subset in block.subsets.tolist() if np.isnan(block[subset]).any())
            names = ", ".join(names_in(subset, self._element_names)) or "nothing"
            raise UnsolvedError(f"the solver has left entries of subset {subset} ({names}) out, or made them NaN")
        return elapsed_s


def _read_only(block: Block, *, but_values: bool = False) -> Block:
    """The same block, of which a solver can change nothing, or nothing but the values."""
    sealed = Block(block.subsets.view(), block.starts.view(), block.values.view())
    for array in (sealed.subsets, sealed.starts):
        array.flags.writeable = False
    sealed.values.flags.writeable = but_values
    return sealed


def _timed(work: Callable[[], object]) -> tuple[object, float]:
    started = perf_counter()
    return work(), perf_counter() - started
