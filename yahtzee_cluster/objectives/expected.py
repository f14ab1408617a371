"""OptExpected: the strategy with the highest expected score, its mean and its variance from every anchor.

One vector program solves all upper totals of a scorecard at once.
The mean does not depend on how ties between equally good plays are broken; the variance does.
Here every tie (equal to 1e-12, relatively) goes to the play with the *largest* second moment, so that the table is
the same whatever order plays are looked at in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.anchors import Anchor, Anchors
from yahtzee_cluster.kernels import uppers
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.moves import compile_moves
from yahtzee_cluster.rules import Rules

ROUNDING = 1e-14
"""What rounding can leave of a second moment when the square of the mean is taken away."""


@dataclass(frozen=True)
class ExpectedTable:
    """Mean and second moment of what OptExpected still scores, at every place of `anchors`."""

    anchors: Anchors
    mean: NDArray[np.float64]
    second_moment: NDArray[np.float64]

    @property
    def start(self) -> int:
        """The place of the empty scorecard."""
        return self.anchors.index(Anchor(self.anchors.rules.all_free, 0, False))

    def std(self, place: int) -> float:
        """The standard deviation at a place; 0 where what is left of it is rounding."""
        second_moment = float(self.second_moment[place])
        variance = second_moment - float(self.mean[place]) ** 2
        return math.sqrt(variance) if variance > ROUNDING * second_moment else 0.0


def solve_expected(rules: Rules, isa: str | None = None) -> ExpectedTable:
    """The whole table, on the fastest instruction set here or the one named."""
    anchors = Anchors(rules)
    turn = Turn(compile_moves(rules), isa)
    mean = np.full(anchors.n_places, np.nan)
    second_moment = np.full(anchors.n_places, np.nan)
    uppers.moments(turn, anchors, mean, second_moment)
    return ExpectedTable(anchors, mean, second_moment)
