"""The contents of a report on a game, gathered from a table of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.analysis.comparison import Both
from yahtzee_cluster.analysis.forward import Played, compare, play_for_mean
from yahtzee_cluster.analysis.statistics import Spread, percentile, statistics
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.tables.table import Table

ROUNDING = 1e-12

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Another:
    """Another way to play the game, and what comes of it."""

    kind: str
    """`goal` or `strategy`."""
    name: str
    words: str
    """As in "playing for at least 250 points"."""
    games: Played

    @property
    def short(self) -> str:
        """The same without a name."""
        return f"playing {'for' if self.kind == 'goal' else 'by'} the {self.kind}"


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
    box_distributions: tuple[Spread | None, ...]
    """None for the extra bonus, which a game may pay several times."""
    covariances: Values
    table_sha256: str
    computed_on: str | None
    """The day on which the table was begun, as its header says; None if the table is anonymous."""
    compared_for: int | None
    comparison: Both | None
    another: Another | None

    @property
    def gain(self) -> Values:
        """[s]: the gain in the probability of at least s from playing for it; a gain within rounding is 0."""
        gain = self.maxprob - self.expected[: len(self.maxprob)]
        return np.where(gain > ROUNDING, gain, 0.0)

    @property
    def relative_gain(self) -> Values:
        """[s]: the gain, divided by the probability when playing for the highest mean; NaN where that is 0."""
        usual = self.expected[: len(self.maxprob)]
        return np.divide(self.gain, usual, where=usual > 0, out=np.full_like(usual, np.nan))

    @property
    def bonuses(self) -> tuple[str, ...]:
        """The names of the bonuses that the game pays besides its boxes."""
        return self.names[len(self.rules.categories) :]

    def chance_of_nothing(self, row: int) -> float:
        """The probability that a box or bonus brings no points; NaN if its distribution is not known."""
        spread = self.box_distributions[row]
        if spread is None:
            return np.nan
        points, chances = spread
        return float(chances[0]) if points[0] == 0 else 0.0

    def correlated(self, least: float) -> list[tuple[int, int, float]]:
        """All pairs of boxes and bonuses with at least such a correlation, positive or negative, the strongest first.

        Of each pair the numbers of both, and the correlation.
        """
        both = np.outer(self.deviation_of_boxes, self.deviation_of_boxes)
        correlation = np.divide(self.covariances, both, where=both > 0, out=np.zeros_like(both))
        pairs = np.argwhere(np.tri(len(both), k=-1, dtype=bool) & (np.abs(correlation) >= least)).tolist()
        found = [(one, other, float(correlation[one, other])) for one, other in pairs]
        return sorted(found, key=lambda pair: -abs(pair[2]))

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


def find(table: Table, compare_for: int | None, another: Another | None = None) -> Findings:
    """Gather all figures; the comparison takes longest."""
    both = None if compare_for is None else compare(compare_for, table)  # first, because it may raise
    means, deviations = table.score_curve()
    maxprob, games = table.curve(), play_for_mean(table.rules).curve
    expected = np.zeros(max(len(games), table.target + 1))
    expected[: len(games)] = games
    boxes = statistics(table.rules)
    return Findings(
        rules=table.rules,
        maxprob=maxprob,
        expected=expected,
        means=means,
        deviations=deviations,
        names=boxes.names,
        box_means=boxes.mean,
        box_distributions=boxes.distributions,
        covariances=boxes.covariance,
        table_sha256=table.store.table_digest,
        computed_on=table.computed_on,
        compared_for=compare_for,
        comparison=both,
        another=another,
    )
