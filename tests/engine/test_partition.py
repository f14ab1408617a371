"""Fixed subset partitioning: classes, members, dependencies, and the thesis' formulas counted out."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from partitions import one_player, partitions

from yahtzee_cluster.engine.partition import MOST_LOW, ClassId, Partition, Subsets, cache_values, reads_per_value


@given(partitions(9))
def test_every_subset_is_in_one_class(partition: Partition) -> None:
    """The classes together hold every subset that exists once, each in the class that `class_of` names."""
    members = [int(subset) for cls in partition.classes for subset in partition.members(cls)]
    subsets = np.arange(2**partition.n_elements)
    assert sorted(members) == subsets[partition.exist(subsets)].tolist()
    for cls in partition.classes:
        listed = partition.members(cls)
        assert (np.diff(listed) > 0).all()
        assert {partition.class_of(int(subset)) for subset in listed} == {cls}
        assert set(np.bitwise_count(listed).tolist()) == {partition.layer(cls)}
        assert set((listed & partition.fixed).tolist()) == {partition.part(cls)}


@given(partitions(9))
def test_dependencies_are_exactly_what_members_read(partition: Partition) -> None:
    """A class depends on exactly the classes of its members' subsets with one element less, all of them earlier."""
    place = {cls: number for number, cls in enumerate(partition.classes)}
    for cls in partition.classes:
        below = [s ^ 1 << a for s in partition.members(cls).tolist() for a in range(partition.n_elements) if s >> a & 1]
        existing = np.array(below, np.int64)
        existing = existing[partition.exist(existing)]
        assert set(partition.dependencies(cls)) == {partition.class_of(int(subset)) for subset in existing}
        assert len(set(partition.dependencies(cls))) == len(partition.dependencies(cls))
        assert all(place[other] < place[cls] for other in partition.dependencies(cls))


@given(one_player(9))
def test_formulas_count_right(partition: Partition) -> None:
    """(5.8) and (5.11) give what counting the members of the classes gives."""
    sizes = {cls: len(partition.members(cls)) for cls in partition.classes}
    reads = {cls: sum(sizes[other] for other in partition.dependencies(cls)) for cls in sizes}
    n, fixed = partition.n_elements, partition.n_fixed
    assert len(sizes) == 2**fixed * (partition.n_rest + 1)
    assert sum(reads.values()) / 2**n == pytest.approx(reads_per_value(n, fixed))
    assert max(sizes[cls] + reads[cls] for cls in sizes) <= cache_values(n, fixed, 1)


def test_the_thesis_case() -> None:
    """Cremers' own case: |G| = 5 is the smallest that fits in 256 MB, with 288 classes and 186 MB."""
    values = 2 * 64 * 400
    needed = [cache_values(13, n_fixed, values) * 8 / 2**20 for n_fixed in range(14)]
    assert [n_fixed for n_fixed in range(14) if needed[n_fixed] <= 256] == [*range(5, 14)]
    assert round(needed[5]) == 186
    assert len(Partition(13, 0b11111).classes) == 288


def test_cache_bound_is_reached() -> None:
    """(5.8) is not only a bound: some class of the thesis' case needs all of it."""
    partition = Partition(13, 0b1_0101_0001_0010)
    sizes = {cls: len(partition.members(cls)) for cls in partition.classes}
    most = max(sizes[cls] + sum(sizes[other] for other in partition.dependencies(cls)) for cls in sizes)
    assert most == cache_values(13, 5, 1) == 6 * comb(8, 4) + comb(8, 3)


def test_two_players_of_yacht() -> None:
    """With twelve boxes each, 5,200,300 of the 16,777,216 subsets can be reached in turn order."""

    def reachable(subsets: Subsets) -> NDArray[np.bool_]:
        first, second = np.bitwise_count(subsets & 0xFFF), np.bitwise_count(subsets >> 12)
        return np.asarray((first == second) | (first + 1 == second))

    partition = Partition(24, 0, reachable)
    assert sum(len(partition.members(cls)) for cls in partition.classes) == 5_200_300


def test_members_beyond_the_listed_half() -> None:
    """Members are all subsets of their layer and part, in increasing order, however many elements are not fixed."""
    partition = Partition(MOST_LOW + 3, 0b1_0000_0010)
    subsets = np.arange(1 << partition.n_elements)
    for part in (0, 2, 0b1_0000_0010):
        for layer in (0, 2, 9, partition.n_elements):
            expected = subsets[(subsets & partition.fixed == part) & (np.bitwise_count(subsets) == layer)]
            cls = ClassId(layer << 2 | (part >> 1 & 1) | (part >> 8) << 1)
            assert np.array_equal(partition.members(cls), expected)
