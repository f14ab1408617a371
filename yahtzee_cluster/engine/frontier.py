"""The frontier of a run with --keep frontier: the classes that must stay on disk. No disk, no clock.

A class is dropped as soon as all classes that read it are on disk; a class that none reads is a result, and stays. A
worker may be prefetching it at that moment, for a class that another worker has computed meanwhile; that prefetch is
then given up.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush

from yahtzee_cluster.engine.partition import ClassId, Partition
from yahtzee_cluster.engine.schedule import Committed, Compute, Event, Joined, Schedule, Solved


class Frontier:
    """Finds the classes that can be dropped: they are on disk, and so are all classes that read them."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._seen: set[ClassId] = set()

    def passed(self) -> list[ClassId]:
        """Classes that can be dropped since the last call; at the first call, all of them."""
        done, users = self._schedule.done, self._schedule.dependents
        if len(done) == len(self._seen):
            return []
        new = done - self._seen
        self._seen |= new
        near = new.union(*(self._schedule.dependencies[cls] for cls in new))
        return sorted(cls for cls in near & done if users[cls] and done.issuperset(users[cls]))


def growth(partition: Partition, done: Collection[ClassId], n_workers: int) -> int:
    """Estimate the most bytes by which the table grows on disk until it is finished.

    The real schedule runs against a clock: a class takes as long as it has values, and counts from its beginning on.
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
