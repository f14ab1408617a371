"""OptExpected: the policy with the highest expected score, and its mean and variance from every anchor.

The upper totals of a scorecard are the lanes of a vector and are solved together.
The mean does not depend on how ties between equally good plays are broken; the variance does.
Every tie (equal to 1e-12, relatively) goes to the play with the *largest* second moment, so that the table does not
depend on the order in which plays are considered.
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
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels import policies, uppers
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.scorecards import Scorecards

ROUNDING = 1e-14
"""A variance below this fraction of the second moment may be rounding error alone."""


@dataclass(frozen=True)
class ExpectedTable:
    """Mean and second moment of the rest of the score under OptExpected, at every place of `anchors`.

    >>> table = yc.solve_expected(yc.load_rules("yacht"))
    >>> aces = yc.Anchor(free=0b1, upper=None, chip=False)  # no other category is free
    >>> place = table.anchors.index(aces)
    >>> print(f"{table.mean[place]:.4f} ± {table.std(place):.4f}")
    2.1065 ± 1.1041
    """

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
        """The standard deviation at a place; 0 where the variance may be rounding error alone."""
        return std_of(*self.moments(place))

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation at every place."""
        variance = self.second_moment - self.mean**2
        return np.sqrt(np.where(variance > ROUNDING * self.second_moment, variance, 0.0))

    def decider(self, turn: Turn) -> policies.ForTheMean:
        """The kernel that computes the decisions of this policy."""
        return policies.ForTheMean(turn, self.anchors, self.mean, self.second_moment)


def std_of(mean: float, second_moment: float) -> float:
    """The standard deviation of a distribution with these moments; 0 where it may be rounding error alone."""
    variance = second_moment - mean**2
    return math.sqrt(variance) if variance > ROUNDING * second_moment else 0.0


def moments_after(points: float, mean: float, second_moment: float) -> tuple[float, float]:
    """The moments of a score after adding a constant number of points."""
    return mean + points, second_moment + 2 * points * mean + points**2


def solve_expected(rules: Rules, isa: str | None = None) -> ExpectedTable:
    """Compute the whole table of expected scores, in memory.

    `isa` names the instruction set of the kernel, such as "avx2"; by default it is the fastest of this machine.

    >>> table = yc.solve_expected(yc.load_rules("yahtzee"))
    >>> print(f"{table.mean[table.start]:.4f} ± {table.std(table.start):.4f}")
    254.5896 ± 59.6117
    """
    anchors = Anchors(rules)
    turn = Turn(compile_moves(rules), isa)
    mean = np.full(anchors.n_places, np.nan)
    second_moment = np.full(anchors.n_places, np.nan)
    uppers.moments(turn, anchors, mean, second_moment)
    return ExpectedTable(anchors, mean, second_moment)


class Expected(Scorecards):
    """The same table as a recurrence: a set has the means of its anchors, then their second moments."""

    @property
    def identity(self) -> dict[str, Any]:
        """The objective and the rules."""
        return {"objective": "expected", "rules": self.rules.table}

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """A mean and a second moment for each anchor with these free categories."""
        return 2 * self.n_places[subsets]

    @property
    def limits(self) -> Sequence[tuple[float, float]]:
        """The bounds of mean and second moment."""
        return self._limits_of_moments

    def solver(self) -> Solver:
        """A solver with a turn of its own, for one thread."""
        return self.each_set(uppers.Moments(self.new_turn(), self.anchors).solve)

    def complaint(self, block: Block) -> str | None:
        """The first violated invariant of these entries, or None: moments within bounds, no negative variance."""
        for free in block.subsets.tolist():
            exists = self.anchors.exists[self.anchors.places(free)]
            mean, second_moment = (half[exists] for half in np.split(block[free], 2))
            possible = self.possible(mean, 0) and self.possible(second_moment, 1)
            if not (possible and (second_moment >= mean**2 * (1 - ROUNDING)).all()):
                return "it holds moments that no score has"
        return None

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each anchor and moment: 0 is the mean, 1 the second moment."""
        places = np.flatnonzero(self.anchors.exists)
        columns = self.anchor_columns(places)
        offset = places - self.anchors.place[columns["subset"], 0]
        both = {name: np.concatenate([column, column]) for name, column in columns.items()}
        return {
            **both,
            "moment": np.repeat([0, 1], len(places)).astype(np.int8),
            "offset": np.concatenate([offset, offset + self.n_places[columns["subset"]]]),
            "length": np.ones(2 * len(places), np.int32),
        }
