"""The two-player race: players take turns, each on a scorecard of their own, and the higher final score wins.

The value of a state is the first player's probability of winning plus half that of a tie, when both play optimally:
the first maximises the value, the second minimises it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import Subsets
from yahtzee_cluster.engine.recurrence import Below, Block, Solver
from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.fields import MAX_COUNT, is_integer
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.possible_scores import check_lead
from yahtzee_cluster.game.rest import to_rest, to_whole
from yahtzee_cluster.game.rules import Anchor, Rules
from yahtzee_cluster.kernels import race
from yahtzee_cluster.objectives.scorecards import GameRecurrence, Values
from yahtzee_cluster.objectives.sides import Integers, Side
from yahtzee_cluster.text import shown

ROUNDING = 1e-14


@dataclass(frozen=True)
class Begun:
    """Where a race begins, if not with empty scorecards: an anchor of the game for each player, and the first's lead.

    The player with more free boxes is to move, the first if both have equally many.
    """

    one: Anchor
    two: Anchor
    lead: int = 0

    def __post_init__(self) -> None:
        n_free = self.one.free.bit_count(), self.two.free.bit_count()
        if not is_integer(self.lead, -MAX_COUNT, MAX_COUNT):
            raise UsageError(f"lead: expected a whole number up to {MAX_COUNT}, found {shown(self.lead)}")
        if n_free == (0, 0):
            raise UsageError("no box is free: the game is over")
        if n_free[1] - n_free[0] not in (0, 1):
            raise UsageError(
                "two players who take turns have as many free boxes, or the one to move has one more; "
                f"found {n_free[0]} and {n_free[1]}"
            )


@dataclass(frozen=True)
class Row:
    """The values of a pair of anchors by the lead of the first player, among those of their subset."""

    subset: int
    start: int
    lowest: int
    """The lead of the first value. With any lower one, the first player has lost."""
    length: int
    """The number of leads. With any higher one, the first player has won."""
    size: int
    """The number of values of each quantity of the subset: by so much the row of the next quantity begins later."""


@dataclass(frozen=True)
class ByLead:
    """The values of a row: `row[lead]` has all quantities."""

    lowest: int
    values: Values
    """[quantity, lead]"""

    def __getitem__(self, lead: int) -> tuple[float, ...]:
        at, (quantities, length) = lead - self.lowest, self.values.shape
        return tuple(self.values[:, at].tolist()) if 0 <= at < length else (float(at >= 0),) * quantities


class Race(GameRecurrence):
    """The elements are the categories of both players; a subset has those that are still free.

    A subset has one entry for every pair of anchors and every lead of the first player that is possible and undecided.
    In a race that begins with empty scorecards, all rows of a subset have the same length; one that begins later has
    only the anchors and leads that play can lead to.
    """

    objective: ClassVar[str] = "race"
    quantities: ClassVar[int] = 1
    assumed_value_s = 155e-9
    assumed_subset_s = 1e-6

    def __init__(self, rules: Rules, begun: Begun | None = None, isa: str | None = None) -> None:
        super().__init__(rules, isa)
        self.begun = begun
        for anchor in (begun.one, begun.two) if begun else ():
            self.anchors.reachable(anchor)

    @property
    def _made_from(self) -> tuple[Any, ...]:
        return self.rules, self.begun, self._isa

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """What each player has still to play."""
        if self.begun is None:
            side = Side.of_whole_game(self._moves, self.anchors, self.new_turn())
            return side, side
        return (
            Side.of_rest(self.rules, self.begun.one, self._isa),
            Side.of_rest(self.rules, self.begun.two, self._isa),
        )

    @property
    def lead(self) -> int:
        """The lead of the first player at the beginning."""
        return self.begun.lead if self.begun else 0

    @property
    def element_names(self) -> tuple[str, ...]:
        """The categories of the first player, then those of the second."""
        sides = enumerate(self.sides, 1)
        return tuple(f"{category.name}/{player}" for player, side in sides for category in side.rules.categories)

    @property
    def identity(self) -> dict[str, Any]:
        """The objective and the rules, and where the race begins, unless with empty scorecards."""
        identity = {"objective": self.objective, "rules": self.rules.table}
        if self.begun:
            identity["begun"] = {"cards": [side.rules.table for side in self.sides], "lead": self.lead}
        return identity

    def exist(self, subsets: Subsets) -> NDArray[np.bool_]:
        """Whether both players have equally many free categories, or the second has one more and is to move."""
        one, two = self._cards(subsets)
        more = np.bitwise_count(two).astype(np.int8) - np.bitwise_count(one).astype(np.int8)
        return np.asarray((more == 0) | (more == 1))

    def _cards(self, subsets: Any) -> tuple[Any, Any]:
        """The free categories of each player."""
        one = self.sides[0]
        return subsets & one.rules.all_free, subsets >> one.n_categories

    def sizes(self, subsets: Subsets) -> Integers:
        """One entry for each lead, pair of anchors, and quantity."""
        return self._kernel.n_values(np.ascontiguousarray(subsets, np.int64))

    @property
    def plain_size(self) -> int:
        """One value for every pair of anchors and every lead of a game."""
        one, two = self.sides
        n_rows = int(np.diff(one.first).max()) * int(np.diff(two.first).max())
        return self.quantities * n_rows * (int(one.most[-1]) + int(two.most[-1]) + 1)

    # ------------------------------------------------------------------------------------------------ rows

    def leads(self, one: Integers, two: Integers) -> tuple[Integers, Integers]:
        """The lowest lead and the number of leads of the rows of some anchors, by the numbers of these."""
        first, second = self.sides
        lowest = np.maximum(-first.most[one], self.lead + first.least[one] - second.scored[two])
        highest = np.minimum(second.most[two], self.lead + first.scored[one] - second.least[two])
        return lowest.astype(np.int64), np.maximum(highest - lowest + 1, 0).astype(np.int64)

    def rows(self, subset: int) -> tuple[Integers, Integers, Integers]:
        """Start, lowest lead and length of all rows of a subset: [anchor of the first player, of the second]."""
        one, two = (side.numbers(free) for side, free in zip(self.sides, self._cards(subset), strict=True))
        lowest, length = self.leads(one[:, None], two)
        return (np.cumsum(length) - length.ravel()).reshape(length.shape), lowest, length

    def row(self, one: Anchor, two: Anchor) -> Row:
        """The row of two anchors of the game."""
        return self._row(*self._own(one, two))

    def _own(self, *anchors: Anchor) -> list[Anchor]:
        """The anchors of both sides that stand for anchors of the game."""
        if self.begun is None:
            return [*anchors]
        pairs = zip(self.sides, anchors, strict=True)
        return [to_rest(side.rules, to_whole(self.rules, anchor)) for side, anchor in pairs]

    def _row(self, *own: Anchor) -> Row:
        subset = int(own[0].free) | int(own[1].free) << self.sides[0].n_categories
        if not self.exist(np.array([subset]))[0]:
            raise UsageError("the second player has used as many boxes as the first, or one less")
        i, j = (side.number(anchor) - side.first[anchor.free] for side, anchor in zip(self.sides, own, strict=True))
        start, lowest, length = self.rows(subset)
        return Row(subset, int(start[i, j]), int(lowest[i, j]), int(length[i, j]), int(length.sum()))

    def by_lead(self, row: Row, read: Callable[[int, int], Values]) -> ByLead:
        """The values of a row; `read` gives those of its subset from one index to another."""
        firsts = [row.start + quantity * row.size for quantity in range(self.quantities)]
        return ByLead(row.lowest, np.stack([read(first, first + row.length) for first in firsts]))

    def check_lead(self, one: Anchor, two: Anchor, lead: int) -> None:
        """Refuse a lead that no game comes to at two anchors of the game."""
        mine, theirs = zip((side.anchors for side in self.sides), self._own(one, two), strict=True)
        check_lead(lead, mine, theirs, self.lead)

    def row_index(self) -> Mapping[str, NDArray[Any]]:
        """One line for each subset and one for each anchor; together they give the position of every row.

        An index with a line for each row would be far too large where both players have many anchors. A race that
        begins later is solved in memory, and has none.
        """
        if self.begun:
            return {}
        side = self.sides[0]
        n_free = np.bitwise_count(np.arange(self.rules.all_free + 1)).astype(np.int8)
        more = n_free[:, None] - n_free
        two, one = (cards.astype(np.int32) for cards in np.nonzero((more == 0) | (more == 1)))
        lowest, length = self.leads(side.first[one], side.first[two])
        subsets, n_anchors = one | two.astype(np.int64) << side.n_categories, np.diff(side.first).astype(np.int16)
        places = np.flatnonzero(self.anchors.exists)
        free, upper, chip = self.anchors.columns(places)
        return {
            "subset": subsets,
            "offset": np.zeros_like(subsets),
            "lowest": lowest.astype(np.int32),
            "length": length.astype(np.int32),
            "anchors_1": n_anchors[one],
            "anchors_2": n_anchors[two],
            "anchor_free": free,
            "anchor_upper": upper,
            "anchor_chip": chip,
            "anchor_number": (places - side.first[free]).astype(np.int16),
        }

    # --------------------------------------------------------------------------------------------- values

    def _new_kernel(self) -> race.Race:
        one, two = self.sides
        return race.Race(one.for_kernel(self._isa), two.for_kernel(self._isa), self.lead, self.quantities)

    @cached_property
    def _kernel(self) -> race.Race:
        return self._new_kernel()

    def solver(self) -> Solver:
        """A solver with turns of its own, for one thread."""
        kernel = self._new_kernel()

        def solve(block: Block, below: Below) -> None:
            entries = {id(there): (there.subsets, there.starts, there.values) for there in below if there is not None}
            kernel.solve(block.subsets, block.starts, block.values, [entries.get(id(there)) for there in below])

        return solve

    def complaint(self, block: Block) -> str | None:
        """The first violated invariant of these entries, or None: all of them lie between 0 and 1."""
        return None if self.possible(block.values) else "it holds values that are no probabilities"

    def possible(self, values: Values) -> bool:
        """Whether all values lie between 0 and 1, except for rounding."""
        return bool(((values >= 0) & (values <= 1 + ROUNDING)).all())

    def judged(self, subset: int, at: int, entries: Callable[[int], Values]) -> float | None:
        """An entry by the reference implementation; None where the game is over."""
        if not subset:
            return None
        start, lowest, length = self.rows(subset)
        quantity, at = divmod(at, int(length.sum()))
        i, j = np.unravel_index(np.searchsorted((start + length).ravel(), at, side="right"), length.shape)
        lead, (one, two) = int(lowest[i, j] + at - start[i, j]), self._cards(subset)
        anchors = [
            side.anchor(side.first[free] + k) for side, free, k in zip(self.sides, (one, two), (i, j), strict=True)
        ]
        mover, sign = (1, -1) if two.bit_count() > one.bit_count() else (0, 1)
        side, mine = self.sides[mover], anchors[mover]

        @cache
        def by_lead(after: Anchor) -> ByLead:
            row = self._row(after, anchors[1]) if mover == 0 else self._row(anchors[0], after)
            return self.by_lead(row, lambda first, last: entries(row.subset)[first:last])

        def options(roll: reference.Roll) -> list[reference.Row]:
            moved = (side.anchors.after(mine, play) for play in side.rules.plays(mine.free, mine.chip, roll))
            return [tuple(sign * x for x in by_lead(after)[lead + sign * points]) for after, points in moved]

        return sign * reference.best_turn(options)[quantity]


class RaceWins(Race):
    """The value and the probability that the first player wins outright, by which both players break ties."""

    objective = "race-wins"
    quantities = 2
