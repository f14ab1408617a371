"""The formulas of the benchmarks, counted out."""

import pytest
from formulas import chain_values, class_values, most_busy
from hypothesis import given
from partitions import one_player

from yahtzee_cluster.engine.partition import Partition


@given(one_player(9))
def test_sizes_of_classes(partition: Partition) -> None:
    """(5.6) gives what counting the members of the classes gives."""
    sizes = {cls: len(partition.members(cls)) for cls in partition.classes}
    for cls, size in sizes.items():
        n_chosen = partition.layer(cls) - partition.part(cls).bit_count()
        assert size == class_values(partition.n_rest, n_chosen, 1)


@pytest.mark.parametrize("n_elements", range(1, 10))
def test_longest_chain(n_elements: int) -> None:
    """In the plain model no chain of classes is longer than the formula says, and one is as long, for every |G|."""
    for n_fixed in range(n_elements + 1):
        partition = Partition(n_elements, (1 << n_fixed) - 1 << (n_elements - n_fixed) // 2)
        chain: dict[int, int] = {}
        for cls in partition.classes:
            longest_below = max((chain[other] for other in partition.dependencies(cls)), default=0)
            chain[cls] = longest_below + len(partition.members(cls))
        assert chain_values(n_elements, n_fixed, 7) == 7 * max(chain.values())
        assert most_busy(n_elements, n_fixed) == pytest.approx(2**n_elements / max(chain.values()))
