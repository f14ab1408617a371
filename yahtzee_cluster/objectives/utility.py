"""The highest expected utility of the final score, for any utility function.

Lanes are scores so far. Reaching a score, beating opponents with a known distribution of scores, and a power of the
score are all the same recursion with different terminal values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import Block, Solver
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_TEXT, is_text
from yahtzee_cluster.game.anchors import Anchors, most_scored
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels import needs
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.objectives.expected import ExpectedTable, solve_expected
from yahtzee_cluster.objectives.goals import goal_of_table
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.text import shown

MOST_WORTH = 1e300
"""A larger utility might overflow in an expected value, and infinite values cannot be compared."""


class Utility(Scorecards):
    """The values of a set are the rows of its anchors, by the score so far; `worth` has one utility per final score."""

    def __init__(
        self, rules: Rules, goal: str, worth: tuple[float, ...], isa: str | None = None, before: int = 0
    ) -> None:
        super().__init__(rules, isa)
        self.before = before
        """The score before the game began, if it is the rest of another: the first utility is that of this score."""
        if not (goal.strip() and is_text(goal)):  # a table with any other goal could not be opened
            expected = f"expected a text on one line, of at most {MAX_TEXT} characters"
            raise UsageError(f"goal: {expected}, found {shown(goal)}")
        self.goal = goal
        self.worth = worth
        n_scores = int(self.lengths[self.anchors.places(0)].max())
        if len(worth) != n_scores:
            raise UsageError(f"goal: expected what {n_scores} final scores are worth, found {len(worth)}")
        if not (np.abs(worth) <= MOST_WORTH).all():
            raise UsageError(f"goal: expected every final score to be worth {-MOST_WORTH:g} to {MOST_WORTH:g}")

    @property
    def _made_from(self) -> tuple[Any, ...]:
        return self.rules, self.goal, self.worth, self._isa, self.before

    @property
    def identity(self) -> dict[str, Any]:
        """The goal by name, the utility of every final score, and the rules."""
        before = {"before": self.before} if self.before else {}
        return {"objective": "utility", "goal": self.goal, "worth": [*self.worth], **before, "rules": self.rules.table}

    @property
    def is_chance(self) -> bool:
        """Whether the utility of a final score is a probability."""
        goal = goal_of_table(self.goal)
        return goal is not None and goal.is_chance and min(self.worth) >= 0 and max(self.worth) <= 1

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """[place]: the length of the row, from score 0 to the highest so far; 0 if no sequence of plays leads there."""
        most = most_scored(self.anchors, self._moves)
        return np.where(self.anchors.exists, most + 1, 0).astype(np.int32)

    @cached_property
    def _layout(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.anchors.end_to_end(self.lengths)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """[place]: where the row begins among those with the same free categories."""
        return self._layout[0]

    @staticmethod
    def count_scores(rules: Rules) -> int:
        """The number of final scores, from 0 to the highest."""
        return int(most_scored(Anchors(rules), compile_moves(rules)).max()) + 1

    def row(self, place: int) -> slice:
        """The position of a place's row among those with the same free categories."""
        start = int(self.offsets[place])
        return slice(start, start + int(self.lengths[place]))

    @property
    def plain_size(self) -> int:
        """One value for every upper total, with and without chip, and every score, reachable or not."""
        return self._n_plain_anchors * len(self.worth)

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """The number of values in all rows with these free categories."""
        return self._layout[1][subsets]

    def solver(self) -> Solver:
        """A solver with a turn of its own, for one thread."""
        worth = np.array(self.worth)
        falls = bool((np.diff(worth) < 0).any())
        last = self.anchors.places(0)
        at_the_end = np.concatenate([worth[:length] for length in self.lengths[last]])
        kernel = needs.Utility(self.new_turn(), self.anchors, self.lengths, self.offsets, falls, self.worth[-1])
        return self.each_set(kernel.solve, at_the_end)

    def player(self, turn: Turn) -> needs.Utility:
        """The kernel for decisions, in which ties go to the highest expected score."""
        moments = self.expected.mean, self.expected.second_moment
        return needs.Utility(turn, self.anchors, self.lengths, self.offsets, True, self.worth[-1], *moments)

    @cached_property
    def expected(self) -> ExpectedTable:
        """The table of the policy with the highest expected score."""
        return solve_expected(self.rules, self._isa)

    @cached_property
    def limits(self) -> Sequence[tuple[float, float]]:
        """The lowest and the highest utility of a final score, with a margin for rounding."""
        least, most = min(self.worth), max(self.worth)
        margin = 1e-12 * max(abs(least), abs(most))
        return ((least - margin, most + margin),)

    def complaint(self, block: Block) -> str | None:
        """The first violated invariant of these entries, or None: all utilities are within bounds."""
        return None if self.possible(block.values, 0) else "it holds what no final score is worth"

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each row that is not empty."""
        places = np.flatnonzero(self.lengths)
        return {**self.anchor_columns(places), "length": self.lengths[places], "offset": self.offsets[places]}
