"""Forecasts of memory, reads and time of a run, for fixed sets of every size; computes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from yahtzee_cluster.engine.fixed_set import FixedSetSearch, needed_bytes
from yahtzee_cluster.engine.partition import cache_values, reads_per_value
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.simulator import FIXED_BYTES, Costs, Forecast, shortest, simulate
from yahtzee_cluster.runtime.configuration import AUTO, Computation, given_set, search_of
from yahtzee_cluster.runtime.costs import KnownCosts
from yahtzee_cluster.text import names_in


@dataclass(frozen=True)
class Row:
    """Figures for a fixed set: by the formulas of the thesis, which depend on its size, and from true sizes."""

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
    own: Row | None
    """For the G of the job, if it is given by names and is none of those above."""
    left_out: list[int]
    """Sizes of fixed sets that would make too many classes."""


def make_plan(asked: Computation, problem: Recurrence, n_ranks: int, known: KnownCosts) -> Plan:
    """Plan of a job on `n_ranks` ranks, including the master."""
    search = search_of(problem)
    plain_bytes = 8 * problem.plain_size
    row = partial(_row, asked, problem, search, max(1, n_ranks - 1), known.costs, plain_bytes)
    rows = [row(search.pick(n_fixed)) for n_fixed in search.sizes()]
    own = None if asked.G == AUTO else given_set(asked.G, problem, search)
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
        own=None if own is None or own in map(search.pick, range(len(rows))) else row(own),
        left_out=list(range(len(rows), search.n_elements + 1)),
    )


def _row(
    asked: Computation,
    problem: Recurrence,
    search: FixedSetSearch,
    n_workers: int,
    costs: Costs,
    plain_bytes: int,
    fixed: int,
) -> Row:
    figures = search.costs(fixed)
    partition = search.partition(fixed)
    needed = needed_bytes(partition)
    n, n_fixed = search.n_elements, fixed.bit_count()
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
