from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.kernels.turn import Turn

Entries: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]

def reach(turn: Turn, anchors: Anchors, start: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]: ...

class Side:
    def __init__(
        self,
        turn: Turn | None,
        anchors: Anchors,
        places: NDArray[np.int64],
        most: NDArray[np.int32],
        least: NDArray[np.int32],
        scored: NDArray[np.int32],
    ) -> None: ...

class Race:
    def __init__(self, one: Side, two: Side, lead: int = 0, quantities: int = 1) -> None: ...
    def n_values(self, subsets: NDArray[np.int64]) -> NDArray[np.int64]: ...
    def solve(
        self,
        subsets: NDArray[np.int64],
        starts: NDArray[np.int64],
        out: NDArray[np.float64],
        below: Sequence[Entries | None],
    ) -> None: ...
