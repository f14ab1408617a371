"""What a fixed set costs in memory, reads and critical path, and which one is picked."""

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import YACHT, YAHTZEE, longest_chain
from small_games import SMALL
from toy import Tours
from uniform import Enumerated, Uniform

from yahtzee_cluster.engine.fixed_set import FixedSetSearch, needed_bytes, smallest_that_fits
from yahtzee_cluster.engine.partition import Partition
from yahtzee_cluster.engine.recurrence import Recurrence
from yahtzee_cluster.engine.simulator import Forecast, advise, simulate
from yahtzee_cluster.game.rule_files import load_rules, parse_rules
from yahtzee_cluster.objectives.race import Race

TWO = Race(parse_rules(SMALL["free"], "test"))


@pytest.mark.parametrize("problem", [YACHT, TWO, Tours(harbour_first=True)], ids=["one", "two players", "tours"])
def test_costs_are_counted_right(problem: Recurrence) -> None:
    """The costs of a fixed set are what its classes and their dependencies add up to."""
    search, everything = FixedSetSearch(problem), (1 << len(problem.element_names)) - 1
    for fixed in (0, 0b1, everything & 0b1011_0000_0110, everything):
        partition = problem.partition(fixed)
        sizes = partition.n_values
        reads = {cls: sum(sizes[other] for other in partition.dependencies(cls)) for cls in sizes}
        costs = search.costs(fixed)
        assert costs.n_classes == len(partition.classes)
        assert costs.largest_class == max(sizes.values())
        assert costs.held == max(sizes[cls] + reads[cls] for cls in sizes)
        assert costs.read == sum(reads.values())
        assert costs.chain == longest_chain(partition)
    assert search.n_values == sum(problem.partition(0).n_values.values())


def test_picked_sets_are_nearly_the_best() -> None:
    """Of all sets of 5 none has a shorter chain, and none needs 2 % less memory; of 3, none is better by 1 % in both.

    The best by memory alone keeps an eighth less workers busy.
    """
    search = FixedSetSearch(YAHTZEE)
    for n_fixed in (3, 5):
        found = [search.costs(sum(1 << a for a in chosen)) for chosen in combinations(range(13), n_fixed)]
        picked = search.costs(search.pick(n_fixed))
        assert picked.held * picked.chain <= 1.02 * min(costs.held * costs.chain for costs in found)
    assert picked.chain == min(costs.chain for costs in found)
    least = min(found, key=lambda costs: costs.held)
    assert picked.held <= 1.02 * least.held
    assert picked.chain <= 0.88 * least.chain


def test_both_players_alike() -> None:
    """Of two or six elements that are picked for two players of Yacht, each has the same categories."""
    problem = Race(load_rules("yacht"))
    search, n = FixedSetSearch(problem), len(problem.element_names) // 2
    for n_fixed in (2, 6):
        picked = search.pick(n_fixed)
        assert picked >> n == picked & (1 << n) - 1


def test_smallest_that_fits() -> None:
    """The smallest size that fits does fit, the next smaller one does not, and too small a cache fits nothing."""
    search = FixedSetSearch(YAHTZEE)
    for megabytes in (4, 64, 256, 1024):
        smallest = smallest_that_fits(search, megabytes << 20)
        assert smallest is not None
        assert needed_bytes(YAHTZEE.partition(search.pick(smallest))) <= megabytes << 20
        if smallest:
            assert needed_bytes(YAHTZEE.partition(search.pick(smallest - 1))) > megabytes << 20
    search = FixedSetSearch(TWO)
    assert smallest_that_fits(search, 0) is None
    assert advise(TWO, search, 0, 2) is None


@given(st.lists(st.integers(0, 3), min_size=2, max_size=6))
def test_uniform_problems_are_counted_without_listing_subsets(layers: list[int]) -> None:
    """Where the layer decides all sizes, classes, their order, reads, sizes and costs are those that listing gives."""
    uniform, listed = Uniform(tuple(layers)), Enumerated(tuple(layers))
    assert (uniform.is_uniform, listed.is_uniform) == (True, False)
    ours, theirs = FixedSetSearch(uniform), FixedSetSearch(listed)
    assert ours.n_values == theirs.n_values
    assert uniform.plain_size == listed.plain_size
    assert [ours.pick(n) for n in ours.sizes()] == [theirs.pick(n) for n in theirs.sizes()]
    for fixed in range(1 << ours.n_elements):
        assert ours.costs(fixed) == theirs.costs(fixed)
        one, other = uniform.partition(fixed), listed.partition(fixed)
        assert (one.classes, one.n_values, one.dependents) == (other.classes, other.n_values, other.dependents)
        for cls in one.classes:
            assert one.dependencies(cls) == other.dependencies(cls)
            assert one.n_members(cls) == other.n_members(cls) == len(one.members(cls))
            assert one.starts(cls).tolist() == other.starts(cls).tolist()
            assert one.members(cls).tolist() == other.members(cls).tolist()
            assert (one.classes_of(one.members(cls)) == cls).all()
            assert other.starts_of(cls, one.members(cls)).tolist() == other.starts(cls)[:-1].tolist()
            assert one.starts_of(cls, one.members(cls)).tolist() == one.starts(cls)[:-1].tolist()


def test_sixty_elements_are_planned_without_listing_any() -> None:
    """What 2^60 subsets need is found without listing any: no cache of a terabyte is enough, whatever the fixed set."""
    problem = Uniform((1,) * 61)
    search = FixedSetSearch(problem)
    assert search.n_values == 1 << 60
    assert smallest_that_fits(search, 1 << 40) is None


def test_the_search_ends_where_no_larger_set_can_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed set with which all workers are busy is taken without simulating larger ones."""
    simulated = []

    def watched(partition: Partition, *arguments: Any) -> Forecast:
        simulated.append(partition.n_fixed)
        return simulate(partition, *arguments)

    monkeypatch.setattr("yahtzee_cluster.engine.simulator.simulate", watched)
    problem = Uniform((1,) * 23)
    assert advise(problem, FixedSetSearch(problem), 1 << 30, 1) == 0
    assert simulated == [0]
