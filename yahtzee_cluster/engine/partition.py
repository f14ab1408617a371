"""Fixed subset partitioning (Cremers 2002, chapter 5).

A table has entries for the subsets of a ground set A, and the entries of a subset depend only on those of subsets with
one element less.
Fix a set G of elements, and let H be the rest of A.
A *class* is given by a layer n and a part g of G: all subsets with n elements whose intersection with G is g.
It reads only classes of the layer below: the one with the same g, and those whose g has one element less.
Subsets of one class never read each other.
So few classes are needed in memory at a time, and the work inside a class can be divided in any way.

A partition is an immutable value. Every rank derives it from the same few numbers, so messages carry only class ids.
Nothing is stored for single subsets: the members of a class are enumerated on demand.
Where all subsets exist and the layer decides how many entries a subset has, classes are counted by binomial
coefficients, and none is enumerated to plan a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, ldexp
from typing import NewType

import numpy as np
from numpy.typing import NDArray

ClassId = NewType("ClassId", int)

MOST_LOW = 16
"""Number of elements whose subsets are listed in memory, to make the members of classes from."""
Subsets = NDArray[np.int64]
"""Subsets of the ground set, as integers: bit a stands for element a."""


def all_exist(subsets: Subsets) -> NDArray[np.bool_]:
    """Default: every subset has entries."""
    return np.ones(len(subsets), bool)


def one_each(subsets: Subsets) -> NDArray[np.int64]:
    """Default: every subset has one entry."""
    return np.ones(len(subsets), np.int64)


def dependents_of(dependencies: Mapping[ClassId, Sequence[ClassId]]) -> dict[ClassId, list[ClassId]]:
    """The same graph with its edges reversed: for each class, those that depend on it."""
    dependents: dict[ClassId, list[ClassId]] = {cls: [] for cls in dependencies}
    for cls, reads in dependencies.items():
        for other in reads:
            dependents[other].append(cls)
    return dependents


@dataclass(frozen=True)
class Counts:
    """What planning needs to know of each class that has members, counted in one go over a list of all subsets."""

    n_members: dict[ClassId, int]
    n_values: dict[ClassId, int]
    without: dict[ClassId, int]
    """The elements whose removal from some member leaves an existing subset."""


@dataclass(frozen=True)
class Partition:
    """The classes of all existing subsets, for one fixed set. Sets are bit sets, stored as integers.

    >>> partition = yc.Partition(n_elements=4, fixed=0b0011)
    >>> cls = partition.class_of(0b0101)
    >>> partition.layer(cls), partition.part(cls), partition.members(cls).tolist()
    (2, 1, [5, 9])
    >>> [partition.members(other).tolist() for other in partition.dependencies(cls)]
    [[1], [4, 8]]
    """

    n_elements: int
    fixed: int
    exist: Callable[[Subsets], NDArray[np.bool_]] = field(default=all_exist, compare=False)
    sizes: Callable[[Subsets], NDArray[np.int64]] = field(default=one_each, compare=False)
    """Number of entries of each subset."""
    layer_sizes: tuple[int, ...] | None = field(default=None, compare=False)
    """Number of entries of each subset, by layer, if all subsets exist and this decides it; `sizes` is the same."""
    counts: Counts | None = field(default=None, compare=False, repr=False)
    """What is known of the classes in advance; without it, their members are enumerated to count them."""

    def __post_init__(self) -> None:
        assert 0 <= self.fixed < 1 << self.n_elements

    @property
    def n_fixed(self) -> int:
        """Number of elements of the fixed set, `|G|`."""
        return self.fixed.bit_count()

    @property
    def n_rest(self) -> int:
        """Number of the other elements, `|H|`."""
        return self.n_elements - self.n_fixed

    def class_of(self, subset: int) -> ClassId:
        """Class that contains a subset."""
        packed = sum(1 << i for i, element in enumerate(self._fixed_elements) if subset >> element & 1)
        return ClassId(subset.bit_count() << self.n_fixed | packed)

    def classes_of(self, subsets: Subsets) -> NDArray[np.int64]:
        """Class of each of these subsets."""
        classes = np.bitwise_count(subsets).astype(np.int64) << self.n_fixed
        for i, element in enumerate(self._fixed_elements):
            classes |= (subsets >> element & 1) << i
        return classes

    def layer(self, cls: ClassId) -> int:
        """Number of elements of each member of a class."""
        return int(cls) >> self.n_fixed

    def part(self, cls: ClassId) -> int:
        """Intersection of each member of a class with the fixed set."""
        return sum(1 << element for i, element in enumerate(self._fixed_elements) if cls >> i & 1)

    def _packed(self, cls: ClassId) -> int:
        """The part of a class as a bit set over the fixed elements only."""
        return int(cls) & (1 << self.n_fixed) - 1

    def members(self, cls: ClassId) -> Subsets:
        """The existing subsets in a class, in increasing order, in which their entries are stored."""
        part = self.part(cls)
        subsets = self._chosen(self.layer(cls) - part.bit_count())
        subsets |= part
        return subsets[self.exist(subsets)] if self.layer_sizes is None else subsets

    def n_members(self, cls: ClassId) -> int:
        """Number of members of a class."""
        if self.counts is not None:
            return self.counts.n_members.get(cls, 0)
        if self.layer_sizes is None:
            return len(self.members(cls))
        n_chosen = self.layer(cls) - self._packed(cls).bit_count()
        return comb(self.n_rest, n_chosen) if n_chosen >= 0 else 0

    def starts(self, cls: ClassId) -> NDArray[np.int64]:
        """Offset of the entries of each member within the class, followed by the size of the class."""
        if self.layer_sizes is None:
            return np.append(0, np.cumsum(self.sizes(self.members(cls)), dtype=np.int64))
        return np.arange(self.n_members(cls) + 1) * self.layer_sizes[self.layer(cls)]

    def starts_of(self, cls: ClassId, subsets: Subsets) -> NDArray[np.int64]:
        """Offset of the entries of some members of a class within it."""
        if self.layer_sizes is None:
            return self.starts(cls)[np.searchsorted(self.members(cls), subsets)]
        # The rank of a combination in colexicographic order, which is that of the bit sets.
        ranks, n_chosen = np.zeros_like(subsets), np.zeros_like(subsets)
        for element, binomials in zip(self._rest_elements, self._binomials, strict=True):
            has = subsets >> element & 1
            n_chosen += has
            ranks += has * binomials[n_chosen]
        return ranks * self.layer_sizes[self.layer(cls)]

    @cached_property
    def n_values(self) -> dict[ClassId, int]:
        """Number of entries in each class."""
        if self.counts is not None:
            return self.counts.n_values
        if self.layer_sizes is None:
            return {cls: int(self.starts(cls)[-1]) for cls in self.classes}
        return {cls: self.n_members(cls) * self.layer_sizes[self.layer(cls)] for cls in self.classes}

    def below(self, cls: ClassId, element: int) -> ClassId:
        """Class of the subsets obtained by removing an element from the members that have it, if any exist."""
        part = self.part(cls)
        packed = self._packed(cls)
        if part >> element & 1:
            packed ^= 1 << self._fixed_elements.index(element)
        return ClassId(self.layer(cls) - 1 << self.n_fixed | packed)

    @cached_property
    def classes(self) -> tuple[ClassId, ...]:
        """All classes with members, in layer order: every class comes after its dependencies."""
        if self.counts is not None:
            return tuple(self.counts.n_members)
        ids = range((self.n_elements + 1) << self.n_fixed)
        return tuple(ClassId(cls) for cls in ids if self.n_members(ClassId(cls)))

    def dependencies(self, cls: ClassId) -> tuple[ClassId, ...]:
        """Classes that a class reads; the one with the same part of G, if there is one, comes first."""
        if cls not in self._known_dependencies:
            self._known_dependencies[cls] = self._find_dependencies(cls)
        return self._known_dependencies[cls]

    @cached_property
    def dependents(self) -> dict[ClassId, list[ClassId]]:
        """For each class, those that read it."""
        return dependents_of({cls: self.dependencies(cls) for cls in self.classes})

    def _find_dependencies(self, cls: ClassId) -> tuple[ClassId, ...]:
        without, below = self._without(cls), int(cls) - (1 << self.n_fixed)
        same_part = [below] if without & ~self.fixed else []
        fewer = sorted(below ^ 1 << i for i, element in enumerate(self._fixed_elements) if without >> element & 1)
        return tuple(map(ClassId, (*same_part, *fewer)))

    def _without(self, cls: ClassId) -> int:
        """Elements whose removal from some member of a class leaves an existing subset; outside of G, one at least."""
        if self.counts is not None:
            return self.counts.without[cls]
        if self.layer_sizes is not None:
            part = self.part(cls)
            return part if self.layer(cls) == part.bit_count() else part | ~self.fixed
        members, found, rest = self.members(cls), 0, ~self.fixed
        for element in range(self.n_elements):
            is_known = rest >> element & 1 and found & rest
            if not is_known and self.exist(members[members >> element & 1 == 1] ^ 1 << element).any():
                found |= 1 << element
        return found

    @cached_property
    def _known_dependencies(self) -> dict[ClassId, tuple[ClassId, ...]]:
        return {}

    @cached_property
    def _fixed_elements(self) -> tuple[int, ...]:
        return tuple(element for element in range(self.n_elements) if self.fixed >> element & 1)

    @cached_property
    def _rest_elements(self) -> tuple[int, ...]:
        return tuple(element for element in range(self.n_elements) if not self.fixed >> element & 1)

    @cached_property
    def _binomials(self) -> NDArray[np.int64]:
        """[i, k]: number of combinations of k out of i."""
        return np.array([[comb(i, k) for k in range(self.n_rest + 1)] for i in range(self.n_rest)], np.int64)

    def _chosen(self, n_chosen: int) -> Subsets:
        """The subsets of H with so many elements, in increasing order, as a new array."""
        low, high = self._halves
        found = [low[n_chosen - n] | part for n, part in high if 0 <= n_chosen - n < len(low)]
        return np.concatenate([np.empty(0, np.int64), *found])

    @cached_property
    def _halves(self) -> tuple[list[Subsets], list[tuple[int, int]]]:
        """The subsets of the lowest elements of H, by size; those of the others, each with its size."""
        rest = self._rest_elements
        low, high = _subsets_of(rest[:MOST_LOW]), _subsets_of(rest[MOST_LOW:])
        sizes = np.bitwise_count(low)
        by_size = [low[sizes == size] for size in range(min(len(rest), MOST_LOW) + 1)]
        return by_size, [(part.bit_count(), part) for part in high.tolist()]


def _subsets_of(elements: Sequence[int]) -> Subsets:
    """All subsets of some elements, in increasing order."""
    subsets = np.zeros(1, np.int64)
    for element in elements:
        subsets = np.concatenate([subsets, subsets | 1 << element])
    return subsets


# --------------------------------------------------------------------------------- the thesis' formulas
# All of them assume that every subset exists and has `n_values` = |B| entries.


def cache_values(n_elements: int, n_fixed: int, n_values: int) -> int:
    """(5.8): largest working set in values, a class and all that it reads."""
    n_rest = n_elements - n_fixed
    same_part = comb(n_rest, (n_rest - 1) // 2) if n_rest else 0
    return ((n_fixed + 1) * comb(n_rest, n_rest // 2) + same_part) * n_values


def reads_per_value(n_elements: int, n_fixed: int) -> float:
    """(5.11): values read for each value of the table."""
    return 1 + n_fixed / 2 - ldexp(1.0, n_fixed - n_elements)
