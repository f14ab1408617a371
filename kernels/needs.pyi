from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.kernels.policies import Decider, ForTheMean
from yahtzee_cluster.kernels.turn import Turn

class Needs:
    turn: Turn
    def __init__(
        self,
        turn: Turn,
        anchors: Anchors,
        length: NDArray[np.int32],
        offset: NDArray[np.int64],
        *,
        first: NDArray[np.int32] | None = None,
    ) -> None: ...
    def solve(self, free: int, successors: Sequence[NDArray[np.float64] | None], out: NDArray[np.float64]) -> None: ...

class Player(Needs): ...

class Utility(Player):
    def __init__(
        self,
        turn: Turn,
        anchors: Anchors,
        length: NDArray[np.int32],
        offset: NDArray[np.int64],
        falls: bool,
        above: float,
        mean: NDArray[np.float64] | None = None,
        second: NDArray[np.float64] | None = None,
    ) -> None: ...

class Scores(Player):
    def __init__(
        self,
        turn: Turn,
        anchors: Anchors,
        length: NDArray[np.int32],
        offset: NDArray[np.int64],
        mean: NDArray[np.float64],
        second: NDArray[np.float64],
    ) -> None: ...

class Approximated(Player):
    def __init__(
        self, turn: Turn, anchors: Anchors, length: NDArray[np.int32], offset: NDArray[np.int64], decider: Decider
    ) -> None: ...

class Followed(Needs):
    def __init__(
        self, turn: Turn, anchors: Anchors, length: NDArray[np.int32], offset: NDArray[np.int64], decider: ForTheMean
    ) -> None: ...
