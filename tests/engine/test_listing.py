"""Classes counted from one list of all subsets: the same as their members say, and nothing is listed again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from yahtzee_cluster.engine import listing
from yahtzee_cluster.engine.fixed_set import FixedSetSearch, needed_bytes
from yahtzee_cluster.engine.partition import Partition, Subsets
from yahtzee_cluster.engine.recurrence import Recurrence, Solver
from yahtzee_cluster.engine.simulator import simulate

N = 6


@dataclass(frozen=True)
class Some(Recurrence):
    """Any subsets of six elements, with any number of entries each; nothing to solve."""

    entries: dict[int, int]
    asked: list[int] = field(default_factory=list)
    """How many subsets `exist` was asked for, call by call."""

    @property
    def element_names(self) -> tuple[str, ...]:
        """Letters."""
        return tuple("abcdef"[:N])

    @property
    def identity(self) -> dict[str, Any]:
        """What the entries depend on."""
        return {"entries": self.entries}

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """As given."""
        return np.array([self.entries[subset] for subset in subsets.tolist()], np.int64)

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Whether a number of entries is given."""
        self.asked.append(len(subsets))
        return np.array([subset in self.entries for subset in subsets.tolist()], bool)

    def solver(self) -> Solver:
        """There is none."""
        raise NotImplementedError


some = st.builds(Some, st.dictionaries(st.integers(0, 2**N - 1), st.integers(0, 5), min_size=1))
HALF = Some({subset: subset % 7 for subset in range(2**N) if subset & 3 != 2})


@pytest.fixture(autouse=True)
def _few_at_a_time() -> Iterator[None]:
    """Subsets are aggregated in several steps although there are few elements, and taken in several chunks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "AGGREGATED_BY", (4, 3))
        patch.setattr(listing, "KEPT", 2)
        patch.setattr(listing, "TABLE_ELEMENTS", 4)
        patch.setattr(listing, "CHUNK", 16)
        yield


def facts(partition: Partition) -> list[object]:
    """All that planning asks of a partition."""
    classes = partition.classes
    members = {cls: partition.n_members(cls) for cls in classes}
    return [classes, members, partition.n_values, {cls: partition.dependencies(cls) for cls in classes}]


@given(some, st.randoms(use_true_random=True))
def test_classes_are_counted_right(problem: Some, random: Any) -> None:
    """Whatever exists, and in whatever order sets are asked for, classes are those that enumerating members gives."""
    search = FixedSetSearch(problem)
    assert search.n_values == sum(problem.entries.values())
    sets = [*range(2**N)]
    random.shuffle(sets)
    for fixed in sets:
        assert facts(search.partition(fixed)) == facts(problem.partition(fixed))


@given(some)
def test_sets_are_picked_by_their_costs(problem: Some) -> None:
    """Each step of the search takes the element that gives the least product of memory and critical path."""
    search, chosen = FixedSetSearch(problem), 0
    for n_fixed in range(1, N + 1):
        others = [FixedSetSearch(problem).costs(chosen | 1 << a) for a in range(N) if not chosen >> a & 1]
        chosen = min(others, key=lambda costs: (costs.held * costs.chain, costs.fixed)).fixed
        assert search.pick(n_fixed) == chosen


def test_nothing_is_listed_again() -> None:
    """Once all subsets are listed, planning with every size of G asks for no subset a second time."""
    search = FixedSetSearch(HALF)
    search.pick(N)
    n_asked = sum(HALF.asked)
    assert n_asked <= (N + 1) * 2**N
    for n_fixed in range(N + 1):
        partition = search.partition(search.pick(n_fixed))
        assert needed_bytes(partition) > 0
        assert simulate(partition, 2, 1 << 30).makespan_s > 0
    assert sum(HALF.asked) == n_asked
