"""The simulation of a run: its bounds, and what a cache and more workers change."""

from balance import COMPUTING_ONLY, WITH_A_DISK
from simulated import YACHT, YAHTZEE, longest_chain
from toy import Tours

from yahtzee_cluster.engine.fixed_set import FixedSetSearch, needed_bytes
from yahtzee_cluster.engine.simulator import simulate


def test_simulated_runs_keep_the_laws() -> None:
    """No run is shorter than its work on all cores or than its longest chain; one worker is never idle for long."""
    costs = WITH_A_DISK
    partition = YAHTZEE.partition(FixedSetSearch(YAHTZEE).pick(5))
    sizes = partition.n_values
    chain: dict[int, float] = {}
    for cls in partition.classes:
        below = max((chain[other] for other in partition.dependencies(cls)), default=0.0)
        chain[cls] = below + sizes[cls] * costs.value_s
    makespans = []
    for n_workers in (1, 2, 4, 15, 1023):
        forecast = simulate(partition, n_workers, 256 << 20, costs)
        assert forecast.computing_s >= sum(sizes.values()) * costs.value_s
        assert forecast.makespan_s >= max(forecast.computing_s / n_workers, *chain.values())
        assert 0 < forecast.efficiency <= 1
        makespans.append(forecast.makespan_s)
    assert makespans == sorted(makespans, reverse=True)
    assert simulate(partition, 1, 256 << 20, costs).efficiency > 0.95
    assert simulate(partition, 2, 256 << 20, costs).efficiency > 0.95


def test_a_larger_cache_reads_less() -> None:
    """With room for everything nothing is read by a single worker; with the least, much is read again."""
    partition = YACHT.partition(0b1111)
    least = needed_bytes(partition)
    assert simulate(partition, 1, 1 << 40).bytes_read == 0
    assert simulate(partition, 1, least).bytes_read > 8 * sum(partition.n_values.values())


def test_between_the_bounds() -> None:
    """With nothing but computing to do, no run is better than its longest chain allows, nor worse than any order is."""
    for n_fixed in (2, 5):
        partition = YAHTZEE.partition(FixedSetSearch(YAHTZEE).pick(n_fixed))
        busy = sum(partition.n_values.values()) / longest_chain(partition)
        for n_workers in (1, 2, 3, 4, 8, 15, 20, 63):
            efficiency = simulate(partition, n_workers, 1 << 40, COMPUTING_ONLY).efficiency
            assert 1 / (1 + (n_workers - 1) / busy) <= efficiency * (1 + 1e-9)
            assert efficiency <= min(1, busy / n_workers) * (1 + 1e-9)


def test_more_workers_than_classes() -> None:
    """A million workers are simulated as soon as done as a few, and are no faster than one for each class."""
    partition = Tours().partition(0b11)
    many, enough = (simulate(partition, n, 1 << 24) for n in (1_000_000, len(partition.classes)))
    assert many.makespan_s == enough.makespan_s
    assert many.cores == 1_000_000
