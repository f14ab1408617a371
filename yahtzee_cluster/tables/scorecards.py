"""What the tables of one player have in common: how values are read, and how a sample of them is judged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.engine.partition import ClassId
from yahtzee_cluster.errors import UsageError, needs
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.game.scorecard import Scorecard, parse_scorecard
from yahtzee_cluster.objectives.scorecards import Scorecards
from yahtzee_cluster.storage import verification
from yahtzee_cluster.storage.verification import Judgements, Verdict
from yahtzee_cluster.tables.table import Card, Table, Values
from yahtzee_cluster.text import shown

if TYPE_CHECKING:
    import xarray as xr

NEAR, MOST = 1 << 17, 1 << 19
"""Values of a class that lie no farther apart than a chunk are read together, but not many more than so many."""
MOMENTS = "mean", "second moment"
"""What judgements call the two moments."""


class ScorecardTable(Table):
    """A table of a game of one player. Its values are rows, one or more for every anchor."""

    problem: Scorecards
    names: ClassVar[tuple[str, ...]]
    """The names of the quantities."""

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

    @property
    @abstractmethod
    def numbers(self) -> range:
        """The needs or scores that rows are for; without them, 0 alone."""

    @abstractmethod
    def layout(self, places: NDArray[np.int64], quantity: int) -> tuple[NDArray[Any], ...]:
        """Where these rows begin among those with the same free categories, their first numbers and their lengths."""

    @abstractmethod
    def beside(self, places: NDArray[np.int64], numbers: range, quantity: int) -> Values:
        """[place, number]: the values of a quantity where rows have none."""

    def values(self, places: NDArray[np.int64], numbers: range, quantity: int = 0) -> Values:
        """[place, number]: one quantity of many anchors. Only what is near these values is read, piece by piece."""
        found, partition = self.beside(places, numbers, quantity), self.entries.partition
        begins, firsts, lengths = self.layout(places, quantity)
        low, high = np.maximum(firsts, numbers.start), np.minimum(firsts + lengths, numbers.stop)
        free = self.anchors.columns(places)[0].astype(np.int64)
        classes = np.where(low < high, partition.classes_of(free), -1)
        for cls in map(ClassId, np.unique(classes[classes >= 0]).tolist()):
            rows = np.flatnonzero(classes == cls)
            starts = partition.starts_of(cls, free[rows]) + begins[rows] + low[rows] - firsts[rows]
            order = np.argsort(starts)
            rows, starts = rows[order], starts[order]
            for piece in np.split(np.arange(len(rows)), np.flatnonzero(_apart(starts)) + 1):
                some, sizes = rows[piece], (high - low)[rows[piece]]
                first = int(starts[piece[0]])
                read = self.entries.row(cls, first, int((starts[piece] + sizes).max()))
                inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
                part = read[np.repeat(starts[piece] - first, sizes) + inside]
                if not self.problem.possible(part, quantity):
                    raise self.entries.impossible(cls)
                found[np.repeat(some, sizes), np.repeat(low[some] - numbers.start, sizes) + inside] = part
        return found

    def rows_of_layer(self, layer: int) -> dict[int, Values]:
        """All values of the scorecards with so many free categories, by free categories.

        They decide the turns that leave so many categories free.
        """
        found: dict[int, Values] = {}
        for cls in self.entries.partition.classes:
            if self.entries.partition.layer(cls) == layer:
                found |= self.rows(cls)
        return found

    # ----------------------------------------------------------------------------------------- by scorecards

    def __getitem__(self, card: Card) -> Values:
        """The values of a scorecard, by the points still needed or by the score so far, from 0 on."""
        place = np.array([self.anchors.reachable(self._anchor(self._known(card)))])
        quantities = range(1 if self.number else self.quantities)
        return np.concatenate([self.values(place, self.numbers, quantity)[0] for quantity in quantities])

    def sel(self, card: Card | Sequence[Card] | None = None, **number: Any) -> xr.Dataset:
        """The values of some scorecards (by default of all states), at some needs or scores, as xarray selects them."""
        found = self.to_xarray(card)
        for name, wanted in number.items():
            if name != self.number:
                raise UsageError(f"{name}: this table has {f'a {self.number}' if self.number else 'none'} instead")
            try:
                found = found.sel({name: wanted})
            except (LookupError, TypeError, ValueError) as error:
                has = f"{self.numbers.start} to {self.numbers.stop - 1}"
                raise UsageError(f"{name}: this table has {has}, found {shown(wanted)}") from error
        return found.load()

    def to_xarray(self, card: Card | Sequence[Card] | None = None) -> xr.Dataset:
        """The values of some scorecards, or of all states, as labelled arrays, read where they are looked at."""
        with needs("to_xarray", "xarray", extra="data"):
            from yahtzee_cluster.tables.labelled import labelled
        if card is None:
            return labelled(self, np.flatnonzero(self.anchors.exists), "state")
        is_one = isinstance(card, Anchor | Scorecard | str | Mapping) or not isinstance(card, Iterable)
        cards = [self._known(one) for one in ([card] if is_one else list(card))]  # type: ignore[arg-type]
        places = [self.anchors.reachable(self._anchor(one)) for one in cards]
        found = labelled(self, np.array(places, np.int64), "card")
        found = found.assign_coords(card=[one.text if isinstance(one, Scorecard) else str(one) for one in cards])
        return found.isel(card=0) if is_one else found

    def _known(self, card: Card) -> Anchor | Scorecard:
        """A scorecard, in whatever form it was given."""
        game = self.rules.whole or self.rules
        if isinstance(card, str):
            return parse_scorecard(card, game)
        if isinstance(card, Mapping):
            return Scorecard.of(game, card)
        if not isinstance(card, Anchor | Scorecard):
            raise UsageError(f"card: expected points by the names of boxes, found {shown(card)}")
        if isinstance(card, Scorecard) and card.rules.table != game.table:
            raise UsageError(f"card: is one of {card.rules.name}, and this table is of {game.name}")
        return card

    def _anchor(self, card: Anchor | Scorecard) -> Anchor:
        """The anchor of a scorecard in the game of this table, which may be the rest of one."""
        return card if isinstance(card, Anchor) else card.since(self.rules)[0]

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


def _apart(starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Between which of these rising places in a class reading begins anew."""
    return (np.diff(starts) > NEAR) | (np.diff(starts // MOST) > 0)
