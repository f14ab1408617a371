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
class Partition:
    """The classes of all existing subsets, for one fixed set. Sets are bit sets, stored as integers."""

    n_elements: int
    fixed: int
    exist: Callable[[Subsets], NDArray[np.bool_]] = field(default=all_exist, compare=False)
    sizes: Callable[[Subsets], NDArray[np.int64]] = field(default=one_each, compare=False)
    """Number of entries of each subset."""

    def __post_init__(self) -> None:
        assert 0 <= self.fixed < 1 << self.n_elements

    @property
    def n_fixed(self) -> int:
        """Number of elements of the fixed set, |G|."""
        return self.fixed.bit_count()

    @property
    def n_rest(self) -> int:
        """Number of the other elements, |H|."""
        return self.n_elements - self.n_fixed

    def class_of(self, subset: int) -> ClassId:
        """Class that contains a subset."""
        packed = sum(1 << i for i, element in enumerate(self._fixed_elements) if subset >> element & 1)
        return ClassId(subset.bit_count() << self.n_fixed | packed)

    def layer(self, cls: ClassId) -> int:
        """Number of elements of each member of a class."""
        return int(cls) >> self.n_fixed

    def part(self, cls: ClassId) -> int:
        """Intersection of each member of a class with the fixed set."""
        return sum(1 << element for i, element in enumerate(self._fixed_elements) if cls >> i & 1)

    def members(self, cls: ClassId) -> Subsets:
        """The existing subsets in a class, in increasing order, in which their entries are stored."""
        part = self.part(cls)
        n_chosen = self.layer(cls) - part.bit_count()
        if not 0 <= n_chosen <= self.n_rest:
            return np.empty(0, np.int64)
        subsets = self._rest_by_size[n_chosen] | part
        return subsets[self.exist(subsets)]

    def starts(self, cls: ClassId) -> NDArray[np.int64]:
        """Offset of the entries of each member within the class, followed by the size of the class."""
        return np.append(0, np.cumsum(self.sizes(self.members(cls))))

    @cached_property
    def n_values(self) -> dict[ClassId, int]:
        """Number of entries in each class."""
        return {cls: int(self.starts(cls)[-1]) for cls in self.classes}

    def below(self, cls: ClassId, element: int) -> ClassId:
        """Class of the subsets obtained by removing an element from the members that have it, if any exist."""
        part = self.part(cls)
        packed = int(cls) & (1 << self.n_fixed) - 1
        if part >> element & 1:
            packed ^= 1 << self._fixed_elements.index(element)
        return ClassId(self.layer(cls) - 1 << self.n_fixed | packed)

    @cached_property
    def classes(self) -> tuple[ClassId, ...]:
        """All classes with members, in layer order: every class comes after its dependencies."""
        ids = range((self.n_elements + 1) << self.n_fixed)
        return tuple(ClassId(cls) for cls in ids if len(self.members(ClassId(cls))))

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
        members = self.members(cls)
        reads: set[ClassId] = set()
        for element in range(self.n_elements):
            other = self.below(cls, element)
            if other not in reads and self.exist(members[members >> element & 1 == 1] ^ 1 << element).any():
                reads.add(other)
        same = self.part(cls)
        return tuple(sorted(reads, key=lambda other: (self.part(other) != same, other)))

    @cached_property
    def _known_dependencies(self) -> dict[ClassId, tuple[ClassId, ...]]:
        return {}

    @cached_property
    def _fixed_elements(self) -> tuple[int, ...]:
        return tuple(element for element in range(self.n_elements) if self.fixed >> element & 1)

    @cached_property
    def _rest_by_size(self) -> tuple[Subsets, ...]:
        """The subsets of H, by size, each size in increasing order."""
        subsets = np.zeros(1, np.int64)
        for element in range(self.n_elements):
            if not self.fixed >> element & 1:
                subsets = np.concatenate([subsets, subsets | 1 << element])
        sizes = np.bitwise_count(subsets)
        return tuple(subsets[sizes == size] for size in range(self.n_rest + 1))


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
