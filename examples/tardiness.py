"""Jobs on one machine, exactly: the order of least weighted tardiness.

    python examples/tardiness.py 16
    mpirun -n 3 python examples/tardiness.py 24 --seed 5

Job j takes some time, is due at some time, and costs its weight for each unit of time that it ends after that.
For every set of jobs, the table has the least cost when the jobs of the set are done first, in the best order.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import yahtzee_cluster as yc

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Jobs(yc.Recurrence):
    """All sets of jobs, each with one entry."""

    times: tuple[int, ...]
    weights: tuple[int, ...]
    due: tuple[int, ...]

    @property
    def element_names(self) -> tuple[str, ...]:
        """The jobs, by number from 1."""
        return tuple(str(job + 1) for job in range(len(self.times)))

    @property
    def identity(self) -> dict[str, Any]:
        """All that the entries depend on."""
        return {"problem": "weighted tardiness", "times": self.times, "weights": self.weights, "due": self.due}

    def solver(self) -> yc.Solver:
        """Function that computes the entries of a block."""
        return self.solve

    def solve(self, block: yc.Block, below: yc.Below) -> None:
        """Compute the least cost of each set: over all jobs that may come last, its own cost and that of the others."""
        block.values[:] = np.inf if block.subsets[0] else 0.0  # the set of no jobs is in a block of its own
        ends = total(self.times, block.subsets)
        for job, before in enumerate(below):
            if before is None:  # no set of this block has the job
                continue
            here, there = block.lookup(job, before)
            cost = self.weights[job] * np.maximum(ends[here] - self.due[job], 0.0)
            block.values[here] = np.minimum(block.values[here], before.values[there] + cost)

    def cost(self, job: int, end: float) -> float:
        """Cost of a job that ends at some time."""
        return self.weights[job] * max(end - self.due[job], 0.0)

    def judged(self, subset: int, at: int, entries: Callable[[int], Values]) -> float:  # noqa: ARG002
        """Compute one entry again, in the simplest way; --verify compares."""
        jobs = [job for job in range(len(self.times)) if subset >> job & 1]
        end = sum(self.times[job] for job in jobs)
        return min((float(entries(subset ^ 1 << job)[0]) + self.cost(job, end) for job in jobs), default=0.0)


def total(numbers: Sequence[int], subsets: yc.Subsets) -> Values:
    """Sum of the numbers of the elements of each subset, from two small tables."""
    half = len(numbers) // 2
    low, high = np.zeros(1), np.zeros(1)
    for number in numbers[:half]:
        low = np.concatenate([low, low + number])
    for number in numbers[half:]:
        high = np.concatenate([high, high + number])
    sums: Values = low[subsets & (1 << half) - 1] + high[subsets >> half]
    return sums


def best_order(problem: Jobs, table: yc.Store) -> list[int]:
    """The best order of all jobs: the way back through the table, from the last job to the first."""
    left, order = len(table) - 1, []
    while left:
        jobs = [job for job in range(len(problem.times)) if left >> job & 1]
        end = sum(problem.times[job] for job in jobs)
        costs = table[[left ^ 1 << job for job in jobs]] + [problem.cost(job, end) for job in jobs]
        last = jobs[int(np.argmin(costs))]
        order.append(last + 1)
        left ^= 1 << last
    return order[::-1]


def random_jobs(n: int, seed: int) -> Jobs:
    """Random jobs, many of which cannot be on time."""
    random = np.random.default_rng(seed)
    times, weights, due = random.integers(1, 100, n), random.integers(1, 10, n), random.integers(0, 50 * n, n)
    return Jobs(tuple(times.tolist()), tuple(weights.tolist()), tuple(due.tolist()))


@dataclass(frozen=True, kw_only=True)
class WeightedTardiness(yc.Computation):
    """The command: its flags, the problem that they describe, and what to print."""

    jobs: int
    seed: int = 1

    @classmethod
    def add_flags(cls, parser: argparse.ArgumentParser) -> None:
        """Add the number of jobs and the seed; the fields of this class have the same names."""
        parser.add_argument("jobs", metavar="JOBS", type=int, help="number of jobs")
        parser.add_argument("--seed", type=int, help=f"seed of the random jobs (default: {cls.seed})")

    @property
    def about(self) -> Mapping[str, Any]:
        """For summaries, and for the name of the table's directory."""
        return {"jobs": self.jobs, "seed": self.seed}

    def problem(self) -> Jobs:
        """The problem to compute."""
        if self.jobs < 1 or self.seed < 0:
            raise yc.UsageError("expected at least one job, and no negative seed")
        return random_jobs(self.jobs, self.seed)

    def result(self, problem: yc.Recurrence, store: yc.Store) -> Sequence[str]:
        """The least cost, and the best order."""
        assert isinstance(problem, Jobs)
        order = best_order(problem, store)
        return [f"cost       {store[len(store) - 1]:.0f}", f"order      {' '.join(map(str, order))}"]


if __name__ == "__main__":
    yc.start(WeightedTardiness, "mpirun -n 3 python examples/tardiness.py 24")
