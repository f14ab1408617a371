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
from yahtzee_cluster.kernels.needs import Followed, Needs
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


class MaxProb(Probabilities):
    """The highest probability of every need. Cremers 2002, chapter 4."""

    objective = "maxprob"

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        return self.each_set(Needs(self.new_turn(), self.anchors, self.rows.length, self.rows.offset).solve)


class Distribution(Probabilities):
    """The probability of every need for who plays for the highest expected score: the distribution of that score."""

    objective = "distribution"

    @cached_property
    def expected(self) -> ExpectedTable:
        """What decides."""
        return solve_expected(self.rules, self._isa)

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        turn = self.new_turn()
        decider = Decider(turn, self.anchors, self.expected.mean, self.expected.second_moment)
        return self.each_set(Followed(turn, self.anchors, self.rows.length, self.rows.offset, decider).solve)
