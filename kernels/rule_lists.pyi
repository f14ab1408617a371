import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.kernels.policies import Decider
from yahtzee_cluster.kernels.turn import Turn, Values

NO_KEEP: int

class ByRules(Decider):
    value: Values | None
    def __init__(
        self,
        turn: Turn,
        anchors: Anchors,
        keep: NDArray[np.uint16] | None,
        keep_applies: NDArray[np.bool_] | None,
        box: NDArray[np.uint8],
        rows: NDArray[np.bool_],
        applies: NDArray[np.bool_],
        for_bonus: NDArray[np.bool_],
    ) -> None: ...
