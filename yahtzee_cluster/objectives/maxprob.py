"""MaxProb: for every anchor and every need, the highest probability of still scoring that much.

Cremers 2002, chapter 4. The lanes are needs: one vector program solves eight of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.anchors import Anchors, Rows
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.kernels.needs import Needs
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.moves import compile_moves
from yahtzee_cluster.partition import Subsets
from yahtzee_cluster.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.rules import Rules


class MaxProb(Recurrence):
    """The recursion for all needs from 1 to a target; the elements are the categories, a subset those still free."""

    def __init__(self, rules: Rules, target: int, isa: str | None = None) -> None:
        if target < 1:
            raise UsageError(f"target: expected at least 1, found {target}")
        self.rules = rules
        self.target = target
        self.anchors = Anchors(rules)
        self._moves = compile_moves(rules)
        self._isa = isa

    @cached_property
    def rows(self) -> Rows:
        """Where the row of each anchor lies."""
        return Rows(self.anchors, Turn(self._moves, self._isa), self.target)

    @property
    def element_names(self) -> tuple[str, ...]:
        """The categories."""
        return tuple(category.name for category in self.rules.categories)

    @property
    def identity(self) -> dict[str, Any]:
        """The rules and the target."""
        return {"objective": "maxprob", "target": self.target, "rules": self.rules.table}

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """How many values all rows with these free categories have."""
        return self.rows.n_values[subsets]

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        needs = Needs(Turn(self._moves, self._isa), self.anchors, self.rows.length, self.rows.offset)
        n_elements = len(self.element_names)

        def solve(block: Block, below: Below) -> None:
            for free in block.subsets.tolist():
                if not free:
                    continue  # nothing more is scored: all rows are empty
                successors: list[NDArray[np.float64] | None] = [None] * n_elements
                for category in range(n_elements):
                    rows = below[category]
                    if free >> category & 1 and rows is not None:
                        successors[category] = rows[free ^ 1 << category]
                needs.solve(free, successors, block[free])

        return solve

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each anchor whose row holds anything; an upper total of -1 stands for a decided bonus."""
        places = np.flatnonzero(self.rows.length)
        free, upper, chip = self.anchors.columns(places)
        return {
            "subset": free,
            "upper": upper,
            "chip": chip,
            "offset": self.rows.offset[places],
            "length": self.rows.length[places],
        }
