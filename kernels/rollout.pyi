from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.kernels.needs import Player
from yahtzee_cluster.kernels.turn import Decisions, Turn, Values

def throw(
    turn: Turn,
    free: int,
    chip: bool,
    decisions: Decisions,
    columns: NDArray[np.int64],
    throws: NDArray[np.uint16],
    outcomes: NDArray[np.int16],
) -> None: ...
def throw_by(
    player: Player,
    free: int,
    chip: bool,
    successors: Sequence[Values | None],
    lanes: NDArray[np.int64],
    needs: NDArray[np.int64],
    throws: NDArray[np.uint16],
    outcomes: NDArray[np.int16],
) -> None: ...
def chances(
    mean: Values,
    deviation: Values,
    lanes: NDArray[np.int64],
    scores: NDArray[np.int64],
    rival_mean: Values,
    rival_deviation: Values,
    which: NDArray[np.int64],
    chance: Values,
    reached: Values,
) -> None: ...
def leads_of(
    values: Values,
    first: NDArray[np.int64],
    step: NDArray[np.int64],
    lowest: NDArray[np.int64],
    length: NDArray[np.int64],
    size: NDArray[np.int64],
    leads: NDArray[np.int64],
    lanes: NDArray[np.int64],
    number: NDArray[np.int64],
    paid: NDArray[np.int64],
    which: NDArray[np.int64],
    out: Values,
) -> None: ...
