"""The existing subsets of a problem, listed once, and aggregated into the classes of one fixed set after another.

While a fixed set is chosen, hundreds are compared. Asking the problem for the members of all their classes would take
as many passes over all its subsets. Instead, the subsets are aggregated by many elements at a time, and classes by a
few of these elements are counted from the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId, Counts, Subsets
from yahtzee_cluster.engine.recurrence import CHUNK, Recurrence

LISTED_BYTES = 64
"""Memory for each existing subset: 33 bytes for what is listed of it, the rest while it is aggregated."""
AGGREGATED_BY, KEPT = (18, 13), 4
"""Numbers of elements by which subsets are aggregated, first all and then those, and how often each is kept."""
TABLE_ELEMENTS = 13
"""Number of elements in a table of all their subsets."""
MOST_MARKED = 4
"""Numbers are told apart by marking them if there are at most so many times as many possible ones, else by sorting."""


@dataclass(frozen=True)
class Cells:
    """Subsets aggregated into cells, by number of elements and intersection with some set."""

    layers: NDArray[np.uint8]
    parts: Subsets
    n_subsets: NDArray[Any]
    n_values: NDArray[Any]
    without: Subsets
    """For each cell, the elements whose removal from some subset in it leaves an existing subset, which is read."""

    def __len__(self) -> int:
        return len(self.parts)

    @staticmethod
    def of(problem: Recurrence) -> Cells:
        """One cell for each existing subset."""
        n_elements = len(problem.element_names)
        found: list[tuple[NDArray[Any], ...]] = []
        for numbers in chunks(1 << n_elements):
            subsets = np.arange(numbers.start, min(numbers.stop, 1 << n_elements))
            subsets = subsets[problem.exist(subsets)]
            without = np.zeros_like(subsets)
            for a in range(n_elements):
                without |= subsets & problem.exist(subsets & ~(1 << a)).astype(np.int64) << a
            found.append((np.bitwise_count(subsets), subsets, problem.sizes(subsets).astype(float), without))
        layers, subsets, sizes, without = (np.concatenate(column) for column in zip(*found, strict=True))
        return Cells(layers, subsets, np.broadcast_to(1.0, len(subsets)), sizes, without)

    def merged(self, fixed: int) -> Cells:
        """Aggregate by a smaller set: a cell for each of its classes, in their order."""
        n_fixed = fixed.bit_count()
        numbers, at = _distinct(self.classes(fixed), int(self.layers.max()) + 1 << n_fixed)
        without = np.zeros(len(numbers), np.int64)
        np.bitwise_or.at(without, at, self.without)
        n_subsets, n_values = (np.bincount(at, n, len(numbers)) for n in (self.n_subsets, self.n_values))
        parts = np.zeros_like(numbers)
        for i, a in enumerate(elements_of(fixed)):
            parts |= (numbers >> i & 1) << a
        return Cells((numbers >> n_fixed).astype(np.uint8), parts, n_subsets, n_values, without)

    def classes(self, fixed: int) -> NDArray[np.int64]:
        """The class of each cell in the partition by a set."""
        return self.layers.astype(np.int64) << fixed.bit_count() | _packed(self.parts, fixed)

    def counts(self, fixed: int) -> Counts:
        """What a partition by a set needs to know, if these cells are its classes."""
        classes = [*map(ClassId, self.classes(fixed).tolist())]
        columns = (column.astype(np.int64).tolist() for column in (self.n_subsets, self.n_values, self.without))
        return Counts(*(dict(zip(classes, column, strict=True)) for column in columns))


class Listing:
    """All existing subsets of a problem, aggregated into classes on demand."""

    def __init__(self, problem: Recurrence) -> None:
        self._subsets = Cells.of(problem)
        self._kept: dict[int, deque[tuple[int, Cells]]] = {n: deque(maxlen=KEPT) for n in AGGREGATED_BY}

    @property
    def n_values(self) -> int:
        """Number of values of all subsets."""
        return int(self._subsets.n_values.sum())

    def classes(self, fixed: int, others: Sequence[int] = ()) -> Cells:
        """The classes of a fixed set, as cells; it will often be followed by sets with some of these other elements."""
        within, cells = -1, self._subsets
        for n_elements, kept in self._kept.items():
            if not any(fixed & ~by == 0 for by, _ in kept):
                more = [1 << a for a in others if within >> a & 1][: max(0, n_elements - fixed.bit_count())]
                kept.append((fixed | sum(more), cells.merged(fixed | sum(more))))
            within, cells = min((found for found in kept if fixed & ~found[0] == 0), key=lambda found: len(found[1]))
        return cells.merged(fixed)


def elements_of(subset: int) -> list[int]:
    """The elements of a subset."""
    return [a for a in range(subset.bit_length()) if subset >> a & 1]


def chunks(n: int) -> Iterator[slice]:
    """Slices of at most CHUNK items that cover range(n)."""
    return (slice(first, first + CHUNK) for first in range(0, n, CHUNK))


def _packed(subsets: Subsets, fixed: int) -> NDArray[np.int64]:
    """The intersections of subsets with a set, as bit sets over its elements only; by tables of a few elements each."""
    packed, elements = np.zeros_like(subsets), elements_of(fixed)
    for first in range(0, fixed.bit_length(), TABLE_ELEMENTS):
        table = np.zeros(1, np.int64)
        for a in range(first, first + TABLE_ELEMENTS):
            table = np.concatenate([table, table | (1 << elements.index(a) if a in elements else 0)])
        for chunk in chunks(len(subsets)):
            packed[chunk] |= table[subsets[chunk] >> first & len(table) - 1]
    return packed


def _distinct(numbers: NDArray[np.int64], end: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct ones of some numbers below an end, in increasing order, and which of them each number is."""
    if end > MOST_MARKED * len(numbers):
        return np.unique(numbers, return_inverse=True)
    is_there = np.zeros(end, bool)
    is_there[numbers] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[numbers]
