"""The decisions of one worker: what to load, when to compute, what to evict. No threads, clock or disk.

A worker is a state machine: it takes instructions of the master and completed actions, and returns new actions and
events for the master.
While one class is computed, the previous one is written, and the dependencies of the next one are prefetched.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from yahtzee_cluster.engine.cache import Cache, size_of
from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import (
    Committed,
    Compute,
    Drop,
    Event,
    Evicted,
    Instruction,
    Loaded,
    Preload,
    Solved,
)


def bytes_at_once(partition: Partition, cls: ClassId) -> int:
    """Working set of a class: the memory for it and all its dependencies."""
    return sum(size_of(partition.n_values[needed]) for needed in (cls, *partition.dependencies(cls)))


@dataclass(frozen=True)
class Load:
    """Read a class, for which the cache has reserved space."""

    cls: ClassId


@dataclass(frozen=True)
class Solve:
    """Compute a class whose dependencies are all in the cache."""

    cls: ClassId


@dataclass(frozen=True)
class Write:
    """Commit a class."""

    cls: ClassId


Action = Load | Solve | Write


class Worker:
    """State of one worker: its task, the class that it prefetches for, and its cache."""

    def __init__(self, number: int, partition: Partition, cache: Cache) -> None:
        self.number = number
        self.partition = partition
        self.cache = cache
        self.task: ClassId | None = None
        self.next: ClassId | None = None
        self.solving = False
        self._loading: set[ClassId] = set()

    def handle(self, instruction: Instruction) -> list[Action | Event]:
        """Process an instruction of the master."""
        match instruction:
            case Compute(_, cls):
                assert self.task is None
                self.task = cls
                self._hold(self.partition.dependencies(cls))
                self._cancel_prefetch()
            case Preload(_, cls):
                self._cancel_prefetch()
                self.next = cls
                self._hold(self.partition.dependencies(cls))
            case Drop(_, cls):
                if self.cache.drop(cls):
                    return [Evicted(self.number, cls), *self._advance()]
        return self._advance()

    def done(self, action: Action) -> list[Action | Event]:
        """Process the completion of an action."""
        cls = action.cls
        match action:
            case Load():
                self._loading.remove(cls)
                self.cache.unpin(cls)
                return [Loaded(self.number, cls), *self._advance()]
            case Solve():
                self.solving = False
                self.task = None
                self._let_go(self.partition.dependencies(cls))
                return [Solved(self.number, cls), Write(cls), *self._advance()]
            case Write():
                self.cache.unpin(cls)
                return [Committed(self.number, cls), *self._advance()]

    def needs(self, cls: ClassId) -> bool:
        """Whether the current task depends on this class."""
        return self.task is not None and cls in self.partition.dependencies(self.task)

    def missed(self, action: Load) -> list[Action | Event]:
        """Process a prefetch that failed; the class that it was for may have been computed elsewhere meanwhile."""
        self._loading.remove(action.cls)
        self.cache.unpin(action.cls)
        if self.next is not None and action.cls in self.partition.dependencies(self.next):
            self._cancel_prefetch()
        self.cache.drop(action.cls)
        return self._advance()

    def stop(self) -> None:
        """Begin nothing more; the pins of tasks that were not begun need not be released."""
        self.next = None
        if not self.solving:
            self.task = None

    def _advance(self) -> list[Action | Event]:
        """Begin every action that is possible now."""
        begun: list[Action | Event] = []
        if self.task is not None and not self.solving:
            if self.task not in self.cache:
                begun += self._reserve(self.task) or []
            for cls in self.partition.dependencies(self.task):
                begun += self._fetch(cls)
            if self._is_ready(self.task):
                self.solving = True
                begun.append(Solve(self.task))
        if self.next is not None and self.solving:
            for cls in self.partition.dependencies(self.next):
                begun += self._fetch(cls)
        return begun

    def _is_ready(self, task: ClassId) -> bool:
        needed = [task, *self.partition.dependencies(task)]
        return all(cls in self.cache and cls not in self._loading for cls in needed)

    def _fetch(self, cls: ClassId) -> list[Action | Event]:
        """Begin to load a class that is not in the cache, if there is room for it."""
        if cls in self.cache:
            return []
        gone = self._reserve(cls)
        if gone is None:
            return []
        self._loading.add(cls)
        return [*gone, Load(cls)]

    def _reserve(self, cls: ClassId) -> list[Action | Event] | None:
        """Reserve space for a class and pin it; None if that must wait for a load or a write to end.

        While no class is being computed, the prefetch is given up if its space is needed.
        """
        n_bytes = size_of(self.partition.n_values[cls])
        gone = self.cache.take(cls, n_bytes)
        if gone is None and not self.solving:
            self._cancel_prefetch()
            gone = self.cache.take(cls, n_bytes)
        if gone is None:
            return None
        self.cache.pin(cls)
        return [Evicted(self.number, other) for other in gone]

    def _cancel_prefetch(self) -> None:
        if self.next is not None:
            self._let_go(self.partition.dependencies(self.next))
        self.next = None

    def _hold(self, classes: Iterable[ClassId]) -> None:
        for cls in classes:
            self.cache.pin(cls)

    def _let_go(self, classes: Iterable[ClassId]) -> None:
        for cls in classes:
            self.cache.unpin(cls)
