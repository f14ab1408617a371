"""Forecasts of memory, reads and time of a run, for fixed sets of every size; computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

from yahtzee_cluster.engine.fixed_set import FixedSetSearch, needed_bytes
from yahtzee_cluster.engine.partition import Partition, cache_values, reads_per_value
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.simulator import (
    FIXED_BYTES,
    Costs,
    Forecast,
    candidates,
    forecasts,
    shortest,
    simulate,
)
from yahtzee_cluster.runtime.configuration import AUTO, Computation, fixed_set, search_of
from yahtzee_cluster.runtime.costs import KnownCosts
from yahtzee_cluster.text import names_in

WORSE = 1.03
"""In a table of many runs, larger fixed sets are not tried once one makes the run so much longer."""
SAME = 0.05
"""Twice as many ranks that save no more than this share of the time change nothing; nor would a larger G."""
WORTH_DOUBLING = 0.25
"""Share of the time that twice as many ranks must save to be worth it."""


@dataclass(frozen=True)
class Row:
    """Figures for the fixed set of one size: by the formulas of the thesis, and from true sizes."""

    n_fixed: int
    thesis_classes: int
    thesis_cache_bytes: int
    thesis_reads_per_value: float
    G: list[str]
    classes: int
    cache_bytes: int
    reads_per_value: float
    largest_class_bytes: int
    most_busy: float
    """Upper bound on the number of busy workers: total work divided by the critical path."""
    fits: bool
    forecast: Forecast | None


@dataclass(frozen=True)
class Plan:
    """Forecasts for a job, for fixed sets of every size."""

    about: dict[str, Any]
    ranks: int
    threads: int
    cache_bytes: int
    fixed_bytes: int
    """Memory of each rank besides its cache."""
    table_bytes: int
    thesis_table_bytes: int
    costs: Costs
    costs_origin: str
    of_thesis: bool
    """Whether the thesis has figures for this problem."""
    advised: int | None
    rows: list[Row]
    left_out: list[int]
    """Sizes of fixed sets that would make too many classes."""


def make_plan(asked: Computation, problem: Recurrence, n_ranks: int, known: KnownCosts) -> Plan:
    """Plan of a job on `n_ranks` ranks, including the master."""
    search = search_of(problem)
    n_workers = max(1, n_ranks - 1)
    plain_bytes = 8 * problem.plain_size
    rows = [_row(asked, problem, search, n_fixed, n_workers, known.costs, plain_bytes) for n_fixed in search.sizes()]
    makespans = {row.n_fixed: row.forecast.makespan_s for row in rows if row.forecast}
    return Plan(
        about=dict(asked.about),
        ranks=n_ranks,
        threads=asked.threads,
        cache_bytes=asked.cache_bytes,
        fixed_bytes=FIXED_BYTES,
        table_bytes=8 * search.n_values,
        thesis_table_bytes=plain_bytes << search.n_elements,
        costs=known.costs,
        costs_origin=known.origin,
        of_thesis=asked.is_of_thesis,
        advised=shortest(makespans) if makespans else None,
        rows=rows,
        left_out=list(range(len(rows), search.n_elements + 1)),
    )


@dataclass(frozen=True)
class ScalingRow:
    """Forecast for a number of ranks, with the size of G that is best for it."""

    ranks: int
    n_fixed: int
    classes: int
    forecast: Forecast
    core_s: float
    """Time of all cores of all ranks, the master's among them."""
    as_asked: Forecast | None
    """With the G of the job, if it has one."""


@dataclass(frozen=True)
class Scaling:
    """Forecasts for increasing numbers of ranks."""

    about: dict[str, Any]
    table_bytes: int
    threads: int
    cache_bytes: int
    fixed_bytes: int
    costs: Costs
    costs_origin: str
    G: list[str] | None
    """The G of the job, if it has one."""
    worth: int
    """Number of ranks of which twice as many would save less than WORTH_DOUBLING of the time."""
    rows: list[ScalingRow]


def make_scaling(asked: Computation, problem: Recurrence, known: KnownCosts) -> Scaling:
    """Forecasts for 2 to 1,024 ranks, in powers of two."""
    search = FixedSetSearch(problem)
    partitions = dict(candidates(search, asked.cache_bytes))
    own = None
    if asked.G != AUTO or not partitions:
        own = problem.partition(fixed_set(asked, problem, 1))  # refuses a cache that is too small
        partitions = partitions or {own.n_fixed: own}
    simulated = _Simulated(asked, known.costs)
    rows: list[ScalingRow] = []
    for n_ranks in (1 << n for n in range(1, 11)):
        least = rows[-1].n_fixed if rows else 0  # more ranks need no smaller G
        is_faster = len(rows) < 2 or rows[-1].forecast.makespan_s < (1 - SAME) * rows[-2].forecast.makespan_s
        most = max(partitions) if is_faster else least
        tried = ((n, partition) for n, partition in partitions.items() if least <= n <= most)
        found = forecasts(tried, partial(simulated, n_ranks - 1), WORSE)
        n_fixed = shortest({n: forecast.makespan_s for n, forecast in found.items()})
        best = found[n_fixed]
        rows.append(
            ScalingRow(
                ranks=n_ranks,
                n_fixed=n_fixed,
                classes=len(partitions[n_fixed].classes),
                forecast=best,
                core_s=n_ranks * asked.threads * best.makespan_s,
                as_asked=None if own is None else simulated(n_ranks - 1, own),
            )
        )
    return Scaling(
        about=dict(asked.about),
        table_bytes=8 * search.n_values,
        threads=asked.threads,
        cache_bytes=asked.cache_bytes,
        fixed_bytes=FIXED_BYTES,
        costs=known.costs,
        costs_origin=known.origin,
        G=None if own is None else names_in(own.fixed, problem.element_names),
        worth=_worth([(row.ranks, row.forecast.makespan_s) for row in rows]),
        rows=rows,
    )


class _Simulated:
    """Forecasts for a growing number of workers, simulated until some of them are never needed."""

    def __init__(self, asked: Computation, costs: Costs) -> None:
        self._asked = asked
        self._costs = costs
        self._last: dict[Partition, Forecast] = {}

    def __call__(self, n_workers: int, partition: Partition) -> Forecast:
        asked, last = self._asked, self._last.get(partition)
        if last is None or last.peak_workers == last.n_workers:
            last = simulate(partition, n_workers, asked.cache_bytes, self._costs, asked.threads)
        self._last[partition] = replace(last, n_workers=n_workers, cores=n_workers * asked.threads)
        return self._last[partition]


def _worth(makespans: Sequence[tuple[int, float]]) -> int:
    """Number of ranks of which twice as many would save too little; `makespans` doubles the ranks at each step."""
    for (n_ranks, makespan_s), (_, with_twice_s) in pairwise(makespans):
        if with_twice_s > (1 - WORTH_DOUBLING) * makespan_s:
            return n_ranks
    return makespans[-1][0]


def _row(
    asked: Computation,
    problem: Recurrence,
    search: FixedSetSearch,
    n_fixed: int,
    n_workers: int,
    costs: Costs,
    plain_bytes: int,
) -> Row:
    fixed = search.pick(n_fixed)
    figures = search.costs(fixed)
    partition = search.partition(fixed)
    needed = needed_bytes(partition)
    n = search.n_elements
    return Row(
        n_fixed=n_fixed,
        thesis_classes=(n - n_fixed + 1) << n_fixed,
        thesis_cache_bytes=cache_values(n, n_fixed, plain_bytes),
        thesis_reads_per_value=reads_per_value(n, n_fixed),
        G=names_in(fixed, problem.element_names),
        classes=figures.n_classes,
        cache_bytes=needed,
        reads_per_value=figures.read / max(1, search.n_values),
        largest_class_bytes=8 * figures.largest_class,
        most_busy=search.n_values / max(1, figures.chain),
        fits=needed <= asked.cache_bytes,
        forecast=simulate(partition, n_workers, asked.cache_bytes, costs, asked.threads)
        if needed <= asked.cache_bytes
        else None,
    )
