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
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Partition, Subsets, all_exist

CHUNK = 1 << 16
"""Number of subsets processed at a time, such that they stay in the processor's cache."""


@dataclass(frozen=True)
class Block:
    """The entries of some subsets, stored contiguously in increasing order of the subsets.

    >>> block = yc.Block(subsets=np.array([3, 5]), starts=np.array([0, 2, 3]), values=np.array([0.5, 1.5, 2.5]))
    >>> block[3].tolist(), block[5].tolist()
    ([0.5, 1.5], [2.5])
    """

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

    def lookup(self, element: int, below: Block) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where the subsets that have an element are, and where each of them is in a block without the element.

        Subsets that `below` does not hold are left out. With one entry for each subset::

            here, there = block.lookup(a, before)
            block.values[here] = before.values[there] + step
        """
        here = np.flatnonzero(self.subsets >> element & 1)
        others = self.subsets[here] ^ 1 << element
        first, last = np.searchsorted(below.subsets, others[[0, -1]]) if len(here) else (0, 0)
        near = below.subsets[first : last + 1]
        if not len(here) or not len(near):
            return here[:0], here[:0]
        # Both are in increasing order: where nothing is missing, the two lists match, which is faster than a search.
        there = np.flatnonzero(near >> element & 1 ^ 1)
        if len(there) != len(others) or not np.array_equal(near[there], others):
            there = np.minimum(np.searchsorted(near, others), len(near) - 1)
            found = near[there] == others
            here, there = here[found], there[found]
        return here, there + first

    def share(self, first: int, last: int) -> Block:
        """The entries of `subsets[first:last]`, as a view."""
        starts = self.starts[first : last + 1]
        return Block(self.subsets[first:last], starts - starts[0], self.values[starts[0] : starts[-1]])

    def shares(self, n: int) -> list[Block]:
        """The block in at most n shares with about as many entries each."""
        ends = np.linspace(0, self.starts[-1], n + 1)
        cuts = sorted({0, len(self), *np.searchsorted(self.starts, ends).tolist()})
        return [self.share(first, last) for first, last in pairwise(cuts)]


Below = Sequence[Block | None]
"""For each element a, the block that holds the subsets without it: `below[a][subset ^ 1 << a]`."""

Solver = Callable[[Block, Below], None]
"""Computes the entries of a block, none of them NaN; those of a subset must not depend on the rest of the block."""


class Recurrence(ABC):
    """A problem. Every rank and every run has its own copy, and all copies must be equivalent.

    The lowest cost at which some people can do as many jobs, if person a does job k for `COSTS[a][k]`:

    >>> COSTS = [[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]]
    >>> class Cheapest(yc.Recurrence):
    ...     element_names = ("Ann", "Ben", "Cay")
    ...     identity = {"problem": "cheapest", "costs": COSTS}
    ...
    ...     def solver(self):
    ...         return solve
    >>> def solve(block, below):
    ...     for subset in block.subsets.tolist():
    ...         people = [a for a in range(3) if subset >> a & 1]
    ...         costs = [below[a][subset ^ 1 << a][0] + COSTS[a][len(people) - 1] for a in people]
    ...         block[subset][0] = min(costs, default=0.0)
    >>> len(Cheapest().partition(fixed=0b001).classes)
    6
    """

    assumed_value_s: ClassVar[float] = 100e-9
    """Rough processor time for computing one entry, assumed where a forecast has no measured costs."""
    assumed_subset_s: ClassVar[float] = 5e-6
    """Rough additional processor time for each subset."""

    @property
    @abstractmethod
    def element_names(self) -> tuple[str, ...]:
        """Names of the elements of the ground set."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """All that the entries depend on, as JSON data; a store holds entries of one identity only."""

    @abstractmethod
    def solver(self) -> Solver:
        """A solver for use by one thread; it should release the GIL while it computes."""

    @property
    def layer_sizes(self) -> Sequence[int]:
        """Number of entries of a subset with 0, 1, … elements, if this decides it; one each by default."""
        return [1] * (len(self.element_names) + 1)

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """Number of entries of each of these subsets; `layer_sizes` by default, with which planning is much faster."""
        return np.array(self.layer_sizes, np.int64)[np.bitwise_count(subsets)]

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Mask of those subsets that have entries; all by default."""
        return all_exist(subsets)

    @property
    def is_uniform(self) -> bool:
        """Whether all subsets exist and have as many entries as `layer_sizes` says, so that none need be listed."""
        return self.has_all_subsets and self.sizes_by_layer

    @property
    def has_all_subsets(self) -> bool:
        """Whether all subsets exist."""
        return _is_inherited(self.exist, Recurrence.exist)

    @property
    def sizes_by_layer(self) -> bool:
        """Whether an existing subset has as many entries as `layer_sizes` says."""
        return _is_inherited(self.sizes, Recurrence.sizes)

    @property
    def plain_size(self) -> int:
        """`|B|`: entries of each subset in the model of the thesis, in which all subsets have one size."""
        if self.is_uniform:
            return max(self.layer_sizes)
        n_subsets = 1 << len(self.element_names)
        chunks = (np.arange(first, min(first + CHUNK, n_subsets)) for first in range(0, n_subsets, CHUNK))
        return max(int(self.sizes(chunk[self.exist(chunk)]).max(initial=0)) for chunk in chunks)

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
        layer_sizes = tuple(map(int, self.layer_sizes)) if self.is_uniform else None
        return Partition(len(self.element_names), fixed, self.exist, self.sizes, layer_sizes)


def _is_inherited(method: Callable[..., object], default: Callable[..., object]) -> bool:
    """Whether neither a class nor an object has replaced a method."""
    return getattr(method, "__func__", None) is default
