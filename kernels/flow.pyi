from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.kernels.needs import Player
from yahtzee_cluster.kernels.policies import Decider
from yahtzee_cluster.kernels.turn import Turn, Values

class Flow:
    turn: Turn
    def __init__(
        self,
        decider: Decider,
        length: NDArray[np.int64],
        offset: NDArray[np.int64],
        player: Player | None = None,
        target: int = 0,
        by_mean: bool = False,
        comparing: bool = False,
    ) -> None: ...
    def step(
        self,
        free: int,
        successors: Sequence[Values | None],
        games: Values,
        out: Sequence[Values | None],
        met: Values,
        compared: Values | None = None,
        costliest: Values | None = None,
    ) -> None: ...
