"""One worker: loads what a class depends on, computes it, writes it, and keeps what may be needed again.

All decisions are taken in the thread that calls `handle` and `wait`; other threads only fill, compute and write the
blocks that they are handed.
While one class is computed, the one before is written, and what the next one needs is read.
"""

from __future__ import annotations

import resource
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from queue import Empty, SimpleQueue
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from yahtzee_cluster.cache import Cache
from yahtzee_cluster.errors import YahtzeeClusterError
from yahtzee_cluster.partition import ClassId
from yahtzee_cluster.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.schedule import Committed, Compute, Drop, Event, Evicted, Instruction, Loaded, Preload, Solved
from yahtzee_cluster.store import Store

BYTES = 8
"""Of one entry."""
SHARES = 8
"""A class is cut into so many shares for each thread, so that all of them end at about the same time."""


class ClassFailedError(YahtzeeClusterError):
    """A class could not be computed, read or written."""

    def __init__(self, what: str, name: str, cause: str, details: str) -> None:
        super().__init__(what, name, cause, details)
        self.details = details
        self._message = f"{what} class {name}: {cause}"

    def __str__(self) -> str:
        return self._message


@dataclass
class Usage:
    """What a worker has spent; over all workers, times and bytes add up, and peaks are the largest."""

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


class Worker:
    """What one rank does, without knowing how it is told to."""

    def __init__(self, problem: Recurrence, store: Store, cache_bytes: int, n_threads: int = 1, number: int = 0) -> None:
        self.number = number
        self.store = store
        self.partition = store.partition
        self.usage = Usage()
        self.cache: Cache[Block] = Cache(cache_bytes)
        self.task: ClassId | None = None
        self.next: ClassId | None = None
        self._computing = False
        self._loading: set[ClassId] = set()
        self._events: list[Event] = []
        self._finished: SimpleQueue[tuple[Callable[[ClassId, Any], None], str, ClassId, Future[Any]]] = SimpleQueue()
        self._started = perf_counter()
        self._busy_s = 0.0
        self._n_threads = n_threads
        self._solvers: SimpleQueue[Solver] = SimpleQueue()
        for _ in range(n_threads):
            self._solvers.put(problem.solver())
        self._solving = ThreadPoolExecutor(n_threads, "solve")
        self._computer = ThreadPoolExecutor(1, "compute")
        self._reader = ThreadPoolExecutor(1, "read")
        self._writer = ThreadPoolExecutor(1, "write")

    def close(self) -> None:
        """End the threads, without waiting for what they may still be doing."""
        for pool in (self._computer, self._solving, self._reader, self._writer):
            pool.shutdown(wait=False, cancel_futures=True)

    def total_usage(self) -> Usage:
        """What was spent up to now."""
        self.usage.idle_s = perf_counter() - self._started - self._busy_s
        self.usage.cache_peak_bytes = self.cache.peak_bytes
        self.usage.rss_peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return self.usage

    # ------------------------------------------------------------------------- in the thread that decides

    def handle(self, instruction: Instruction) -> None:
        """Take an instruction; what comes of it is reported by `wait`."""
        match instruction:
            case Compute(_, cls):
                assert self.task is None
                self.task = cls
                self._hold(self.partition.dependencies(cls))
                self._let_go_of_next()
            case Preload(_, cls):
                self._let_go_of_next()
                self.next = cls
                self._hold(self.partition.dependencies(cls))
            case Drop(_, cls):
                if self.cache.drop(cls):
                    self._events.append(Evicted(self.number, cls))
        self._go_on()

    def wait(self, timeout_s: float | None) -> list[Event]:
        """What has happened, after waiting so long for something to happen."""
        try:
            self._settle(*self._finished.get(timeout=0 if self._events else timeout_s))
            while True:
                self._settle(*self._finished.get_nowait())
        except Empty:
            pass
        events, self._events = self._events, []
        return events

    def _go_on(self) -> None:
        """Begin whatever can be begun now."""
        if self.task is not None and self.task not in self.cache:
            self._begin_block(self.task)
        if self.task is not None and not self._computing:
            reads = self.partition.dependencies(self.task)
            if all([self._fetch(cls) for cls in reads]) and self.task in self.cache:
                self._compute(self.task)
        if self.next is not None and self._computing:
            for cls in self.partition.dependencies(self.next):
                self._fetch(cls)

    def _begin_block(self, cls: ClassId) -> Block | None:
        """Take room for a class and hold it, if there is any room to be had."""
        n_bytes = BYTES * self.partition.n_values[cls]
        gone = self.cache.make_room(n_bytes)
        if gone is None and not self._computing:
            self._let_go_of_next()
            gone = self.cache.make_room(n_bytes)
        if gone is None:
            return None  # until something is written or read
        self._events += [Evicted(self.number, other) for other in gone]
        block = Block(self.partition.members(cls), self.partition.starts(cls), np.empty(self.partition.n_values[cls]))
        self.cache.add(cls, block, n_bytes)
        self.cache.hold(cls)
        return block

    def _fetch(self, cls: ClassId) -> bool:
        """Whether a class is there to be read; if not, begin to load it, if there is room."""
        if cls in self.cache:
            return cls not in self._loading
        block = self._begin_block(cls)
        if block is not None:
            self._loading.add(cls)
            self._start(self._reader, self._load, "reading", cls, block, then=self._loaded)
        return False

    def _compute(self, cls: ClassId) -> None:
        readable = {other: self.cache[other] for other in self.partition.dependencies(cls)}
        below = [readable.get(self.partition.below(cls, a)) for a in range(self.partition.n_elements)]
        self._computing = True
        self._start(self._computer, self._solve, "computing", cls, self.cache[cls], below, then=self._solved)

    def _loaded(self, cls: ClassId, elapsed_s: float) -> None:
        self._loading.remove(cls)
        self.cache.let_go(cls)
        self.usage.read_s += elapsed_s
        self.usage.bytes_read += BYTES * self.partition.n_values[cls]
        self._events.append(Loaded(self.number, cls))

    def _solved(self, cls: ClassId, times: tuple[float, float]) -> None:
        elapsed_s, kernel_s = times
        self._busy_s += elapsed_s
        self.usage.kernel_s += kernel_s
        self.usage.n_computed += 1
        self._computing = False
        self.task = None
        for other in self.partition.dependencies(cls):
            self.cache.let_go(other)
        self._start(self._writer, self._write, "writing", cls, self.cache[cls], then=self._written)
        self._events.append(Solved(self.number, cls))

    def _written(self, cls: ClassId, elapsed_s: float) -> None:
        self.cache.let_go(cls)
        self.usage.write_s += elapsed_s
        self.usage.bytes_written += BYTES * self.partition.n_values[cls]
        self._events.append(Committed(self.number, cls))

    def _hold(self, classes: Iterable[ClassId]) -> None:
        for cls in classes:
            self.cache.hold(cls)

    def _let_go_of_next(self) -> None:
        if self.next is not None:
            for cls in self.partition.dependencies(self.next):
                self.cache.let_go(cls)
        self.next = None

    def _start(self, pool: Executor, work: Callable[..., Any], what: str, cls: ClassId, *arguments: Any,
               then: Callable[[ClassId, Any], None]) -> None:
        future = pool.submit(work, cls, *arguments)
        future.add_done_callback(lambda done: self._finished.put((then, what, cls, done)))

    def _settle(self, then: Callable[[ClassId, Any], None], what: str, cls: ClassId, future: Future[Any]) -> None:
        try:
            result = future.result()
        except Exception as error:
            name = self.store.place(cls).name
            raise ClassFailedError(what, name, f"{type(error).__name__}: {error}", traceback.format_exc()) from error
        then(cls, result)
        self._go_on()

    # -------------------------------------------------------------------------------- in threads of their own

    def _load(self, cls: ClassId, block: Block) -> float:
        started = perf_counter()
        self.store.read(cls, block.values)
        return perf_counter() - started

    def _write(self, cls: ClassId, block: Block) -> float:
        started = perf_counter()
        self.store.write(cls, block)
        return perf_counter() - started

    def _solve(self, _: ClassId, block: Block, below: Below) -> tuple[float, float]:
        """Compute a class; say how long it took, and how much processor time."""
        started = perf_counter()
        if self._n_threads == 1:
            kernel_s = self._solve_share(block, below)
            return perf_counter() - started, kernel_s
        ends = np.linspace(0, block.starts[-1], SHARES * self._n_threads + 1)
        cuts = np.unique(np.searchsorted(block.starts, ends)).tolist()
        shares = [block.share(first, last) for first, last in pairwise(cuts)]
        kernel_s = sum(self._solving.map(lambda share: self._solve_share(share, below), shares))
        return perf_counter() - started, kernel_s

    def _solve_share(self, block: Block, below: Below) -> float:
        solver = self._solvers.get()
        started = thread_time()
        solver(block, below)
        self._solvers.put(solver)
        return thread_time() - started
