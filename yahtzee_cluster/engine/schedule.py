"""The master's scheduler: a state machine that takes events and returns instructions. No ranks, clock or disk.

A class is *ready* when all its dependencies are on disk.
The ready queue is ordered by remaining critical path, which bounds the makespan from below.
Among classes whose critical paths are nearly equal, a worker gets the one for which it must read least.
While it computes, a worker is told which class would suit it next, and may prefetch the dependencies of that class.
This is a hint and reserves nothing, so that no worker ever waits while a class is ready.

On a host with more workers than cores, only as many compute at a time as there are cores: more would only share them,
and each would read for itself what another worker has in its cache.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from yahtzee_cluster.engine.partition import ClassId, Partition, dependents_of

CLASS_OVERHEAD = 4096
"""Fixed cost of a class, as the number of values that could be computed in that time."""
N_COMPARED = 16
"""Number of ready classes, from the head of the queue, that are compared by the reads they need."""


# ---------------------------------------------------------------------------------------------- events


@dataclass(frozen=True)
class Joined:
    """A worker with an empty cache asks for work; it runs on these cores of a host, if they are known."""

    worker: int
    host: str = ""
    cores: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Solved:
    """A worker has computed its class, keeps it in its cache, and asks for another while it writes this one."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Committed:
    """A class is durable on disk, where every worker can read it; it is part of the checkpoint of the run."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Loaded:
    """A worker has read a class into its cache."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Evicted:
    """A worker has evicted a class from its cache."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Left:
    """A worker is lost, and its cache with it; of the classes that it had begun, these are on disk."""

    worker: int
    committed: tuple[ClassId, ...] = ()


Event = Joined | Solved | Committed | Loaded | Evicted | Left


# ------------------------------------------------------------------------------------------ instructions


@dataclass(frozen=True)
class Compute:
    """Load the dependencies of a class, compute it, commit it."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Preload:
    """Prefetch for a class that this worker may get next: load its dependencies, as far as the cache has room."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Drop:
    """Evict a class that no remaining class depends on."""

    worker: int
    cls: ClassId


Instruction = Compute | Preload | Drop


class Schedule:
    """Assigns ready classes to workers, and tells workers what to prefetch and what to evict."""

    def __init__(
        self,
        dependencies: Mapping[ClassId, Sequence[ClassId]],
        costs: Mapping[ClassId, float],
        done: Collection[ClassId] = (),
        n_threads: int = 1,
    ) -> None:
        """`dependencies` lists all classes, each after its dependencies; `costs` are in any unit of time.

        Each worker computes with `n_threads` threads. The ready queue is ordered by the remaining critical path.
        """
        self.dependencies = dependencies
        self.costs = costs
        self.done = set(done)
        self.dependents = dependents_of(dependencies)
        self.path: dict[ClassId, float] = {}
        """Remaining critical path: the cost of the longest chain of dependents that starts with this class."""
        for cls in reversed(list(dependencies)):
            self.path[cls] = costs[cls] + max((self.path[other] for other in self.dependents[cls]), default=0.0)
        self.slack = sum(costs.values()) / max(1, len(costs))
        """Classes whose paths differ by at most this, the cost of an average class, count as equally urgent."""

        self.n_threads = n_threads
        self.host: dict[int, str] = {}
        self.cores: defaultdict[str, set[int]] = defaultdict(set)
        self.n_computing: Counter[str] = Counter()
        self.idle: dict[int, None] = {}
        self.computing: dict[int, ClassId] = {}
        self.writing: dict[ClassId, int] = {}
        self.preloading: dict[int, ClassId] = {}
        self.caching: defaultdict[ClassId, set[int]] = defaultdict(set)
        self._preloaders: dict[ClassId, int] = {}
        todo = [cls for cls in dependencies if cls not in self.done]
        self._n_todo = len(todo)
        self._n_missing = {cls: sum(other not in self.done for other in dependencies[cls]) for cls in todo}
        self._n_users = {cls: sum(user not in self.done for user in users) for cls, users in self.dependents.items()}
        self._ready = sorted((-self.path[cls], cls) for cls in todo if not self._n_missing[cls])

    @classmethod
    def of(cls, partition: Partition, done: Collection[ClassId] = (), n_threads: int = 1) -> Self:
        """Schedule of a partition, some classes of which may already be on disk."""
        costs = {c: float(partition.n_values[c] + CLASS_OVERHEAD) for c in partition.classes}
        return cls({c: partition.dependencies(c) for c in partition.classes}, costs, done, n_threads)

    @property
    def finished(self) -> bool:
        """Whether every class is on disk."""
        return self._n_todo == 0

    def unfinished(self, worker: int) -> list[ClassId]:
        """Classes that a worker has begun and not committed."""
        computing = [cls for other, cls in self.computing.items() if other == worker]
        return computing + [cls for cls, other in self.writing.items() if other == worker]

    def handle(self, event: Event) -> list[Instruction]:
        """Process an event; return the instructions that follow from it."""
        instructions: list[Instruction] = []
        match event:
            case Joined(worker, host, cores):
                self.host[worker] = host
                self.cores[host] |= cores
                self.idle[worker] = None
            case Solved(worker, cls):
                assert self.computing.pop(worker) == cls
                self.n_computing[self.host[worker]] -= 1
                self.writing[cls] = worker
                self.caching[cls].add(worker)
                self.idle[worker] = None
            case Committed(_, cls):
                instructions += self._commit(cls)
            case Loaded(worker, cls):
                self.caching[cls].add(worker)
                if not self._n_users[cls]:
                    instructions.append(Drop(worker, cls))
            case Evicted(worker, cls):
                self.caching[cls].discard(worker)
            case Left(worker, committed):
                instructions += self._leave(worker, committed)
        return instructions + self._assign() + self._look_ahead()

    @property
    def n_at_once(self) -> int:
        """Number of workers that can compute at the same time."""
        return sum(min(n, self._room(host)) for host, n in Counter(self.host.values()).items())

    def _has_core(self, worker: int) -> bool:
        """Whether the host of a worker has a free core; without one, workers would only share cores."""
        host = self.host[worker]
        return self.n_computing[host] < self._room(host)

    def _room(self, host: str) -> int:
        """Number of workers that a host has cores for; that of all workers if its cores are not known."""
        cores = self.cores[host]
        return max(1, len(cores) // self.n_threads) if cores else len(self.host)

    def _leave(self, worker: int, committed: Collection[ClassId]) -> list[Instruction]:
        """Remove a worker; classes that it has not committed return to the ready queue."""
        instructions: list[Instruction] = []
        begun = self.unfinished(worker)
        if self.computing.pop(worker, None) is not None:
            self.n_computing[self.host[worker]] -= 1
        self._forget_preload(worker)
        self.idle.pop(worker, None)
        self.host.pop(worker, None)
        for workers in self.caching.values():
            workers.discard(worker)
        for cls in begun:
            self.writing[cls] = worker
            if cls in committed:
                instructions += self._commit(cls)
            else:
                del self.writing[cls]
                insort(self._ready, (-self.path[cls], cls))
        return instructions

    def _commit(self, cls: ClassId) -> Iterable[Instruction]:
        del self.writing[cls]
        self.done.add(cls)
        self._n_todo -= 1
        for user in self.dependents[cls]:
            if user in self._n_missing:
                self._n_missing[user] -= 1
                if not self._n_missing[user]:
                    insort(self._ready, (-self.path[user], user))
        unneeded = [cls] if not self._n_users[cls] else []
        for other in self.dependencies[cls]:
            self._n_users[other] -= 1
            if not self._n_users[other]:
                unneeded.append(other)
        return [Drop(worker, other) for other in unneeded for worker in sorted(self.caching[other])]

    def _assign(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        while self._ready and (able := {worker: None for worker in self.idle if self._has_core(worker)}):
            worker, cls = self._best_pair(able, self._most_urgent())
            del self.idle[worker]
            self.n_computing[self.host[worker]] += 1
            self._ready.remove((-self.path[cls], cls))
            self._forget_preload(self._preloaders.get(cls))
            self._forget_preload(worker)
            self.computing[worker] = cls
            instructions.append(Compute(worker, cls))
        return instructions

    def _look_ahead(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        for worker in [worker for worker in self.preloading if worker in self.idle]:
            self._forget_preload(worker)  # another worker has taken its core
        if len(self._ready) <= max(self.n_at_once, len(self._preloaders)):
            return instructions  # the next idle worker would have to take a class that another one prefetches for
        waiting = {worker: None for worker in self.computing if worker not in self.preloading}
        while waiting and len(self._ready) > len(self._preloaders):
            worker, cls = self._best_pair(waiting, self._most_urgent(skip=self._preloaders))
            del waiting[worker]
            self.preloading[worker] = cls
            self._preloaders[cls] = worker
            instructions.append(Preload(worker, cls))
        return instructions

    def _most_urgent(self, skip: Collection[ClassId] = ()) -> list[ClassId]:
        """The ready classes whose urgency is within the slack of the most urgent one."""
        compared = [(rank, cls) for rank, cls in self._ready[: N_COMPARED + len(skip)] if cls not in skip]
        return [cls for rank, cls in compared if rank <= compared[0][0] + self.slack]

    def _best_pair(self, workers: Mapping[int, None], classes: Sequence[ClassId]) -> tuple[int, ClassId]:
        """The worker and class with the least left to read; pairs that waste another worker's prefetch come last."""
        first = next(iter(workers))
        best: tuple[tuple[bool, float], int, ClassId] | None = None
        for cls in classes:
            having, total = {first: 0.0}, 0.0
            for other in self.dependencies[cls]:
                total += self.costs[other]
                for worker in self.caching[other]:
                    if worker in workers:
                        having[worker] = having.get(worker, 0.0) + self.costs[other]
            for worker in sorted(having):
                key = self._preloaders.get(cls, worker) != worker, total - having[worker]
                if best is None or key < best[0]:
                    best = key, worker, cls
        assert best is not None
        return best[1], best[2]

    def _forget_preload(self, worker: int | None) -> None:
        if worker in self.preloading:
            del self._preloaders[self.preloading.pop(worker)]

    def validate(self) -> None:
        """Assert the invariants of the schedule; for tests, after any event."""
        ready = [cls for _, cls in self._ready]
        assert self._ready == sorted(self._ready)
        assert not (ready and any(map(self._has_core, self.idle))), "a worker and a core idle while a class is ready"
        assert self.n_computing == Counter(self.host[worker] for worker in self.computing)
        assert not set(self.idle) & set(self.computing)
        stages = [*self.done, *self.writing, *self.computing.values(), *ready]
        assert len(stages) == len(set(stages)), "a class is in two stages"
        for cls in [*self.writing, *self.computing.values(), *ready]:
            assert all(other in self.done for other in self.dependencies[cls]), "a class goes before what it reads"
        waiting = set(self.dependencies) - set(stages)
        assert all(any(other not in self.done for other in self.dependencies[cls]) for cls in waiting)
        assert set(self._preloaders) <= set(ready)
        assert {cls: worker for worker, cls in self.preloading.items()} == self._preloaders
        assert set(self.preloading) <= set(self.computing)
        assert self._n_todo == len(self.dependencies) - len(self.done)
