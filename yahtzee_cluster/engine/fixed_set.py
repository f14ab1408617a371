"""Choice of the fixed set G, by the memory, reads and critical path of each candidate.

All figures are from the true sizes of the classes; the formulas of the thesis assume that all subsets have one size.
If all subsets exist and the layer decides their sizes, all elements are alike, and the figures are sums of binomials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, takewhile
from math import comb

import numpy as np

from yahtzee_cluster.engine.listing import Cells, Listing, elements_of
from yahtzee_cluster.engine.partition import Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.worker import bytes_at_once

MOST_CLASSES = 1 << 14
"""Largest number of classes considered; with more, a run does little but open and close files."""


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


def _costs_of_listed(fixed: int, classes: Cells) -> FixedSetCosts:
    """Costs of a fixed set whose classes were counted from a list of all subsets."""
    n, numbers = len(classes), classes.classes(fixed)
    below = np.full((fixed.bit_count() + 1, n), n)  # the classes that each one reads, and n for none
    reads = [(classes.without & ~fixed != 0, 0)]
    reads += [(classes.without >> a & 1 == 1, 1 << i) for i, a in enumerate(elements_of(fixed))]
    for places, (has, bit) in zip(below, reads, strict=True):
        places[has] = np.searchsorted(numbers, (numbers[has] ^ bit) - (1 << fixed.bit_count()))
    n_values = np.append(classes.n_values, 0.0)
    read, chain = n_values[below].sum(axis=0), n_values.copy()
    ends = np.searchsorted(classes.layers, np.arange(int(classes.layers[-1]) + 2))
    for first, last in pairwise(ends):
        chain[first:last] += chain[below[:, first:last]].max(axis=0)
    return FixedSetCosts(
        fixed,
        n_classes=n,
        largest_class=int(n_values.max()),
        held=int((n_values[:-1] + read).max()),
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


class FixedSetSearch:
    """Finds good fixed sets of one problem, and what a fixed set costs."""

    def __init__(self, problem: Recurrence) -> None:
        self.n_elements = len(problem.element_names)
        self._problem = problem
        self._best_order: list[int] = []
        self._left = [*range(self.n_elements)]
        """The other elements, the best ones first."""

    @cached_property
    def _listing(self) -> Listing:
        return Listing(self._problem)

    def partition(self, fixed: int) -> Partition:
        """Partition of the problem by a fixed set; once all subsets are listed, planning with it enumerates none."""
        partition = self._problem.partition(fixed)
        is_listed = "_listing" in vars(self)
        return replace(partition, counts=self._listing.classes(fixed).counts(fixed)) if is_listed else partition

    @property
    def n_values(self) -> int:
        """Number of values in the whole table."""
        if self._problem.is_uniform:
            return sum(comb(self.n_elements, n) * size for n, size in enumerate(self._problem.layer_sizes))
        return self._listing.n_values

    def sizes(self) -> Iterator[int]:
        """Sizes |G| from 0 on, as long as the picked set makes at most MOST_CLASSES classes."""
        sizes = range(self.n_elements + 1)
        return takewhile(lambda n: self.costs(self.pick(n)).n_classes <= MOST_CLASSES, sizes)

    def costs(self, fixed: int) -> FixedSetCosts:
        """Costs of a fixed set."""
        if self._problem.is_uniform:
            return _costs_of_uniform(fixed, self._problem.layer_sizes)
        return _costs_of_listed(fixed, self._listing.classes(fixed))

    def pick(self, n_fixed: int) -> int:
        """A fixed set of the given size with a small product of memory and critical path.

        The search is greedy, one element at a time. By the product, half the memory is worth half the critical path.
        If all elements are alike, the first ones are as good as any.
        """
        if self._problem.is_uniform:
            return (1 << n_fixed) - 1
        while len(self._best_order) < n_fixed:
            chosen = sum(1 << a for a in self._best_order)
            products = []
            for at, a in enumerate(self._left):
                # The ones that are compared next, and then the best of the step before, which are likely to be chosen.
                others, fixed = self._left[at + 1 :] + self._left[:at], chosen | 1 << a
                figures = _costs_of_listed(fixed, self._listing.classes(fixed, others))
                products.append((figures.held * figures.chain, a))
            best, *self._left = [a for _, a in sorted(products)]
            self._best_order.append(best)
        return sum(1 << a for a in self._best_order[:n_fixed])


def needed_bytes(partition: Partition) -> int:
    """Smallest cache with which every class can be computed."""
    return max(bytes_at_once(partition, cls) for cls in partition.classes)


def smallest_that_fits(search: FixedSetSearch, cache_bytes: int) -> int | None:
    """Size of the smallest picked set with which every class can be computed in the cache, or None."""

    def fits(fixed: int) -> bool:
        may_fit = 8 * search.costs(fixed).held <= cache_bytes  # without whole pages, which only a partition counts
        return may_fit and needed_bytes(search.partition(fixed)) <= cache_bytes

    return next((n for n in search.sizes() if fits(search.pick(n))), None)
