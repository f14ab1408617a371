"""The master's decisions: events in, instructions out. No ranks, no clock, no disk.

A class is *ready* when all that it depends on is on disk.
The longest remaining path goes first: no run is shorter than its longest chain of classes.
Among classes whose paths are as good as equal, a worker gets the one for which it must read least.
While it computes, it is told which class would suit it next and may load for that in advance; but no class is promised,
so that no worker ever waits while a class is ready.

Where a host has more workers than cores, only as many compute at a time as it has cores: more would only take turns,
and each would read for itself what another one has in its cache.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from yahtzee_cluster.engine.partition import ClassId, Partition, dependents_of

CLASS_OVERHEAD = 4096
"""So many values could be computed while a class is begun and ended."""
N_COMPARED = 16
"""So many ready classes, the most urgent, are compared for what would have to be read."""


# ---------------------------------------------------------------------------------------------- what happened


@dataclass(frozen=True)
class Joined:
    """A worker has nothing in its cache and asks for work; it runs on these cores of a host, if it says so."""

    worker: int
    host: str = ""
    cores: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Solved:
    """A worker has computed its class, keeps it, and asks for another while this one is being written."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Committed:
    """A class is on disk for good: every worker can read it."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Loaded:
    """A worker has read a class into its cache."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Evicted:
    """A worker no longer has a class in its cache."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Left:
    """A worker is gone, with all that it had in memory; of what it had begun, this much is on disk."""

    worker: int
    committed: tuple[ClassId, ...] = ()


Event = Joined | Solved | Committed | Loaded | Evicted | Left


# ------------------------------------------------------------------------------------------ what is to be done


@dataclass(frozen=True)
class Compute:
    """Load what the class depends on, compute it, write it."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Preload:
    """This class would suit the worker next: load what it depends on, as far as there is room."""

    worker: int
    cls: ClassId


@dataclass(frozen=True)
class Drop:
    """No class to come needs this one: take it out of the cache."""

    worker: int
    cls: ClassId


Instruction = Compute | Preload | Drop


class Schedule:
    """Who computes what, and when."""

    def __init__(
        self,
        dependencies: Mapping[ClassId, Sequence[ClassId]],
        costs: Mapping[ClassId, float],
        done: Collection[ClassId] = (),
        n_threads: int = 1,
        urgency: Mapping[ClassId, float] | None = None,
    ) -> None:
        """`dependencies` lists all classes, each after those that it depends on; `costs` are in any unit of time.

        Each worker computes with so many threads. What is ready goes by its urgency, in the unit of the costs: by its
        path, unless somebody knows better.
        """
        self.dependencies = dependencies
        self.costs = costs
        self.done = set(done)
        self.dependents = dependents_of(dependencies)
        self.path: dict[ClassId, float] = {}
        """How long the longest chain of classes is that starts with this one."""
        for cls in reversed(list(dependencies)):
            self.path[cls] = costs[cls] + max((self.path[other] for other in self.dependents[cls]), default=0.0)
        self.slack = sum(costs.values()) / max(1, len(costs))
        """What differs in urgency by no more than this, an average class, counts as equal."""
        self.urgency = urgency or self.path

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
        self._ready = sorted((-self.urgency[cls], cls) for cls in todo if not self._n_missing[cls])

    @classmethod
    def of(
        cls,
        partition: Partition,
        done: Collection[ClassId] = (),
        n_threads: int = 1,
        urgency: Mapping[ClassId, float] | None = None,
    ) -> Self:
        """The schedule of a table, some classes of which may be there already."""
        costs = {c: float(partition.n_values[c] + CLASS_OVERHEAD) for c in partition.classes}
        return cls({c: partition.dependencies(c) for c in partition.classes}, costs, done, n_threads, urgency)

    @property
    def finished(self) -> bool:
        """Whether every class is on disk."""
        return self._n_todo == 0

    def unfinished(self, worker: int) -> list[ClassId]:
        """The classes that a worker has begun and not committed."""
        computing = [cls for other, cls in self.computing.items() if other == worker]
        return computing + [cls for cls, other in self.writing.items() if other == worker]

    def handle(self, event: Event) -> list[Instruction]:
        """Take note of what happened; say what is to be done now."""
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
        """How many workers can compute at the same time."""
        return sum(min(n, self._room(host)) for host, n in Counter(self.host.values()).items())

    def _has_core(self, worker: int) -> bool:
        """Whether there is a core for a worker; more workers than cores would only take turns."""
        host = self.host[worker]
        return self.n_computing[host] < self._room(host)

    def _room(self, host: str) -> int:
        """How many workers a host has cores for; as many as there are where nothing is known of its cores."""
        cores = self.cores[host]
        return max(1, len(cores) // self.n_threads) if cores else len(self.host)

    def _leave(self, worker: int, committed: Collection[ClassId]) -> list[Instruction]:
        """Forget a worker; what it has not committed is ready again."""
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
                insort(self._ready, (-self.urgency[cls], cls))
        return instructions

    def _commit(self, cls: ClassId) -> Iterable[Instruction]:
        del self.writing[cls]
        self.done.add(cls)
        self._n_todo -= 1
        for user in self.dependents[cls]:
            if user in self._n_missing:
                self._n_missing[user] -= 1
                if not self._n_missing[user]:
                    insort(self._ready, (-self.urgency[user], user))
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
            self._ready.remove((-self.urgency[cls], cls))
            self._forget_preload(self._preloaders.get(cls))
            self._forget_preload(worker)
            self.computing[worker] = cls
            instructions.append(Compute(worker, cls))
        return instructions

    def _look_ahead(self) -> list[Instruction]:
        instructions: list[Instruction] = []
        for worker in [worker for worker in self.preloading if worker in self.idle]:
            self._forget_preload(worker)  # another one took the core
        if len(self._ready) <= max(self.n_at_once, len(self._preloaders)):
            return instructions  # whoever becomes idle next would have to take what another one loads for
        waiting = {worker: None for worker in self.computing if worker not in self.preloading}
        while waiting and len(self._ready) > len(self._preloaders):
            worker, cls = self._best_pair(waiting, self._most_urgent(skip=self._preloaders))
            del waiting[worker]
            self.preloading[worker] = cls
            self._preloaders[cls] = worker
            instructions.append(Preload(worker, cls))
        return instructions

    def _most_urgent(self, skip: Collection[ClassId] = ()) -> list[ClassId]:
        """The most urgent of the ready classes, as far as they are as good as equal."""
        compared = [(rank, cls) for rank, cls in self._ready[: N_COMPARED + len(skip)] if cls not in skip]
        return [cls for rank, cls in compared if rank <= compared[0][0] + self.slack]

    def _best_pair(self, workers: Mapping[int, None], classes: Sequence[ClassId]) -> tuple[int, ClassId]:
        """The worker and the class with the least left to read; the first of each that are equal."""
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
        """State what always holds; for tests, after any event."""
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
