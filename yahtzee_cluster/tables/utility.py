"""Tables of some utility: the expected worth of the final score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from yahtzee_cluster.errors import UsageError
from yahtzee_cluster.game import reference
from yahtzee_cluster.game.possible_scores import check_score, scores_so_far
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.utility import Utility
from yahtzee_cluster.storage.verification import Judgements
from yahtzee_cluster.tables.scorecards import ScorecardTable
from yahtzee_cluster.tables.table import Values

MOST_IN_FULL = 1e9
"""A larger worth is printed with the digits that a double holds."""


class UtilityTable(ScorecardTable):
    """The expected utility of every anchor, in a row by the score so far."""

    problem: Utility
    number = "score"
    names = ("worth",)

    def worth(self, anchor: Anchor, score: int) -> float:
        """The expected utility of an anchor with so many points so far, which some game has there."""
        check_score(self.anchors, anchor, score)
        return self.worth_unchecked(anchor, score)

    def worth_unchecked(self, anchor: Anchor, score: int) -> float:
        """The same, without a check of the score. An entry for a score that no game has there means nothing."""
        row = self.problem.row(self.anchors.reachable(anchor))
        if not 0 <= score < row.stop - row.start:
            raise UsageError(f"score: the row ends at {row.stop - row.start - 1} points, found {score}")
        return float(self.read(anchor.free, row.start + score, 1, 0)[0])

    def worths(self, anchor: Anchor) -> Values:
        """The row of an anchor: its expected utility by the score so far."""
        row = self.problem.row(self.anchors.reachable(anchor))
        return self.read(anchor.free, row.start, row.stop - row.start, 0)

    @property
    def numbers(self) -> range:
        """All scores up to the highest."""
        return range(len(self.problem.worth))

    def layout(self, places: NDArray[np.int64], quantity: int) -> tuple[NDArray[Any], ...]:  # noqa: ARG002
        """Where these rows begin, their first scores and their lengths."""
        return self.problem.offsets[places], np.zeros_like(places), self.lengths[places]

    def beside(self, places: NDArray[np.int64], numbers: range, quantity: int) -> Values:  # noqa: ARG002
        """NaN for a score that no game has there."""
        return np.full((len(places), len(numbers)), np.nan)

    def values(self, places: NDArray[np.int64], numbers: range, quantity: int = 0) -> Values:
        """[place, number]: the expected utility, NaN for scores that no game has there."""
        found = super().values(places, numbers, quantity)
        for row, place in zip(found, places.tolist(), strict=True):
            row[~np.isin(numbers, scores_so_far(self.anchors, self.anchors.anchor(place)))] = np.nan
        return found

    def state(self, cards: Sequence[Anchor], number: int = 0) -> dict[str, float]:
        """The expected utility, by the score so far."""
        return {"worth": self.worth(cards[0], number)}

    def headline(self) -> list[str]:
        """The expected utility of a game."""
        worth = self.worth(self.start, 0)
        return [f"worth      {worth:{'.9f' if abs(worth) < MOST_IN_FULL else '.15g'}}  ({self.goal})"]

    # --------------------------------------------------------------------------------------------------- playing

    @property
    def goal(self) -> str:
        """The name of the utility."""
        return self.problem.goal

    def for_goal(self) -> UtilityTable:
        """This table, whose values decide how to play for its goal."""
        return self

    def lookup(
        self,
        places: NDArray[np.int64],  # noqa: ARG002
        scores: NDArray[np.int64],
        target: int,  # noqa: ARG002
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """By what the row of each game is looked up, and whether its row decides: the score so far, and always."""
        return scores, np.ones(len(scores), bool)

    # --------------------------------------------------------------------------------------------------- judging

    @property
    def lengths(self) -> NDArray[np.int32]:
        """[place]: how many scores so far have a value."""
        return self.problem.lengths

    def judged(self, place: int, random: np.random.Generator) -> Judgements:
        """The expected utility with a random score so far."""
        anchor = self.anchors.anchor(place)
        score = int(random.choice(scores_so_far(self.anchors, anchor)))

        def options(roll: reference.Roll) -> Iterable[reference.Row]:
            for after, points in self.plays(anchor, roll):
                yield (self.worth_unchecked(after, score + points),)

        yield f"{anchor}, score {score}", self.worth(anchor, score), reference.best_turn(options)[0]
