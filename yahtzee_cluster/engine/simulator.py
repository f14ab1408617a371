"""Discrete-event simulation of a run: what it will take in time and reads; solves nothing.

The real schedule and the real workers' decisions run against a clock that only the costs move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, dropwhile
from typing import Self

from yahtzee_cluster.engine.cache import Cache
from yahtzee_cluster.engine.fixed_set import FixedSetSearch, smallest_that_fits
from yahtzee_cluster.engine.partition import Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.schedule import Event, Joined, Schedule
from yahtzee_cluster.engine.worker import Action, Load, Solve, Worker, Write

FIXED_BYTES = 128 << 20
"""Memory of a rank besides its cache: the interpreter and its libraries, MPI, and the tables of the problem."""
CLASSES_SIMULATED = 4096
NEARLY = 1.02
"""Ratio of makespans up to which two runs count as equally long."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Cost model of a problem on a machine; the built-in figures are assumed where nothing was measured."""

    value_s: float = Recurrence.assumed_value_s
    """Processor time for computing one value."""
    subset_s: float = Recurrence.assumed_subset_s
    """Additional processor time for each subset."""
    class_s: float = 2e-3
    """Additional cost of each class: messages, threads, bookkeeping."""
    start_s: float = 0.5
    """From the start of the master to the first class: tables of the problem, the claim, the workers."""
    read_s: float = 1e-9
    """Processor time for reading one value; it delays what is being computed."""
    write_s: float = 8e-9
    """Processor time for writing one value and its digest; it delays what is being computed."""
    commit_s: float = 4e-3
    """Making one class durable."""
    disk_read_bytes_per_s: float = 3e9
    """Bandwidth of the one disk that all workers share."""
    disk_write_bytes_per_s: float = 0.8e9

    @classmethod
    def assumed(cls, problem: Recurrence) -> Self:
        """Costs of a problem where nothing was measured."""
        return cls(value_s=problem.assumed_value_s, subset_s=problem.assumed_subset_s)


@dataclass(frozen=True)
class Forecast:
    """Simulated outcome of a run."""

    n_workers: int
    makespan_s: float
    computing_s: float
    """Over all workers."""
    bytes_read: int
    cores: int
    peak_workers: int
    """Most workers with a task at once; more workers make no difference."""
    start_s: float

    @property
    def least_s(self) -> float:
        """Makespan that no fixed set can beat: the start, and then all cores computing until the end."""
        return self.start_s + self.computing_s / self.cores

    @property
    def efficiency(self) -> float:
        """Share of all cores' time that is spent computing."""
        return self.computing_s / self.core_s if self.makespan_s else 1.0

    @property
    def core_s(self) -> float:
        """Time of all workers' cores, busy or not."""
        return self.makespan_s * self.cores

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
        self.peak_workers = 0
        self._order = count()
        self._pending: list[tuple[float, int, int, Action]] = []
        self._free_at: dict[tuple[int, type] | type, float] = {}
        self._delays = [0.0] * n_workers
        """For each worker, the processor time that its disk threads take from its next computation."""

    def run(self) -> float:
        self.now = self.costs.start_s
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
                n_subsets = self.partition.n_members(action.cls)
                work_s = n_values * costs.value_s + n_subsets * costs.subset_s
                self.computing_s += work_s
                self.peak_workers = max(self.peak_workers, sum(worker.task is not None for worker in self.workers))
                delay_s, self._delays[number] = self._delays[number] / self.n_threads, 0.0
                return self.now + costs.class_s + delay_s + work_s / min(self.n_threads, n_subsets)
            case Load():
                self.bytes_read += 8 * n_values
                if self.workers[number].solving:
                    self._delays[number] += n_values * costs.read_s
                return self._on_disk(number, action, 8 * n_values / costs.disk_read_bytes_per_s)
            case Write():
                self._delays[number] += n_values * costs.write_s
                transfer_s = 8 * n_values / costs.disk_write_bytes_per_s
                return self._on_disk(number, action, transfer_s) + n_values * costs.write_s + costs.commit_s

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
    return Forecast(
        n_workers,
        makespan_s,
        simulation.computing_s,
        simulation.bytes_read,
        n_workers * n_threads,
        simulation.peak_workers,
        simulation.costs.start_s,
    )


def advise(
    problem: Recurrence,
    search: FixedSetSearch,
    cache_bytes: int,
    n_workers: int,
    n_threads: int = 1,
    costs: Costs | None = None,
) -> int | None:
    """Size of the fixed set with the shortest simulated run; of nearly equal ones the smallest. None if none fits."""
    costs = costs or Costs.assumed(problem)
    found = forecasts(
        candidates(search, cache_bytes),
        lambda partition: simulate(partition, n_workers, cache_bytes, costs, n_threads),
    )
    return shortest({n_fixed: forecast.makespan_s for n_fixed, forecast in found.items()}) if found else None


def candidates(search: FixedSetSearch, cache_bytes: int) -> Iterator[tuple[int, Partition]]:
    """Sizes of fixed sets whose classes fit into the cache and can be simulated in a moment, with their partitions."""
    first = smallest_that_fits(search, cache_bytes)
    if first is None:
        return
    for n_fixed in dropwhile(lambda n: n < first, search.sizes()):
        partition = search.partition(search.pick(n_fixed))
        if n_fixed > first and len(partition.classes) > CLASSES_SIMULATED:
            return
        yield n_fixed, partition


def forecasts(
    tried: Iterable[tuple[int, Partition]], simulated: Callable[[Partition], Forecast], worse: float = 1.2
) -> dict[int, Forecast]:
    """Forecasts by the size of the fixed set, smaller sizes first.

    They end with one that is this much worse than one before, or that no larger one can beat.
    """
    found: dict[int, Forecast] = {}
    for n_fixed, partition in tried:
        found[n_fixed] = forecast = simulated(partition)
        best_s = min(forecast.makespan_s for forecast in found.values())
        if forecast.makespan_s > worse * best_s or forecast.makespan_s <= NEARLY * forecast.least_s:
            break
    return found


def shortest(makespans: Mapping[int, float]) -> int:
    """Size of the fixed set with the shortest run; of nearly equal ones the smallest."""
    return next(n for n, makespan_s in sorted(makespans.items()) if makespan_s <= NEARLY * min(makespans.values()))
