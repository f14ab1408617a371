"""All that a report says of a game, gathered from a table of scores."""

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
    """All of it, for one game."""

    rules: Rules
    maxprob: Values
    """[s]: how likely at least s is to who plays for that, up to the target."""
    expected: Values
    """[s]: and to who plays for the highest mean, up to the highest score and to the target at least."""
    means: Values
    """[T]: of the final score of who plays for T; at 0, for the highest mean."""
    deviations: Values
    names: tuple[str, ...]
    box_means: Values
    covariances: Values
    compared_for: int | None
    comparison: Both | None

    @property
    def gain(self) -> Values:
        """[s]: how much likelier at least s gets when it is played for; what is left of rounding is nothing."""
        gain = self.maxprob - self.expected[: len(self.maxprob)]
        return np.where(gain > ROUNDING, gain, 0.0)

    @property
    def deviation_of_boxes(self) -> Values:
        """Of every box and bonus."""
        return np.sqrt(np.diag(self.covariances))

    @property
    def target(self) -> int:
        """The highest score there is something to say of."""
        return len(self.maxprob) - 1

    @property
    def highest(self) -> int:
        """The highest score up to the target that can be reached at all; 1 in a game that pays nothing."""
        return max(1, int(np.flatnonzero(self.maxprob)[-1]))

    def percentile(self, share: float) -> int:
        """The lowest score that so many games of who plays for the highest mean do not exceed."""
        return percentile(self.expected, share)


def find(table: Table, compare_for: int | None) -> Findings:
    """Gather everything; to compare takes longest."""
    both = None if compare_for is None else compare(compare_for, table)  # first, for it may refuse
    means, deviations = table.score_curve()
    maxprob, games = table.curve(), play_for_mean(table.rules).curve
    expected = np.zeros(max(len(games), table.target + 1))
    expected[: len(games)] = games
    boxes = statistics(table.rules)
    return Findings(
        table.rules, maxprob, expected, means, deviations, boxes.names, boxes.mean, boxes.covariance, compare_for, both
    )
