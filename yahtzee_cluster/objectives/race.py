"""Two players who take turns, each with a scorecard of their own; who has more points in the end has won.

The value of a state is the first player's probability of winning plus half that of a tie. The first plays for a high
value, the second for a low one, and both play perfectly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import Below, Block, Recurrence, Solver
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.anchors import Anchor, Anchors, most_scored
from yahtzee_cluster.game.moves import compile_moves
from yahtzee_cluster.game.rules import Rules
from yahtzee_cluster.kernels import race, uppers
from yahtzee_cluster.kernels.turn import Turn

ROUNDING = 1e-14

Values = NDArray[np.float64]


class Race(Recurrence):
    """The elements are the categories of both players; a subset has those that are still free.

    The entries of a subset are by the lead of the first player, for every pair of anchors, as far as that lead can have
    come about and is not decided.
    """

    objective: ClassVar[str] = "race"
    quantities: ClassVar[int] = 1

    def __init__(self, rules: Rules, isa: str | None = None) -> None:
        self.rules = rules
        self.anchors = Anchors(rules)
        self._moves = compile_moves(rules)
        self._isa = isa

    def __reduce__(self) -> tuple[Any, ...]:
        """Sent to another rank, it is made anew there."""
        return type(self), (self.rules, self._isa)

    @property
    def element_names(self) -> tuple[str, ...]:
        """The categories of the first player, then those of the second."""
        return tuple(f"{category.name}/{player}" for player in (1, 2) for category in self.rules.categories)

    @property
    def identity(self) -> dict[str, Any]:
        """What is played for, and the rules."""
        return {"objective": self.objective, "rules": self.rules.table}

    @cached_property
    def most(self) -> NDArray[np.int32]:
        """[free]: the most that can still be scored."""
        most = np.zeros(self.anchors.n_places)
        uppers.most(Turn(self._moves, self._isa), self.anchors, most)
        return self._of_sets(most)

    @cached_property
    def scored(self) -> NDArray[np.int32]:
        """[free]: the most that can have been scored by then.

        Somebody who has a bonus cannot win it, but rows are as long for one anchor as for another; then every lead has
        an entry that is not decided.
        """
        if self.anchors.bonus:
            return np.full_like(self.most, self.most[-1])
        return self._of_sets(most_scored(self.anchors, self._moves))

    def _of_sets(self, values: NDArray[Any]) -> NDArray[np.int32]:
        return np.maximum.reduceat(values, self.anchors.place[:, 0]).astype(np.int32)

    @cached_property
    def n_places(self) -> NDArray[np.int64]:
        """[free]: how many anchors there are."""
        return np.diff(np.append(self.anchors.place[:, 0], self.anchors.n_places))

    def _cards(self, subsets: Subsets) -> tuple[Subsets, Subsets]:
        return subsets & self.rules.all_free, subsets >> len(self.rules.categories)

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Both have as many free categories, or the second has one more and is to move."""
        one, two = self._cards(subsets)
        more = np.bitwise_count(two).astype(np.int8) - np.bitwise_count(one).astype(np.int8)
        return np.asarray((more == 0) | (more == 1))

    def leads(self, subsets: Subsets) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lowest lead of each subset that has an entry, and the highest."""
        one, two = self._cards(subsets)
        lowest = np.maximum(-self.most[one], -self.scored[two])
        return lowest.astype(np.int64), np.minimum(self.most[two], self.scored[one]).astype(np.int64)

    def subset(self, one: Anchor, two: Anchor) -> int:
        """The free categories of both players, who take turns."""
        subset = one.free | two.free << len(self.rules.categories)
        if not self.exist(np.array([subset]))[0]:
            raise UsageError("the second player has used as many boxes as the first, or one less")
        return subset

    def entry(self, one: Anchor, two: Anchor, lead: int) -> tuple[int, int] | float:
        """The subset of a state, and which of its entries is the value; or the value itself where that is decided."""
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
        """Which entries of subsets are the values of states, by the numbers of both anchors; and whether they are.

        Left and right of a row everything is decided.
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
        """Every lead that there can be, for every pair of anchors."""
        most_places = int(self.n_places.max())
        return self.quantities * most_places**2 * (2 * int(self.most[-1]) + 1)

    def solver(self) -> Solver:
        """The kernel, with a turn of its own."""
        turn = Turn(self._moves, self._isa)
        kernel = race.Race(turn, self.anchors, self.most, self.scored, self.quantities)

        def solve(block: Block, below: Below) -> None:
            entries = [None if there is None else (there.subsets, there.starts, there.values) for there in below]
            kernel.solve(block.subsets, block.starts, block.values, entries)

        return solve

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each subset, whose rows are laid out by its anchors, and one for each anchor, with its number.

        One line for each row would be far too many where both players have many anchors.
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
        """All entries are probabilities, or half ones."""
        return None if self.possible(block.values) else "it holds values that are no probabilities"

    def possible(self, values: Values) -> bool:
        """Whether such values can be."""
        return bool(((values >= 0) & (values <= 1 + ROUNDING)).all())

    def judged(self, subset: int, at: int, entries: Callable[[int], Values]) -> float | None:
        """The first quantity by trying out everything, where no anchor is more than its free categories."""
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
    """Beside the value, how likely the first player wins outright; where values tie, whoever moves looks at that."""

    objective = "race-wins"
    quantities = 2
