from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.kernels.needs import Scores
from yahtzee_cluster.kernels.turn import Turn, Values
from yahtzee_cluster.kernels.uppers import Decider

class Flow:
    turn: Turn
    def __init__(
        self,
        scores: Scores,
        decider: Decider,
        width: NDArray[np.int64],
        target: int,
        by_mean: bool = False,
        comparing: bool = False,
    ) -> None: ...
    def room(self, free: int) -> tuple[int, int]: ...
    def step(
        self,
        free: int,
        successors: Sequence[Values | None],
        still_open: Values | None,
        played_free: Values,
        open_out: Sequence[Values | None],
        free_out: Sequence[Values | None],
        met: Values,
        compared: Values | None = None,
        costliest: Values | None = None,
    ) -> None: ...
