"""Layout of the rows of probabilities: one row for each anchor, one value for each score still needed."""

from __future__ import annotations

import numpy as np

from yahtzee_cluster.game.anchors import Anchors
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
        self.length = np.where(anchors.exists, np.minimum(most, target), 0).astype(np.int32)
        """[place]: the number of values in the row; 0 for a place that no sequence of plays reaches."""
        self.offset, self.n_values = anchors.end_to_end(self.length)
        """[place]: where the row starts; [free]: the number of values in all rows of a set of free categories."""
