"""Whether a table on disk is right.

Every byte is held against its digest and every value against what must be true of it; a sample of values goes to the
judge, who solves them again from the values that they depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster import reference, soundness
from yahtzee_cluster.anchors import Anchor
from yahtzee_cluster.objectives.expected import Expected, moments_after
from yahtzee_cluster.objectives.probabilities import Approximated, Distribution, Probabilities, Scores
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.soundness import Judgements, Verdict
from yahtzee_cluster.table import Table

MOMENTS = "mean", "second moment"


def verify(table: Table, n_sampled: int, seed: int) -> Verdict:
    """Look at everything that is there."""
    return soundness.verify(table.problem, table.store, n_sampled, seed, lambda n, random: _judged(table, n, random))


def _judged(table: Table, n_sampled: int, random: np.random.Generator) -> Judgements:
    """Values of the table, and what the judge makes of those that they depend on."""
    judge = Judge(table)
    if isinstance(table.problem, Probabilities):
        probability = {Distribution: judge.probability_under_expected, Approximated: judge.probability_by_guesses}.get(
            type(table.problem), judge.probability
        )
        lengths = table.problem.rows.length
        for place in _sample(random, np.flatnonzero(lengths), n_sampled):
            anchor, need = table.problem.anchors.anchor(int(place)), int(random.integers(1, lengths[place] + 1))
            yield f"{anchor}, need {need}", table.value(anchor, need), probability(anchor, need)
            if isinstance(table.problem, Scores):
                both = zip(MOMENTS, table.moments(anchor, need), judge.scores(anchor, need), strict=True)
                yield from ((f"{anchor}, need {need}, {name}", stored, judged) for name, stored, judged in both)
    elif isinstance(table.problem, Utility):
        lengths = table.problem.lengths
        lengths = np.where(np.arange(len(lengths)) < table.problem.anchors.place[1, 0], 0, lengths)
        for place in _sample(random, np.flatnonzero(lengths), n_sampled):
            # No game comes to a score that is too high for all that was scored before the last box.
            anchor, score = table.problem.anchors.anchor(int(place)), int(random.integers(0, lengths[place] // 2 + 1))
            yield f"{anchor}, score {score}", table.worth(anchor, score), judge.utility(anchor, score)
    elif isinstance(table.problem, Expected):
        places = np.flatnonzero(table.problem.anchors.exists)
        for place in _sample(random, places[places >= table.problem.anchors.places(1).start], n_sampled):
            anchor = table.problem.anchors.anchor(int(place))
            for name, stored, judged in zip(MOMENTS, table.moments(anchor), judge.moments(anchor), strict=True):
                yield f"{anchor}, {name}", stored, judged


def _sample(random: np.random.Generator, places: NDArray[np.intp], n_sampled: int) -> NDArray[np.intp]:
    """Some of these places; none where there are none, as in a game that pays nothing."""
    return random.choice(places, n_sampled if len(places) else 0)


class Judge:
    """Solves one turn in the plainest way, from the table's values of all anchors that it may lead to."""

    def __init__(self, table: Table) -> None:
        self._table = table
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
        assert isinstance(self._table.problem, Distribution)
        expected = self._table.problem.expected

        def options(roll: reference.Roll) -> Iterable[tuple[reference.Row, reference.Row]]:
            for after, points in self._plays(anchor, roll):
                moments = moments_after(points, *expected.moments(expected.anchors.index(after)))
                yield moments, (self._probability(after, need - points),)

        return reference.witnessed_turn(options)[0]

    def probability_by_guesses(self, anchor: Anchor, need: int) -> float:
        """The probability to score so much for who takes what is still scored for normally distributed."""
        assert isinstance(self._table.problem, Approximated)
        expected = self._table.problem.expected

        def options(roll: reference.Roll) -> Iterable[tuple[reference.Row, float]]:
            for after, points in self._plays(anchor, roll):
                moments = moments_after(points, *expected.moments(expected.anchors.index(after)))
                yield (*moments, float(points >= need)), self._probability(after, need - points)

        return reference.mistaken_turn(options, need)

    def scores(self, anchor: Anchor, need: int) -> tuple[float, float]:
        """Mean and second moment of what is scored by who plays for a need."""

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self._plays(anchor, roll):
                moments = self._table.moments(after, max(need - points, 0))
                yield self._probability(after, need - points), *moments_after(points, *moments)

        _, mean, second = reference.best_turn(options)
        return mean, second

    def utility(self, anchor: Anchor, score: int) -> float:
        """What playing on is worth, with so many points so far."""

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self._plays(anchor, roll):
                yield (self._table.worth(after, score + points),)

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
        for play in self._table.rules.plays(anchor.free, anchor.chip, roll):
            yield self._table.problem.anchors.after(anchor, play)
