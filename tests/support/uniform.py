"""A problem in which all subsets exist and the layer decides their sizes, said in both ways."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import Recurrence, Solver


@dataclass(frozen=True)
class Uniform(Recurrence):
    """Nothing to solve: what planning needs of a problem, by layer."""

    of_layers: tuple[int, ...]

    @property
    def element_names(self) -> tuple[str, ...]:
        """Numbers."""
        return tuple(str(a) for a in range(len(self.of_layers) - 1))

    @property
    def identity(self) -> dict[str, Any]:
        """What the entries depend on."""
        return {"layers": self.of_layers}

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """As many entries as are listed."""
        return self.of_layers

    def solver(self) -> Solver:
        """There is none."""
        raise NotImplementedError


class Enumerated(Uniform):
    """The same, which nobody knows before asking for every subset."""

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """As many entries as are listed."""
        return np.array(self.of_layers, np.int64)[np.bitwise_count(subsets)]
