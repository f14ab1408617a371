"""MaxProb: for every anchor and every need, the highest probability of still scoring that much.

Cremers 2002, chapter 4. The lanes are needs: one vector program solves eight of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.anchors import Anchors, Rows
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.kernels.needs import Needs
from yahtzee_cluster.kernels.turn import Turn
from yahtzee_cluster.moves import compile_moves
from yahtzee_cluster.rules import Rules


class MaxProb:
    """The recursion for all needs from 1 to a target, one set of free categories at a time."""

    def __init__(self, rules: Rules, target: int, isa: str | None = None) -> None:
        if target < 1:
            raise UsageError(f"target: expected at least 1, found {target}")
        self.anchors = Anchors(rules)
        self.turn = Turn(compile_moves(rules), isa)
        self.rows = Rows(self.anchors, self.turn, target)
        self._needs = Needs(self.turn, self.anchors, self.rows.length, self.rows.offset)

    def solve(self, free: int, successors: Sequence[NDArray[np.float64] | None], out: NDArray[np.float64]) -> None:
        """Fill in the rows of all anchors with these free categories.

        `successors[c]` holds the rows of the set without category c; it is not looked at where c is not free.
        """
        self._needs.solve(free, successors, out)
