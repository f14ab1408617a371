"""The interface between a problem and the engine.

A problem is a table with entries for the subsets of a ground set A, in which the entries of a subset depend only on
those of subsets with one element less.
It defines the names of the elements, which subsets exist, how many entries each has, and how to compute them.
The engine takes care of everything else: classes, order, memory, ranks and disk.
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
    """The entries of some subsets, stored contiguously in increasing order of the subsets."""

    subsets: Subsets
    starts: NDArray[np.int64]
    """Offset of the entries of each subset, followed by the total number of entries."""
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.subsets)

    def __getitem__(self, subset: int) -> NDArray[np.float64]:
        """The entries of one subset, as a view."""
        at = int(np.searchsorted(self.subsets, subset))
        if at == len(self.subsets) or self.subsets[at] != subset:
            raise KeyError(subset)
        return self.values[self.starts[at] : self.starts[at + 1]]

    def share(self, first: int, last: int) -> Block:
        """The entries of `subsets[first:last]`, as a view."""
        starts = self.starts[first : last + 1]
        return Block(self.subsets[first:last], starts - starts[0], self.values[starts[0] : starts[-1]])


Below = Sequence[Block | None]
"""For each element a, the block that holds the subsets without it: `below[a][subset ^ 1 << a]`."""

Solver = Callable[[Block, Below], None]
"""Computes the entries of a block, none of them NaN; those of a subset must not depend on the rest of the block."""


class Recurrence(ABC):
    """A problem. Every rank and every run has its own copy, and all copies must be equivalent."""

    @property
    @abstractmethod
    def element_names(self) -> tuple[str, ...]:
        """Names of the elements of the ground set."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """All that the entries depend on, as JSON data; a store holds entries of one identity only."""

    @abstractmethod
    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """Number of entries of each of these subsets."""

    @abstractmethod
    def solver(self) -> Solver:
        """A solver for use by one thread; it should release the GIL while it computes."""

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Mask of those subsets that have entries."""
        return all_exist(subsets)

    @property
    def plain_size(self) -> int:
        """|B|: entries of each subset in the model of the thesis, in which all subsets have one size."""
        return int(self.sizes(np.arange(1 << len(self.element_names))).max())

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """Columns of an index with which other programs find single rows in a table of this problem.

        `subset`, `offset` and `length` locate a row, or the first of several, among the entries of its subset.
        """
        return {}

    def complaint(self, block: Block) -> str | None:
        """First violated invariant of these entries, or None."""
        return "it holds values that are no numbers" if np.isnan(block.values).any() else None

    def judged(self, subset: int, at: int, entries: Callable[[int], NDArray[np.float64]]) -> float | None:  # noqa: ARG002
        """Recompute one entry in the simplest way, from entries of other subsets; None if that is not supported."""
        return None

    def partition(self, fixed: int) -> Partition:
        """Partition of the problem by a fixed set."""
        return Partition(len(self.element_names), fixed, self.exist, self.sizes)
