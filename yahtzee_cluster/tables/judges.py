"""Whether a table on disk is right.

Every byte is held against its digest and every value against what must be true of it; a sample of values goes to the
judge, who solves them again from the values that they depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchor
from yahtzee_cluster.game.possible_scores import scores_so_far
from yahtzee_cluster.objectives.expected import Expected, moments_after
from yahtzee_cluster.objectives.probabilities import Approximated, Distribution, Probabilities, Scores
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.storage import verification
from yahtzee_cluster.storage.verification import Judgements, Verdict
from yahtzee_cluster.tables.table import Table

MOMENTS = "mean", "second moment"


def verify(table: Table, n_sampled: int = 0, seed: int | None = None) -> Verdict:
    """Look at everything that is there, and solve at least one value of every class again."""
    judge = Judge(table)

    def judged(cls: ClassId, random: np.random.Generator) -> Judgements:
        places = [table.problem.anchors.places(free) for free in table.store.partition.members(cls).tolist() if free]
        found = np.concatenate([np.arange(some.start, some.stop) for some in places] or [np.empty(0, np.intp)])
        return _judged(judge, found, random)

    return verification.verify(table.problem, table.store, n_sampled, seed, judged)


def _judged(judge: Judge, places: NDArray[np.intp], random: np.random.Generator) -> Judgements:
    """The values of a random anchor at one of these places, and what the judge makes of those that they depend on."""
    table, problem = judge.table, judge.table.problem
    if isinstance(problem, Probabilities):
        probability = {Distribution: judge.probability_under_expected, Approximated: judge.probability_by_guesses}.get(
            type(problem), judge.probability
        )
        for place in _one_of(places, problem.rows.length[places], random):
            anchor, need = problem.anchors.anchor(place), int(random.integers(1, problem.rows.length[place] + 1))
            yield f"{anchor}, need {need}", table.value(anchor, need), probability(anchor, need)
            if isinstance(problem, Scores):
                both = zip(MOMENTS, table.moments(anchor, need), judge.scores(anchor, need), strict=True)
                yield from ((f"{anchor}, need {need}, {name}", stored, judged) for name, stored, judged in both)
    elif isinstance(problem, Utility):
        for place in _one_of(places, problem.lengths[places], random):
            anchor = problem.anchors.anchor(place)
            score = int(random.choice(scores_so_far(problem.anchors, anchor)))
            yield f"{anchor}, score {score}", table.worth(anchor, score), judge.utility(anchor, score)
    elif isinstance(problem, Expected):
        for place in _one_of(places, problem.anchors.exists[places], random):
            anchor = problem.anchors.anchor(place)
            for name, stored, judged in zip(MOMENTS, table.moments(anchor), judge.moments(anchor), strict=True):
                yield f"{anchor}, {name}", stored, judged


def _one_of(places: NDArray[np.intp], n_values: NDArray[Any], random: np.random.Generator) -> list[int]:
    """One of the places that have values; none where there are none, as in a game that pays nothing."""
    having = places[np.flatnonzero(n_values)]
    return [int(random.choice(having))] if len(having) else []


class Judge:
    """Solves one turn in the plainest way, from the table's values of all anchors that it may lead to."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._row = cache(table.row)
        self._moments = cache(table.moments)

    def probability(self, anchor: Anchor, need: int) -> float:
        """The highest probability to score so much from an anchor."""

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self._plays(anchor, roll):
                yield (self._probability(after, need - points),)

        return reference.best_turn(options)[0]

    def probability_under_expected(self, anchor: Anchor, need: int) -> float:
        """The probability to score so much for who plays for the highest expected score."""
        assert isinstance(self.table.problem, Distribution)
        expected = self.table.problem.expected

        def options(roll: reference.Roll) -> Iterable[tuple[reference.Row, reference.Row]]:
            for after, points in self._plays(anchor, roll):
                moments = moments_after(points, *expected.moments(expected.anchors.index(after)))
                yield moments, (self._probability(after, need - points),)

        return reference.witnessed_turn(options)[0]

    def probability_by_guesses(self, anchor: Anchor, need: int) -> float:
        """The probability to score so much for who takes what is still scored for normally distributed."""
        assert isinstance(self.table.problem, Approximated)
        expected = self.table.problem.expected

        def options(roll: reference.Roll) -> Iterable[tuple[reference.Row, float]]:
            for after, points in self._plays(anchor, roll):
                moments = moments_after(points, *expected.moments(expected.anchors.index(after)))
                yield (*moments, float(points >= need)), self._probability(after, need - points)

        return reference.mistaken_turn(options, need)

    def scores(self, anchor: Anchor, need: int) -> tuple[float, float]:
        """Mean and second moment of what is scored by who plays for a need."""

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self._plays(anchor, roll):
                moments = self.table.moments(after, max(need - points, 0))
                yield self._probability(after, need - points), *moments_after(points, *moments)

        _, mean, second = reference.best_turn(options)
        return mean, second

    def utility(self, anchor: Anchor, score: int) -> float:
        """What playing on is worth, with so many points so far."""

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self._plays(anchor, roll):
                yield (self.table.worth_unchecked(after, score + points),)

        return reference.best_turn(options)[0]

    def moments(self, anchor: Anchor) -> reference.Row:
        """Mean and second moment from an anchor."""

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self._plays(anchor, roll):
                yield moments_after(points, *self._moments(after))

        return reference.best_turn(options)

    def _probability(self, anchor: Anchor, need: int) -> float:
        if need <= 0:
            return 1.0
        row = self._row(anchor)
        return float(row[need - 1]) if need <= len(row) else 0.0

    def _plays(self, anchor: Anchor, roll: reference.Roll) -> Iterator[tuple[Anchor, int]]:
        """Where each legal play of a roll leads, and what it pays."""
        for play in self.table.rules.plays(anchor.free, anchor.chip, roll):
            yield self.table.problem.anchors.after(anchor, play)
