"""Rows of probabilities: for every anchor and every need, how likely it is to score that much from there on.

What is played for is what the tables of this form differ in; their lanes are needs, eight of them in one vector.
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
from yahtzee_cluster.objectives.rows import Rows
from yahtzee_cluster.objectives.scorecards import PROBABILITIES, Scorecards, Values

ROUNDING = 1e-14


class Probabilities(Scorecards):
    """The recursion for all needs from 1 to a target; the values of a set are the rows of its anchors."""

    objective: ClassVar[str]
    quantities: ClassVar[int] = 1
    """How many values there are for each need: probabilities first, all rows of a set, then whatever else."""
    falls: ClassVar[bool] = True
    """Whether a higher need is never more probable than a lower one."""

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
        """Where the row of each anchor lies."""
        return Rows(self.anchors, self.new_turn(), self.target)

    @property
    def identity(self) -> dict[str, Any]:
        """What is played for, the rules and the target."""
        return {"objective": self.objective, "target": self.target, "rules": self.rules.table}

    @property
    def plain_size(self) -> int:
        """Every upper total, with and without chip, and every need, whether or not play leads there."""
        totals = self.anchors.threshold + 1 if self.anchors.bonus else 1
        return self.quantities * (2 if self.rules.has_chip else 1) * totals * self.target

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """How many values all rows with these free categories have."""
        return self.quantities * self.rows.n_values[subsets]

    @property
    def limits(self) -> Sequence[tuple[float, float]]:
        """Those of probabilities."""
        return (PROBABILITIES,)

    def complaint(self, block: Block) -> str | None:
        """What cannot be true of the rows of one set after the other."""
        for free in block.subsets.tolist():
            if complaint := self._complaint_of(free, *np.split(block[free], self.quantities)):
                return complaint
        return None

    def _complaint_of(self, free: int, rows: Values, *_: Values) -> str | None:
        """What cannot be true of the quantities of one set."""
        if not self.possible(rows, 0):
            return "it holds values that are no probabilities"
        rising = np.flatnonzero(np.diff(rows) > ROUNDING) + 1
        if self.falls and not np.isin(rising, self.rows.offset[self.anchors.places(free)]).all():
            return "a higher need is more probable than a lower one"
        return None

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each row that holds anything; `quantity` counts from 0, the probabilities."""
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
        """What the highest expected score decides, where nothing else does."""
        return solve_expected(self.rules, self._isa)


class MaxProb(Probabilities):
    """The highest probability of every need: MaxProb (Cremers 2002, chapter 3)."""

    objective = "maxprob"

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        return self.each_set(needs.Needs(self.new_turn(), self.anchors, self.rows.length, self.rows.offset).solve)


class Distribution(Probabilities):
    """The probability of every need for who plays for the highest expected score: the distribution of that score."""

    objective = "distribution"

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        turn = self.new_turn()
        decider = self.expected.decider(turn)
        return self.each_set(needs.Followed(turn, self.anchors, self.rows.length, self.rows.offset, decider).solve)


class Strategies(Probabilities):
    """The probability of every need for who decides by the need, and what that decides."""

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        return self.each_set(self.player(self.new_turn()).solve)

    @abstractmethod
    def player(self, turn: Turn) -> needs.Player:
        """The kernel, which decides as well."""


class Scores(Strategies):
    """What is scored by who plays for the highest probability of a need: for every need, all of them at once.

    The values of a set are the probabilities of all its anchors, then the means of what they still score, then the
    second moments. Among equally probable plays the highest mean decides, then the largest second moment; once the need
    is reached, or out of reach, these are all that is left to play for. (Cremers 2002, 7.2.2, asks for them.)
    """

    objective = "scores"
    quantities = 3

    def player(self, turn: Turn) -> needs.Scores:
        """The kernel, which decides as well."""
        table, rows = self.expected, self.rows
        return needs.Scores(turn, self.anchors, rows.length, rows.offset, table.mean, table.second_moment)

    @property
    def limits(self) -> Sequence[tuple[float, float]]:
        """Those of probabilities, and of moments."""
        return PROBABILITIES, *self._limits_of_moments

    def _complaint_of(self, free: int, rows: Values, *beside: Values) -> str | None:
        """No second moment is smaller than the square of its mean."""
        mean, second = beside
        possible = self.possible(mean, 1) and self.possible(second, 2)
        sound = possible and (second >= mean**2 * (1 - ROUNDING)).all()
        return super()._complaint_of(free, rows) if sound else "it holds moments that no score has"


class Approximated(Strategies):
    """A form of MaxProbApprox (Cremers 2002, 6.2.2), which takes the rest of the score for normally distributed.

    Mean and variance are those of the strategy with the highest mean. The thesis gives no formula; here the positions
    within a turn are taken for normal too, and compared by standard deviations, with a continuity correction.
    """

    objective = "approx"

    falls = False  # who plays for less may well be less likely to have it: these are different strategies

    def player(self, turn: Turn) -> needs.Approximated:
        """The kernel, which decides as well."""
        decider = self.expected.decider(turn)
        return needs.Approximated(turn, self.anchors, self.rows.length, self.rows.offset, decider)
