"""The search for numbers: all strategies by the worth of a scorecard that differ in their numbers alone."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis.statistics import statistics_of
from yahtzee_cluster.errors import FileError, needs
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.play.search import Class, Proposer, exact
from yahtzee_cluster.play.worth import MOST, Worth, is_number
from yahtzee_cluster.play.worth_terms import Places

Values: TypeAlias = NDArray[np.float64]
STEP = 0.1
"""How far the first proposals lie around the start, as a part of the size of the numbers."""
MOST_NUMBERS = 2000
ROUNDING = 1e-4
"""So much of the value may be lost by rounding the numbers."""
FITTED = 20_000
"""States that are drawn for a least-squares fit."""


@dataclass(frozen=True)
class Weights(Class[Values]):
    """All strategies of the form of a strategy file, whose numbers are free."""

    rules: Rules
    fields: dict[str, Any]
    source: str

    def __post_init__(self) -> None:
        self.strategy(self.start)
        if not 2 <= len(self.start) <= MOST_NUMBERS:
            raise FileError(self.source, f"expected 2 to {MOST_NUMBERS} numbers to search for, found {len(self.start)}")

    @property
    def identity(self) -> dict[str, Any]:
        """The file where the search begins, and a digest of all numbers that it names."""
        return {"table": self.fields, "terms": sha256(repr(self.strategy(self.start).terms).encode()).hexdigest()}

    @property
    def start(self) -> Values:  # type: ignore[override]
        """The numbers of the file."""
        return np.array([holder[key] for holder, key in _numbers(self.fields)], np.float64)

    @property
    def scale(self) -> Values:
        """The size of each number: its own, or the mean of those beside it if that is larger."""
        sizes = []
        for holder, key in _numbers(self.fields):
            beside = holder.values() if isinstance(holder, dict) else holder
            mean = float(np.mean([abs(value) for value in beside if is_number(value)]))
            sizes.append(max(abs(holder[key]), mean) or 1.0)
        return np.array(sizes)

    def table(self, candidate: Values) -> dict[str, Any]:
        """The file with these numbers."""
        table = copy.deepcopy(self.fields)
        for (holder, key), number in zip(_numbers(table), candidate.tolist(), strict=True):
            holder[key] = min(max(number, -MOST), MOST)
        bonus = table.get("worth", {}).get("bonus", {})
        if is_number(bonus.get("variance")):
            bonus["variance"] = max(bonus["variance"], 0.0)
        for holder, key in _numbers(bonus.get("variance")):
            holder[key] = max(holder[key], 0.0)
        return table

    def strategy(self, candidate: Values) -> Worth:
        """The strategy with these numbers."""
        return Worth.parse(self.table(candidate), self.source, self.rules)

    def proposer(self, seed: int, population: int | None) -> Proposer[Values]:
        """A search by CMA-ES from the numbers of the file on."""
        return Evolution(self, seed, population)

    def simplified(self, candidate: Values, value_of: Callable[[Values], float]) -> Values:
        """The numbers with as few decimals as cost next to nothing."""
        least = value_of(candidate) - ROUNDING
        for decimals in range(8):
            if value_of(short := np.round(candidate, decimals)) >= least:
                return short
        return candidate

    def fitted(self, seed: int) -> Weights:
        """The same class; its search begins where the worth lies closest to the exact values, by least squares.

        Differences are taken at states that are drawn as often as optimal games come to them.
        """
        with needs("fit", "scipy", "search"):
            from scipy.optimize import least_squares  # noqa: PLC0415  # optional

        expected, moves = exact(self.rules)
        chances = statistics_of(expected.decider(Turn(moves)), expected.anchors).met
        drawn = np.random.default_rng(seed).choice(len(chances), FITTED, p=chances / chances.sum())
        states, times = np.unique(drawn, return_counts=True)
        places, weights = Places(expected, states), np.sqrt(times)

        def missing(numbers: Values) -> Values:
            return (self.strategy(numbers * scale).at(places) - expected.mean[states]) * weights

        scale = self.scale
        found = least_squares(missing, self.start / scale)
        return Weights(self.rules, self.table(found.x * scale), self.source)


def _numbers(table: Any) -> Iterator[tuple[Any, Any]]:
    """Where the numbers of a parsed file are: each is `holder[key]`."""
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, value in items:
        if is_number(value):
            yield table, key
        else:
            yield from _numbers(value)


class Evolution:
    """CMA-ES, on numbers divided by their sizes."""

    def __init__(self, of: Weights, seed: int, population: int | None) -> None:
        with needs("search", "cmaes", "search"):
            from cmaes import CMA  # noqa: PLC0415  # optional

        self._scale = of.scale
        self._search = CMA(mean=of.start / self._scale, sigma=STEP, seed=seed, population_size=population)
        self.population = int(self._search.population_size)

    @property
    def has_converged(self) -> bool:
        """Whether steps have become too small to change anything."""
        return bool(self._search.should_stop())

    def ask(self) -> list[Values]:
        """Numbers drawn around the best so far."""
        self._asked = [self._search.ask() for _ in range(self.population)]
        return [proposal * self._scale for proposal in self._asked]

    def tell(self, candidates: Sequence[Values], values: Sequence[float]) -> None:  # noqa: ARG002
        """Move and reshape the distribution."""
        self._search.tell([(proposal, -value) for proposal, value in zip(self._asked, values, strict=True)])
