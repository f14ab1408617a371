"""One worker's decisions: what to load, when to compute, what to keep. No threads, no clock, no disk.

A worker takes the master's instructions and hears which of its actions are done; it answers with further actions, and
with events for the master.
While one class is computed, the one before is being written, and what the next one needs is being loaded.
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
    """How much memory a class takes while it is computed: its own, and that of all it depends on."""
    return sum(size_of(partition.n_values[needed]) for needed in (cls, *partition.dependencies(cls)))


@dataclass(frozen=True)
class Load:
    """Read a class into the memory that it has in the cache."""

    cls: ClassId


@dataclass(frozen=True)
class Solve:
    """Compute a class; all that it depends on is in the cache."""

    cls: ClassId


@dataclass(frozen=True)
class Write:
    """Commit a class."""

    cls: ClassId


Action = Load | Solve | Write


class Worker:
    """What one rank has in mind."""

    def __init__(self, number: int, partition: Partition, cache: Cache) -> None:
        self.number = number
        self.partition = partition
        self.cache = cache
        self.task: ClassId | None = None
        self.next: ClassId | None = None
        self.solving = False
        self._loading: set[ClassId] = set()

    def handle(self, instruction: Instruction) -> list[Action | Event]:
        """Take an instruction of the master."""
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
                    return [Evicted(self.number, cls), *self._go_on()]
        return self._go_on()

    def done(self, action: Action) -> list[Action | Event]:
        """Take note that an action is done."""
        cls = action.cls
        match action:
            case Load():
                self._loading.remove(cls)
                self.cache.let_go(cls)
                return [Loaded(self.number, cls), *self._go_on()]
            case Solve():
                self.solving = False
                self.task = None
                self._let_go(self.partition.dependencies(cls))
                return [Solved(self.number, cls), Write(cls), *self._go_on()]
            case Write():
                self.cache.let_go(cls)
                return [Committed(self.number, cls), *self._go_on()]

    def needs(self, cls: ClassId) -> bool:
        """Whether the class to be computed reads this one."""
        return self.task is not None and cls in self.partition.dependencies(self.task)

    def missed(self, action: Load) -> list[Action | Event]:
        """Take note that a class could not be loaded in advance; what that was for may well be on disk by now."""
        self._loading.remove(action.cls)
        self.cache.let_go(action.cls)
        if self.next is not None and action.cls in self.partition.dependencies(self.next):
            self._let_go_of_next()
        self.cache.drop(action.cls)
        return self._go_on()

    def stop(self) -> None:
        """Begin nothing more; what is held for that need not be let go any more."""
        self.next = None
        if not self.solving:
            self.task = None

    def _go_on(self) -> list[Action | Event]:
        """Begin whatever can be begun now."""
        begun: list[Action | Event] = []
        if self.task is not None and not self.solving:
            if self.task not in self.cache:
                begun += self._take_room(self.task) or []
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
        """Begin to load a class, unless it is there, as soon as there is room."""
        if cls in self.cache:
            return []
        gone = self._take_room(cls)
        if gone is None:
            return []
        self._loading.add(cls)
        return [*gone, Load(cls)]

    def _take_room(self, cls: ClassId) -> list[Action | Event] | None:
        """Take room for a class and hold it; None if there is no room until something is loaded or written."""
        n_bytes = size_of(self.partition.n_values[cls])
        gone = self.cache.take(cls, n_bytes)
        if gone is None and not self.solving:
            self._let_go_of_next()
            gone = self.cache.take(cls, n_bytes)
        if gone is None:
            return None
        self.cache.hold(cls)
        return [Evicted(self.number, other) for other in gone]

    def _let_go_of_next(self) -> None:
        if self.next is not None:
            self._let_go(self.partition.dependencies(self.next))
        self.next = None

    def _hold(self, classes: Iterable[ClassId]) -> None:
        for cls in classes:
            self.cache.hold(cls)

    def _let_go(self, classes: Iterable[ClassId]) -> None:
        for cls in classes:
            self.cache.let_go(cls)
