"""Choice of the fixed set G, by the memory, reads and critical path of each candidate.

All figures are from the true sizes of the classes; the formulas of the thesis assume that all subsets have one size.
If all subsets exist and the layer decides their sizes, all elements are alike, and the figures are sums of binomials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Partition, Subsets
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.worker import bytes_at_once

MOST_CLASSES = 1 << 14
"""Largest number of classes considered; with more, a run does little but open and close files."""
TRIED_AT_ONCE = 7
"""Number of candidate elements compared in one pass over all subsets."""
CHUNK = 1 << 16
"""Number of subsets processed at a time, such that they stay in the processor's cache."""


@dataclass(frozen=True)
class FixedSetCosts:
    """Costs of a fixed set, counted in values."""

    fixed: int
    n_classes: int
    largest_class: int
    held: int
    """Largest working set: a class and all its dependencies."""
    read: int
    """Total reads if nothing is cached from one class to the next."""
    chain: int
    """Critical path: the longest chain of classes each of which reads the one before it."""


@dataclass(frozen=True)
class _Cells:
    """Subsets aggregated into cells, by number of elements and intersection with some set."""

    layers: NDArray[np.uint8]
    parts: Subsets
    n_subsets: NDArray[Any]
    n_values: NDArray[Any]
    without: Subsets
    """For each cell, the elements whose removal from some subset in it leaves an existing subset, which is read."""

    @staticmethod
    def of(problem: Recurrence) -> _Cells:
        """One cell for each existing subset."""
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
        """Aggregate by a smaller set: a cell for each layer and each part of that set, possibly without subsets."""
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

    def costs(self, fixed: int) -> FixedSetCosts:
        """Costs of a fixed set."""
        elements, classes = _elements(fixed), self.merged(fixed)
        part = np.arange(1 << len(elements))
        n_values, without = classes.n_values.reshape(-1, len(part)), classes.without.reshape(-1, len(part))
        below = [(without & ~fixed != 0, part)]
        below += [(without >> a & 1 == 1, part ^ 1 << i) for i, a in enumerate(elements)]
        read, chain = np.zeros_like(n_values), n_values.copy()
        for layer in range(1, len(n_values)):
            read[layer] = sum(n_values[layer - 1, other] * exists[layer] for exists, other in below)
            chain[layer] += np.max([chain[layer - 1, other] * exists[layer] for exists, other in below], axis=0)
        return FixedSetCosts(
            fixed,
            n_classes=int((classes.n_subsets > 0).sum()),
            largest_class=int(n_values.max()),
            held=int((n_values + read).max()),
            read=int(read.sum()),
            chain=int(chain.max()),
        )


def _costs_of_uniform(fixed: int, layer_sizes: Sequence[int]) -> FixedSetCosts:
    """Costs of a fixed set of a uniform problem, whose classes with equal layers and as large parts are alike."""
    n_fixed = fixed.bit_count()
    n_rest = len(layer_sizes) - 1 - n_fixed
    n_classes = largest_class = held = read = 0
    chains: dict[tuple[int, int], int] = {}
    for layer, size in enumerate(layer_sizes):
        for n_part in range(max(0, layer - n_rest), min(layer, n_fixed) + 1):
            n_alike, n_values = comb(n_fixed, n_part), comb(n_rest, layer - n_part) * size
            n_read = n_part * layer_sizes[layer - 1] * comb(n_rest, layer - n_part)
            if layer > n_part:
                n_read += layer_sizes[layer - 1] * comb(n_rest, layer - 1 - n_part)
            n_classes, read = n_classes + n_alike, read + n_alike * n_read
            largest_class, held = max(largest_class, n_values), max(held, n_values + n_read)
            before = max(chains.get((layer - 1, n_part), 0), chains.get((layer - 1, n_part - 1), 0))
            chains[layer, n_part] = n_values + before
    return FixedSetCosts(fixed, n_classes, largest_class, held, read, max(chains.values()))


def _elements(subset: int) -> list[int]:
    return [a for a in range(subset.bit_length()) if subset >> a & 1]


def _chunks(n: int) -> Iterator[slice]:
    """Slices of at most CHUNK items that cover range(n)."""
    return (slice(first, first + CHUNK) for first in range(0, n, CHUNK))


class FixedSetSearch:
    """Finds good fixed sets of one problem, and what a fixed set costs."""

    def __init__(self, problem: Recurrence) -> None:
        self.n_elements = len(problem.element_names)
        self._problem = problem
        self._best_order: list[int] = []

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells.of(self._problem)

    @property
    def n_values(self) -> int:
        """Number of values in the whole table."""
        if self._problem.is_uniform:
            return sum(comb(self.n_elements, n) * size for n, size in enumerate(self._problem.layer_sizes))
        return int(self._cells.n_values.sum())

    def sizes(self) -> Iterator[int]:
        """Sizes |G| from 0 on, as long as the picked set makes at most MOST_CLASSES classes."""
        sizes = range(self.n_elements + 1)
        return takewhile(lambda n: self.costs(self.pick(n)).n_classes <= MOST_CLASSES, sizes)

    def costs(self, fixed: int) -> FixedSetCosts:
        """Costs of a fixed set."""
        if self._problem.is_uniform:
            return _costs_of_uniform(fixed, self._problem.layer_sizes)
        return self._cells.costs(fixed)

    def pick(self, n_fixed: int) -> int:
        """A fixed set of the given size with a small product of memory and critical path.

        The search is greedy, one element at a time. By the product, half the memory is worth half the critical path.
        If all elements are alike, the first ones are as good as any.
        """
        if self._problem.is_uniform:
            return (1 << n_fixed) - 1
        while len(self._best_order) < n_fixed:
            chosen = sum(1 << a for a in self._best_order)
            left = [a for a in range(self.n_elements) if not chosen >> a & 1]
            products = []
            for first in range(0, len(left), TRIED_AT_ONCE):
                tried = left[first : first + TRIED_AT_ONCE]
                cells = self._cells.merged(chosen | sum(1 << a for a in tried))
                found = {a: cells.costs(chosen | 1 << a) for a in tried}
                products += [(figures.held * figures.chain, a) for a, figures in found.items()]
            self._best_order.append(min(products)[1])
        return sum(1 << a for a in self._best_order[:n_fixed])


def needed_bytes(partition: Partition) -> int:
    """Smallest cache with which every class can be computed."""
    return max(bytes_at_once(partition, cls) for cls in partition.classes)


def smallest_that_fits(problem: Recurrence, search: FixedSetSearch, cache_bytes: int) -> int | None:
    """Size of the smallest picked set with which every class can be computed in the cache, or None."""

    def fits(fixed: int) -> bool:
        may_fit = 8 * search.costs(fixed).held <= cache_bytes  # without whole pages, which only a partition counts
        return may_fit and needed_bytes(problem.partition(fixed)) <= cache_bytes

    return next((n for n in search.sizes() if fits(search.pick(n))), None)
