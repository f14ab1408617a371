"""What a problem must tell the engine: the front door.

A problem is a table with entries for the subsets of a ground set A, in which the entries of a subset depend only on
those of subsets with one element less.
It says what the elements are called, which subsets exist, how many entries each has, and how to fill them in.
Everything else is the engine's: classes, order, memory, ranks, disk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Partition, Subsets, all_exist


@dataclass(frozen=True)
class Block:
    """The entries of some subsets, laid end to end in the order of the subsets, which rise."""

    subsets: Subsets
    starts: NDArray[np.int64]
    """Where the entries of each subset start, and at last where they end."""
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.subsets)

    def __getitem__(self, subset: int) -> NDArray[np.float64]:
        """The entries of one subset, in place."""
        at = int(np.searchsorted(self.subsets, subset))
        if at == len(self.subsets) or self.subsets[at] != subset:
            raise KeyError(subset)
        return self.values[self.starts[at] : self.starts[at + 1]]

    def share(self, first: int, last: int) -> Block:
        """The entries of some of the subsets, in place."""
        starts = self.starts[first : last + 1]
        return Block(self.subsets[first:last], starts - starts[0], self.values[starts[0] : starts[-1]])


Below = Sequence[Block | None]
"""For each element, where subsets are found that are without it: `below[a][subset ^ 1 << a]`."""

Solver = Callable[[Block, Below], None]
"""Fills in the entries of a block, none of them with NaN; what a subset gets must not depend on the others."""


class Recurrence(ABC):
    """One problem. Every rank and every run makes its own, and all of them must be the same."""

    @property
    @abstractmethod
    def element_names(self) -> tuple[str, ...]:
        """The elements of the ground set, by name."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """All that the entries depend on, in terms of JSON: a store holds entries of one identity only."""

    @abstractmethod
    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """How many entries each of these subsets has."""

    @abstractmethod
    def solver(self) -> Solver:
        """A way to fill in entries, for one thread; where it takes long, it lets other threads run."""

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Which of these subsets have entries at all."""
        return all_exist(subsets)

    @property
    def plain_size(self) -> int:
        """How many entries each subset would have if nothing were known about them but their number: |B|."""
        return int(self.sizes(np.arange(1 << len(self.element_names))).max())

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """What a stranger needs to find single rows in a table of this problem, one column for each fact.

        `subset`, `offset` and `length` say where a row, or the first of several, lies among the entries of its subset.
        """
        return {}

    def complaint(self, block: Block) -> str | None:
        """What cannot be true of these entries, whatever they depend on; None if nothing is wrong."""
        return "it holds values that are no numbers" if np.isnan(block.values).any() else None

    def judged(self, subset: int, at: int, entries: Callable[[int], NDArray[np.float64]]) -> float | None:  # noqa: ARG002
        """One entry of a subset once more, in the plainest way, from those of others; None where nobody judges."""
        return None

    def partition(self, fixed: int) -> Partition:
        """The classes of the problem for one fixed set."""
        return Partition(len(self.element_names), fixed, self.exist, self.sizes)
