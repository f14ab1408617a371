"""The two-player race: players take turns, each on a scorecard of their own, and the higher final score wins.

The value of a state is the first player's probability of winning plus half that of a tie, when both play optimally:
the first maximises the value, the second minimises it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import Below, Block, Solver
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import most_scored
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.kernels import race, uppers
from yahtzee_cluster.objectives.scorecards import GameRecurrence, Values

ROUNDING = 1e-14


class Race(GameRecurrence):
    """The elements are the categories of both players; a subset has those that are still free.

    A subset has one entry for every pair of anchors and every lead of the first player that is possible and undecided.
    """

    objective: ClassVar[str] = "race"
    quantities: ClassVar[int] = 1
    assumed_value_s = 155e-9
    assumed_subset_s = 1e-6

    @property
    def element_names(self) -> tuple[str, ...]:
        """The categories of the first player, then those of the second."""
        return tuple(f"{category.name}/{player}" for player in (1, 2) for category in self.rules.categories)

    @property
    def identity(self) -> dict[str, Any]:
        """The objective and the rules."""
        return {"objective": self.objective, "rules": self.rules.table}

    @cached_property
    def most(self) -> NDArray[np.int32]:
        """[free]: the most that can still be scored."""
        most = np.zeros(self.anchors.n_places)
        uppers.most(self.new_turn(), self.anchors, most)
        return self._of_sets(most)

    @cached_property
    def scored(self) -> NDArray[np.int32]:
        """[free]: the most that can have been scored by then; with an upper bonus, the most of a whole game.

        All rows of a subset have the same length, so that with a bonus some entries stand for states that no game
        reaches: the score includes the bonus, and the anchor can still win it. Plays from these could lead out of rows
        that end at the possible scores; with the higher bound, every undecided lead has an entry.
        """
        if self.anchors.bonus:
            return np.full_like(self.most, self.most[-1])
        return self._of_sets(most_scored(self.anchors, self._moves))

    def _of_sets(self, values: NDArray[Any]) -> NDArray[np.int32]:
        return np.maximum.reduceat(values, self.anchors.place[:, 0]).astype(np.int32)

    def _cards(self, subsets: Subsets) -> tuple[Subsets, Subsets]:
        return subsets & self.rules.all_free, subsets >> len(self.rules.categories)

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Whether both players have equally many free categories, or the second has one more and is to move."""
        one, two = self._cards(subsets)
        more = np.bitwise_count(two).astype(np.int8) - np.bitwise_count(one).astype(np.int8)
        return np.asarray((more == 0) | (more == 1))

    def leads(self, subsets: Subsets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lowest and the highest lead that each subset has entries for."""
        one, two = self._cards(subsets)
        lowest = np.maximum(-self.most[one], -self.scored[two])
        return lowest.astype(np.int64), np.minimum(self.most[two], self.scored[one]).astype(np.int64)

    def subset(self, one: Anchor, two: Anchor) -> int:
        """The free categories of both players; raises UsageError if players who take turns cannot have them."""
        subset = one.free | two.free << len(self.rules.categories)
        if not self.exist(np.array([subset]))[0]:
            raise UsageError("the second player has used as many boxes as the first, or one less")
        return subset

    def entry(self, one: Anchor, two: Anchor, lead: int) -> tuple[int, int] | float:
        """The subset of a state and the index of its value there; or the value itself if the race is decided."""
        subset = self.subset(one, two)
        numbers = [self.anchors.reachable(anchor) - self.anchors.places(anchor.free).start for anchor in (one, two)]
        if lead > self.most[two.free] or -lead > self.most[one.free]:
            return float(lead > 0)
        at, there = self.entries(np.array([subset]), np.array(numbers[0]), np.array(numbers[1]), np.array([lead]))
        if not there[0]:
            lowest, highest = (int(leads[0]) for leads in self.leads(np.array([subset])))
            raise UsageError(f"lead: the row here has {lowest} to {highest}, found {lead}")
        return subset, int(at[0])

    def entries(
        self, subsets: Subsets, one: NDArray[np.int64], two: NDArray[np.int64], leads: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The index of each state's value in its subset, and whether there is such an entry.

        `one` and `two` number the anchors among those with the same free categories. Left and right of a row, the race
        is decided.
        """
        lowest, highest = self.leads(subsets)
        rows = one * self.n_places[subsets >> len(self.rules.categories)] + two
        return rows * (highest - lowest + 1) + leads - lowest, (lowest <= leads) & (leads <= highest)

    def sizes(self, subsets: Subsets) -> NDArray[np.int64]:
        """One entry for each lead, pair of anchors, and quantity."""
        one, two = self._cards(subsets)
        lowest, highest = self.leads(subsets)
        return self.quantities * self.n_places[one] * self.n_places[two] * (highest - lowest + 1)

    @property
    def plain_size(self) -> int:
        """One value for every pair of anchors and every lead of a game."""
        most_places = int(self.n_places.max())
        return self.quantities * most_places**2 * (2 * int(self.most[-1]) + 1)

    def solver(self) -> Solver:
        """A solver with a turn of its own, for one thread."""
        kernel = race.Race(self.new_turn(), self.anchors, self.most, self.scored, self.quantities)

        def solve(block: Block, below: Below) -> None:
            entries = [None if there is None else (there.subsets, there.starts, there.values) for there in below]
            kernel.solve(block.subsets, block.starts, block.values, entries)

        return solve

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each subset and one for each anchor; together they give the position of every row.

        An index with a line for each row would be far too large where both players have many anchors.
        """
        n_free = np.bitwise_count(np.arange(self.rules.all_free + 1)).astype(np.int8)
        more = n_free[:, None] - n_free
        two, one = (cards.astype(np.int32) for cards in np.nonzero((more == 0) | (more == 1)))
        subsets = one | two.astype(np.int64) << len(self.rules.categories)
        lowest, highest = (leads.astype(np.int32) for leads in self.leads(subsets))
        places = np.flatnonzero(self.anchors.exists)
        free, upper, chip = self.anchors.columns(places)
        return {
            "subset": subsets,
            "offset": np.zeros_like(subsets),
            "lowest": lowest,
            "length": highest - lowest + 1,
            "anchors_1": self.n_places[one].astype(np.int16),
            "anchors_2": self.n_places[two].astype(np.int16),
            "anchor_free": free,
            "anchor_upper": upper,
            "anchor_chip": chip,
            "anchor_number": (places - self.anchors.place[free, 0]).astype(np.int16),
        }

    def complaint(self, block: Block) -> str | None:
        """The first violated invariant of these entries, or None: all of them lie between 0 and 1."""
        return None if self.possible(block.values) else "it holds values that are no probabilities"

    def possible(self, values: Values) -> bool:
        """Whether all values lie between 0 and 1, except for rounding."""
        return bool(((values >= 0) & (values <= 1 + ROUNDING)).all())

    def judged(self, subset: int, at: int, entries: Callable[[int], Values]) -> float | None:
        """The value of an entry by the reference implementation; None unless free categories alone make an anchor."""
        n, lead_there = len(self.rules.categories), int(self.leads(np.array([subset]))[0][0]) + at
        one, two = subset & self.rules.all_free, subset >> n
        if not subset or self.n_places.max() > 1 or self.quantities > 1:
            return None
        second = two.bit_count() > one.bit_count()
        mine, sign = (two, -1) if second else (one, 1)

        def value(category: int, lead: int) -> float:
            left = subset ^ 1 << category + n * second
            first = int(self.leads(np.array([left]))[0][0])
            row = entries(left)
            return float(row[lead - first]) if 0 <= lead - first < len(row) else float(lead > first)

        def options(roll: reference.Roll) -> list[reference.Row]:
            plays = self.rules.plays(mine, False, roll)
            return [(sign * value(play.category, lead_there + sign * play.points),) for play in plays]

        return sign * reference.best_turn(options)[0]


class RaceWins(Race):
    """The value and the probability that the first player wins outright, by which both players break ties."""

    objective = "race-wins"
    quantities = 2
