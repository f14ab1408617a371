"""Two small problems that are no dice games, for tests of the engine."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId, Partition, Subsets
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver

TOWNS = ("harbour", "mill", "abbey", "market", "castle")
HARBOUR, MILL = 0, 1
N_GATES = (8, 60, 3, 24, 12)
TOWN_OF = np.repeat(np.arange(len(TOWNS)), N_GATES)
"""The town of each gate."""
TO_FIRST: NDArray[np.float64] = np.random.default_rng(1).random(len(TOWN_OF))
BETWEEN: NDArray[np.float64] = np.random.default_rng(2).random((len(TOWN_OF), len(TOWN_OF)))
"""How long the way is from one gate to another."""


def gates(towns: int) -> NDArray[np.intp]:
    """The gates of some towns; the entries of these towns are in the same order."""
    return np.flatnonzero(towns >> TOWN_OF & 1)


@dataclass(frozen=True)
class Tours(Recurrence):
    """The shortest ways through all of some towns that end at one of their gates; no town at all has no entries."""

    harbour_first: bool = False
    """The mill must not be visited before the harbour, so that many sets of towns do not exist."""

    @property
    def element_names(self) -> tuple[str, ...]:
        """The towns."""
        return TOWNS

    @property
    def identity(self) -> dict[str, Any]:
        """What the entries depend on."""
        return {"towns": TOWNS, "harbour first": self.harbour_first}

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """One entry for each gate."""
        return np.array([len(gates(towns)) for towns in subsets.tolist()], np.int64)

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """All sets of towns, or those that have the harbour where they have the mill."""
        return np.asarray((subsets >> MILL & 1 == 0) | (subsets >> HARBOUR & 1 == 1) | (not self.harbour_first))

    def solver(self) -> Solver:
        """The same for all threads."""
        return self._solve

    def _solve(self, block: Block, below: Below) -> None:
        for towns in block.subsets.tolist():
            ends = gates(towns)
            block[towns][:] = np.inf
            for last, before in enumerate(below):
                others = towns ^ 1 << last
                if towns >> last & 1 and self.exist(np.array([others])).all():
                    assert before is not None
                    ways = before[others][:, None] + BETWEEN[np.ix_(gates(others), gates(1 << last))]
                    block[towns][TOWN_OF[ends] == last] = ways.min(axis=0) if others else TO_FIRST[gates(1 << last)]


@dataclass(frozen=True)
class Listed(Recurrence):
    """Nothing to solve: subsets with as many entries as are listed, whose values are made up."""

    lengths: tuple[int, ...]
    name: str = "listed"

    @property
    def element_names(self) -> tuple[str, ...]:
        """As many letters as the list needs."""
        return tuple("abcdefgh"[: (len(self.lengths) - 1).bit_length()])

    @property
    def identity(self) -> dict[str, Any]:
        """What the entries depend on."""
        return {"name": self.name, "lengths": self.lengths}

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """As many entries as are listed."""
        return np.array(self.lengths, np.int64)[subsets]

    def solver(self) -> Solver:
        """There is none."""
        raise NotImplementedError

    def row_index(self) -> dict[str, NDArray[Any]]:
        """Every subset has two rows, its first entry and the others."""
        lengths = np.array(self.lengths)
        first = np.minimum(lengths, 1)
        columns = {"offset": [0 * first, first], "length": [first, lengths - first]}
        subsets = np.arange(len(lengths), dtype=np.int32)
        return {"subset": np.concatenate([subsets, subsets])} | {k: np.concatenate(v) for k, v in columns.items()}

    @cached_property
    def entries(self) -> list[NDArray[np.float64]]:
        """The entries of each subset."""
        return [np.random.default_rng(subset).standard_normal(length) for subset, length in enumerate(self.lengths)]

    def block(self, partition: Partition, cls: ClassId) -> Block:
        """The entries of a class."""
        members = partition.members(cls)
        return Block(members, partition.starts(cls), np.concatenate([self.entries[s] for s in members.tolist()]))
