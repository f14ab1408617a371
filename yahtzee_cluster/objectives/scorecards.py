"""What all objectives of a game have in common: the elements are the categories, a subset those that are still free."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.game.anchors import Anchors, most_scored
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels.turn import Turn

Values = NDArray[np.float64]

PROBABILITIES = 0.0, 1 + 1e-14
"""The least and the most that can be, but for rounding."""


class Scorecards(Recurrence):
    """A recursion over the scorecards of a game."""

    def __init__(self, rules: Rules, isa: str | None = None) -> None:
        self.rules = rules
        self.anchors = Anchors(rules)
        self._moves = compile_moves(rules)
        self._isa = isa

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another rank, it is made anew there."""
        return type(self), self._made_from

    @property
    def _made_from(self) -> tuple[Any, ...]:
        return self.rules, self._isa

    @property
    def element_names(self) -> tuple[str, ...]:
        """The categories."""
        return tuple(category.name for category in self.rules.categories)

    @property
    @abstractmethod
    def limits(self) -> Sequence[tuple[float, float]]:
        """The least and the most that the values of each quantity can be; nobody may decide by any others."""

    @cached_property
    def _limits_of_moments(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The least and the most that the moments of a score can be."""
        most = float(most_scored(self.anchors, self._moves).max()) * (1 + 1e-12)
        return (0.0, most), (0.0, most**2)

    def possible(self, values: Values, quantity: int) -> bool:
        """Whether such values of a quantity can be."""
        least, most = self.limits[quantity]
        return bool(((values >= least) & (values <= most)).all())

    def new_turn(self) -> Turn:
        """The turn of the game, for one thread."""
        return Turn(self._moves, self._isa)

    def each_set(
        self, solve: Callable[[int, list[Values | None], Values], None], at_the_end: Values | float = 0.0
    ) -> Solver:
        """A solver out of a kernel that takes one set of free categories, and the values of its successors."""
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
        """What the anchors at these places are; an upper total of -1 stands for a decided bonus."""
        free, upper, chip = self.anchors.columns(places)
        return {"subset": free, "upper": upper, "chip": chip}
