"""Rows of probabilities: for every anchor and every need, the probability of scoring at least that much from there on.

The objectives of this form differ in their policies. Their lanes are needs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import Block, Solver
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels import needs
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.objectives.rows import Rows, RowsToReach
from yahtzee_cluster.objectives.scorecards import PROBABILITIES, Scorecards, Values

ROUNDING = 1e-14


class Probabilities(Scorecards):
    """A recurrence for all needs from 1 to a target; the values of a set are the rows of its anchors."""

    objective: ClassVar[str]
    quantities: ClassVar[int] = 1
    """The number of values for each need. A set has all rows of probabilities first, then those of each other value."""
    falls: ClassVar[bool] = True
    """Whether the probability of a need never exceeds that of a lower need."""

    def __init__(self, rules: Rules, target: int, isa: str | None = None) -> None:
        if target < 1:
            raise UsageError(f"target: expected at least 1, found {target}")
        super().__init__(rules, isa)
        self.target = target

    @property
    def _made_from(self) -> tuple[Any, ...]:
        return self.rules, self.target, self._isa

    @cached_property
    def rows(self) -> Rows:
        """The layout of the rows."""
        return Rows(self.anchors, self.new_turn(), self.target)

    @property
    def identity(self) -> dict[str, Any]:
        """The objective, the target and the rules."""
        return {"objective": self.objective, "target": self.target, "rules": self.rules.table}

    @property
    def plain_size(self) -> int:
        """One value for every upper total, with and without chip, and every need, reachable or not."""
        return self.quantities * self._n_plain_anchors * self.target

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """The number of values in all rows with these free categories."""
        return self.quantities * self.rows.n_values[subsets]

    @property
    def limits(self) -> Sequence[tuple[float, float]]:
        """The bounds of a probability."""
        return (PROBABILITIES,)

    def complaint(self, block: Block) -> str | None:
        """The first violated invariant of these entries, or None."""
        for free in block.subsets.tolist():
            if complaint := self._complaint_of(free, *np.split(block[free], self.quantities)):
                return complaint
        return None

    def _complaint_of(self, free: int, rows: Values, *_: Values) -> str | None:
        """The first violated invariant of the quantities of one set, or None."""
        if not self.possible(rows, 0):
            return "it holds values that are no probabilities"
        rising = np.flatnonzero(np.diff(rows) > ROUNDING) + 1
        if self.falls and not np.isin(rising, self.rows.offset[self.anchors.places(free)]).all():
            return "a higher need is more probable than a lower one"
        return None

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each row that is not empty; `quantity` 0 is the probability."""
        places = np.flatnonzero(self.rows.length)
        columns = {**self.anchor_columns(places), "length": self.rows.length[places]}
        size = self.rows.n_values[columns["subset"]]
        offsets = [self.rows.offset[places] + quantity * size for quantity in range(self.quantities)]
        if self.quantities == 1:
            return columns | {"offset": offsets[0]}
        repeated = {name: np.tile(column, self.quantities) for name, column in columns.items()}
        quantity = np.repeat(np.arange(self.quantities, dtype=np.int8), len(places))
        return repeated | {"quantity": quantity, "offset": np.concatenate(offsets)}

    @cached_property
    def expected(self) -> ExpectedTable:
        """The table of the policy with the highest expected score, on which some of the objectives depend."""
        return solve_expected(self.rules, self._isa)


class MaxProb(Probabilities):
    """The highest probability of every need: MaxProb (Cremers 2002, chapter 3)."""

    objective = "maxprob"

    def solver(self) -> Solver:
        """A solver with a turn of its own, for one thread."""
        return self.each_set(needs.Needs(self.new_turn(), self.anchors, self.rows.length, self.rows.offset).solve)


class Reach(MaxProb):
    """The highest probability of one need from the start of the game. Rows have only needs that occur on the way."""

    objective = "reach"

    @cached_property
    def rows(self) -> RowsToReach:
        """The layout of the rows."""
        return RowsToReach(self.anchors, self.new_turn(), self.target)

    def solver(self) -> Solver:
        """A solver with a turn of its own, for one thread."""
        rows = self.rows
        return self.each_set(
            needs.Needs(self.new_turn(), self.anchors, rows.length, rows.offset, first=rows.first).solve
        )


class Distribution(Probabilities):
    """The probability of every need under the policy with the highest expected score: the distribution of its score."""

    objective = "distribution"

    def solver(self) -> Solver:
        """A solver with a turn of its own, for one thread."""
        turn = self.new_turn()
        decider = self.expected.decider(turn)
        return self.each_set(needs.Followed(turn, self.anchors, self.rows.length, self.rows.offset, decider).solve)


class Strategies(Probabilities):
    """The probability of every need under a policy that depends on the need; its kernel also computes the decisions."""

    def solver(self) -> Solver:
        """A solver with a turn of its own, for one thread."""
        return self.each_set(self.player(self.new_turn()).solve)

    @abstractmethod
    def player(self, turn: Turn) -> needs.Player:
        """The kernel, for values and decisions."""


class Scores(Strategies):
    """The score under the policy with the highest probability of a need, for all needs at once.

    The values of a set are the probabilities of all its anchors, then the means of the rest of the score, then the
    second moments. Ties in probability go to the highest mean, then to the largest second moment; these alone decide
    once the need is reached or out of reach. (Cremers 2002, 7.2.2, asks for these moments.)
    """

    objective = "scores"
    assumed_value_s = 320e-9
    quantities = 3

    def player(self, turn: Turn) -> needs.Scores:
        """The kernel, for values and decisions."""
        table, rows = self.expected, self.rows
        return needs.Scores(turn, self.anchors, rows.length, rows.offset, table.mean, table.second_moment)

    @property
    def limits(self) -> Sequence[tuple[float, float]]:
        """The bounds of probability, mean and second moment."""
        return PROBABILITIES, *self._limits_of_moments

    def _complaint_of(self, free: int, rows: Values, *beside: Values) -> str | None:
        """The same, with moments within bounds and no negative variance."""
        mean, second = beside
        possible = self.possible(mean, 1) and self.possible(second, 2)
        sound = possible and (second >= mean**2 * (1 - ROUNDING)).all()
        return super()._complaint_of(free, rows) if sound else "it holds moments that no score has"


class Approximated(Strategies):
    """A form of MaxProbApprox (Cremers 2002, 6.2.2), which approximates the rest of the score by a normal distribution.

    Mean and variance are those of the policy with the highest mean. The thesis gives no formula; here the positions
    within a turn are approximated in the same way, and compared by standard deviations, with a continuity correction.
    """

    objective = "approx"
    assumed_value_s = 540e-9

    falls = False  # each need has its own heuristic policy, so a higher need may have the higher probability

    def player(self, turn: Turn) -> needs.Approximated:
        """The kernel, for values and decisions."""
        decider = self.expected.decider(turn)
        return needs.Approximated(turn, self.anchors, self.rows.length, self.rows.offset, decider)
