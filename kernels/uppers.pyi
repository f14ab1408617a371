from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.anchors import Anchors
from yahtzee_cluster.kernels.turn import Turn

def moments(
    turn: Turn, anchors: Anchors, value: NDArray[np.float64], second: NDArray[np.float64] | None = None
) -> None: ...
def most(turn: Turn, anchors: Anchors, value: NDArray[np.float64]) -> None: ...
def check_layout(turn: Turn, anchors: Anchors) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]: ...

class Moments:
    turn: Turn
    def __init__(self, turn: Turn, anchors: Anchors) -> None: ...
    def solve(self, free: int, successors: Sequence[NDArray[np.float64] | None], out: NDArray[np.float64]) -> None: ...
