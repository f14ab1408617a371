"""Programs for one's own problems: names of their tables, limits, and blocks that are computed in shares."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from launch import compute
from uniform import Enumerated, Uniform

from yahtzee_cluster.commands.job import Job
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.runtime.configuration import Computation, fixed_set
from yahtzee_cluster.runtime.resume import where
from yahtzee_cluster.storage.store import Store


@dataclass(frozen=True, kw_only=True)
class ShortestTour(Computation):
    """A computation of any problem."""

    of_layers: tuple[int, ...] = (1,) * 5
    listed: bool = False
    seed: int | None = 3

    @property
    def about(self) -> Mapping[str, Any]:
        """A number, a text, and sometimes nothing."""
        return {"seed": self.seed, "cities": "a b/c", "elements": len(self.of_layers) - 1}

    def problem(self) -> Recurrence:
        """The problem, which knows its sizes by layer or only by subset."""
        return (Enumerated if self.listed else Uniform)(self.of_layers)


def test_tables_are_named_by_their_problem() -> None:
    """The directory is named after the computation and what it is about; jobs of games keep their names."""
    assert ShortestTour().directory(0b11) == Path("runs/shortest-tour-seed-3-a-b-c-elements-4-G2")
    assert ShortestTour(seed=None).directory(0) == Path("runs/shortest-tour-a-b-c-elements-4-G0")
    assert ShortestTour(store="x").directory(0) == Path("x")
    assert Job().directory(0b11111) == Path("runs/yahtzee-maxprob-800-G5")


@pytest.mark.parametrize(("n", "accepted"), [(0, False), (1, True), (62, True), (63, False), (70, False)])
def test_the_number_of_elements_is_limited(n: int, accepted: bool) -> None:
    """More elements than a subset has bits, or none at all, are refused before anything is listed."""
    asked = ShortestTour(of_layers=(1,) * (n + 1), cache="9999999T")
    if accepted:
        assert fixed_set(asked, asked.problem(), 1) == 0
        return
    with pytest.raises(UsageError, match=f"this problem has {n} elements; expected 1 to 62"):
        where(asked, asked.problem(), 1)


def test_planning_does_not_take_more_memory_than_there_is() -> None:
    """Where all subsets must be listed to choose G, as many as do not fit into memory are refused."""
    asked = ShortestTour(of_layers=(1,) * 46, listed=True)
    with pytest.raises(UsageError, match=r"lists all 2\^45 subsets .* in 2048 TB of memory; .*define layer_sizes"):
        fixed_set(asked, asked.problem(), 1)


def test_every_layer_has_a_size() -> None:
    """A list of sizes that does not fit the elements is refused."""

    class Short(Uniform):
        @property
        def element_names(self) -> tuple[str, ...]:
            return ("a", "b", "c")

    with pytest.raises(UsageError, match="layer_sizes: expected 4 sizes, of layers 0 to 3, found 3"):
        fixed_set(ShortestTour(), Short((1, 1, 1)), 1)


@pytest.mark.parametrize("sizes", [(1, -1, 1), (1.0, 1.0, 1.0)])
def test_sizes_are_whole_numbers(sizes: Any) -> None:
    """Sizes of layers that are no whole numbers from 0 on are refused."""
    with pytest.raises(UsageError, match=r"layer_sizes: expected whole numbers from 0 to .*, found"):
        fixed_set(ShortestTour(), Uniform(sizes), 1)
    assert sum(Uniform(tuple(np.arange(3))).partition(0).n_values.values()) == 4


def test_an_object_may_say_what_exists() -> None:
    """A problem that replaces `exist` in one object only is no uniform one."""

    class Even(Uniform):
        def __init__(self) -> None:
            super().__init__((1,) * 4)
            object.__setattr__(self, "exist", lambda subsets: subsets % 2 == 0)

    assert sum(Even().partition(0).n_values.values()) == 4


@dataclass(frozen=True)
class Counting(Uniform):
    """The number of orders in which a set can be built, for which each block says how large it is."""

    def solver(self) -> Solver:
        """A solver that refuses long blocks."""
        return self.solve

    def solve(self, block: Block, below: Below) -> None:
        """Sum over all elements that may come last."""
        assert len(block) <= 40
        block.values[:] = 0.0 if block.subsets[0] else 1.0
        for element, before in enumerate(below):
            if before is not None:
                here, there = block.lookup(element, before)
                block.values[here] += before.values[there]


@pytest.mark.parametrize("fixed", [0, 0b1000001])
def test_long_blocks_are_computed_in_shares(fixed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of many subsets is handed to the solver in parts, on one thread as well, and nothing is left out."""
    monkeypatch.setattr("yahtzee_cluster.runtime.executor.SHARE_SUBSETS", 37)
    problem = Counting((1,) * 10)
    compute(tmp_path, problem, fixed)
    factorials = np.cumprod([1, *range(1, 10)])
    assert np.array_equal(Store.of(tmp_path, problem, fixed)[:], factorials[np.bitwise_count(np.arange(1 << 9))])
