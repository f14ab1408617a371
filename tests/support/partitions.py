"""Partitions, and the order of events, as property tests draw them."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Partition, Subsets, one_each


def reachable_in_turn_order(subsets: Subsets) -> NDArray[np.bool_]:
    """Two players with four boxes each, the halves of eight: the second has as many left or one more."""
    first, second = np.bitwise_count(subsets & 0xF), np.bitwise_count(subsets >> 4)
    return np.asarray((first == second) | (first + 1 == second))


def uneven(subsets: Subsets) -> NDArray[np.int64]:
    """From no values to two pages of them."""
    return np.asarray(subsets * 389 % 1025)


only_ones = st.just(one_each)
ones_or_uneven = st.sampled_from([one_each, uneven])
randoms = st.randoms(use_true_random=True)


def one_player(most_elements: int, sizes: st.SearchStrategy = only_ones) -> st.SearchStrategy[Partition]:
    """All subsets of a set of up to so many elements, with any fixed set."""
    return st.integers(1, most_elements).flatmap(
        lambda n: st.builds(Partition, st.just(n), st.integers(0, 2**n - 1), sizes=sizes)
    )


def partitions(most_elements: int, sizes: st.SearchStrategy = only_ones) -> st.SearchStrategy[Partition]:
    """Tables of one player with up to so many elements, and of two players who take turns."""
    two_players = st.builds(Partition, st.just(8), st.integers(0, 255), st.just(reachable_in_turn_order), sizes)
    return one_player(most_elements, sizes) | two_players
