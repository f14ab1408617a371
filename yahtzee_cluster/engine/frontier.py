"""What of a table must stay on disk while it is computed, if nothing else is kept. No disk, no clock.

A class goes as soon as all classes that read it are on disk; what none reads is a result, and stays.
Somebody may just then be loading it in advance, for a class that another one has computed meanwhile: he reads in vain.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import Committed, Compute, Event, Joined, Schedule, Solved


class Frontier:
    """Tells which classes have been passed: all that read them are on disk, as they are themselves."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._seen: set[ClassId] = set()

    def passed(self) -> list[ClassId]:
        """The classes that were passed since this was asked last; at first, all that ever were."""
        done, users = self._schedule.done, self._schedule.dependents
        if len(done) == len(self._seen):
            return []
        new = done - self._seen
        self._seen |= new
        near = new.union(*(self._schedule.dependencies[cls] for cls in new))
        return sorted(cls for cls in near & done if users[cls] and done.issuperset(users[cls]))


def growth(partition: Partition, done: Collection[ClassId], n_workers: int) -> int:
    """How many more bytes than now are on disk at the most until the table is finished, as it is scheduled.

    An estimate: a class is taken to be there from its beginning on, and to take as long as it has values.
    """
    schedule = Schedule.of(partition, done)
    frontier = Frontier(schedule)
    frontier.passed()
    n_values = partition.n_values
    now, used, most = 0.0, 0, 0
    events: list[Event] = [Joined(worker) for worker in range(min(n_workers, len(partition.classes)))]
    computing: list[tuple[float, int, ClassId]] = []
    while events:
        begun = [said for event in events for said in schedule.handle(event) if isinstance(said, Compute)]
        for said in begun:
            heappush(computing, (now + schedule.costs[said.cls], said.worker, said.cls))
        used += sum(n_values[said.cls] for said in begun) - sum(n_values[cls] for cls in frontier.passed())
        most = max(most, used)
        events = []
        if computing:
            now, worker, cls = heappop(computing)
            events = [Solved(worker, cls), Committed(worker, cls)]
    return 8 * most
