"""What the objectives of a game have in common: the rules as tables, and the solver for one player."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.game.anchors import Anchors, most_scored
from yahtzee_cluster.game.moves import Moves, compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.turn import Turn

Values = NDArray[np.float64]

PROBABILITIES = 0.0, 1 + 1e-14
"""The bounds of a probability, with a margin for rounding."""


class GameRecurrence(Recurrence):
    """A recurrence over the anchors of a game, for any number of players."""

    def __init__(self, rules: Rules, isa: str | None = None) -> None:
        self.rules = rules
        self.anchors = Anchors(rules)
        self._isa = isa

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the constructor only; another rank computes the tables itself."""
        return type(self), self._made_from

    @property
    def _made_from(self) -> tuple[Any, ...]:
        return self.rules, self._isa

    @cached_property
    def _moves(self) -> Moves:
        return compile_moves(self.rules)

    def new_turn(self) -> Turn:
        """A turn of the game, with work space for one thread."""
        return Turn(self._moves, self._isa)

    @cached_property
    def n_places(self) -> NDArray[np.int64]:
        """[free]: the number of places with these free categories."""
        return np.diff(np.append(self.anchors.place[:, 0], self.anchors.n_places))


class Scorecards(GameRecurrence):
    """A recurrence for one player: the elements are the categories, a subset has those that are still free."""

    assumed_value_s = 135e-9
    assumed_subset_s = 30e-6

    @property
    def element_names(self) -> tuple[str, ...]:
        """The categories."""
        return tuple(category.name for category in self.rules.categories)

    @property
    @abstractmethod
    def limits(self) -> Sequence[tuple[float, float]]:
        """The lower and upper bound of each quantity; entries out of bounds must not be used for decisions."""

    @cached_property
    def _limits_of_moments(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The bounds of mean and second moment of a score."""
        most = float(most_scored(self.anchors, self._moves).max()) * (1 + 1e-12)
        return (0.0, most), (0.0, most**2)

    def possible(self, values: Values, quantity: int) -> bool:
        """Whether all values of a quantity are within its bounds."""
        least, most = self.limits[quantity]
        return bool(((values >= least) & (values <= most)).all())

    @property
    def _n_plain_anchors(self) -> int:
        """The number of anchors of a set if every upper total, with and without chip, had one, reachable or not."""
        totals = self.anchors.threshold + 1 if self.anchors.bonus else 1
        return (2 if self.rules.has_chip else 1) * totals

    def each_set(
        self, solve: Callable[[int, list[Values | None], Values], None], at_the_end: Values | float = 0.0
    ) -> Solver:
        """A solver from a kernel that solves one set of free categories, given the values of its successors.

        `at_the_end` are the values of the empty set.
        """
        n_elements = len(self.element_names)

        def solve_block(block: Block, below: Below) -> None:
            for free in block.subsets.tolist():
                values = block[free]
                if not free:
                    values[:] = at_the_end
                    continue
                successors: list[Values | None] = [None] * n_elements
                for category in range(n_elements):
                    rows = below[category]
                    if free >> category & 1 and rows is not None:
                        successors[category] = rows[free ^ 1 << category]
                solve(free, successors, values)

        return solve_block

    def anchor_columns(self, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The anchors at these places as columns of a row index; an upper total of -1 stands for a decided bonus."""
        free, upper, chip = self.anchors.columns(places)
        return {"subset": free, "upper": upper, "chip": chip}
