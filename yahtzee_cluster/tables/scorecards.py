"""What the tables of one player have in common: how values are read, and how a sample of them is judged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.storage import verification
from yahtzee_cluster.storage.verification import Judgements, Verdict
from yahtzee_cluster.tables.table import Table, Values

MOMENTS = "mean", "second moment"
"""What judgements call the two moments."""


class ScorecardTable(Table):
    """A table of a game of one player. Its values are rows, one or more for every anchor."""

    problem: Scorecards

    @property
    def quantities(self) -> int:
        """How many rows every anchor has."""
        return len(self.problem.limits)

    # --------------------------------------------------------------------------------------------------- reading

    def read(self, free: int, first: int, length: int, quantity: int) -> Values:
        """Some values of the scorecards with these free categories; values outside the limits are refused."""
        cls, start = self.entries.partition.class_of(free), self.entries.start(free) + first
        values = self.entries.row(cls, start, start + length)
        if not self.problem.possible(values, quantity):
            raise self.entries.impossible(cls)
        return values

    def rows(self, cls: ClassId) -> dict[int, Values]:
        """All values of a class, by free categories; values outside the limits are refused."""
        block = self.entries.block(cls)
        rows = {free: block[free] for free in block.subsets.tolist()}
        for values in rows.values():
            for quantity, part in enumerate(np.split(values, self.quantities)):
                if not self.problem.possible(part, quantity):
                    raise self.entries.impossible(cls)
        return rows

    def rows_of_layer(self, layer: int) -> dict[int, Values]:
        """All values of the scorecards with so many free categories, by free categories.

        They decide the turns that leave so many categories free.
        """
        found: dict[int, Values] = {}
        for cls in self.entries.partition.classes:
            if self.entries.partition.layer(cls) == layer:
                found |= self.rows(cls)
        return found

    # --------------------------------------------------------------------------------------------------- judging

    def verify(self, n_sampled: int = 0, seed: int | None = None) -> Verdict:
        """Check every value, and recompute at least one value of every class from those that it depends on."""
        return verification.verify(self.problem, self.store, n_sampled, seed, self._judge)

    def _judge(self, cls: ClassId, random: np.random.Generator) -> Judgements:
        """Judge a random anchor of a class, if any of its anchors has values."""
        places = [self.anchors.places(free) for free in self.entries.partition.members(cls).tolist() if free]
        found = np.concatenate([np.arange(some.start, some.stop) for some in places] or [np.empty(0, np.intp)])
        having = found[np.flatnonzero(self.lengths[found])]
        if len(having):
            yield from self.judged(int(random.choice(having)), random)

    @property
    @abstractmethod
    def lengths(self) -> NDArray[np.generic]:
        """[place]: how many values the row of each anchor has; 0 where there is nothing to judge."""

    @abstractmethod
    def judged(self, place: int, random: np.random.Generator) -> Judgements:
        """Random values of the anchor at a place, as stored and as the reference recomputes them."""

    def plays(self, anchor: Anchor, roll: reference.Roll) -> Iterator[tuple[Anchor, int]]:
        """The anchor after each legal play of a roll, and the points for it."""
        for play in self.rules.plays(anchor.free, anchor.chip, roll):
            yield self.anchors.after(anchor, play)
