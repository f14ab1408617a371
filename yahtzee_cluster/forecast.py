"""What a run will cost in memory, reads and time; solves nothing.

The choice of the fixed set rests on the true sizes of all classes; how long a run takes is found by running the real
scheduler and the real workers' decisions against a clock that only the costs move.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, dropwhile, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.cache import Cache
from yahtzee_cluster.partition import Partition, Subsets
from yahtzee_cluster.recurrence import Recurrence
from yahtzee_cluster.schedule import Event, Joined, Schedule
from yahtzee_cluster.worker import Action, Load, Solve, Worker, Write, bytes_at_once

FIXED_BYTES = 128 << 20
"""What a rank takes besides its cache: the interpreter and its libraries, MPI, and the tables of the problem."""
CLASSES_SIMULATED = 4096
MOST_CLASSES = 1 << 14
"""More are not planned for: with a fixed set that large, a run does little but open and close files."""
TRIED_AT_ONCE = 7
"""So many elements are tried for a fixed set each time that all subsets are gone through."""
CHUNK = 1 << 16
"""So many subsets stay in a processor's own cache while something is done to them."""

# ----------------------------------------------------------------------------------------- the fixed set


@dataclass(frozen=True)
class Weight:
    """What one fixed set makes of a problem, in values."""

    fixed: int
    n_classes: int
    largest_class: int
    held: int
    """The most that is in memory at once: a class, and all that it depends on."""
    read: int
    """How much is read in all, if nothing is kept from one class to the next."""
    chain: int
    """The most that has to be computed one after the other: the longest chain of classes that read each other."""


@dataclass(frozen=True)
class _Cells:
    """Subsets, put together where they have the same number of elements and the same part of some set."""

    layers: NDArray[np.uint8]
    parts: Subsets
    n_subsets: NDArray[Any]
    n_values: NDArray[Any]
    without: Subsets
    """The elements without which some subset of the cell exists as well, and is read."""

    @staticmethod
    def of(problem: Recurrence) -> _Cells:
        """One for each subset that exists."""
        n_elements = len(problem.element_names)
        found = []
        for numbers in _chunks(1 << n_elements):
            subsets = np.arange(numbers.start, min(numbers.stop, 1 << n_elements))
            subsets = subsets[problem.exist(subsets)]
            without = np.zeros_like(subsets)
            for a in range(n_elements):
                without |= subsets & problem.exist(subsets & ~(1 << a)).astype(np.int64) << a
            found.append((subsets, problem.sizes(subsets), without))
        subsets, sizes, without = (np.concatenate(column) for column in zip(*found, strict=True))
        return _Cells(np.bitwise_count(subsets), subsets, np.ones(len(subsets)), sizes.astype(float), without)

    def merged(self, fixed: int) -> _Cells:
        """The same for a smaller set: one for each of its parts in each layer, some of them without subsets."""
        elements = _elements(fixed)
        n_layers, n_parts = int(self.layers.max()) + 1, 1 << len(elements)
        at = self.layers.astype(np.int64) << len(elements)
        for chunk in _chunks(len(at)):
            for i, a in enumerate(elements):
                at[chunk] |= (self.parts[chunk] >> a & 1) << i
        without = np.zeros(n_layers * n_parts, np.int64)
        np.bitwise_or.at(without, at, self.without)
        n_subsets, n_values = (np.bincount(at, n, len(without)) for n in (self.n_subsets, self.n_values))
        parts = sum(((np.arange(n_parts) >> i & 1) << a for i, a in enumerate(elements)), np.zeros(n_parts, np.int64))
        layers = np.repeat(np.arange(n_layers, dtype=np.uint8), n_parts)
        return _Cells(layers, np.tile(parts, n_layers), n_subsets, n_values, without)

    def weight(self, fixed: int) -> Weight:
        """What a fixed set makes of them."""
        elements, classes = _elements(fixed), self.merged(fixed)
        part = np.arange(1 << len(elements))
        n_values, without = classes.n_values.reshape(-1, len(part)), classes.without.reshape(-1, len(part))
        below = [(without & ~fixed != 0, part)]
        below += [(without >> a & 1 == 1, part ^ 1 << i) for i, a in enumerate(elements)]
        read, chain = np.zeros_like(n_values), n_values.copy()
        for layer in range(1, len(n_values)):
            read[layer] = sum(n_values[layer - 1, other] * exists[layer] for exists, other in below)
            chain[layer] += np.max([chain[layer - 1, other] * exists[layer] for exists, other in below], axis=0)
        return Weight(
            fixed,
            n_classes=int((classes.n_subsets > 0).sum()),
            largest_class=int(n_values.max()),
            held=int((n_values + read).max()),
            read=int(read.sum()),
            chain=int(chain.max()),
        )


def _elements(subset: int) -> list[int]:
    return [a for a in range(subset.bit_length()) if subset >> a & 1]


def _chunks(n: int) -> Iterator[slice]:
    """So many things, piece by piece."""
    return (slice(first, first + CHUNK) for first in range(0, n, CHUNK))


class Scales:
    """Weighs fixed sets of one problem."""

    def __init__(self, problem: Recurrence) -> None:
        self.n_elements = len(problem.element_names)
        self._problem = problem
        self._best_order: list[int] = []

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells.of(self._problem)

    @property
    def n_values(self) -> int:
        """How many values the whole table has."""
        return int(self._cells.n_values.sum())

    def sizes(self) -> Iterator[int]:
        """The sizes of fixed sets, up to where there would be more than MOST_CLASSES."""
        sizes = range(self.n_elements + 1)
        return takewhile(lambda n: self.weigh(self.pick(n)).n_classes <= MOST_CLASSES, sizes)

    def weigh(self, fixed: int) -> Weight:
        """What a fixed set makes of the problem."""
        return self._cells.weight(fixed)

    def pick(self, n_fixed: int) -> int:
        """The fixed set of one size with the least product of memory and longest chain.

        As far as adding one element at a time finds it: half the memory is worth as much as a chain half as long.
        """
        while len(self._best_order) < n_fixed:
            chosen = sum(1 << a for a in self._best_order)
            left = [a for a in range(self.n_elements) if not chosen >> a & 1]
            products = []
            for first in range(0, len(left), TRIED_AT_ONCE):
                tried = left[first : first + TRIED_AT_ONCE]
                cells = self._cells.merged(chosen | sum(1 << a for a in tried))
                weights = {a: cells.weight(chosen | 1 << a) for a in tried}
                products += [(weight.held * weight.chain, a) for a, weight in weights.items()]
            self._best_order.append(min(products)[1])
        return sum(1 << a for a in self._best_order[:n_fixed])


def needed_bytes(partition: Partition) -> int:
    """The smallest cache in which every class can be computed."""
    return max(bytes_at_once(partition, cls) for cls in partition.classes)


# --------------------------------------------------------------------------------------- the simulation


@dataclass(frozen=True)
class Costs:
    """What the machine takes for its work; `python -m yahtzee_cluster.plan --calibrate` measures them."""

    value_s: float = 128e-9
    """To compute one value on one core."""
    subset_s: float = 30e-6
    """For each subset besides."""
    class_s: float = 2e-3
    """For each class besides, until its worker can go on: messages, threads, bookkeeping."""
    commit_s: float = 4e-3
    """To make one class durable."""
    disk_read_bytes_per_s: float = 3e9
    """Of the one disk that all workers share."""
    disk_write_bytes_per_s: float = 0.8e9


@dataclass(frozen=True)
class Forecast:
    """How a run would go."""

    n_workers: int
    makespan_s: float
    computing_s: float
    """Over all workers."""
    bytes_read: int
    cores: int

    @property
    def efficiency(self) -> float:
        """The share of all cores' time that is spent computing."""
        return self.computing_s / (self.makespan_s * self.cores) if self.makespan_s else 1.0

    @property
    def idle(self) -> float:
        """The share that is not."""
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
        """When an action begun now will be done: one at a time for each thread of a worker, and on the shared disk."""
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
    """How a run would go, with so many workers of so many threads, each with a cache of that size."""
    n_busy = min(n_workers, len(partition.classes))  # more would never get one
    schedule = schedule or Schedule.of(partition)
    simulation = _Simulation(schedule, partition, n_busy, cache_bytes, costs or Costs(), n_threads)
    makespan_s = simulation.run()
    return Forecast(n_workers, makespan_s, simulation.computing_s, simulation.bytes_read, n_workers * n_threads)


def smallest_that_fits(problem: Recurrence, scales: Scales, cache_bytes: int) -> int | None:
    """The size of the smallest fixed set with which every class can be computed in the cache."""
    return next((n for n in scales.sizes() if needed_bytes(problem.partition(scales.pick(n))) <= cache_bytes), None)


def advise(
    problem: Recurrence,
    scales: Scales,
    cache_bytes: int,
    n_workers: int,
    n_threads: int = 1,
    costs: Costs | None = None,
) -> int | None:
    """The size of the fixed set that makes a run shortest, as simulated; of nearly equal ones the smallest."""
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
    """The size of the fixed set with the shortest run; of nearly equal ones the smallest."""
    return next(n for n, makespan_s in sorted(makespans.items()) if makespan_s <= 1.02 * min(makespans.values()))
