"""OptExpected: the strategy with the highest expected score, its mean and its variance from every anchor.

One vector program solves all upper totals of a scorecard at once.
The mean does not depend on how ties between equally good plays are broken; the variance does.
Here every tie (equal to 1e-12, relatively) goes to the play with the *largest* second moment, so that the table is
the same whatever order plays are looked at in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import Block, Solver
from yahtzee_cluster.game.anchors import Anchor, Anchors
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels import uppers
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.scorecards import Scorecards

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

    def moments(self, place: int) -> tuple[float, float]:
        """Mean and second moment at a place."""
        return float(self.mean[place]), float(self.second_moment[place])

    def std(self, place: int) -> float:
        """The standard deviation at a place; 0 where what is left of it is rounding."""
        return std_of(*self.moments(place))

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation at every place."""
        variance = self.second_moment - self.mean**2
        return np.sqrt(np.where(variance > ROUNDING * self.second_moment, variance, 0.0))

    def decider(self, turn: Turn) -> uppers.Decider:
        """The kernel that decides for the highest mean."""
        return uppers.Decider(turn, self.anchors, self.mean, self.second_moment)


def std_of(mean: float, second_moment: float) -> float:
    """The standard deviation that belongs to these moments; 0 where what is left is rounding."""
    variance = second_moment - mean**2
    return math.sqrt(variance) if variance > ROUNDING * second_moment else 0.0


def moments_after(points: float, mean: float, second_moment: float) -> tuple[float, float]:
    """The moments of a score that is so many points higher."""
    return mean + points, second_moment + 2 * points * mean + points**2


def solve_expected(rules: Rules, isa: str | None = None) -> ExpectedTable:
    """The whole table, on the fastest instruction set here or the one named."""
    anchors = Anchors(rules)
    turn = Turn(compile_moves(rules), isa)
    mean = np.full(anchors.n_places, np.nan)
    second_moment = np.full(anchors.n_places, np.nan)
    uppers.moments(turn, anchors, mean, second_moment)
    return ExpectedTable(anchors, mean, second_moment)


class Expected(Scorecards):
    """The same table, one set of free categories at a time: the means of its anchors, then the second moments."""

    def __init__(self, rules: Rules, isa: str | None = None) -> None:
        super().__init__(rules, isa)
        first = self.anchors.place[:, 0]
        self._n_places = np.diff(np.append(first, self.anchors.n_places))

    @property
    def identity(self) -> dict[str, Any]:
        """The rules."""
        return {"objective": "expected", "rules": self.rules.table}

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """A mean and a second moment for each anchor with these free categories."""
        return 2 * self._n_places[subsets]

    @property
    def limits(self) -> Sequence[tuple[float, float]]:
        """Those of moments."""
        return self._limits_of_moments

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        return self.each_set(uppers.Moments(self.new_turn(), self.anchors).solve)

    def complaint(self, block: Block) -> str | None:
        """No mean is negative, and no second moment smaller than the square of its mean."""
        for free in block.subsets.tolist():
            exists = self.anchors.exists[self.anchors.places(free)]
            mean, second_moment = (half[exists] for half in np.split(block[free], 2))
            possible = self.possible(mean, 0) and self.possible(second_moment, 1)
            if not (possible and (second_moment >= mean**2 * (1 - ROUNDING)).all()):
                return "it holds moments that no score has"
        return None

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each anchor and quantity: 0 the mean, 1 the second moment."""
        places = np.flatnonzero(self.anchors.exists)
        columns = self.anchor_columns(places)
        offset = places - self.anchors.place[columns["subset"], 0]
        both = {name: np.concatenate([column, column]) for name, column in columns.items()}
        return {
            **both,
            "moment": np.repeat([0, 1], len(places)).astype(np.int8),
            "offset": np.concatenate([offset, offset + self._n_places[columns["subset"]]]),
            "length": np.ones(2 * len(places), np.int32),
        }
