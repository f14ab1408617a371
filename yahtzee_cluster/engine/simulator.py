"""Discrete-event simulation of a run: what it will take in time and reads; solves nothing.

The real schedule and the real workers' decisions run against a clock that only the costs move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, dropwhile

from yahtzee_cluster.engine.cache import Cache
from yahtzee_cluster.engine.fixed_set import Scales, smallest_that_fits
from yahtzee_cluster.engine.partition import Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Event, Joined, Schedule
from yahtzee_cluster.engine.worker import Action, Load, Solve, Worker, Write

FIXED_BYTES = 128 << 20
"""Memory of a rank besides its cache: the interpreter and its libraries, MPI, and the tables of the problem."""
CLASSES_SIMULATED = 4096


@dataclass(frozen=True)
class Costs:
    """Cost model of a machine; `python -m yahtzee_cluster.plan --calibrate` measures it."""

    value_s: float = 128e-9
    """Computing one value on one core."""
    subset_s: float = 30e-6
    """Additional cost of each subset."""
    class_s: float = 2e-3
    """Additional cost of each class: messages, threads, bookkeeping."""
    commit_s: float = 4e-3
    """Making one class durable."""
    disk_read_bytes_per_s: float = 3e9
    """Bandwidth of the one disk that all workers share."""
    disk_write_bytes_per_s: float = 0.8e9


@dataclass(frozen=True)
class Forecast:
    """Simulated outcome of a run."""

    n_workers: int
    makespan_s: float
    computing_s: float
    """Over all workers."""
    bytes_read: int
    cores: int

    @property
    def efficiency(self) -> float:
        """Share of all cores' time that is spent computing."""
        return self.computing_s / (self.makespan_s * self.cores) if self.makespan_s else 1.0

    @property
    def idle(self) -> float:
        """Share that is not spent computing."""
        return 1 - self.efficiency


class _Simulation:
    def __init__(
        self, schedule: Schedule, partition: Partition, n_workers: int, cache_bytes: int, costs: Costs, n_threads: int
    ) -> None:
        self.schedule = schedule
        self.partition = partition
        self.costs = costs
        self.n_threads = n_threads
        self.workers = [Worker(number, partition, Cache(cache_bytes)) for number in range(n_workers)]
        self.now = 0.0
        self.computing_s = 0.0
        self.bytes_read = 0
        self._order = count()
        self._pending: list[tuple[float, int, int, Action]] = []
        self._free_at: dict[tuple[int, type] | type, float] = {}

    def run(self) -> float:
        self._report([Joined(worker.number) for worker in self.workers])
        while not self.schedule.finished:
            self.now, _, number, action = heappop(self._pending)
            self._take(number, self.workers[number].done(action))
        return self.now

    def _report(self, events: Iterable[Event]) -> None:
        for event in events:
            for instruction in self.schedule.handle(event):
                self._take(instruction.worker, self.workers[instruction.worker].handle(instruction))

    def _take(self, number: int, decided: Iterable[Action | Event]) -> None:
        for item in decided:
            if isinstance(item, Action):
                heappush(self._pending, (self._end_of(number, item), next(self._order), number, item))
            else:
                self._report([item])

    def _end_of(self, number: int, action: Action) -> float:
        """When an action begun now ends; a worker's threads and the shared disk do one action of a kind at a time."""
        n_values = self.partition.n_values[action.cls]
        costs = self.costs
        match action:
            case Solve():
                n_subsets = len(self.partition.members(action.cls))
                work_s = n_values * costs.value_s + n_subsets * costs.subset_s
                self.computing_s += work_s
                return self.now + costs.class_s + work_s / min(self.n_threads, n_subsets)
            case Load():
                self.bytes_read += 8 * n_values
                return self._on_disk(number, action, 8 * n_values / costs.disk_read_bytes_per_s)
            case Write():
                return self._on_disk(number, action, 8 * n_values / costs.disk_write_bytes_per_s) + costs.commit_s

    def _on_disk(self, number: int, action: Action, transfer_s: float) -> float:
        thread = number, type(action)
        start = max(self.now, self._free_at.get(thread, 0.0), self._free_at.get(type(action), 0.0))
        self._free_at[thread] = self._free_at[type(action)] = start + transfer_s
        return start + transfer_s


def simulate(
    partition: Partition,
    n_workers: int,
    cache_bytes: int,
    costs: Costs | None = None,
    n_threads: int = 1,
    schedule: Schedule | None = None,
) -> Forecast:
    """Simulate a run and return its forecast."""
    n_busy = min(n_workers, len(partition.classes))  # any more would never get a class
    schedule = schedule or Schedule.of(partition)
    simulation = _Simulation(schedule, partition, n_busy, cache_bytes, costs or Costs(), n_threads)
    makespan_s = simulation.run()
    return Forecast(n_workers, makespan_s, simulation.computing_s, simulation.bytes_read, n_workers * n_threads)


def advise(
    problem: Recurrence,
    scales: Scales,
    cache_bytes: int,
    n_workers: int,
    n_threads: int = 1,
    costs: Costs | None = None,
) -> int | None:
    """Size of the fixed set with the shortest simulated run; of nearly equal ones the smallest. None if none fits."""
    first = smallest_that_fits(problem, scales, cache_bytes)
    if first is None:
        return None
    makespans = {}
    for n_fixed in dropwhile(lambda n: n < first, scales.sizes()):
        partition = problem.partition(scales.pick(n_fixed))
        if n_fixed > first and len(partition.classes) > CLASSES_SIMULATED:
            break
        makespans[n_fixed] = simulate(partition, n_workers, cache_bytes, costs, n_threads).makespan_s
        if makespans[n_fixed] > 1.2 * min(makespans.values()):
            break
    return shortest(makespans)


def shortest(makespans: Mapping[int, float]) -> int:
    """Size of the fixed set with the shortest run; of nearly equal ones the smallest."""
    return next(n for n, makespan_s in sorted(makespans.items()) if makespan_s <= 1.02 * min(makespans.values()))
