"""Layout of the rows of probabilities: one row for each anchor, one value for each score still needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors, most_scored
from yahtzee_cluster.game.moves import Moves
from yahtzee_cluster.kernels import uppers
from yahtzee_cluster.kernels.turn import Turn


class Rows:
    """The position of each anchor's row among the rows of all anchors with the same free categories.

    A row has one value for each need from 1 to the most that can still be scored, or to the target if that is less.
    Left of it the probability is 1; right of it the need is out of reach or beyond the target.
    """

    def __init__(self, anchors: Anchors, turn: Turn, target: int) -> None:
        most = np.zeros(anchors.n_places)
        uppers.most(turn, anchors, most)
        first, last = self._limits(anchors, turn.moves, target)
        self.first: NDArray[np.int32] = first.astype(np.int32)
        """[place]: by how much the needs of the row begin later than at 1."""
        self.last: NDArray[np.int32] = last.astype(np.int32)
        """[place]: the highest need that the row may have, if so much can still be scored."""
        self.length = np.where(anchors.exists, np.maximum(np.minimum(most, last) - first, 0), 0).astype(np.int32)
        """[place]: the number of values in the row; 0 for a place that no sequence of plays reaches."""
        self.offset, self.n_values = anchors.end_to_end(self.length)
        """[place]: where the row starts; [free]: the number of values in all rows of a set of free categories."""

    def _limits(self, anchors: Anchors, moves: Moves, target: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # noqa: ARG002
        """[place]: the needs that a row may have are those above the first number, up to the second."""
        return np.zeros(anchors.n_places, np.int64), np.full(anchors.n_places, target)


class RowsToReach(Rows):
    """The same for a single target: a row has only needs that can be left of it when play comes to its anchor."""

    def _limits(self, anchors: Anchors, moves: Moves, target: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        free, upper, _ = anchors.columns(np.arange(anchors.n_places))
        is_open = upper >= 0  # so that the score does not include the bonus yet, which `most_scored` may count
        may_be_won = anchors.reserve[-1] - anchors.reserve[free] >= anchors.threshold
        most = most_scored(anchors, moves) - anchors.bonus * (is_open & may_be_won)
        return np.maximum(target - most - 1, 0), target - np.where(is_open, upper, 0).astype(np.int64)
