"""The contents of a report on a game, gathered from a table of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis.comparison import Both
from yahtzee_cluster.analysis.forward import compare, play_for_mean
from yahtzee_cluster.analysis.statistics import percentile, statistics
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.tables.table import Table

ROUNDING = 1e-12

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Findings:
    """The figures of one game."""

    rules: Rules
    maxprob: Values
    """[s]: the probability of at least s when playing for it, up to the target."""
    expected: Values
    """[s]: the same when playing for the highest mean, up to the highest score and at least to the target."""
    means: Values
    """[T]: the mean of the final score when playing for T; at 0, when playing for the highest mean."""
    deviations: Values
    names: tuple[str, ...]
    box_means: Values
    covariances: Values
    compared_for: int | None
    comparison: Both | None

    @property
    def gain(self) -> Values:
        """[s]: the gain in the probability of at least s from playing for it; a gain within rounding is 0."""
        gain = self.maxprob - self.expected[: len(self.maxprob)]
        return np.where(gain > ROUNDING, gain, 0.0)

    @property
    def deviation_of_boxes(self) -> Values:
        """The standard deviation of every box and bonus."""
        return np.sqrt(np.diag(self.covariances))

    @property
    def target(self) -> int:
        """The highest score that the table has a probability for."""
        return len(self.maxprob) - 1

    @property
    def highest(self) -> int:
        """The highest score up to the target that can be reached at all; 1 in a game that pays nothing."""
        return max(1, int(np.flatnonzero(self.maxprob)[-1]))

    def percentile(self, share: float) -> int:
        """A percentile of the final score when playing for the highest mean."""
        return percentile(self.expected, share)


def find(table: Table, compare_for: int | None) -> Findings:
    """Gather all figures; the comparison takes longest."""
    both = None if compare_for is None else compare(compare_for, table)  # first, because it may raise
    means, deviations = table.score_curve()
    maxprob, games = table.curve(), play_for_mean(table.rules).curve
    expected = np.zeros(max(len(games), table.target + 1))
    expected[: len(games)] = games
    boxes = statistics(table.rules)
    return Findings(
        table.rules, maxprob, expected, means, deviations, boxes.names, boxes.mean, boxes.covariance, compare_for, both
    )
