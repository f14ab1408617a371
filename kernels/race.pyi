from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.kernels.turn import Turn

Entries: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

class Race:
    turn: Turn
    def __init__(
        self,
        turn: Turn,
        anchors: Anchors,
        most: NDArray[np.int32],
        scored: NDArray[np.int32],
        quantities: int = 1,
    ) -> None: ...
    def n_values(self, subsets: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def solve(
        self,
        subsets: NDArray[np.int64],
        starts: NDArray[np.int64],
        out: NDArray[np.float64],
        below: Sequence[Entries | None],
    ) -> None: ...
