from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.moves import Moves

Values: TypeAlias = NDArray[np.float64]

ISA_VARIABLE: str

def instruction_sets() -> list[str]: ...
def check(name: str, array: object, dtype: Any, shape: tuple[int | None, ...]) -> NDArray[Any]: ...
def check_output(name: str, array: object, shape: tuple[int | None, ...]) -> Values: ...

class Turn:
    moves: Moves
    isa: str
    n_outcomes: int
    all_free: int
    def __init__(self, moves: Moves, isa: str | None = None) -> None: ...
    @property
    def width(self) -> int: ...
    @overload
    def best(
        self, free: int, chip: bool, values: Values, second: None = None, *, merge_zeros: bool = False
    ) -> Values: ...
    @overload
    def best(
        self, free: int, chip: bool, values: Values, second: Values, *, merge_zeros: bool = False
    ) -> tuple[Values, Values]: ...
    def choose(self, free: int, chip: bool, values: Values) -> NDArray[np.uint16]: ...
    @overload
    def follow(
        self, free: int, chip: bool, values: Values, decisions: NDArray[np.uint16], second: None = None
    ) -> Values: ...
    @overload
    def follow(
        self, free: int, chip: bool, values: Values, decisions: NDArray[np.uint16], second: Values
    ) -> tuple[Values, Values]: ...
    def most(self, free: int, chip: bool, values: Values) -> Values: ...
    def rerolls(self, times: int) -> None: ...
