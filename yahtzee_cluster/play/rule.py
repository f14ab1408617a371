"""The rule for several players (Ecker): a fast approximation of the chance to win, with all scorecards in view."""

from __future__ import annotations

import numpy as np

from yahtzee_cluster.kernels.rollout import chances
from yahtzee_cluster.play.aims import Aim, Figures
from yahtzee_cluster.play.choices import After, Choices, Values
from yahtzee_cluster.play.position import Position


class ByTheRule(Aim):
    """The chance of a higher final score than all others, a tie counted half.

    The points that each player still scores are approximated by a normal distribution, with mean and variance of play
    for the highest expected score. Where chances tie, the mean decides.
    """

    def __init__(self, choices: Choices, position: Position) -> None:
        """With the choices of the whole game."""
        super().__init__(choices, position.score, "rule")
        moments = []
        for other in position.others:
            mean, deviation = float(other.score), 0.0
            if other.anchor.free:
                table, place = choices.expected, choices.anchors.index(other.anchor)
                mean, deviation = mean + table.moments(place)[0], table.std(place)
            moments.append((mean, deviation))
        self._rivals = np.array(moments).T.reshape(2, 1, -1)

    def values(self, after: After) -> Values:
        """The approximated chance, and the mean of the points to come."""
        table, n = self.choices.expected, len(after.points)
        mean = after.points + table.mean[after.places]
        found = np.empty((2, n, 1))
        rivals, deviations = np.ascontiguousarray(self._rivals)
        chances(
            mean[:, None],
            np.ascontiguousarray(table.deviations[after.places])[:, None],
            np.zeros(1, np.int64),
            np.array([self.score]),
            rivals,
            deviations,
            np.arange(n),
            found[0],
            found[1],
        )
        return np.stack([found[0, :, 0], mean])

    def figures(self, worth: list[float]) -> Figures:
        """The approximated chance."""
        return {"p": worth[0]}
