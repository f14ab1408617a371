"""How the fixed set G is picked: what each candidate costs in memory, reads and critical path.

The choice rests on the true sizes of all classes; the formulas of the thesis take all subsets for equally large.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Partition, Subsets
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.worker import bytes_at_once

MOST_CLASSES = 1 << 14
"""More are not planned for: with a fixed set that large, a run does little but open and close files."""
TRIED_AT_ONCE = 7
"""So many elements are tried for a fixed set each time that all subsets are gone through."""
CHUNK = 1 << 16
"""So many subsets stay in a processor's own cache while something is done to them."""


@dataclass(frozen=True)
class Weight:
    """What one fixed set makes of a problem, in values."""

    fixed: int
    n_classes: int
    largest_class: int
    held: int
    """The most that is in memory at once: a class, and all that it depends on."""
    read: int
    """How much is read in all, if nothing is kept from one class to the next."""
    chain: int
    """The most that has to be computed one after the other: the longest chain of classes that read each other."""


@dataclass(frozen=True)
class _Cells:
    """Subsets, put together where they have the same number of elements and the same part of some set."""

    layers: NDArray[np.uint8]
    parts: Subsets
    n_subsets: NDArray[Any]
    n_values: NDArray[Any]
    without: Subsets
    """The elements without which some subset of the cell exists as well, and is read."""

    @staticmethod
    def of(problem: Recurrence) -> _Cells:
        """One for each subset that exists."""
        n_elements = len(problem.element_names)
        found = []
        for numbers in _chunks(1 << n_elements):
            subsets = np.arange(numbers.start, min(numbers.stop, 1 << n_elements))
            subsets = subsets[problem.exist(subsets)]
            without = np.zeros_like(subsets)
            for a in range(n_elements):
                without |= subsets & problem.exist(subsets & ~(1 << a)).astype(np.int64) << a
            found.append((subsets, problem.sizes(subsets), without))
        subsets, sizes, without = (np.concatenate(column) for column in zip(*found, strict=True))
        return _Cells(np.bitwise_count(subsets), subsets, np.ones(len(subsets)), sizes.astype(float), without)

    def merged(self, fixed: int) -> _Cells:
        """The same for a smaller set: one for each of its parts in each layer, some of them without subsets."""
        elements = _elements(fixed)
        n_layers, n_parts = int(self.layers.max()) + 1, 1 << len(elements)
        at = self.layers.astype(np.int64) << len(elements)
        for chunk in _chunks(len(at)):
            for i, a in enumerate(elements):
                at[chunk] |= (self.parts[chunk] >> a & 1) << i
        without = np.zeros(n_layers * n_parts, np.int64)
        np.bitwise_or.at(without, at, self.without)
        n_subsets, n_values = (np.bincount(at, n, len(without)) for n in (self.n_subsets, self.n_values))
        parts = sum(((np.arange(n_parts) >> i & 1) << a for i, a in enumerate(elements)), np.zeros(n_parts, np.int64))
        layers = np.repeat(np.arange(n_layers, dtype=np.uint8), n_parts)
        return _Cells(layers, np.tile(parts, n_layers), n_subsets, n_values, without)

    def weight(self, fixed: int) -> Weight:
        """What a fixed set makes of them."""
        elements, classes = _elements(fixed), self.merged(fixed)
        part = np.arange(1 << len(elements))
        n_values, without = classes.n_values.reshape(-1, len(part)), classes.without.reshape(-1, len(part))
        below = [(without & ~fixed != 0, part)]
        below += [(without >> a & 1 == 1, part ^ 1 << i) for i, a in enumerate(elements)]
        read, chain = np.zeros_like(n_values), n_values.copy()
        for layer in range(1, len(n_values)):
            read[layer] = sum(n_values[layer - 1, other] * exists[layer] for exists, other in below)
            chain[layer] += np.max([chain[layer - 1, other] * exists[layer] for exists, other in below], axis=0)
        return Weight(
            fixed,
            n_classes=int((classes.n_subsets > 0).sum()),
            largest_class=int(n_values.max()),
            held=int((n_values + read).max()),
            read=int(read.sum()),
            chain=int(chain.max()),
        )


def _elements(subset: int) -> list[int]:
    return [a for a in range(subset.bit_length()) if subset >> a & 1]


def _chunks(n: int) -> Iterator[slice]:
    """So many things, piece by piece."""
    return (slice(first, first + CHUNK) for first in range(0, n, CHUNK))


class Scales:
    """Weighs fixed sets of one problem."""

    def __init__(self, problem: Recurrence) -> None:
        self.n_elements = len(problem.element_names)
        self._problem = problem
        self._best_order: list[int] = []

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells.of(self._problem)

    @property
    def n_values(self) -> int:
        """How many values the whole table has."""
        return int(self._cells.n_values.sum())

    def sizes(self) -> Iterator[int]:
        """The sizes of fixed sets, up to where there would be more than MOST_CLASSES."""
        sizes = range(self.n_elements + 1)
        return takewhile(lambda n: self.weigh(self.pick(n)).n_classes <= MOST_CLASSES, sizes)

    def weigh(self, fixed: int) -> Weight:
        """What a fixed set makes of the problem."""
        return self._cells.weight(fixed)

    def pick(self, n_fixed: int) -> int:
        """The fixed set of one size with the least product of memory and longest chain.

        As far as adding one element at a time finds it: half the memory is worth as much as a chain half as long.
        """
        while len(self._best_order) < n_fixed:
            chosen = sum(1 << a for a in self._best_order)
            left = [a for a in range(self.n_elements) if not chosen >> a & 1]
            products = []
            for first in range(0, len(left), TRIED_AT_ONCE):
                tried = left[first : first + TRIED_AT_ONCE]
                cells = self._cells.merged(chosen | sum(1 << a for a in tried))
                weights = {a: cells.weight(chosen | 1 << a) for a in tried}
                products += [(weight.held * weight.chain, a) for a, weight in weights.items()]
            self._best_order.append(min(products)[1])
        return sum(1 << a for a in self._best_order[:n_fixed])


def needed_bytes(partition: Partition) -> int:
    """The smallest cache in which every class can be computed."""
    return max(bytes_at_once(partition, cls) for cls in partition.classes)


def smallest_that_fits(problem: Recurrence, scales: Scales, cache_bytes: int) -> int | None:
    """The size of the smallest fixed set with which every class can be computed in the cache."""
    return next((n for n in scales.sizes() if needed_bytes(problem.partition(scales.pick(n))) <= cache_bytes), None)
