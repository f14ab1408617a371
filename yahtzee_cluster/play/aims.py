"""What moves are valued by: the values of the states after a turn, for each kind of goal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import TypedDict

import numpy as np

from yahtzee_cluster.game.dice import Keep
from yahtzee_cluster.game.rules import Anchor
from yahtzee_cluster.objectives.expected import moments_after, std_of
from yahtzee_cluster.objectives.goals import score_for
from yahtzee_cluster.play.answer import Chances
from yahtzee_cluster.play.choices import After, Choices, Move, Values
from yahtzee_cluster.tables.table import Table
from yahtzee_cluster.tables.utility import UtilityTable


class Figures(TypedDict, total=False):
    """The figures of a move that belong to a goal."""

    p: float
    """The probability of reaching the goal; a tie with the best opponent counts half if the goal says so."""
    worth: float
    """The value by another goal."""
    expected: float | None
    """The expected final score when playing for the goal; None if it is not known."""
    std: float | None
    """The standard deviation of the final score; None if it is not known."""
    chances: Chances
    """With two players, the probabilities of a win, a tie and a loss."""


class Aim(ABC):
    """The values of moves, for a goal and a score so far."""

    def __init__(self, choices: Choices, score: int, source: str) -> None:
        self.choices = choices
        self.score = score
        self.source = source
        """Where the values are from: `expected`, `table` or `solved`."""

    @property
    def need(self) -> int:
        """The points that are still needed, if the goal is to reach a score."""
        return 0

    @abstractmethod
    def values(self, after: After) -> Values:
        """The values of the states after a turn by every criterion, [criterion, outcome]."""

    @abstractmethod
    def figures(self, worth: list[float]) -> Figures:
        """The figures of a move with these values."""

    def evaluated(self, anchor: Anchor, roll: Keep | None, rolls_left: int) -> tuple[Sequence[Move], Values]:
        """The legal moves, and their values by every criterion, [criterion, move]."""
        values = self.values(self.choices.after(anchor))[..., None]
        moves, found = self.choices.evaluated(anchor, roll, rolls_left, values)
        return moves, found[..., 0]

    def ends(self, anchor: Anchor, roll: Keep | None, rolls_left: int) -> Values:
        """The probability of each outcome if the rest of the turn is played for the goal."""
        return self.choices.ends(anchor, roll, rolls_left, self.values(self.choices.after(anchor)))

    def moments(self, after: After) -> Values:
        """Mean and second moment of the points from this turn on, playing for the highest mean after it."""
        table, points = self.choices.expected, after.points
        mean, second = table.mean[after.places], table.second_moment[after.places]
        return np.stack([mean + points, second + 2 * points * mean + points**2])


class ForTheMean(Aim):
    """The highest expected score."""

    def __init__(self, choices: Choices, score: int) -> None:
        super().__init__(choices, score, "expected")

    def values(self, after: After) -> Values:
        """Mean and second moment."""
        return self.moments(after)

    def figures(self, worth: list[float]) -> Figures:
        """The expected final score and its deviation."""
        return {"expected": self.score + worth[0], "std": std_of(*worth)}


class ToReach(Aim):
    """So many further points, by a table of probabilities; without one if they have been scored already."""

    def __init__(
        self, choices: Choices, score: int, need: int, table: Table | None = None, source: str = "table"
    ) -> None:
        super().__init__(choices, score, source if table else "expected")
        self._need = need
        quantities = range(table.quantities if table else 0)
        self._knows_moments = len(quantities) != 1

        @cache
        def rows(place: int) -> list[Values]:
            """The probabilities, and the moments when playing for them if the table has those."""
            assert table
            return [table.row(choices.anchors.anchor(place), quantity) for quantity in quantities]

        self._rows = rows

    @property
    def need(self) -> int:
        """The points that are still needed."""
        return self._need

    def values(self, after: After) -> Values:
        """The probability, and the moments: when playing for the score if the table has them, else for the mean."""
        found = np.concatenate([np.zeros((1, len(after.points))), self.moments(after)])
        needs = self._need - after.points
        found[0] = needs <= 0
        for at in np.flatnonzero(needs > 0).tolist():
            probabilities, *moments = self._rows(int(after.places[at]))
            number, points = needs[at] - 1, int(after.points[at])
            if number < len(probabilities):
                found[0, at] = probabilities[number]
                if moments:
                    found[1:, at] = moments_after(points, *(float(row[number]) for row in moments))
        return found

    def figures(self, worth: list[float]) -> Figures:
        """The probability, and the moments of the final score if they are known: always once the score is reached."""
        chance, mean, second = worth
        if not (self._knows_moments or self._need <= 0):
            return {"p": chance}
        return {"p": chance, "expected": self.score + mean, "std": std_of(mean, second)}


class ForQuantile(Aim):
    """The highest score that is reached with at least some chance, by a table of the probabilities of all scores."""

    def __init__(self, choices: Choices, score: int, chance: float, table: Table, source: str) -> None:
        super().__init__(choices, score, source)
        self._chance = chance
        self._table = table
        self._best = score

    @property
    def need(self) -> int:
        """The points that are still needed for the score of the best move."""
        return self._best - self.score

    def values(self, after: After) -> Values:
        """The probability of the score of the best move."""
        chances = self._chances(after)
        return chances[None, :, self.need - 1] if self.need else np.ones((1, len(chances)))

    def figures(self, worth: list[float]) -> Figures:
        """The score that is reached with this chance."""
        return {"worth": worth[0]}

    def evaluated(self, anchor: Anchor, roll: Keep | None, rolls_left: int) -> tuple[Sequence[Move], Values]:
        """The legal moves; the score that each reaches with this chance, then the probability of the best one's."""
        chances = self._chances(self.choices.after(anchor))
        moves, found = self.choices.evaluated(anchor, roll, rolls_left, chances[None])
        curves = np.concatenate([np.ones((len(moves), 1)), found[0]], axis=1)
        scores = np.array([self.score + score_for(self._chance, curve) for curve in curves])
        self._best = int(scores.max())
        return moves, np.stack([scores, curves[:, self.need]])

    def ends(self, anchor: Anchor, roll: Keep | None, rolls_left: int) -> Values:
        """The probability of each outcome if the rest of the turn is played for the score of the best move."""
        self.evaluated(anchor, roll, rolls_left)
        return super().ends(anchor, roll, rolls_left)

    def _chances(self, after: After) -> Values:
        """[outcome, n]: the probability of at least n + 1 points from this turn on."""
        rows = [self._table.row(self.choices.anchors.anchor(place)) for place in after.places.tolist()]
        points = after.points.tolist()
        chances = np.zeros((len(rows), max(1, *(more + len(row) for more, row in zip(points, rows, strict=True)))))
        for chance, more, row in zip(chances, points, rows, strict=True):
            chance[:more] = 1.0
            chance[more : more + len(row)] = row
        return chances


class ByUtility(Aim):
    """The utility of a table."""

    def __init__(self, choices: Choices, score: int, table: UtilityTable, source: str) -> None:
        super().__init__(choices, score, source)
        self.table = table
        self._row = cache(lambda place: table.worths(choices.anchors.anchor(place)))

    def values(self, after: After) -> Values:
        """The expected utility, then the moments when playing for the highest mean from there on."""
        found = np.concatenate([np.zeros((1, len(after.points))), self.moments(after)])
        in_table = self.score - self.table.problem.before
        for at, (place, points) in enumerate(zip(after.places.tolist(), after.points.tolist(), strict=True)):
            row, score = self._row(place), in_table + points
            # A score beyond the end of the row takes an extra bonus, which is impossible here.
            found[0, at] = row[score] if score < len(row) else 0.0
        return found

    def figures(self, worth: list[float]) -> Figures:
        """The expected utility, as a probability if it is one."""
        return {"p": worth[0]} if self.table.problem.is_chance else {"worth": worth[0]}
