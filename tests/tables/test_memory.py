import numpy as np
import pytest

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game.anchors import Anchors
from yahtzee_cluster.game.rest import rest_of, to_whole
from yahtzee_cluster.game.rule_files import load_rules
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.objectives.probabilities import MaxProb, Reach
from yahtzee_cluster.tables import table_of
from yahtzee_cluster.tables.memory import CancelledError, Memory, solve_in_memory


def test_reach_agrees_with_maxprob(small_rules: Rules) -> None:
    """The rows on the way to one target are parts of the rows of MaxProb, to the last bit, wherever play begins."""
    whole = table_of(problem := MaxProb(small_rules, 100), solve_in_memory(problem))
    anchors, random = Anchors(small_rules), np.random.default_rng(2)
    for place in random.permutation(np.flatnonzero(anchors.exists))[:12].tolist():
        begun = anchors.anchor(place)
        if not begun.free:
            continue
        rest = rest_of(small_rules, begun)
        for target in random.integers(1, 60, 4).tolist():
            table = table_of(reach := Reach(rest, target), solve_in_memory(reach))
            assert table.value(table.start, target) == whole.value(begun, target)
            for there in np.flatnonzero(reach.rows.length).tolist():
                anchor, first = reach.anchors.anchor(there), int(reach.rows.first[there])
                row = table.row(anchor)
                assert row[first:].tolist() == whole.row(to_whole(rest, anchor))[first : len(row)].tolist()


def test_threads_and_limits_change_nothing() -> None:
    """However many threads compute, and whether all layers are kept or two, the values are the same."""
    rules = load_rules("yahtzee")
    rest = rest_of(rules, Anchors(rules).anchor(int(Anchors(rules).place[0b1000111100110, 0]) + 9))
    problem = MaxProb(rest, 200)
    whole = solve_in_memory(problem, threads=1)
    n = len(rest.categories)
    assert 2 * whole.least_bytes < 3 * whole.n_bytes
    for threads, limit_bytes in ((3, whole.n_bytes), (2, whole.least_bytes), (1, whole.least_bytes)):
        memory = solve_in_memory(problem, threads=threads, limit_bytes=limit_bytes)
        kept = [layer for layer in range(n + 1) if layer in memory]
        assert kept == (list(range(n + 1)) if limit_bytes == whole.n_bytes else [n - 1, n])
        for layer in kept:
            cls = memory.partition.class_of((1 << layer) - 1)
            assert np.array_equal(memory.block(cls).values, whole.block(cls).values)


def test_a_limit_too_small() -> None:
    """A limit that two layers do not fit into is refused before anything is computed, with the limit that would do."""
    problem = MaxProb(load_rules("yahtzee"), 250)
    with pytest.raises(
        UsageError, match=r"cache: solving this from here takes \d+MB of memory, and 1\.0 MB are allowed"
    ):
        solve_in_memory(problem, limit_bytes=1 << 20)
    least = Memory(problem).least_bytes
    assert 250e6 < least < 320e6


def test_a_target_out_of_reach() -> None:
    """However high a target is, its table takes no more memory, and says that there is no chance."""
    table = table_of(problem := Reach(load_rules("yacht"), 999_999_999), solve_in_memory(problem))
    assert table.value(table.start, 999_999_999) == 0
    assert table.row(table.start).shape == (0,)


def test_cancelled() -> None:
    """Solving ends soon after it was cancelled."""
    with pytest.raises(CancelledError):
        solve_in_memory(MaxProb(load_rules("yahtzee"), 250), is_cancelled=lambda: True)
