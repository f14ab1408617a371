"""Layout of the rows of probabilities: one row for each anchor, one value for each score still needed."""

from __future__ import annotations

import numpy as np

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.kernels import uppers
from yahtzee_cluster.kernels.turn import Turn


class Rows:
    """Where the row of each anchor lies among the rows of all anchors with the same free categories.

    A row has one value for each need from 1 to the most that can still be scored, and stops at the target: what is
    left of it is certain, what is right of it impossible or not asked for.
    """

    def __init__(self, anchors: Anchors, turn: Turn, target: int) -> None:
        most = np.zeros(anchors.n_places)
        uppers.most(turn, anchors, most)
        self.length = np.where(anchors.exists, np.minimum(most, target), 0).astype(np.int32)
        """[place]: how many values the row has; 0 where no play leads."""
        self.offset, self.n_values = anchors.end_to_end(self.length)
        """[place]: where the row starts; [free]: how many values all rows of a set of free categories have together."""
