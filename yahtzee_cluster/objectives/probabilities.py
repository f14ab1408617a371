"""Rows of probabilities: for every anchor and every need, how likely it is to score that much from there on.

What is played for is what the tables of this form differ in; their lanes are needs, eight of them in one vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.anchors import Rows
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.kernels import needs
from yahtzee_cluster.kernels.flow import Flow
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.kernels.uppers import Decider
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.partition import Subsets
from yahtzee_cluster.recurrence import Block, Solver
from yahtzee_cluster.rules import Rules

ROUNDING = 1e-14


class Probabilities(Scorecards):
    """The recursion for all needs from 1 to a target; the values of a set are the rows of its anchors."""

    objective: ClassVar[str]

    def __init__(self, rules: Rules, target: int, isa: str | None = None) -> None:
        if target < 1:
            raise UsageError(f"target: expected at least 1, found {target}")
        super().__init__(rules, isa)
        self.target = target

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
        return (2 if self.rules.has_chip else 1) * totals * self.target

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """How many values all rows with these free categories have."""
        return self.rows.n_values[subsets]

    def complaint(self, block: Block) -> str | None:
        """Probabilities lie between 0 and 1, and a higher need is never more probable."""
        if not ((block.values >= 0) & (block.values <= 1 + ROUNDING)).all():
            return "it holds values that are no probabilities"
        rising = np.flatnonzero(np.diff(block.values) > ROUNDING) + 1
        row_starts = [
            start + self.rows.offset[self.places(free)]
            for free, start in zip(block.subsets.tolist(), block.starts[:-1].tolist(), strict=True)
        ]
        if not np.isin(rising, np.concatenate(row_starts)).all():
            return "a higher need is more probable than a lower one"
        return None

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each anchor whose row holds anything."""
        places = np.flatnonzero(self.rows.length)
        lie = {"offset": self.rows.offset[places], "length": self.rows.length[places]}
        return {**self.anchor_columns(places), **lie}

    @cached_property
    def expected(self) -> ExpectedTable:
        """What the highest expected score decides, where nothing else does."""
        return solve_expected(self.rules, self._isa)


class MaxProb(Probabilities):
    """The highest probability of every need. Cremers 2002, chapter 4."""

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
        decider = Decider(turn, self.anchors, self.expected.mean, self.expected.second_moment)
        return self.each_set(needs.Followed(turn, self.anchors, self.rows.length, self.rows.offset, decider).solve)


class Scores(Probabilities):
    """What is scored by who plays for the highest probability of a need: for every need, all of them at once.

    The values of a set are the probabilities of all its anchors, then the means of what they still score, then the
    second moments. Among equally probable plays the highest mean decides, then the largest second moment; once the need
    is reached, or out of reach, these are all that is left to play for. (Cremers 2002, 7.2.2, asks for them.)
    """

    objective = "scores"
    quantities = 3

    @property
    def plain_size(self) -> int:
        """Three values for each need."""
        return self.quantities * super().plain_size

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """How many values all rows with these free categories have."""
        return self.quantities * self.rows.n_values[subsets]

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        return self.each_set(self._kernel(self.new_turn()).solve)

    def flow(self, width: NDArray[np.int64], target: int) -> Flow:
        """The kernel that plays games for a target, with a turn of its own."""
        turn = self.new_turn()
        decider = Decider(turn, self.anchors, self.expected.mean, self.expected.second_moment)
        return Flow(self._kernel(turn), decider, width, target)

    def _kernel(self, turn: Turn) -> needs.Scores:
        table, rows = self.expected, self.rows
        return needs.Scores(turn, self.anchors, rows.length, rows.offset, table.mean, table.second_moment)

    def complaint(self, block: Block) -> str | None:
        """The first third are rows of probabilities, and no second moment is smaller than the square of its mean."""
        for free in block.subsets.tolist():
            probabilities, mean, second = np.split(block[free], self.quantities)
            only = Block(np.array([free]), np.array([0, len(probabilities)]), probabilities)
            if complaint := super().complaint(only):
                return complaint
            if not ((mean >= 0) & (second >= mean**2 * (1 - ROUNDING))).all():
                return "it holds moments that no score has"
        return None

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each row: 0 the probability, 1 the mean, 2 the second moment."""
        one = super().row_index()
        n, size = len(one["offset"]), self.rows.n_values[one["subset"]]
        columns = {name: np.tile(column, self.quantities) for name, column in one.items()}
        quantity = np.repeat(np.arange(self.quantities, dtype=np.int8), n)
        return columns | {"quantity": quantity, "offset": columns["offset"] + quantity * np.tile(size, self.quantities)}
