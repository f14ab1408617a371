"""Forecasts for more and more ranks, each number with its best G, and how many ranks are worth it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise, takewhile
from typing import Any

from yahtzee_cluster.engine.fixed_set import FixedSetSearch, smallest_that_fits
from yahtzee_cluster.engine.partition import Partition
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
"""Larger fixed sets are not tried once one makes the run so much longer."""
SAME = 0.05
"""Twice as many ranks that save no more than this share of the time change nothing; nor would a larger G."""
MOST_RANKS = 1024
WORTH_DOUBLING = 0.25
"""Share of the time that twice as many ranks must save to be worth it."""


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
    """Forecasts for 2 to MOST_RANKS ranks, in powers of two."""
    search = search_of(problem)
    own = _own(asked, problem, search)
    rows = [*_rows(asked, search, own, known.costs)]
    return Scaling(
        about=dict(asked.about),
        table_bytes=8 * search.n_values,
        threads=asked.threads,
        cache_bytes=asked.cache_bytes,
        fixed_bytes=FIXED_BYTES,
        costs=known.costs,
        costs_origin=known.origin,
        G=None if own is None else names_in(own.fixed, problem.element_names),
        worth=_worth(rows),
        rows=rows,
    )


def ranks_worth(asked: Computation, problem: Recurrence, search: FixedSetSearch, costs: Costs) -> int:
    """Number of ranks that are worth it, as `make_scaling` says; nothing is simulated beyond twice as many.

    MOST_RANKS means that many, and perhaps more.
    """
    return _worth(_rows(asked, search, _own(asked, problem, search), costs))


def _worth(rows: Iterable[ScalingRow]) -> int:
    """Number of ranks of the first row that the next one, with twice as many, is not worth; else of the last."""
    for row, doubled in pairwise(rows):
        if doubled.forecast.makespan_s > (1 - WORTH_DOUBLING) * row.forecast.makespan_s:
            return row.ranks
    return doubled.ranks


def _own(asked: Computation, problem: Recurrence, search: FixedSetSearch) -> Partition | None:
    """Partition by the G of the job, if it has one; refuses a cache that is too small."""
    if asked.G == AUTO and smallest_that_fits(search, asked.cache_bytes) is not None:
        return None
    return search.partition(fixed_set(asked, problem, 1, search))


def _rows(asked: Computation, search: FixedSetSearch, own: Partition | None, costs: Costs) -> Iterator[ScalingRow]:
    """A row for each number of ranks, simulated when it is asked for."""
    partitions = dict(candidates(search, asked.cache_bytes))
    if own is not None:
        partitions = partitions or {own.n_fixed: own}
    simulated = _Simulated(asked, costs)
    rows: list[ScalingRow] = []
    for n_ranks in takewhile(lambda n_ranks: n_ranks <= MOST_RANKS, (1 << n for n in count(1))):
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
        yield rows[-1]


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
