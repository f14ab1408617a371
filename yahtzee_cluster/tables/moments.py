"""Tables of expected scores: mean and second moment, when playing for the highest mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.game import reference
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.expected import Expected, moments_after, std_of
from yahtzee_cluster.storage.verification import Judgements
from yahtzee_cluster.tables.scorecards import MOMENTS, ScorecardTable
from yahtzee_cluster.tables.table import Values
from yahtzee_cluster.text import beside_published


class MomentTable(ScorecardTable):
    """The moments of the points still to come, for every anchor."""

    problem: Expected
    names = "mean", "second_moment"

    def moments(self, anchor: Anchor, need: int | None = None) -> tuple[float, float]:
        """Mean and second moment of the points still to come from an anchor, played for the highest mean."""
        if need is not None:
            return super().moments(anchor, need)
        places = self.anchors.places(anchor.free)
        at, distance = self.anchors.reachable(anchor) - places.start, places.stop - places.start
        mean, second = (float(self.read(anchor.free, at + i * distance, 1, i)[0]) for i in range(2))
        return mean, second

    def state(self, cards: Sequence[Anchor], number: int = 0) -> dict[str, float]:  # noqa: ARG002
        """Both moments of an anchor."""
        return dict(zip(self.names, self.moments(cards[0]), strict=True))

    @property
    def numbers(self) -> range:
        """One value for each anchor."""
        return range(1)

    def layout(self, places: NDArray[np.int64], quantity: int) -> tuple[NDArray[Any], ...]:
        """Where these means or second moments are."""
        free = self.anchors.columns(places)[0]
        begins = places - self.anchors.place[free, 0] + quantity * self.problem.n_places[free]
        return begins, np.zeros_like(places), np.ones_like(places)

    def beside(self, places: NDArray[np.int64], numbers: range, quantity: int) -> Values:  # noqa: ARG002
        """Nothing is missing."""
        return np.empty((len(places), len(numbers)))

    def headline(self) -> list[str]:
        """Mean and standard deviation of the final score, beside those that were published."""
        mean, second = self.moments(self.start)
        return [
            f"mean       {mean:.4f}{beside_published(self.rules.published_mean)}",
            f"std        {std_of(mean, second):.4f}{beside_published(self.rules.published_std)}",
        ]

    @property
    def lengths(self) -> NDArray[np.bool_]:
        """[place]: whether play leads there."""
        return self.anchors.exists

    def judged(self, place: int, random: np.random.Generator) -> Judgements:  # noqa: ARG002
        """Both moments."""
        anchor, moments = self.anchors.anchor(place), cache(self.moments)

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self.plays(anchor, roll):
                yield moments_after(points, *moments(after))

        both = zip(MOMENTS, moments(anchor), reference.best_turn(options), strict=True)
        yield from ((f"{anchor}, {name}", stored, judged) for name, stored, judged in both)
